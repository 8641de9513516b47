"""A compressed file whose content is buffered in memory while a game is played.

Invariants: buffered items are encoded and compressed only when the file is closed or the buffer is large, so a file
that is discarded costs only memory. After `discard`, nothing more is added.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from zlib_ng import gzip_ng

LEVEL: Final = 6
"""The compression level for most files: half the time of the best level, and two thirds more bytes."""
FAST_LEVEL: Final = 4
"""A compression level with two thirds of the time of LEVEL and a fifth more bytes."""

Item = TypeVar("Item")


class BufferedFile(ABC, Generic[Item]):
    """Buffers items for the file `path`, which `close` completes. `limit` is its maximum size before compression."""

    def __init__(self, path: Path, limit: int) -> None:
        self._path = path
        self._remaining = limit
        self._buffer: list[Item] = []
        self._file: gzip_ng.GzipNGFile | None = None

    @abstractmethod
    def _encode(self) -> bytes:
        """The buffered items as bytes of the file."""

    def close(self) -> None:
        """Write the buffered items and close the file. This takes some milliseconds, so it may be called in a thread.

        Raises OSError.
        """
        try:
            self._flush()
        finally:
            self.discard()

    def discard(self) -> None:
        """Drop the buffered items; if a part of the file is already written, that part is kept."""
        self._buffer.clear()
        self._remaining = 0
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def _flush(self) -> None:
        data = self._encode()
        if self._file is None:
            self._file = gzip_ng.open(self._path, "wb", LEVEL)
        self._file.write(data)
        self._buffer.clear()
