"""The view of Penguins: the board as 64 letters, what each player has, and from where to where a penguin slid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from spielleiter.game.api import Mistake, Move, Outcome, Seat, State
from spielleiter.game.penguins import PENGUINS, SIZE, Cell, PenguinsMistake, PenguinsMove, PenguinsState
from spielleiter.game.penguins.board import CELLS, NEIGHBORS, NUMBER_OF_CELLS, scan
from spielleiter.viewer.positions.view import Json, View, Words, shortened_text

COLORS: Final = ("RED", "BLUE")
"""The colours of the seats, as in the contest."""
LETTERS: Final = "RB"
"""For each seat the letter of its penguins."""
WATER: Final = "."
"""The letter of a cell without floe and penguin."""

RULE_WORDS: Final[Mapping[PenguinsMistake, Words]] = {
    PenguinsMistake.WRONG_COLOR: {
        "de": "Dort steht kein Pinguin des Spielers.",
        "en": "There is no penguin of the player's own.",
    },
    PenguinsMistake.PENGUINS: {
        "de": "Erst müssen alle Pinguine des Spielers gesetzt sein.",
        "en": "All penguins of the player have to be placed first.",
    },
    PenguinsMistake.INVALID_MOVE: {
        "de": "Dorthin führt kein gerader Weg über freie Schollen.",
        "en": "No straight way over free floes leads there.",
    },
    PenguinsMistake.MAX_PENGUINS: {
        "de": "Alle Pinguine des Spielers sind schon gesetzt.",
        "en": "All penguins of the player are placed already.",
    },
    PenguinsMistake.SINGLE_FISH: {
        "de": "Gesetzt wird nur auf eine Scholle mit einem einzelnen Fisch.",
        "en": "Penguins are placed on floes with a single fish only.",
    },
}


@dataclass(frozen=True, slots=True)
class PenguinsView(View):
    """The view of positions of the type PenguinsState."""

    name: str = "penguins"

    def color(self, _state: State, seat: Seat) -> str | None:
        return COLORS[seat]

    def parts(self, state: State) -> Json:
        position = _own(state)
        return {
            "fields": {"turn": position.turn, "round": position.round},
            "board": {"size": SIZE, "cells": letters(position)},
        }

    def player(self, state: State, seat: Seat) -> Json:
        position = _own(state)
        numbers = {
            "fish": position.fish[seat],
            "toPlace": PENGUINS - position.penguins[seat].bit_count(),
            "stuck": count_stuck(position, seat),
        }
        return {"color": COLORS[seat], **numbers, "fields": numbers}

    def picture(self, state: State) -> Json:
        return {"size": SIZE, "cells": letters(_own(state))}

    def count_moves(self, state: State) -> list[int]:
        position = _own(state)
        counts = [0, 0]
        # the other player's moves, as if it were on turn, which a player never is that is stuck
        for each in (replace(position, turn=position.turn + 1), position):
            counts[each.seat_on_turn] = sum(1 for _ in each.generate_legal_moves())
        return counts

    def last_move(self, state: State, previous: State | None) -> Json | None:
        position = _own(state)
        move = position.last_move
        if move is None:
            return None
        shown = _shown(position if previous is None else _own(previous), move)
        seat = None
        if move.target is not None and move.target.is_on_board:
            seat = next((each for each in (0, 1) if position.penguins[each] >> move.target.number & 1), None)
        return {
            "player": seat,
            "color": None if seat is None else COLORS[seat],
            "kind": "PLACE" if move.start is None else "SLIDE",
            "piece": None,
            "cells": [shown[end] for end in ("from", "to") if shown.get(end)],
            "text": shortened_text(move),
            **shown,
            **({"fish": None} if previous is None else {}),
        }

    def move(self, state: State, move: Move) -> Json:
        assert isinstance(move, PenguinsMove)
        return _shown(_own(state), move)

    def end_words(self, _outcome: Outcome) -> Words:
        return {"de": "Kein Pinguin kann mehr ziehen", "en": "no penguin can move"}

    def rule_words(self, mistake: Mistake) -> Words:
        assert isinstance(mistake, PenguinsMistake)
        return RULE_WORDS[mistake]

    def illegal_cells(self, _state: State, move: Move, mistake: Mistake) -> Json:
        assert isinstance(move, PenguinsMove)
        is_start = mistake in {PenguinsMistake.WRONG_COLOR, PenguinsMistake.PENGUINS}
        offending = move.start if is_start else move.target
        return {"piece": None, "cells": _places(move.start, move.target), "offendingCells": _places(offending)}


VIEW: Final = PenguinsView()


def _own(state: State) -> PenguinsState:
    assert isinstance(state, PenguinsState)
    return state


def _places(*cells: Cell | None) -> list[list[int]]:
    return [list(cell) for cell in cells if cell is not None and cell.is_on_board]


def letters(position: PenguinsState) -> str:
    """Return a letter for each cell, row by row: how many fish are there, one of `LETTERS`, or `WATER`."""
    found = [WATER] * NUMBER_OF_CELLS
    for letter, cells in zip("1234" + LETTERS, (*position.floes, *position.penguins), strict=True):
        for number in scan(cells):
            found[number] = letter
    return "".join(found)


def count_stuck(position: PenguinsState, seat: Seat) -> int:
    """Return how many penguins of `seat` cannot slide."""
    free = 0
    for cells in position.floes:
        free |= cells
    return sum(1 for number in scan(position.penguins[seat]) if not NEIGHBORS[number] & free)


def _shown(before: PenguinsState, move: PenguinsMove) -> Json:
    """Return from where to where a penguin goes, and how many fish it gets; nothing for cells beyond the board."""
    if move.target is None or not move.target.is_on_board or not (move.start is None or move.start.is_on_board):
        return {}
    return {
        "from": None if move.start is None else list(move.start),
        "to": list(CELLS[move.target.number]),
        "fish": before.fish_at(move.target.number),
    }
