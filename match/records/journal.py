"""The journal of a match, with a line for each finished game, and the file with its setup.

Invariants: a record is flushed to the disk before `append` returns, and never changed. An incomplete line, left by a
crash or a full disk, is removed before the next one is written: a game is in the journal completely and once, or it has
not been played. Two processes cannot write into the same folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import Any, Final

from spielleiter.common.errors import JournalError
from spielleiter.common.files import FolderLock, LockedError, write_all, write_whole
from spielleiter.match.records.game_record import GameRecord, RecordError

JOURNAL: Final = "games.jsonl"
SETUP: Final = "match.json"


class Journal:
    """An open journal. `records` holds the finished games by number, in the order of finishing.

    `content` is that of the complete lines of `file`.
    """

    def __init__(self, file: FileIO, records: dict[int, GameRecord], content: bytes) -> None:
        self._file = file
        self._length = len(content)
        self._digest = hashlib.sha256(content)
        self.records = records
        self.was_restored = False
        """Whether another program had changed the file, which was then written anew from `records`."""

    def append(self, record: GameRecord) -> None:
        """Add a finished game. Raises JournalError if it cannot be written, or is in the journal already."""
        self.extend([record])

    def extend(self, records: Sequence[GameRecord]) -> None:
        """Add the finished games of a pair in one write; they are in the journal together, unless a crash cuts it.

        Raises JournalError if they cannot be written, or one is in the journal already.
        """
        for record in records:
            if record.game in self.records:
                raise JournalError(f"game {record.game} is in the journal already")
        data = _encode(records)
        try:
            self._cut()
            write_all(self._file.write, data)
            os.fsync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):  # if this fails, it is done by the next `append` or `open_journal`
                self._cut()
            raise JournalError(f"{self._file.name}: cannot be written ({error.strerror or error})") from None
        self._length += len(data)
        self._digest.update(data)
        self.records.update((record.game, record) for record in records)

    def _cut(self) -> None:
        """Remove an incomplete line. Raises OSError."""
        if os.fstat(self._file.fileno()).st_size > self._length:
            self._file.truncate(self._length)

    def restore(self) -> None:
        """Write the file anew if anybody else has changed it: a program of the same user can. Raises JournalError."""
        path = Path(self._file.name)
        try:
            content = path.read_bytes() if path.exists() else b""
            is_own = hashlib.sha256(content[: self._length]).digest() == self._digest.digest()
            if is_own and b"\n" not in content[self._length :]:
                return  # what may follow is the incomplete line of a full disk
            write_whole(path, _encode(self.records.values()))
        except OSError as error:
            raise JournalError(f"{path}: cannot be written ({error.strerror or error})") from None
        self.was_restored = True


def _encode(records: Iterable[GameRecord]) -> bytes:
    lines = "".join(json.dumps(record.to_json(), ensure_ascii=False) + "\n" for record in records)
    return lines.encode("utf-8", "backslashreplace")  # lone surrogates become JSON escapes


@contextlib.contextmanager
def open_journal(folder: Path) -> Iterator[Journal]:
    """Open the journal of the match in `folder`; it is created if there is none.

    While it is open, no other process can open it. When it is closed, what another program has changed in it is undone.
    Raises JournalError if it cannot be opened, or contains anything but records.
    """
    path = folder / JOURNAL
    with contextlib.ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(_locked(folder))
            file = stack.enter_context(path.open("ab+", buffering=0))
            file.seek(0)
            content = file.readall()
            records, length = _read(path, content)
            file.truncate(length)
        except OSError as error:
            raise JournalError(f"{path}: cannot be opened ({error.strerror or error})") from None
        journal = Journal(file, records, content[:length])
        try:
            yield journal
        finally:
            file.close()
            journal.restore()


def read_journal(folder: Path) -> tuple[GameRecord, ...]:
    """The finished games of the match in `folder`, sorted by number. Raises JournalError if they cannot be read."""
    path = folder / JOURNAL
    try:
        records, _ = _read(path, path.read_bytes())
    except OSError as error:
        raise JournalError(f"{path}: cannot be read ({error.strerror or error})") from None
    return tuple(records[game] for game in sorted(records))


def _read(path: Path, content: bytes) -> tuple[dict[int, GameRecord], int]:
    """The records and the number of bytes they take; an incomplete last line is ignored."""
    records: dict[int, GameRecord] = {}
    length = content.rfind(b"\n") + 1
    for number, line in enumerate(content[:length].splitlines(), 1):
        try:
            record = GameRecord.from_json(json.loads(line))
        except (ValueError, RecordError, RecursionError) as error:
            raise JournalError(f"{path}:{number}: {error}") from None
        if record.game in records:
            raise JournalError(f"{path}:{number}: game {record.game} is there twice")
        records[record.game] = record
    return records, length


def save_setup(folder: Path, setup: dict[str, Any]) -> None:
    """Write the setup of a match, atomically. Raises JournalError if there is one already, or it cannot be written."""
    path = folder / SETUP
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists():
            raise JournalError(f"{folder}: holds a match already; resume it (--resume) or choose another folder")
    except OSError as error:
        raise JournalError(f"{path}: cannot be written ({error.strerror or error})") from None
    _write_setup(path, setup)


def _write_setup(path: Path, setup: dict[str, Any]) -> None:
    try:
        write_whole(path, json.dumps(setup, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise JournalError(f"{path}: cannot be written ({error.strerror or error})") from None


def extend_setup(folder: Path, setup: dict[str, Any]) -> None:
    """Replace the setup of the match in `folder` by one with more games, atomically. Raises JournalError.

    The journal of the match must be open, so that nobody plays in the folder.
    """
    _write_setup(folder / SETUP, setup)


def load_setup(folder: Path) -> dict[str, Any]:
    """The setup of the match in `folder`, as JSON. Raises JournalError if there is none, or it cannot be read."""
    path = folder / SETUP
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise JournalError(f"{path}: cannot be read ({error.strerror or error}); is there a match?") from None
    except (ValueError, RecursionError) as error:
        raise JournalError(f"{path}: {error}") from None
    if not isinstance(value, dict):
        raise JournalError(f"{path}: not the setup of a match")
    return value


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder. A crash leaves no lock behind. Raises JournalError if it is locked, and OSError."""
    try:
        lock = FolderLock(folder)
    except LockedError:
        raise JournalError(f"{folder}: another match is being played in this folder") from None
    try:
        yield
    finally:
        lock.close()
