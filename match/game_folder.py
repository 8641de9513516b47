"""The files in a game's folder, and which folders are kept once their game is over.

The logs are compressed files with a maximum size, which say where they were cut. While a game is played, what they get
is only collected; it is encoded and compressed when they are closed, or when there is much of it.
"""

from __future__ import annotations

import enum
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

import trio
from zlib_ng import gzip_ng

from spielleiter.common.files import write_whole
from spielleiter.common.json_text import json_text
from spielleiter.match.records import GameRecord
from spielleiter.match.verdict import Verdict
from spielleiter.server import events
from spielleiter.server.core.clock import Arrival
from spielleiter.server.log import json_line
from spielleiter.server.net.wire import Wire

T = TypeVar("T")

LEVEL: Final = 4
"""The compression level: a third of the time of the best level, and twice the bytes."""

BUFFERED_BYTES: Final = 2 * 1024 * 1024
"""The number of bytes after which the buffer is compressed; most games have fewer."""


class BoundedFile(ABC, Generic[T]):
    """Collects items for the compressed file `path`, which `close` completes.

    They become bytes when the file is closed, or once those that wait have the size `most_waiting`. `limit` is the
    maximum size of the file in bytes before compression; `cut` is its last line if there were more.
    """

    def __init__(self, path: Path, limit: int, cut: bytes, most_waiting: int) -> None:
        self._path = path
        self._remaining = limit
        self._cut = cut
        self._most_waiting = most_waiting
        self._waiting: list[T] = []
        self._size_waiting = 0
        self._buffer: list[bytes | memoryview] = []
        self._buffered_bytes = 0
        self._file: gzip_ng.GzipNGFile | None = None

    @abstractmethod
    def _pieces_of(self, item: T) -> tuple[bytes | memoryview, ...]:
        """Return the bytes of an item, in pieces."""

    def _add(self, item: T, size: int) -> None:
        """Add an item, which must not change afterwards, unless the file is full. Raises OSError."""
        if self._remaining > 0:
            self._waiting.append(item)
            self._size_waiting += size
            if self._size_waiting >= self._most_waiting:
                self._encode()

    def close(self) -> None:
        """Write what waits and close the file. This takes some milliseconds, so it may be called in a thread.

        Raises OSError.
        """
        try:
            self._encode()
            if self._file is None:
                content = gzip_ng.compress(b"".join(self._buffer), LEVEL)  # in less time than piece by piece
                self._path.write_bytes(content)
            else:
                self._flush(self._file)
        finally:
            self.discard()

    def discard(self) -> None:
        """Drop what waits; if a part of the file is already written, that part is kept."""
        self._waiting.clear()
        self._buffer.clear()
        self._remaining = 0
        if self._file is not None:
            self._file.close()

    def _encode(self) -> None:
        for item in self._waiting:
            pieces = self._pieces_of(item)
            size = sum(map(len, pieces))
            self._remaining -= size
            self._buffered_bytes += size
            self._buffer += pieces
            if self._remaining <= 0:
                self._buffer.append(self._cut)
                break
        self._waiting.clear()
        self._size_waiting = 0
        if self._buffered_bytes >= BUFFERED_BYTES:
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = gzip_ng.open(self._path, "wb", LEVEL)
            self._flush(self._file)

    def _flush(self, file: gzip_ng.GzipNGFile) -> None:
        file.write(b"".join(self._buffer))
        self._buffer.clear()
        self._buffered_bytes = 0


WIRE_LOG: Final = "wire.log.gz"

WIRE_LIMIT: Final = 64 * 1024 * 1024
"""The maximum size of a log in bytes before compression: about fifty times the size of a whole game."""

MIN_SHARED: Final = 256
"""The length in bytes from which a chunk is not repeated if the next chunk begins with it."""
_HEAD_SIZE: Final = 50  # bytes, about, of the line before a chunk


class Chunk(NamedTuple):
    """Bytes of a connection that were received or sent together."""

    seconds: float
    """When that was, since the log was begun."""
    what: str
    data: bytes | memoryview
    """Those that the previous chunk does not have."""
    shared: int
    """The number of those that it has: all of its own, with which this one begins."""


