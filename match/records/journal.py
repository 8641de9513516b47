"""A match's folder: what was asked for, and a line for every finished game.

Invariants: a line is written and on the disk before the next thing happens, and never changed. What was torn off, by a
crash or because the disk was full, is cut away before the next line is written: a game either is in the journal, whole
and once, or has not been played. Two matches cannot write into one folder.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any, Final

from spielleiter.match.errors import JournalError
from spielleiter.match.records.game_record import GameRecord, RecordError
from spielleiter.server.record.file_lock import FolderLock, LockedError

JOURNAL: Final = "games.jsonl"
SETUP: Final = "match.json"


class Journal:
    """An open journal, whose whole lines take `length` bytes; `records` by the number of the game, as they finished."""

    def __init__(self, file: FileIO, records: dict[int, GameRecord], length: int) -> None:
        self._file = file
        self._length = length
        self.records = records

    def append(self, record: GameRecord) -> None:
        """Keep a finished game. Raises JournalError, also for one that is there already."""
        if record.game in self.records:
            raise JournalError(f"game {record.game} is in the journal already")
        line = json.dumps(record.to_json(), ensure_ascii=False) + "\n"
        data = line.encode("utf-8", "backslashreplace")  # an escape of JSON, too
        try:
            self._cut()
            self._write(data)
            os.fsync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):  # or before the next line, or when the journal is opened again
                self._cut()
            raise JournalError(f"{self._file.name}: cannot be written ({error.strerror or error})") from None
        self._length += len(data)
        self.records[record.game] = record

    def _cut(self) -> None:
        """Remove what is left of a line that could not be written to its end. Raises OSError."""
        if os.fstat(self._file.fileno()).st_size > self._length:
            self._file.truncate(self._length)

    def _write(self, data: bytes) -> None:
        """Raises OSError."""
        rest = memoryview(data)
        while rest:
            written = self._file.write(rest)
            if not written:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            rest = rest[written:]


@contextlib.contextmanager
def open_journal(folder: Path) -> Iterator[Journal]:
    """The journal of the match in `folder`, empty or begun; nobody else can open it meanwhile. Raises JournalError."""
    path = folder / JOURNAL
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder), path.open("ab+", buffering=0) as file:
            file.seek(0)
            records, length = _read(path, file.readall())
            file.truncate(length)
            yield Journal(file, records, length)
    except OSError as error:
        raise JournalError(f"{path}: cannot be opened ({error.strerror or error})") from None


def read_journal(folder: Path) -> tuple[GameRecord, ...]:
    """The finished games of the match in `folder`, by number. Raises JournalError."""
    path = folder / JOURNAL
    try:
        records, _ = _read(path, path.read_bytes())
    except OSError as error:
        raise JournalError(f"{path}: cannot be read ({error.strerror or error})") from None
    return tuple(records[game] for game in sorted(records))


def _read(path: Path, content: bytes) -> tuple[dict[int, GameRecord], int]:
    """The records and the number of bytes they take; a last line that is not whole is none."""
    records: dict[int, GameRecord] = {}
    length = content.rfind(b"\n") + 1
    for number, line in enumerate(content[:length].splitlines(), 1):
        try:
            record = GameRecord.from_json(json.loads(line))
        except (ValueError, RecordError) as error:
            raise JournalError(f"{path}:{number}: {error}") from None
        if record.game in records:
            raise JournalError(f"{path}:{number}: game {record.game} stands there twice")
        records[record.game] = record
    return records, length


def save_setup(folder: Path, setup: dict[str, Any]) -> None:
    """Write down what was asked for, whole or not at all. Raises JournalError if it is there already."""
    path = folder / SETUP
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists():
            raise JournalError(f"{folder}: holds a match already; go on with it (--resume) or choose another folder")
        temporary = path.with_name(SETUP + ".tmp")
        text = json.dumps(setup, indent=2, ensure_ascii=False) + "\n"
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")  # an escape of JSON, too
        temporary.replace(path)
    except OSError as error:
        raise JournalError(f"{path}: cannot be written ({error.strerror or error})") from None


def load_setup(folder: Path) -> dict[str, Any]:
    """What was asked for. Raises JournalError."""
    path = folder / SETUP
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise JournalError(f"{path}: cannot be read ({error.strerror or error}); is there a match?") from None
    except ValueError as error:
        raise JournalError(f"{path}: {error}") from None
    if not isinstance(value, dict):
        raise JournalError(f"{path}: not the setup of a match")
    return value


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Held as long as the process lives; a crash leaves no lock behind. Raises JournalError and OSError."""
    try:
        lock = FolderLock(folder)
    except LockedError:
        raise JournalError(f"{folder}: another match is being played in this folder") from None
    try:
        yield
    finally:
        lock.close()
