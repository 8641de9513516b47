"""Open pages of the viewer: a process that reads the event streams of a server, as browsers do.

Run this file with the arguments PORT LISTS GAMES SILENT: the port of the viewer, and the numbers of pages with the list
of rooms, with a game, and of silent ones, which never read. A line is written when all are open; the process ends with
its input. A page whose game is over shows its end for END_SHOWN_SECONDS and then another game, as people do.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time
from typing import Final

HOST: Final = "127.0.0.1"
TIMEOUT: Final = 20.0
END_SHOWN_SECONDS: Final = 5.0
ROOMS_KEPT_SECONDS: Final = 0.5  # seconds for which the list of rooms is used for pages that look for another game
READ_SIZE: Final = 1 << 18
OVER: Final = (b'"state":"over"', b"event: gone")


class Page:
    """An event stream. `path` is its address; `is_over` is whether the game that it shows is over."""

    def __init__(self, port: int, path: str) -> None:
        self.is_game = path.startswith("/api/rooms/")
        self.opened_at = time.perf_counter()
        self.is_over = False
        self.sock = socket.create_connection((HOST, port), TIMEOUT)
        self.sock.sendall(f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        self.sock.setblocking(False)


class Pages:
    """All pages of this process that read."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._selector = selectors.DefaultSelector()
        self._rooms: list[str] = []
        self._rooms_at = 0.0
        self._opened = 0
        self.events = 0

    def open(self, path: str) -> None:
        page = Page(self._port, path)
        self._selector.register(page.sock, selectors.EVENT_READ, page)

    def open_game(self) -> None:
        """Open a page with one of the running games, each in turn, as they were a moment ago."""
        now = time.perf_counter()
        if now - self._rooms_at > ROOMS_KEPT_SECONDS:
            with socket.create_connection((HOST, self._port), TIMEOUT) as sock:
                sock.sendall(f"GET /api/rooms HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
                answer = b"".join(iter(lambda: sock.recv(READ_SIZE), b""))
            rooms = json.loads(answer.partition(b"\r\n\r\n")[2])["rooms"]
            self._rooms = [room["id"] for room in rooms if room["state"] == "running"]
            self._rooms_at = now
        self._opened += 1
        room = self._rooms[self._opened % len(self._rooms)] if self._rooms else "none"
        self.open(f"/api/rooms/{room}/events")

    def read(self, timeout: float) -> None:
        """Read what has arrived; wait for it for at most `timeout` seconds."""
        for key, _ in self._selector.select(timeout):
            page: Page = key.data
            try:
                data = page.sock.recv(READ_SIZE)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            self.events += data.count(b"event: ")
            page.is_over |= page.is_game and any(mark in data for mark in OVER)
            if not data:
                self._close(page)
        before = time.perf_counter() - END_SHOWN_SECONDS
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
    port, lists, games, silent = map(int, sys.argv[1:])
    pages = Pages(port)
    for _ in range(lists):
        pages.open("/api/events")
    for _ in range(games):
        pages.open_game()
    kept = [Page(port, "/api/events") for _ in range(silent)]
    print(f"{lists + games + len(kept)} pages are open", flush=True)
    with selectors.DefaultSelector() as ending:
        ending.register(sys.stdin, selectors.EVENT_READ)
        while not ending.select(0):
            pages.read(0.05)


if __name__ == "__main__":
    main()