class WireLog(BoundedFile[Chunk]):
    """Collects the bytes of all connections of a game."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, WIRE_LIMIT, b"\n--- the rest was not kept\n", BUFFERED_BYTES)
        self._started = trio.current_time()
        self._previous = b""
        """The previous chunk; empty if it is too short for the next chunk to refer to it."""

    def write(self, what: str, data: bytes | memoryview) -> None:
        """Add a chunk, after a line with the time in seconds, what it is and its length. Raises OSError.

        A chunk that begins with the whole previous chunk, as the position for the second player does, is written
        without that prefix, and its line says so.
        `what` is the name of a program, followed by ``<`` for bytes from the server or ``>`` for bytes to the server.
        `data` must not change afterwards.
        """
        if self._remaining <= 0:
            return
        shared = 0
        if not isinstance(data, bytes):  # the rest of a chunk that was not sent at once
            self._previous = b""
        elif self._previous and data.startswith(self._previous):
            shared = len(self._previous)
            data = data[shared:]
        else:
            self._previous = data if len(data) >= MIN_SHARED else b""
        self._add(Chunk(trio.current_time() - self._started, what, data, shared), _HEAD_SIZE + len(data))

    def _pieces_of(self, item: Chunk) -> tuple[bytes | memoryview, ...]:
        note = f", the first {item.shared} as above" if item.shared else ""
        head = f"\n--- {item.seconds:.6f} {item.what} {item.shared + len(item.data)}{note}\n"
        return head.encode(), item.data


class LoggedWire:
    """A wire whose bytes are also written to a log; what is received is also passed to `note_received`."""

    def __init__(self, wire: Wire, log: WireLog, name: str, note_received: Callable[[bytes], None]) -> None:
        self._wire = wire
        self._log = log
        self._received = f"{name} >"
        self._sent = f"{name} <"
        self._note_received = note_received

    async def receive(self) -> tuple[bytes, Arrival]:
        data, arrival = await self._wire.receive()
        self._log.write(self._received, data)
        self._note_received(data)
        return data, arrival

    def try_send(self, data: bytes | memoryview) -> int:
        count = self._wire.try_send(data)
        if count:
            self._log.write(self._sent, data if count == len(data) else memoryview(data)[:count])
        return count

    async def send_some(self, data: memoryview) -> int:
        count = await self._wire.send_some(data)
        self._log.write(self._sent, data[:count])
        return count

    async def send_eof(self) -> None:
        await self._wire.send_eof()

    def has_unread_input(self) -> bool:
        return self._wire.has_unread_input()

    def is_peer_stalled(self) -> bool:
        return self._wire.is_peer_stalled()

    def has_left(self) -> bool:
        return self._wire.has_left()

    async def aclose(self) -> None:
        await self._wire.aclose()


SERVER_LOG: Final = "server.log.gz"

LOG_LIMIT: Final = 4 * 1024 * 1024
"""The maximum size of a game's log in bytes before compression."""


MOST_EVENTS: Final = 200
"""The number of events after which they are written as JSON; most games have fewer."""


class GameLog(BoundedFile[tuple[events.ServerEvent, float]]):
    """Collects the events of a game."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, LOG_LIMIT, b"(the rest was not kept)\n", MOST_EVENTS)

    def add(self, event: events.ServerEvent) -> None:
        """Add an event. Raises OSError."""
        self._add((event, time.time()), 1)

    def _pieces_of(self, item: tuple[events.ServerEvent, float]) -> tuple[bytes, ...]:
        return (f"{json_line(*item)}\n".encode("utf-8", "backslashreplace"),)


GAMES: Final = "games"
"""The folder of the games' folders, in the folder of a match."""
REPLAY: Final = "replay.xml.gz"
REPLAY_PAGE: Final = "replay.html"
"""A page that shows the replay in a browser. The command `match` makes it after the games; no other module needs it."""


class KeepPolicy(enum.Enum):
    """Which games' folders are kept; the values are those of the option `--keep`."""

    NONE = "none"
    FAILED = "failed"
    """Only those of games whose verdict is not "regular"."""
    ALL = "all"

    def keeps(self, record: GameRecord) -> bool:
        """Whether the folder of this game is kept."""
        return self is KeepPolicy.ALL or (self is KeepPolicy.FAILED and record.verdict != Verdict.REGULAR)


class GameLogs:
    """The wire log and the server's log of one game, which become files in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.wire = WireLog(folder / WIRE_LOG)
        self.log = GameLog(folder / SERVER_LOG)
        self.is_own = False
        """Whether the game is played at the match's own server; the events of other servers are not known."""

    def save(self) -> None:
        """Write both files. This takes some milliseconds, so it may be called in a thread. Raises OSError."""
        self.wire.close()
        if self.is_own:
            self.log.close()

    def discard(self) -> None:
        """Drop both without writing them."""
        self.wire.discard()
        self.log.discard()


def write_replay(folder: Path, content: bytes) -> str:
    """Write a compressed replay and return its file name. Equal replays give equal files. Raises OSError."""
    write_whole(folder / REPLAY, gzip_ng.compress(content, LEVEL, mtime=0))
    return REPLAY


def write_verdict(path: Path, record: GameRecord) -> None:
    """Write a record, one line for each field. Raises OSError."""
    fields = (f'  "{name}": {json_text(value)}' for name, value in record.to_json().items())
    write_whole(path, "{\n" + ",\n".join(fields) + "\n}\n")
