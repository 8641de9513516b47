"""Opens the sockets of the pages, of health and metrics, and serves there beside the games of a server.

The sockets are opened before the server accepts anything, which takes a millisecond. Everything else is loaded
afterwards in a thread, so that the start stays as fast as without pages. Whatever happens to the pages, the games go
on: a port that is taken is no reason not to start, and a failure is reported and ends the pages only.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import trio
from msgspec import Struct

from spielleiter.protocol.defaults import DEFAULT_HOST
from spielleiter.server import events
from spielleiter.server.app import Server
from spielleiter.server.config import Config, is_loopback
from spielleiter.server.errors import StartError
from spielleiter.server.garbage import PauseMeter
from spielleiter.server.net.sockets import listen
from spielleiter.server.setting import shown_address

if TYPE_CHECKING:
    from spielleiter.viewer.web.site import Site

FOR_THIS_MACHINE = "this machine only"
FOR_PASSWORD_HOLDERS = "everybody who can reach this address and knows the password of the viewer"  # noqa: S105
FOR_EVERYBODY = "everybody who can reach this address"
_FAR_AWAY = ("192.0.2.1", 9)  # reserved for documentation, so the way to it usually leads outside
_EVERY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not listened on


class ListeningPages(Struct, frozen=True):
    """The listening sockets of the pages.

    `url` is the address for the browser; `note` says why it is not the configured one, and is empty if it is. Without
    sockets, `note` says why there are none. `elsewhere` is the address for browsers on other machines, if the pages
    are served on every address of this machine and it is connected to a network; otherwise it is empty.
    """

    sockets: tuple[socket.socket, ...]
    url: str = ""
    note: str = ""
    elsewhere: str = ""

    @property
    def port(self) -> int:
        """The port on which the pages are served; 0 if they are not."""
        return self.sockets[0].getsockname()[1] if self.sockets else 0

    def close(self) -> None:
        """Close all sockets."""
        for sock in self.sockets:
            sock.close()


def listen_for_pages(host: str, port: int) -> ListeningPages:
    """Return the listening sockets for `host` and `port`, or for another port of this host if that one is taken."""
    note = ""
    try:
        sockets = listen(host, port, option="--viewer")
    except StartError as error:
        note = str(error).partition(";")[0]
        try:
            sockets = listen(host, 0, option="--viewer")
        except StartError:
            return ListeningPages((), note=str(error))
    found: int = sockets[0].getsockname()[1]
    outside = network_address() if host in _EVERY_ADDRESS else None
    return ListeningPages(
        tuple(sockets),
        f"http://{shown_address(('127.0.0.1' if host in _EVERY_ADDRESS else host, found))}/",
        note,
        f"http://{shown_address((outside, found))}/" if outside else "",
    )


def network_address() -> str | None:
    """Return the IPv4 address from which this machine reaches other networks; None if it has none. Sends nothing."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.connect(_FAR_AWAY)
            address: str = sock.getsockname()[0]
    except OSError:  # no such route, or no IPv4 at all
        return None
    return address


def access_to(config: Config) -> str:
    """Return in words who may look at the pages of a server with this configuration."""
    assert config.viewer is not None
    if config.viewer_password is not None:
        return FOR_PASSWORD_HOLDERS
    return FOR_THIS_MACHINE if is_loopback(config.viewer[0]) else FOR_EVERYBODY


@contextmanager
def open_pages(
    server: Server, port: int, pauses: PauseMeter, is_stopping: Callable[[], bool]
) -> Iterator[Callable[[], Awaitable[None]]]:
    """Listen at the addresses that the configuration names, and return the function that serves there.

    This is a companion of `spielleiter.server.app.serve`; `port` is the game port. Raises StartError if the address of
    `--metrics` cannot be used; a problem with the address of the pages is only reported.
    """
    config = server.config
    address = (DEFAULT_HOST if config.host in _EVERY_ADDRESS else config.host, port)
    with ExitStack() as stack:
        monitor = [] if config.metrics is None else listen(*config.metrics, option="--metrics")
        for sock in monitor:
            stack.callback(sock.close)
        pages = ListeningPages(())
        if config.viewer is not None:
            pages = stack.enter_context(closing(listen_for_pages(*config.viewer)))

        async def run() -> None:
            publish = server.stream.publish
            if pages.note and not pages.sockets:
                publish(events.SettingIgnored(f"viewer ({pages.note})"))
            matches = config.viewer_matches
            if pages.sockets and matches is not None and not matches.is_dir():
                why = "is a file, expected a folder" if matches.is_file() else "there is no such folder so far"
                publish(events.SettingIgnored(f"viewerMatches {matches} ({why})"))
            if not monitor and not pages.sockets:
                return
            try:
                site_class = await trio.to_thread.run_sync(_load_site, abandon_on_cancel=True)
                site = site_class(server, address, pages.port, pauses, is_stopping)
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(site.metrics.watch_loop)
                    if monitor:
                        shown = tuple(shown_address(sock.getsockname()[:2]) for sock in monitor)
                        publish(events.MonitorStarted(shown))
                        nursery.start_soon(site.serve_health, monitor)
                    if pages.sockets:
                        publish(events.ViewerStarted(pages.url, access_to(config), pages.note, pages.elsewhere))
                        await site.serve_pages(pages.sockets)
            except Exception as error:
                server.stream.publish(events.InternalError.of(error))

        yield run


def _load_site() -> type[Site]:
    from spielleiter.viewer.web.site import Site

    return Site


async def serve_replay(file: Path, on_listening: Callable[[str], None], ply: int = 0) -> None:
    """Serve the page for one replay until cancelled, and a server to play on from its positions.

    Everything listens on loopback, on any free port. Nobody can become an administrator, and nothing is written.

    - `file`: the replay; others in its folder are listed beside it.
    - `on_listening`: called with the address of the page that shows this replay, once it can be opened.
    - `ply`: the ply that the address names.

    Raises StartError if no port of this machine is free.
    """
    from spielleiter.viewer.replay_files import page_name
    from spielleiter.viewer.web.site import Site

    host = "127.0.0.1"
    server = Server(Config(port=0, viewer=(host, 0), replay_directory=None, log_level="error"))
    server.lobby.password = None
    with ExitStack() as stack:
        stack.callback(server.archive.close)
        games = listen(host, 0)
        for sock in games:
            stack.callback(sock.close)
        pages = stack.enter_context(closing(listen_for_pages(host, 0)))
        address = (host, games[0].getsockname()[1])
        site = Site(server, address, pages.port, PauseMeter(), lambda: False, single=file)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.run, games, None)
            nursery.start_soon(site.serve_pages, pages.sockets)
            on_listening(f"{pages.url}#/replay/{quote(page_name(file.name), safe='')}/{ply}")
