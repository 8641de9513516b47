"""A compressed file that is collected in memory while a game is played.

Invariants: what is held becomes bytes, and is compressed, when the file is closed or when there is much of it, so a
file that is discarded costs nothing but the memory. After `discard` nothing more is taken.
"""

from __future__ import annotations

import gzip
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

LEVEL: Final = 6
"""Of compression: half the time of the best, and a few more bytes."""
FAST_LEVEL: Final = 3
"""Half the time of the other one, and twice as many bytes."""

Item = TypeVar("Item")


class BufferedFile(ABC, Generic[Item]):
    """Holds items for the file `path`, which `close` completes; `limit` is what the file may take, in its own unit."""

    def __init__(self, path: Path, limit: int) -> None:
        self._path = path
        self._left = limit
        self._held: list[Item] = []
        self._file: gzip.GzipFile | None = None

    @abstractmethod
    def _encode(self) -> bytes:
        """What is held, as bytes of the file."""

    def close(self) -> None:
        """Write what is held, and end the file. Takes some milliseconds, so it may be called in a thread.

        Raises OSError.
        """
        try:
            self._flush()
        finally:
            self.discard()

    def discard(self) -> None:
        """Forget what is held; a file that was begun stays as it is."""
        self._held.clear()
        self._left = 0
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
            self._file = gzip.open(self._path, "wb", LEVEL)  # noqa: SIM115 - closed by `discard`
        self._file.write(data)
        self._held.clear()
