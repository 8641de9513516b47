"""What is kept of one game: one line of the journal, and all that statistics and reports know.

Law: a record says what happened and judges nothing further. It is plain data: `from_json(record.to_json())` is the
record, and what `to_json` gives is made of nothing but what JSON has. Pairs are in the order of the programs, never
of the seats, but for `seats` itself.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Final, TypeVar

_T = TypeVar("_T")


class Verdict:
    """The kinds of verdict; the values are what journals and reports hold."""

    REGULAR: Final = "regular"
    """Played to the end that the rules have."""
    NO_START: Final = "does not start"
    """There is no such program, or it ended before it connected."""
    NEVER_JOINS: Final = "never joins"
    """It runs, but has not taken its seat in time."""
    NONSENSE: Final = "speaks nonsense"
    """What it sent before the game began is not the protocol."""
    DIES: Final = "dies"
    """It ended during the game, by itself and without an error's exit code."""
    CRASH: Final = "crash"
    """It ended during the game, by a signal or with an error's exit code."""
    LEAVES: Final = "leaves"
    """It ended its connection during the game and runs on."""
    TAMPERS: Final = "tampers with its keeper"
    """It stopped the process that watches over it again and again, and was ended."""
    TIMEOUT: Final = "timeout"
    """It answered after the soft limit."""
    HANGS: Final = "hangs"
    """It did not answer within the hard limit."""
    ILLEGAL_MOVE: Final = "illegal move"
    """The rules refuse its move."""
    BAD_MESSAGE: Final = "bad message"
    """What it sent during the game cannot be read as a move, came out of turn, or was refused."""
    NEVER_ENDS: Final = "does not end"
    """The game was played to its end and counts, but the program ran on after the time it had to end itself."""
    LEFTOVERS: Final = "leaves processes behind"
    """The game was played to its end and counts, but what the program had started outlived it."""
    OVERLOAD: Final = "overloaded machine"
    """It was too slow only because it had to wait for a processor; nobody's loss."""
    CANCELLED: Final = "cancelled"
    """Somebody called the game off."""
    SERVER_FAILED: Final = "server failed"
    """The server or this machine failed; nobody's loss."""


VERDICTS: Final = tuple(value for name, value in vars(Verdict).items() if name.isupper())
"""Every kind of verdict."""

CRASH_VERDICTS: Final = frozenset(
    {Verdict.NO_START, Verdict.NEVER_JOINS, Verdict.DIES, Verdict.CRASH, Verdict.LEAVES, Verdict.TAMPERS}
)
TIMEOUT_VERDICTS: Final = frozenset({Verdict.TIMEOUT, Verdict.HANGS})
ILLEGAL_VERDICTS: Final = frozenset({Verdict.ILLEGAL_MOVE})
BAD_MESSAGE_VERDICTS: Final = frozenset({Verdict.NONSENSE, Verdict.BAD_MESSAGE})
"""Columns of the table of faults; together every verdict that costs a program the game."""
LEFTOVER_VERDICTS: Final = frozenset({Verdict.NEVER_ENDS, Verdict.LEFTOVERS})
"""The last column: faults after the game, which costs nothing."""
UNCOUNTED_VERDICTS: Final = frozenset({Verdict.OVERLOAD, Verdict.CANCELLED, Verdict.SERVER_FAILED})
"""No results."""

FAILED_AS_WELL: Final = "failed as well: "
"""How the remark begins on a program that failed before the game began, where its opponent is the offender."""


