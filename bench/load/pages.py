"""Open pages of the viewer: a process that reads the event streams of a server, as browsers do.

Run it as `python -m spielleiter.bench.load.pages PORT LISTS GAMES SILENT`; see `main`.

Invariants: a page whose game is over shows its end for `GAME_LOOK` seconds and then another game, as people do. Silent
pages are opened like the others, and never read.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time
from itertools import cycle
from typing import Final

HOST: Final = "127.0.0.1"
TIMEOUT: Final = 20.0
GAME_LOOK: Final = 5.0
"""Seconds for which a page stays at a game, even if the game is over before."""
_READ_SIZE: Final = 1 << 18
_OVER: Final = (b'"state":"over"', b"event: gone")
_ROOM_LOOK: Final = 0.5  # seconds for which the list of rooms is used for pages that look for another game


class Page:
    """An event stream. `path` is its address, and `is_game` says whether it belongs to one game."""

    def __init__(self, port: int, path: str, *, is_game: bool) -> None:
        self.is_game = is_game
        self.opened_at = time.perf_counter()
        self.is_over = False
        self.sock = socket.create_connection((HOST, port), TIMEOUT)
        self.sock.sendall(f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        self.sock.setblocking(False)


class Pages:
    """All pages of this process, and what they have received."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._selector = selectors.DefaultSelector()
        self._rooms: list[str] = []
        self._rooms_at = 0.0
        self._numbers = cycle(range(10_000))
        self.events = 0
        self.bytes = 0
        self.silent: list[Page] = []

    def open_list(self) -> None:
        """Open a page with the list of rooms."""
        self._add(Page(self._port, "/api/events", is_game=False))

    def open_game(self) -> None:
        """Open a page with one of the running games, each in turn."""
        rooms = self._running()
        room = rooms[next(self._numbers) % len(rooms)] if rooms else "none"
        self._add(Page(self._port, f"/api/rooms/{room}/events", is_game=True))

    def open_silent(self) -> None:
        """Open a page with the list of rooms that never reads."""
        self.silent.append(Page(self._port, "/api/events", is_game=False))

    def _add(self, page: Page) -> None:
        self._selector.register(page.sock, selectors.EVENT_READ, page)

    def _running(self) -> list[str]:
        """Return the rooms of running games, as they were a moment ago."""
        now = time.perf_counter()
        if now - self._rooms_at > _ROOM_LOOK:
            with socket.create_connection((HOST, self._port), TIMEOUT) as sock:
                sock.sendall(f"GET /api/rooms HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
                answer = b"".join(iter(lambda: sock.recv(_READ_SIZE), b""))
            rooms = json.loads(answer.partition(b"\r\n\r\n")[2])["rooms"]
            self._rooms = [room["id"] for room in rooms if room["state"] == "running"]
            self._rooms_at = now
        return self._rooms

    def read(self, timeout: float) -> None:
        """Read what has arrived; wait for it for at most `timeout` seconds."""
        for key, _ in self._selector.select(timeout):
            page: Page = key.data
            try:
                data = page.sock.recv(_READ_SIZE)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            self.bytes += len(data)
            self.events += data.count(b"event: ")
            page.is_over |= page.is_game and any(mark in data for mark in _OVER)
            if not data:
                self._close(page)
        self._change_games()

    def _change_games(self) -> None:
        """Let pages whose game is over watch another one."""
        before = time.perf_counter() - GAME_LOOK
        pages: list[Page] = [key.data for key in self._selector.get_map().values()]
        for page in pages:
            if page.is_over and page.opened_at < before:
                self._close(page)

    def _close(self, page: Page) -> None:
        self._selector.unregister(page.sock)
        page.sock.close()
        if page.is_game:
            self.open_game()


def main() -> None:
    """Open the pages, write a line when all are open, and read until standard input ends; then write a report.

    The arguments are the port of the viewer and the numbers of pages with the list, with a game, and of silent ones.
    The report is a line of JSON: the number of `events` and of `bytes` that were received.
    """
    port, lists, games, silent = map(int, sys.argv[1:])
    pages = Pages(port)
    for count, open_page in ((lists, pages.open_list), (games, pages.open_game), (silent, pages.open_silent)):
        for _ in range(count):
            open_page()
    print("open", flush=True)  # noqa: T201
    with selectors.DefaultSelector() as ending:
        ending.register(sys.stdin, selectors.EVENT_READ)
        while not ending.select(0):
            pages.read(0.05)
    print(json.dumps({"events": pages.events, "bytes": pages.bytes}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
