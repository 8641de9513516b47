"""How a game ended, in data and in words, from the record of its room.

Invariants: what a player or a release wrote stays a text; nothing of it is interpreted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from spielleiter.protocol.messages import Cause, ErrorMessage, Memento, MoveData, Result, RoomData
from spielleiter.viewer.positions.describe import describe_illegal_move

_WORDS: Final[Mapping[Cause, tuple[str, str]]] = MappingProxyType(
    {
        Cause.LEFT: ("{name} hat das Spiel verlassen.", "{name} left the game."),
        Cause.RULE_VIOLATION: ("{name} hat gegen die Regeln verstoßen.", "{name} broke the rules."),
        Cause.PROCESS_VIOLATION: (
            "{name} hat einen Zug geschickt, der nicht verlangt war.",
            "{name} sent a move that was not requested.",
        ),
        Cause.SOFT_TIMEOUT: ("{name} hat zu lange für einen Zug gebraucht.", "{name} took too long for a move."),
        Cause.HARD_TIMEOUT: ("{name} hat nicht rechtzeitig geantwortet.", "{name} did not answer in time."),
        Cause.UNKNOWN: ("{name} ist aus unbekanntem Grund ausgeschieden.", "{name} failed for an unknown reason."),
    }
)
_LONGEST_REASON: Final = 2000


def describe_end(record: Sequence[RoomData]) -> dict[str, Any] | None:
    """Return how the game of this record ended; None if it has not ended."""
    result = next((data for data in reversed(record) if isinstance(data, Result)), None)
    if result is None:
        return None
    at_fault = next((seat for seat, score in enumerate(result.scores) if score.cause is not Cause.REGULAR), None)
    cause = Cause.REGULAR if at_fault is None else result.scores[at_fault].cause
    reasons = [score.reason for score in result.scores if score.reason]
    winner = result.winners[0] if len(result.winners) == 1 else None
    return {
        "cause": cause.value,
        "winner": winner,
        "reason": "; ".join(reasons)[:_LONGEST_REASON],
        "words": _words(result, cause, at_fault, winner),
        "illegal": _illegal(record),
    }


def _words(result: Result, cause: Cause, at_fault: int | None, winner: int | None) -> dict[str, str]:
    def name(seat: int, language: str) -> str:
        return result.names[seat] or f"{'Spieler' if language == 'de' else 'Player'} {seat + 1}"

    words = {}
    for language, texts in (("de", ("{} gewinnt.", "Unentschieden.")), ("en", ("{} wins.", "A draw."))):
        if winner is not None:
            sentence = texts[0].format(name(winner, language))
        elif len(result.winners) > 1:
            sentence = texts[1]
        else:
            sentence = "Niemand gewinnt." if language == "de" else "Nobody wins."
        if at_fault is not None:
            fault = _WORDS[cause][0 if language == "de" else 1].replace("{name}", name(at_fault, language))
            sentence = f"{fault} {sentence}"
        words[language] = sentence
    return words


def _illegal(record: Sequence[RoomData]) -> dict[str, Any] | None:
    """Return the move with which the game ended, if it broke a rule."""
    error = next((data for data in reversed(record) if isinstance(data, ErrorMessage)), None)
    position = next((data for data in reversed(record) if isinstance(data, Memento)), None)
    if error is None or position is None or not isinstance(error.original, MoveData):
        return None
    return describe_illegal_move(position.state, error.original.move, error.message[:_LONGEST_REASON])