class RecordError(Exception):
    """What was read is not a record; the text says why."""


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One finished game. A program's index is 0 or 1: its place among the match's two programs."""

    game: int
    """Number within the match, from 1."""
    pair: int
    """Number of the pair of games with the sides swapped, from 1."""
    game_type: str
    seed: int
    """What the server drew the start from, the same for both games of a pair."""
    start: str | None
    """The start piece or the opening's name; None where the game has neither."""
    seats: tuple[int, int]
    """By seat: the program that sat there."""
    names: tuple[str, str]
    """By program: its name."""
    verdict: str
    """One of VERDICTS."""
    offender: int | None
    """The program whose fault the verdict is; None where it is nobody's."""
    reason: str
    """The verdict in words, one line."""
    winner: int | None
    """The program that won; None: a draw or undecided."""
    is_counted: bool
    """False if server or machine failed, or the game was called off: not a result."""
    points: tuple[int | None, int | None]
    """By program: the points of its seat; None where there was no result."""
    causes: tuple[str, str]
    """By program: the wire's cause (REGULAR, LEFT …); empty where there was no result."""
    plies: int
    think_times: tuple[tuple[float, ...], tuple[float, ...]]
    """By program: seconds of each answered request, in order."""
    cpu_seconds: tuple[float, float]
    """By program: processor time (user and system) of the process and of those it waited for."""
    wall_seconds: float
    started_at: str
    """ISO 8601 with zone."""
    folder: str
    """The game's folder, relative to the match's; empty if it was not kept."""
    replay: str | None
    """The replay's file name in that folder; None where there is none."""
    exit_codes: tuple[int | None, int | None] = (None, None)
    """By program: how its process ended by itself, negative for a signal; None if it was ended or never started."""
    remarks: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """By program: what else it did that is worth knowing and changed nothing, such as refused attempts."""

    @property
    def is_draw(self) -> bool:
        """Decided, and for nobody."""
        return self.is_counted and self.winner is None

    def to_json(self) -> dict[str, Any]:
        """A JSON object with the fields' names as keys."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    @classmethod
    def from_json(cls, value: Any) -> GameRecord:
        """The record that `value` is. Raises RecordError; keys it does not know are ignored."""
        try:
            return cls(
                game=_is(value["game"], int),
                pair=_is(value["pair"], int),
                game_type=_is(value["game_type"], str),
                seed=_is(value["seed"], int),
                start=_optional(value["start"], str),
                seats=_two(value["seats"], int),
                names=_two(value["names"], str),
                verdict=_is(value["verdict"], str),
                offender=_optional(value["offender"], int),
                reason=_is(value["reason"], str),
                winner=_optional(value["winner"], int),
                is_counted=_is(value["is_counted"], bool),
                points=_two_optional(value["points"]),
                causes=_two(value["causes"], str),
                plies=_is(value["plies"], int),
                think_times=_times(value["think_times"]),
                cpu_seconds=_two_floats(value["cpu_seconds"]),
                wall_seconds=_float(value["wall_seconds"]),
                started_at=_is(value["started_at"], str),
                folder=_is(value["folder"], str),
                replay=_optional(value["replay"], str),
                exit_codes=_two_optional(value.get("exit_codes", [None, None])),
                remarks=_remarks(value.get("remarks", [[], []])),
            )
        except KeyError as error:
            raise RecordError(f"a game's record without {error.args[0]}") from None
        except (TypeError, ValueError) as error:
            raise RecordError(f"not a game's record: {error}") from None


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _is(value: Any, kind: type[_T]) -> _T:
    # True is an int to Python, and never one that is meant
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{value!r} where {kind.__name__} belongs")
    return value


def _optional(value: Any, kind: type[_T]) -> _T | None:
    return None if value is None else _is(value, kind)


def _float(value: Any) -> float:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else _is(value, float)


def _two(value: Any, kind: type[_T]) -> tuple[_T, _T]:
    first, second = _is(value, list)
    return _is(first, kind), _is(second, kind)


def _two_optional(value: Any) -> tuple[int | None, int | None]:
    first, second = _is(value, list)
    return _optional(first, int), _optional(second, int)


def _two_floats(value: Any) -> tuple[float, float]:
    first, second = _is(value, list)
    return _float(first), _float(second)


def _remarks(value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    first, second = _is(value, list)
    return tuple(_is(text, str) for text in _is(first, list)), tuple(_is(text, str) for text in _is(second, list))


def _times(value: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    first, second = _is(value, list)
    return tuple(_float(time) for time in _is(first, list)), tuple(_float(time) for time in _is(second, list))
