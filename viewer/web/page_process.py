"""The process of the pages: it is told what to serve by its standard input, and ends with the server that started it.

It is started by `companion.py`. First it says its process id, which Windows needs to hand over sockets; then it reads
one line, a `PageStart`; then it says `READY`. It ends when its standard input does, which happens however the server
ends. Signals for a whole terminal or service are the server's affair, so they are ignored here.
"""

from __future__ import annotations

import base64
import os
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

import msgspec
import trio

from spielleiter.common.process import hide_this_process, stop_signals
from spielleiter.server import events
from spielleiter.server.log import line_writer, log_events, logged_kinds
from spielleiter.viewer.web.page_settings import PageSettings

READY: Final = b"ready\n"
ANSWER_TIMEOUT: Final = 10.0
"""Seconds for which the pages wait for their server before they say that they are there."""
NICENESS: Final = 10
"""The lower priority of this process on POSIX; on Windows the server starts it with one."""
_MOST_BYTES: Final = 1024 * 1024  # of the line with the settings


class PageStart(msgspec.Struct, frozen=True):
    """What the process is told: settings and listening sockets, as descriptors or in base64 as Windows shares them."""

    settings: PageSettings
    pages: tuple[int | str, ...]
    monitor: tuple[int | str, ...]


def opened(handles: Sequence[int | str]) -> list[socket.socket]:
    """Return the listening sockets that the server has handed over."""
    found = []
    for handle in handles:
        if isinstance(handle, int):
            sock = socket.socket(fileno=handle)
        elif sys.platform == "win32":
            sock = socket.fromshare(base64.b64decode(handle))
        else:
            raise ValueError("sockets are shared as descriptors")
        sock.setblocking(False)
        found.append(sock)
    return found


def _read_line() -> bytes:
    """Return the first line of standard input, without a buffer, which a thread could block at the end."""
    line = b""
    while not line.endswith(b"\n") and len(line) < _MOST_BYTES and (data := os.read(0, 64 * 1024)):
        line += data
    return line


@contextmanager
def logged_events(settings: PageSettings) -> Iterator[events.EventStream]:
    """Return a stream whose events are written to standard error, as `settings` say, until the context is left."""
    with line_writer(sys.stderr) as log:
        stream = events.EventStream()
        stream.subscribe(log_events(log, settings.log_format, settings.log_level), logged_kinds(settings.log_level))
        yield stream


async def _serve(start: PageStart) -> None:
    from spielleiter.viewer.web.site import Site  # most of the time that a start takes

    settings = start.settings
    with logged_events(settings) as stream:
        try:
            site = Site(settings, stream.publish)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(site.serve, opened(start.pages), opened(start.monitor))
                nursery.start_soon(_say_ready, site.server.has_answered)
                await trio.to_thread.run_sync(lambda: os.read(0, 1), abandon_on_cancel=True)
                nursery.cancel_scope.cancel()
        except Exception as error:
            stream.publish(events.InternalError.of(error))
            raise SystemExit(1) from None


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
    with suppress(BrokenPipeError):  # the server has ended
        os.write(1, b"%d\n" % os.getpid())
        if line := _read_line():
            trio.run(_serve, msgspec.json.decode(line, type=PageStart))


if __name__ == "__main__":
    main()
