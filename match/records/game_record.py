"""The record of one finished game: one line of the journal, and the only input of statistics and reports.

Invariants: a record is plain data. `from_json(record.to_json())` equals the record, and `to_json` returns values that
can be encoded as JSON. Tuples of two are indexed by program, never by seat, except `seats` itself.
"""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from spielleiter.programs.sandbox.observations import Observations

_T = TypeVar("_T")


class Verdict:
    """The kinds of verdicts; the values are the texts in journals and reports."""

    REGULAR: Final = "regular"
    """The game was played to its end by the rules."""
    NO_START: Final = "does not start"
    """The program does not exist, or it ended before it connected."""
    NEVER_JOINS: Final = "never joins"
    """It ran, but did not take its seat in time."""
    NONSENSE: Final = "speaks nonsense"
    """What it sent before the game began does not follow the protocol."""
    DIES: Final = "dies"
    """It ended during the game by itself, with exit code 0."""
    CRASH: Final = "crash"
    """It ended during the game by a signal, or with an exit code other than 0."""
    LEAVES: Final = "leaves"
    """It closed its connection during the game and kept running."""
    TAMPERS: Final = "tampers with its keeper"
    """It repeatedly stopped the process that keeps track of its processes, and was ended."""
    TIMEOUT: Final = "timeout"
    """It answered after the soft limit."""
    HANGS: Final = "hangs"
    """It did not answer within the hard limit."""
    ILLEGAL_MOVE: Final = "illegal move"
    """The rules refuse its move."""
    BAD_MESSAGE: Final = "bad message"
    """What it sent during the game was not a valid move message, came out of turn, or was refused."""
    NEVER_ENDS: Final = "does not end"
    """The game was played to its end and counts, but the program did not exit in time."""
    LEFTOVERS: Final = "leaves processes behind"
    """The game was played to its end and counts, but processes that the program had started outlived it."""
    OVERLOAD: Final = "overloaded machine"
    """A program was too slow only because it had to wait for a processor; the game does not count."""
    CONTESTED: Final = "contested seat"
    """Nobody can tell which program was in a seat, or who kept one from it; the game does not count."""
    CANCELLED: Final = "cancelled"
    """The game was cancelled; it does not count."""
    SERVER_FAILED: Final = "server failed"
    """The server or this machine failed; the game does not count."""


class Attempt:
    """What a program must not try, in the words of the reports; the match refuses it, and the result stays as it is."""

    ADMINISTRATE: Final = "asked for the rights of an administrator"
    """It sent a password, or a request that only administrators may send."""
    SEAT: Final = "asked for another seat than its own"
    """It named a reservation code that is not its own, or a room."""
    PORT: Final = "connected to the port of another program"
    """On that port is only the other program's seat."""


VERDICTS: Final = tuple(value for name, value in vars(Verdict).items() if name.isupper())
"""All kinds of verdicts."""

CRASH_VERDICTS: Final = frozenset(
    {Verdict.NO_START, Verdict.NEVER_JOINS, Verdict.DIES, Verdict.CRASH, Verdict.LEAVES, Verdict.TAMPERS}
)
TIMEOUT_VERDICTS: Final = frozenset({Verdict.TIMEOUT, Verdict.HANGS})
ILLEGAL_VERDICTS: Final = frozenset({Verdict.ILLEGAL_MOVE})
BAD_MESSAGE_VERDICTS: Final = frozenset({Verdict.NONSENSE, Verdict.BAD_MESSAGE})
"""The columns of the table of faults; together they are all verdicts that cost a program the game."""
LEFTOVER_VERDICTS: Final = frozenset({Verdict.NEVER_ENDS, Verdict.LEFTOVERS})
"""The last column: faults after the end of the game, which do not change its result."""
UNCOUNTED_VERDICTS: Final = frozenset({Verdict.OVERLOAD, Verdict.CONTESTED, Verdict.CANCELLED, Verdict.SERVER_FAILED})
"""The verdicts on games that do not count, because of the machine or a cancellation."""

