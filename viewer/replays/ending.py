"""How a game ended, in words, in German and in English.

Invariants: a sentence names a player by its name or, without one, by its number. Names are data of strangers: they are
shortened here, and escaped by whoever shows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from spielleiter.game.api import Move, Seat, State
from spielleiter.protocol.messages import Cause, ErrorMessage, Memento, MoveData, Result, RoomData
from spielleiter.viewer.positions.describe import describe_illegal_move
from spielleiter.viewer.positions.view import Json, Words

LONGEST_NAME: Final = 100
_LONGEST_REASON: Final = 1000

_FAULTS: Final[Mapping[Cause, Words]] = {
    Cause.LEFT: {"de": "{name} hat das Spiel verlassen", "en": "{name} left the game"},
    Cause.RULE_VIOLATION: {"de": "{name} hat gegen eine Regel verstoßen", "en": "{name} broke a rule"},
    Cause.PROCESS_VIOLATION: {
        "de": "{name} hat einen Zug geschickt, ohne an der Reihe zu sein",
        "en": "{name} sent a move out of turn",
    },
    Cause.SOFT_TIMEOUT: {
        "de": "{name} hat für einen Zug zu lange gebraucht",
        "en": "{name} took too long for a move",
    },
    Cause.HARD_TIMEOUT: {"de": "{name} hat keinen Zug geschickt", "en": "{name} sent no move in time"},
    Cause.UNKNOWN: {"de": "{name} hat das Spiel abgebrochen", "en": "{name} broke off the game"},
}
_WINS: Final[Words] = {"de": "{name} gewinnt", "en": "{name} wins"}
_DRAW: Final[Words] = {"de": "Unentschieden", "en": "A draw"}
_NOBODY: Final[Words] = {"de": "Niemand gewinnt", "en": "Nobody wins"}
_PLAYER: Final[Words] = {"de": "Spieler {number}", "en": "Player {number}"}
_POINTS: Final[Words] = {"de": "{first} : {second} Punkte", "en": "{first} : {second} points"}
_ON_BOARD: Final[Words] = {"de": "; auf dem Brett {first} : {second}", "en": "; {first} : {second} on the board"}
"""Added where the result has other points than the last position: in some seasons a player at fault gets none."""


def shown_name(name: str) -> str:
    """Return a player's name, cut to a length that fits on a page."""
    name = name.strip()
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"


def describe_end(record: Sequence[RoomData]) -> Json | None:
    """Return the end of a game, from the packets of its room; None if they contain no result or no position."""
    result = next((data for data in reversed(record) if isinstance(data, Result)), None)
    last = next((data for data in reversed(record) if isinstance(data, Memento)), None)
    return None if result is None or last is None else _end(result, last.state, names_in(record), record)


def names_in(record: Sequence[RoomData]) -> tuple[str, str]:
    """Return the players' names: those in the last position or, if it has none, in the result."""
    for data in reversed(record):
        if isinstance(data, Memento | Result) and any(data.names):
            return data.names
    return "", ""


def _end(result: Result, state: State, names: Sequence[str], record: Sequence[RoomData]) -> Json:
    faults = [seat for seat in (0, 1) if result.scores[seat].cause is not Cause.REGULAR]
    cause = result.scores[faults[0]].cause if faults else Cause.REGULAR
    reason = next((score.reason for score in (result.scores[seat] for seat in faults or (0, 1)) if score.reason), "")
    return {
        "cause": cause.value,
        "winner": result.winners[0] if len(result.winners) == 1 else None,
        "isDraw": len(result.winners) > 1,
        "points": result_points(result, state),
        "offender": faults[0] if len(faults) == 1 else None,
        "reason": reason[:_LONGEST_REASON],
        "words": {language: _sentence(language, result, faults, state, names) for language in ("de", "en")},
        "illegal": _illegal_move(state, record) if cause is Cause.RULE_VIOLATION else None,
    }


def result_points(result: Result, state: State) -> list[int]:
    """Return the points by seat as the result has them; those of the last position `state` if it has none."""
    return [
        score.parts[1] if len(score.parts) > 1 else state.points(seat)[0] for seat, score in enumerate(result.scores)
    ]


def _sentence(language: str, result: Result, faults: Sequence[Seat], state: State, names: Sequence[str]) -> str:
    def name(seat: Seat) -> str:
        return shown_name(names[seat]) or _PLAYER[language].format(number=seat + 1)

    parts = [_FAULTS[result.scores[seat].cause][language].replace("{name}", name(seat)) for seat in faults]
    match result.winners:
        case ():
            parts.append(_NOBODY[language])
        case (winner,):
            parts.append(_WINS[language].replace("{name}", name(winner)))
        case _:
            parts.append(_DRAW[language])
    final, on_board = result_points(result, state), [state.points(seat)[0] for seat in (0, 1)]
    points = _POINTS[language].format(first=final[0], second=final[1])
    if final != on_board:
        points += _ON_BOARD[language].format(first=on_board[0], second=on_board[1])
    return f"{'; '.join(parts)} ({points})."


def _illegal_move(state: State, record: Sequence[RoomData]) -> Json | None:
    """Return the move that ended the game, as far as the record has it; the last error is the one about it."""
    for data in reversed(record):
        if isinstance(data, ErrorMessage):
            move: Move | None = data.original.move if isinstance(data.original, MoveData) else None
            return None if move is None else describe_illegal_move(state, move, data.message[:_LONGEST_REASON])
    return None
