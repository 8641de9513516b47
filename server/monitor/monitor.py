"""The health and the metrics of a running server over HTTP.

Invariants: they are served on a port of their own, and only if that is configured; otherwise this module is not loaded.
`/healthz` has status 200 as long as new games can be played, and 503 once the server has begun to stop. `/metrics` has
the metrics of `spielleiter.server.monitor.metrics`.
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
    """Serves health and metrics on the listening `sockets` while `run` runs.

    `take_snapshot` and `pauses` are those of `Metrics`; `is_stopping` says whether the server has begun to stop.
    """

    def __init__(
        self,
        sockets: list[socket.socket],
        stream: events.EventStream,
        take_snapshot: Callable[[], Snapshot],
        pauses: PauseMeter,
        is_stopping: Callable[[], bool],
    ) -> None:
        self._sockets = sockets
        self._stream = stream
        self._metrics = Metrics(stream, take_snapshot, pauses)
        self._is_stopping = is_stopping
        self._pages = PageServer({"/healthz": self._health_page, "/metrics": self._metrics_page}, self._report_bug)

    async def run(self) -> None:
        """Measure and serve until it is cancelled. A failure of the sockets is reported and affects nothing else."""
        self._stream.publish(
            events.MonitorStarted(tuple(shown_address(sock.getsockname()[:2]) for sock in self._sockets))
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._metrics.watch_loop)
            listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(sock)) for sock in self._sockets]
            try:
                await trio.serve_listeners(self._pages.serve, listeners)
            except* OSError as errors:
                self._report_bug(errors)

    def _health_page(self) -> Page:
        return Page(b"stopping\n", status=503) if self._is_stopping() else Page(b"ok\n")

    def _metrics_page(self) -> Page:
        return Page(self._metrics.text(), CONTENT_TYPE)

    def _report_bug(self, error: Exception) -> None:
        self._stream.publish(events.InternalError.of(error))
