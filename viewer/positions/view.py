"""`View`: what one game adds to the data of a position, of a game and of an illegal move.

Invariants: a view has no rules of its own; it asks the game. It must not fail for any position that a dialect can read,
whether it can occur in a game or not, since a replay file is hostile input. All values can be encoded as JSON; keys are
camelCase, cells are pairs ``[x, y]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeAlias

from spielleiter.game.api import Mistake, Move, Outcome, Seat, State

Json: TypeAlias = dict[str, Any]
"""A JSON object."""

Words: TypeAlias = dict[str, str]
"""One text in both languages, by language: ``de`` and ``en``."""

Bilingual: TypeAlias = tuple[str, str]
"""One text in German and in English."""

TEAM_COLORS: Final = ("RED", "BLUE")
"""The colours of the players in a game in which each has one."""

_LONGEST_TEXT: Final = 200


def shortened_text(value: object) -> str:
    """Return `str(value)`, cut to a length that fits on a page; a hostile replay may hold a move of any length."""
    text = str(value)
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def played_move(
    seat: Seat | None,
    color: str | None,
    move: object,
    *,
    kind: str = "MOVE",
    cells: Sequence[list[int]] = (),
    **more: Any,
) -> Json:
    """Return what the page knows of a move that was played.

    - `seat`, `color`: who played it, and with which colour; None if that is not known.
    - `move`: what `str` makes its text of.
    - `kind`: ``MOVE``, ``SKIP``, or another name that the board of the game knows.
    - `cells`: the cells that it changed.
    - `more`: the keys that only this game has.
    """
    return {
        "player": seat,
        "color": color,
        "kind": kind,
        "piece": None,
        "cells": list(cells),
        "text": shortened_text(move),
        **more,
    }


def counts_of_moves(state: State, other: State) -> list[int]:
    """Return the number of legal moves by seat; `other` is the same position with the other player on turn."""
    counts = [0, 0]
    if state.outcome() is None:
        for each in (state, other):
            counts[each.seat_on_turn] = sum(1 for _ in each.generate_legal_moves())
    return counts


class View:
    """The view for games without one of their own; the base class of the others. The fields are shown as a table.

    A state or move in the arguments is always one of the view's own game.
    """

    name: str = "table"
    rule_texts: ClassVar[Mapping[Any, Bilingual]] = MappingProxyType({})
    """For each mistake the rule that a move breaks, as a sentence."""
    end_texts: ClassVar[Mapping[str | None, Bilingual]] = MappingProxyType({})
    """By the reason of an outcome why the game ended, as the end of a sentence after a colon; None: any other one."""

    def is_possible(self, _state: Any) -> bool:
        """Return whether the rules can work on this position in a short time; a hostile replay may hold any."""
        return True

    def color(self, _state: Any, _seat: Seat) -> str | None:
        """Return the name of the colour to move, if a seat plays more than one or is known by it."""
        return None

    def parts(self, state: Any) -> Json:
        """Return the keys of a position that only this game has."""
        found: Json = {"turn": state.turn, "round": state.round}
        for name in getattr(type(state), "__match_args__", ()):  # structs and dataclasses have them
            value = getattr(state, name)
            found[name] = value if isinstance(value, int | bool) else shortened_text(value)
        return {"fields": found}

    def player(self, state: Any, seat: Seat) -> Json:
        """Return the keys of a player that only this game has."""
        return {"fields": {str(number): part for number, part in enumerate(state.points(seat), 1)}}

    def picture(self, _state: Any) -> Json | None:
        """Return what a small picture of the position shows; None for a game that has none."""
        return None

    def count_moves(self, _state: Any) -> list[int] | None:
        """Return the number of legal moves that each seat has, or would have if it were on turn; None if unknown."""
        return None

    def last_move(self, state: Any, previous: Any) -> Json | None:
        """Return the move that led to `state`; `previous` is the position before it, None if it is not known."""
        move = getattr(state, "last_move", None)  # not part of `State`, but most games have it
        if move is None:
            return None
        player = None if previous is None else previous.seat_on_turn
        return {"player": player, "color": None, "kind": type(move).__name__, "text": shortened_text(move)}

    def move(self, _state: Any, _move: Any) -> Json:
        """Return what the overlay of legal moves shows of a legal move in this position, besides its text."""
        return {}

    def skip_move(self, _state: Any) -> Move | None:
        """Return the legal skip of the side to move, if it is not among the generated moves."""
        return None

    def pieces(self) -> Mapping[str, list[list[int]]]:
        """Return the cells of each piece before it is turned, by name; empty for a game without pieces."""
        return {}

    def end_words(self, outcome: Outcome) -> Words | None:
        """Return why a game ended by the rules, as the end of a sentence after a colon; None if that is not known."""
        texts = self.end_texts.get(outcome.reason) or self.end_texts.get(None)
        return None if texts is None else _words(texts)

    def rule_words(self, mistake: Mistake) -> Words:
        """Return the rule that a move breaks as a sentence in both languages."""
        rule = mistake.name.replace("_", " ").lower()
        usual = ("Der Zug verstößt gegen eine Regel.", f"The move breaks a rule: {rule}.")
        return _words(self.rule_texts.get(mistake, usual))

    def illegal_cells(self, _state: Any, _move: Any, _mistake: Any) -> Json:
        """Return, as far as the game has them, the ``piece``, ``cells`` and ``offendingCells`` of an illegal move."""
        return {}


class TeamView(View):
    """The view for games in which the players are red and blue."""

    def color(self, _state: Any, seat: Seat) -> str:
        return TEAM_COLORS[seat]


def _words(texts: Bilingual) -> Words:
    de, en = texts
    return {"de": de, "en": en}
