"""`View`: what one game adds to the data of a position, of a game and of an illegal move.

Invariants: a view has no rules of its own; it asks the game. It must not fail for any position that a dialect can read,
whether it can occur in a game or not, since a replay file is hostile input. All values can be encoded as JSON; keys are
camelCase, cells are pairs ``[x, y]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from spielleiter.game.api import Mistake, Move, Outcome, Seat, State

Json: TypeAlias = dict[str, Any]
"""A JSON object."""

Words: TypeAlias = dict[str, str]
"""One text in both languages, by language: ``de`` and ``en``."""

_LONGEST_TEXT: Final = 200


def shortened_text(value: object) -> str:
    """Return `str(value)`, cut to a length that fits on a page; a hostile replay may hold a move of any length."""
    text = str(value)
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


@dataclass(frozen=True, slots=True)
class View:
    """The view for games without one of their own; the base class of the others. The fields are shown as a table."""

    name: str = "table"

    def is_possible(self, _state: State) -> bool:
        """Return whether the rules can work on this position in a short time; a hostile replay may hold any."""
        return True

    def color(self, _state: State, _seat: Seat) -> str | None:
        """Return the name of the colour to move, if a seat plays more than one or is known by it."""
        return None

    def parts(self, state: State) -> Json:
        """Return the keys of a position that only this game has."""
        found: Json = {"turn": state.turn, "round": state.round}
        for name in getattr(type(state), "__match_args__", ()):  # structs and dataclasses have them
            value = getattr(state, name)
            found[name] = value if isinstance(value, int | bool) else shortened_text(value)
        return {"fields": found}

    def player(self, state: State, seat: Seat) -> Json:
        """Return the keys of a player that only this game has."""
        return {"fields": {str(number): part for number, part in enumerate(state.points(seat), 1)}}

    def picture(self, _state: State) -> Json | None:
        """Return what a small picture of the position shows; None for a game that has none."""
        return None

    def count_moves(self, _state: State) -> list[int] | None:
        """Return the number of legal moves that each seat has, or would have if it were on turn; None if unknown."""
        return None

    def last_move(self, state: State, previous: State | None) -> Json | None:
        """Return the move that led to `state`; `previous` is the position before it, None if it is not known."""
        move = getattr(state, "last_move", None)  # not part of `State`, but most games have it
        if move is None:
            return None
        player = None if previous is None else previous.seat_on_turn
        return {"player": player, "color": None, "kind": type(move).__name__, "text": shortened_text(move)}

    def move(self, _state: State, _move: Move) -> Json:
        """Return what the overlay of legal moves shows of a legal move in this position, besides its text."""
        return {}

    def skip_move(self, _state: State) -> Move | None:
        """Return the legal skip of the side to move, if it is not among the generated moves."""
        return None

    def pieces(self) -> Mapping[str, list[list[int]]]:
        """Return the cells of each piece before it is turned, by name; empty for a game without pieces."""
        return {}

    def end_words(self, _outcome: Outcome) -> Words | None:
        """Return why a game ended by the rules, as the end of a sentence after a colon; None if that is not known."""
        return None

    def rule_words(self, mistake: Mistake) -> Words:
        """Return the rule that a move breaks as a sentence in both languages."""
        rule = mistake.name.replace("_", " ").lower()
        return {"de": "Der Zug verstößt gegen eine Regel.", "en": f"The move breaks a rule: {rule}."}

    def illegal_cells(self, _state: State, _move: Move, _mistake: Mistake) -> Json:
        """Return, as far as the game has them, the ``piece``, ``cells`` and ``offendingCells`` of an illegal move."""
        return {}