FAILED_AS_WELL: Final = "failed as well: "
"""The beginning of the remark on a program that failed before the game began, if its opponent is the offender."""


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
    seed: int
    """The seed of the starting position, the same for both games of a pair."""
    start: str | None
    """The start piece or the name of the opening; None if the game has neither."""
    seats: tuple[int, int]
    """By seat: the program in it."""
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
    think_times: tuple[Sequence[float], Sequence[float]]
    """By program: the seconds that each answer took, in order.

    They are kept as arrays, since a match keeps all its records, and these are more than half of their size.
    """
    cpu_seconds: tuple[float, float]
    """By program: processor time in seconds (user and system) of the process and of the children it waited for."""
    wall_seconds: float
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
            return cls(
                game=_checked(value["game"], int),
                pair=_checked(value["pair"], int),
                game_type=_checked(value["game_type"], str),
                seed=_checked(value["seed"], int),
                start=_optional(value["start"], str),
                seats=_pair_of(value["seats"], int),
                names=_pair_of(value["names"], str),
                verdict=_checked(value["verdict"], str),
                offender=_optional(value["offender"], int),
                reason=_checked(value["reason"], str),
                winner=_optional(value["winner"], int),
                is_counted=_checked(value["is_counted"], bool),
                points=_pair_of_optional(value["points"]),
                causes=_pair_of(value["causes"], str),
                plies=_checked(value["plies"], int),
                think_times=_pair_of_times(value["think_times"]),
                cpu_seconds=_pair_of_floats(value["cpu_seconds"]),
                wall_seconds=_float(value["wall_seconds"]),
                started_at=_checked(value["started_at"], str),
                folder=_checked(value["folder"], str),
                replay=_optional(value["replay"], str),
                exit_codes=_pair_of_optional(value.get("exit_codes", [None, None])),
                remarks=_pair_of_texts(value.get("remarks", [[], []])),
                observations=_pair_of_observations(value.get("observations", [None, None])),
                program_starts=_pair_of_optional_floats(value.get("program_starts", [None, None])),
                machine=_checked(value.get("machine", ""), str),
                attempts=_pair_of_counts(value.get("attempts", [{}, {}])),
                foreign_connections=_checked(value.get("foreign_connections", 0), int),
            )
        except KeyError as error:
            raise RecordError(f"not the record of a game: {error.args[0]} is missing") from None
        except (TypeError, ValueError) as error:
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
    return [_plain(item) for item in value] if isinstance(value, (tuple, array)) else value


def _checked(value: Any, kind: type[_T]) -> _T:
    # bool is a subclass of int, but is not accepted as a number
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"expected {kind.__name__}, found {value!r}")
    return value


def _optional(value: Any, kind: type[_T]) -> _T | None:
    return None if value is None else _checked(value, kind)


def _float(value: Any) -> float:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else _checked(value, float)


def _pair_of(value: Any, kind: type[_T]) -> tuple[_T, _T]:
    first, second = _checked(value, list)
    return _checked(first, kind), _checked(second, kind)


def _pair_of_optional(value: Any) -> tuple[int | None, int | None]:
    first, second = _checked(value, list)
    return _optional(first, int), _optional(second, int)


def _pair_of_observations(value: Any) -> tuple[Observations | None, Observations | None]:
    first, second = (None if item is None else Observations.from_json(_checked(item, dict)) for item in value)
    return first, second


def _pair_of_floats(value: Any) -> tuple[float, float]:
    first, second = _checked(value, list)
    return _float(first), _float(second)


def _pair_of_optional_floats(value: Any) -> tuple[float | None, float | None]:
    first, second = _checked(value, list)
    return None if first is None else _float(first), None if second is None else _float(second)


def _pair_of_texts(value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    first, second = _checked(value, list)
    return tuple(_checked(text, str) for text in _checked(first, list)), tuple(
        _checked(text, str) for text in _checked(second, list)
    )


def _pair_of_counts(value: Any) -> tuple[dict[str, int], dict[str, int]]:
    first, second = (
        {_checked(kind, str): _checked(count, int) for kind, count in _checked(each, dict).items()}
        for each in _checked(value, list)
    )
    return first, second


def _pair_of_times(value: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    first, second = _checked(value, list)
    return tuple(_float(time) for time in _checked(first, list)), tuple(_float(time) for time in _checked(second, list))
