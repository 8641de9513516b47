"""A match's folder: what was asked for, and a line for every finished game.

Law: a line is written and on the disk before the next thing happens, and never changed. Whatever was torn off by a
crash is cut away when the journal is opened again, so that a game either is in it, whole and once, or has not been
played. Two matches cannot write into one folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from match.errors import JournalError
from match.records import GameRecord, RecordError

JOURNAL: Final = "games.jsonl"
SETUP: Final = "match.json"
_LOCK: Final = ".lock"


class Journal:
    """An open journal; `records` by the number of the game, in the order of finishing."""

    def __init__(self, file: BinaryIO, records: dict[int, GameRecord]) -> None:
        self._file = file
        self.records = records

    def append(self, record: GameRecord) -> None:
        """Keep a finished game. Raises JournalError, also for one that is there already."""
        if record.game in self.records:
            raise JournalError(f"game {record.game} is in the journal already")
        line = json.dumps(record.to_json(), ensure_ascii=False) + "\n"
        try:
            self._file.write(line.encode("utf-8", "backslashreplace"))  # an escape of JSON, too
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise JournalError(f"{self._file.name}: cannot be written ({error.strerror or error})") from None
        self.records[record.game] = record


@contextlib.contextmanager
def open_journal(folder: Path) -> Iterator[Journal]:
    """The journal of the match in `folder`, empty or begun; nobody else can open it meanwhile. Raises JournalError."""
    path = folder / JOURNAL
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder / _LOCK), path.open("ab+") as file:
            file.seek(0)
            records, length = _read(path, file.read())
            file.truncate(length)
            yield Journal(file, records)
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
def _locked(path: Path) -> Iterator[None]:
    """Held as long as the process lives; a crash leaves no lock behind."""
    with path.open("w", encoding="utf-8") as file:
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise JournalError(f"{path.parent}: another match is being played in this folder") from None
        yield
