"""The process of the pages: it is told what to serve by its standard input, and ends with the server that started it.

It is started by `companion.py`, for `spielleiter serve` on Linux by `page_starter.py`. First it says its process id,
which Windows needs to hand over sockets; then it reads one line, a `PageStart`; then it says `READY`. It ends when its
standard input does, which happens however the server ends. Signals for a whole terminal or service are the server's
affair, so they are ignored here.
"""

from __future__ import annotations

import base64
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import msgspec
import trio

from spielleiter.common.process import hide_this_process, stop_signals
from spielleiter.server import events
from spielleiter.server.log import line_writer, log_events, logged_kinds
from spielleiter.viewer.web.page_settings import PageSettings

if TYPE_CHECKING:
    from spielleiter.client.transport import Transport
    from spielleiter.protocol.dialect import Dialect

READY: Final = b"ready\n"
ANSWER_TIMEOUT: Final = 10.0
"""Seconds for which the pages wait for their server before they say that they are there."""
NICENESS: Final = 10
"""The lower priority of this process on POSIX; on Windows the server starts it with one."""
_MOST_BYTES: Final = 1024 * 1024  # of the line with the settings
_MOST_SOCKETS: Final = 253  # as many as Linux hands over at once


class PageStart(msgspec.Struct, frozen=True):
    """What the process is told: its settings, and how many of its sockets are for pages.

    The others are for health and metrics; with `has_connection`, the last one is the only connection to the server,
    which has no address. `shared` are the sockets in base64, as Windows hands them over; elsewhere, their descriptors
    come with the first byte of the line.
    """

    settings: PageSettings
    pages: int
    shared: tuple[str, ...] = ()
    has_connection: bool = False


def _read_start() -> tuple[PageStart, list[socket.socket]] | None:
    """Return what standard input says, with the sockets; None if the server has ended.

    Reads it without a buffer, which a thread could block at the end.
    """
    line = b""
    descriptors: list[int] = []
    if sys.platform != "win32":
        with socket.socket(fileno=os.dup(0)) as control:
            line, descriptors, _, _ = socket.recv_fds(control, _MOST_BYTES, _MOST_SOCKETS)
    while not line.endswith(b"\n") and len(line) < _MOST_BYTES and (data := os.read(0, 64 * 1024)):
        line += data
    if not line:
        return None
    start = msgspec.json.decode(line, type=PageStart)
    if sys.platform == "win32":
        sockets = [socket.fromshare(base64.b64decode(each)) for each in start.shared]
    else:
        sockets = [socket.socket(fileno=each) for each in descriptors]
    for sock in sockets:
        sock.setblocking(False)
    return start, sockets


@contextmanager
def logged_events(settings: PageSettings) -> Iterator[events.EventStream]:
    """Return a stream whose events are written to standard error, as `settings` say, until the context is left."""
    with line_writer(sys.stderr) as log:
        stream = events.EventStream()
        stream.subscribe(log_events(log, settings.log_format, settings.log_level), logged_kinds(settings.log_level))
        yield stream


async def _serve(start: PageStart, sockets: list[socket.socket]) -> None:
    from spielleiter.viewer.web.site import Site  # most of the time that a start takes

    settings = start.settings
    with logged_events(settings) as stream:
        try:
            async with trio.open_nursery() as nursery:
                connect = _only_connection(sockets.pop(), nursery.cancel_scope) if start.has_connection else None
                site = Site(settings, stream.publish, connect)
                nursery.start_soon(site.serve, sockets[: start.pages], sockets[start.pages :])
                nursery.start_soon(_say_ready, site.server.has_answered)
                await trio.to_thread.run_sync(lambda: os.read(0, 1), abandon_on_cancel=True)
                nursery.cancel_scope.cancel()
        except Exception as error:
            stream.publish(events.InternalError.of(error))
            raise SystemExit(1) from None


def _only_connection(sock: socket.socket, process: trio.CancelScope) -> Callable[[Dialect], Awaitable[Transport]]:
    """Return what opens the only connection to the server. When that is lost, this ends the process.

    It is started again then, with a new connection.
    """
    from spielleiter.client.client_errors import CannotConnectError
    from spielleiter.client.transport import Transport

    left = [sock]

    async def connect(dialect: Dialect) -> Transport:
        await trio.lowlevel.checkpoint()
        if not left:
            process.cancel()
            raise CannotConnectError("the connection to the server is lost")
        return Transport(trio.SocketStream(trio.socket.from_stdlib_socket(left.pop())), dialect)

    return connect


async def _say_ready(has_answered: trio.Event) -> None:
    with trio.move_on_after(ANSWER_TIMEOUT):
        await has_answered.wait()  # from now on, what the pages say is what the server says
    with suppress(BrokenPipeError):  # the server has ended, and this process will
        os.write(1, READY)


def main() -> None:
    """Serve until standard input ends."""
    hide_this_process()
    for number in stop_signals():
        signal.signal(number, signal.SIG_IGN)
    if sys.platform != "win32":
        os.nice(NICENESS)
    with suppress(ConnectionError):  # the server has ended
        os.write(1, b"%d\n" % os.getpid())
        if told := _read_start():
            trio.run(_serve, *told)


if __name__ == "__main__":
    main()
