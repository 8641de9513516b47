"""The records of a match: one for each finished game, the journal that holds them, and the file with the setup.

A record is the only input of statistics and reports. Tuples of two are indexed by program, never by seat, except
`seats` itself.

Invariants: a record is flushed to the disk before `extend` returns, and never changed. An incomplete line, left by a
crash or a full disk, is removed before the next one is written: a game is in the journal completely and once, or it has
not been played. Two processes cannot write into the same folder.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any, Final

import msgspec

from spielleiter.common.errors import JournalError
from spielleiter.common.files import FolderLock, LockedError, write_all, write_whole
from spielleiter.common.json_text import json_text
from spielleiter.programs.sandbox.sandbox_run import Observations


class RecordError(Exception):
    """The value is not a record; the text says why."""


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One finished game. Programs are named by their index in the match, 0 or 1."""

    game: int
    """The number within the match, from 1."""
    pair: int
    """The number of the pair of games with the sides swapped, from 1."""
    game_type: str
    """The gameType on the wire."""
    seed: int
    """The seed of the starting position, the same for both games of a pair."""
    start: str | None
    """The start piece or the name of the opening; None if the game has neither."""
    seats: tuple[int, int]
    """By seat: the program in it, 0 or 1."""
    names: tuple[str, str]
    """By program: the name."""
    verdict: str
    """One of VERDICTS."""
    offender: int | None
    """The program at fault; None: neither."""
    reason: str
    """The explanation of the verdict, one line."""
    winner: int | None
    """The program that won; None: a draw, or the game does not count."""
    is_counted: bool
    """Whether the game has a result; false if the server or the machine failed, or the game was cancelled."""
    points: tuple[int | None, int | None]
    """By program: the points of its seat; None if there was no result."""
    causes: tuple[str, str]
    """By program: the cause in the result message (REGULAR, LEFT …); empty if there was no result."""
    plies: int
    """The moves that were made."""
    think_times: tuple[Sequence[float], Sequence[float]]
    """By program: the seconds that each answer took, in order.

    They are kept as arrays, since a match keeps all its records, and these are more than half of their size.
    """
    cpu_seconds: tuple[float, float]
    """By program: processor time in seconds (user and system) of the process and of the children it waited for."""
    wall_seconds: float
    """How long the game took."""
    started_at: str
    """ISO 8601 with time zone."""
    folder: str
    """The folder of the game, relative to that of the match; empty if it was not kept."""
    replay: str | None
    """The file name of the replay in that folder; None if there is none."""
    exit_codes: tuple[int | None, int | None] = (None, None)
    """By program: the exit code, negative for a signal; None if it did not end by itself or never started."""
    remarks: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """By program: notable behaviour that did not change the result, such as refused requests."""
    program_starts: tuple[float | None, float | None] = (None, None)
    """By program: the seconds from `started_at` to the start of its process, from which the times in its outputs count.
    Negative for a process that had been started for an earlier game; None if there was no process."""

    observations: tuple[Observations | None, Observations | None] = (None, None)
    """By program: what was observed of it in its sandbox; None if it had none."""
    machine: str = ""
    """The machine of a cluster that the game was played on; empty: the one that the match was started on."""
    attempts: tuple[Mapping[str, int], Mapping[str, int]] = field(default_factory=lambda: ({}, {}))
    """By program: what it tried although it is not allowed, one of `Attempt`, and how often."""
    figures: tuple[Mapping[str, int], Mapping[str, int]] = field(default_factory=lambda: ({}, {}))
    """By program: the parts of its score as the game names them, in their order; the first one is `points`."""
    foreign_connections: int = 0
    """Connections to the programs' ports that were refused, since no program was seen to have made them."""

    def __post_init__(self) -> None:
        """Make arrays of the think times."""
        object.__setattr__(self, "think_times", tuple(array("d", times) for times in self.think_times))

    @property
    def has_begun(self) -> bool:
        """Whether both programs had taken their seats, so that a move was asked for."""
        return self.plies > 0 or any(self.causes) or any(map(len, self.think_times))

    @property
    def is_draw(self) -> bool:
        """Whether the game counts and neither program won."""
        return self.is_counted and self.winner is None

    def to_json(self) -> dict[str, Any]:
        """A JSON object whose keys are the names of the fields."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    @classmethod
    def from_json(cls, value: Any) -> GameRecord:
        """The record that `to_json` wrote as `value`; unknown keys are ignored. Raises RecordError."""
        try:
            return msgspec.convert(value, cls)
        except msgspec.ValidationError as error:
            raise RecordError(f"not the record of a game: {error}") from None


_BY_PROGRAM: Final = (
    "names",
    "points",
    "causes",
    "think_times",
    "cpu_seconds",
    "exit_codes",
    "remarks",
    "program_starts",
    "observations",
    "attempts",
    "figures",
)


def mirrored(record: GameRecord) -> GameRecord:
    """The same game as it is recorded if the match has its two programs in the other order."""
    swapped: dict[str, Any] = {name: getattr(record, name)[::-1] for name in _BY_PROGRAM}
    swapped |= {
        name: None if (program := getattr(record, name)) is None else 1 - program for name in ("offender", "winner")
    }
    return dataclasses.replace(record, seats=(1 - record.seats[0], 1 - record.seats[1]), **swapped)


def _plain(value: Any) -> Any:
    if isinstance(value, Observations):
        return value.to_json()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, array):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


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
            with contextlib.suppress(OSError):  # if this fails, it is done by the next `extend` or `open_journal`
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
    lines = "".join(f"{json_text(record.to_json())}\n" for record in records)
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
            stack.enter_context(contextlib.closing(FolderLock(folder)))  # a crash leaves no lock behind
            file = stack.enter_context(path.open("ab+", buffering=0))
            file.seek(0)
            content = file.readall()
            records, length = _read(path, content)
            file.truncate(length)
        except LockedError:
            raise JournalError(f"{folder}: another match is being played in this folder") from None
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


def save_setup(folder: Path, setup: dict[str, Any], *, is_new: bool = True) -> None:
    """Write the setup of a match, atomically.

    Unless the match `is_new`, its journal must be open, so that nobody else plays in the folder. Raises JournalError if
    there should be no match yet, but is one, or if the file cannot be written.
    """
    path = folder / SETUP
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if is_new and path.exists():
            raise JournalError(f"{folder}: holds a match already; resume it (--resume) or choose another folder")
        write_whole(path, json.dumps(setup, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise JournalError(f"{path}: cannot be written ({error.strerror or error})") from None


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
