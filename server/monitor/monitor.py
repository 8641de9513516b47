"""What a running server shows to the tools that watch it: whether it is well, and its figures.

Law: on a port of its own, which is off unless asked for. `/healthz` says 200 as long as new games can be played and 503
from the moment the server was told to stop; `/metrics` are the figures of `spielleiter.server.monitor.metrics`. Nothing
here is loaded unless it is wanted.
"""

from __future__ import annotations

import socket
from collections.abc import Callable

import trio

from spielleiter.server import events
from spielleiter.server.config.setting import shown_address
from spielleiter.server.monitor.http import Page, PageServer
from spielleiter.server.monitor.metrics import CONTENT_TYPE, Metrics
from spielleiter.server.monitor.status import Snapshot
from spielleiter.server.runtime.garbage import PauseMeter


class Monitor:
    """Answers on `sockets`, which listen, as long as `run` runs; `look` and `pauses`: see `Metrics`."""

    def __init__(
        self,
        sockets: list[socket.socket],
        stream: events.EventStream,
        look: Callable[[], Snapshot],
        pauses: PauseMeter,
        is_stopping: Callable[[], bool],
    ) -> None:
        self._sockets = sockets
        self._stream = stream
        self._metrics = Metrics(stream, look, pauses)
        self._is_stopping = is_stopping
        self._pages = PageServer({"/healthz": self._health, "/metrics": self._figures}, self._tell_bug)

    async def run(self) -> None:
        """Measure and answer for ever. An end of the listening itself is told, and ends nothing else."""
        self._stream.publish(
            events.MonitorStarted(tuple(shown_address(sock.getsockname()[:2]) for sock in self._sockets))
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._metrics.watch_loop)
            listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(sock)) for sock in self._sockets]
            try:
                await trio.serve_listeners(self._pages.serve, listeners)
            except* OSError as errors:
                self._tell_bug(errors)

    def _health(self) -> Page:
        return Page(b"stopping\n", status=503) if self._is_stopping() else Page(b"ok\n")

    def _figures(self) -> Page:
        return Page(self._metrics.text(), CONTENT_TYPE)

    def _tell_bug(self, error: Exception) -> None:
        self._stream.publish(events.InternalError.of(error))
