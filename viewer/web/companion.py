"""Serves the pages, the health and the metrics beside the games of a server.

Invariants: the sockets are opened before the server accepts anything, which takes a millisecond. Everything else is
loaded afterwards in a thread, so that the start stays as fast as without pages. Whatever happens to the pages, the
games go on: a failure is reported, and ends the pages only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import trio

from spielleiter.server import events
from spielleiter.server.app import Server
from spielleiter.server.garbage import PauseMeter
from spielleiter.server.net.sockets import listen
from spielleiter.server.setting import shown_address
from spielleiter.viewer.web.listening import ListeningPages, access_to, listen_for_pages

if TYPE_CHECKING:
    import socket

    from spielleiter.viewer.web.site import Site


@contextmanager
def open_pages(
    server: Server, port: int, pauses: PauseMeter, is_stopping: Callable[[], bool]
) -> Iterator[Callable[[], Awaitable[None]]]:
    """Listen at the addresses that the configuration names, and return the function that serves there.

    This is a companion of `spielleiter.server.app.serve`; `port` is the game port. Raises StartError if the address of
    `--metrics` cannot be used; a problem with the address of the pages is only reported.
    """
    config = server.config
    with ExitStack() as stack:
        monitor = [] if config.metrics is None else listen(*config.metrics, option="--metrics")
        for sock in monitor:
            stack.callback(sock.close)
        pages = None if config.viewer is None else listen_for_pages(*config.viewer)
        if pages is not None:
            stack.callback(pages.close)

        def make_site(site: type[Site]) -> Site:
            return site(server, port, 0 if pages is None or not pages.sockets else pages.port, pauses, is_stopping)

        async def run() -> None:
            await _run(server, make_site, pages, monitor)

        yield run


async def _run(
    server: Server,
    make_site: Callable[[type[Site]], Site],
    pages: ListeningPages | None,
    monitor: list[socket.socket],
) -> None:
    stream = server.stream
    if pages is not None and not pages.sockets:
        stream.publish(events.SettingIgnored(f"viewer ({pages.note})"))
    matches = server.config.viewer_matches
    if pages is not None and pages.sockets and matches is not None and not matches.is_dir():
        why = "is a file, expected a folder" if matches.is_file() else "there is no such folder so far"
        stream.publish(events.SettingIgnored(f"viewerMatches {matches} ({why})"))
    if not monitor and (pages is None or not pages.sockets):
        return
    try:
        site = make_site(await trio.to_thread.run_sync(_load, abandon_on_cancel=True))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(site.metrics.watch_loop)
            if monitor:
                stream.publish(events.MonitorStarted(tuple(shown_address(sock.getsockname()[:2]) for sock in monitor)))
                nursery.start_soon(site.serve_health, monitor)
            if pages is not None and pages.sockets:
                stream.publish(events.ViewerStarted(pages.url, access_to(server.config), pages.note, pages.elsewhere))
                await site.serve_pages(pages.sockets)
    except Exception as error:
        stream.publish(events.InternalError.of(error))


def _load() -> type[Site]:
    from spielleiter.viewer.web.site import Site

    return Site
