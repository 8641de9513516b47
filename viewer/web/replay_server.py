"""Serves the page for one replay, for `spielleiter replay FILE`, together with a server to play on from its positions.

Invariants: everything listens on loopback, on any free port. Nobody can become an administrator, and nothing is written
to the disk.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import quote

import trio

from spielleiter.server.app import Server
from spielleiter.server.config import Config
from spielleiter.server.garbage import PauseMeter
from spielleiter.server.net.sockets import listen
from spielleiter.viewer.web.listening import listen_for_pages
from spielleiter.viewer.web.replay_shelf import page_name
from spielleiter.viewer.web.site import Site

HOST: Final = "127.0.0.1"


async def serve_replay(file: Path, on_listening: Callable[[str], None], ply: int = 0) -> None:
    """Serve the page until cancelled.

    - `file`: the replay; others in its folder are listed beside it.
    - `on_listening`: called with the address of the page that shows this replay, once it can be opened.
    - `ply`: the ply that the address names.

    Raises StartError if no port of this machine is free.
    """
    server = Server(Config(port=0, viewer=(HOST, 0), replay_directory=None, log_level="error"))
    server.lobby.password = None
    games = listen(HOST, 0)
    pages = listen_for_pages(HOST, 0)
    try:
        site = Site(server, games[0].getsockname()[1], pages.port, PauseMeter(), lambda: False, single=file)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.run, games, None)
            nursery.start_soon(site.serve_pages, pages.sockets)
            on_listening(f"{pages.url}#/replay/{quote(page_name(file), safe='')}/{ply}")
    finally:
        pages.close()
        for sock in games:
            sock.close()
        server.archive.close()
