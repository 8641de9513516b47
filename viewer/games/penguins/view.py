"""The view of Penguins: the board as 64 letters, what each player has, and from where to where a penguin slid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from spielleiter.game.api import Seat
from spielleiter.game.penguins import PENGUINS, SIZE, Cell, PenguinsMistake, PenguinsMove, PenguinsState
from spielleiter.game.penguins.board import CELLS, NEIGHBORS, NUMBER_OF_CELLS, scan
from spielleiter.viewer.positions.view import TEAM_COLORS, Bilingual, Json, TeamView, counts_of_moves, played_move

LETTERS: Final = "RB"
"""For each seat the letter of its penguins."""
WATER: Final = "."
"""The letter of a cell without floe and penguin."""

_RULES: Final[Mapping[PenguinsMistake, Bilingual]] = {
    PenguinsMistake.WRONG_COLOR: (
        "Dort steht kein Pinguin des Spielers.",
        "There is no penguin of the player's own.",
    ),
    PenguinsMistake.PENGUINS: (
        "Erst müssen alle Pinguine des Spielers gesetzt sein.",
        "All penguins of the player have to be placed first.",
    ),
    PenguinsMistake.INVALID_MOVE: (
        "Dorthin führt kein gerader Weg über freie Schollen.",
        "No straight way over free floes leads there.",
    ),
    PenguinsMistake.MAX_PENGUINS: (
        "Alle Pinguine des Spielers sind schon gesetzt.",
        "All penguins of the player are placed already.",
    ),
    PenguinsMistake.SINGLE_FISH: (
        "Gesetzt wird nur auf eine Scholle mit einem einzelnen Fisch.",
        "Penguins are placed on floes with a single fish only.",
    ),
}

_ENDS: Final[Mapping[str | None, Bilingual]] = {None: ("Kein Pinguin kann mehr ziehen", "no penguin can move")}


class PenguinsView(TeamView):
    """The view of positions of the type PenguinsState."""

    name = "penguins"
    rule_texts = _RULES
    end_texts = _ENDS

    def parts(self, state: PenguinsState) -> Json:
        return {"board": self.picture(state)}

    def player(self, state: PenguinsState, seat: Seat) -> Json:
        numbers = {
            "fish": state.fish[seat],
            "toPlace": PENGUINS - state.penguins[seat].bit_count(),
            "stuck": count_stuck(state, seat),
        }
        return {"color": TEAM_COLORS[seat], **numbers, "fields": numbers}

    def picture(self, state: PenguinsState) -> Json:
        return {"size": SIZE, "cells": letters(state)}

    def count_moves(self, state: PenguinsState) -> list[int]:
        # a player that is stuck is never on turn, and has no moves
        return counts_of_moves(replace(state, turn=state.turn + 1), state)

    def last_move(self, state: PenguinsState, previous: PenguinsState | None) -> Json | None:
        move = state.last_move
        if move is None:
            return None
        seat = None
        if move.target is not None and move.target.is_on_board:
            seat = next((each for each in (0, 1) if state.penguins[each] >> move.target.number & 1), None)
        shown = _shown(previous or state, move)
        if previous is None:
            shown["fish"] = None
        return played_move(
            seat,
            None if seat is None else TEAM_COLORS[seat],
            move,
            kind="PLACE" if move.start is None else "SLIDE",
            cells=[shown[end] for end in ("from", "to") if shown.get(end)],
            **shown,
        )

    def move(self, state: PenguinsState, move: PenguinsMove) -> Json:
        return _shown(state, move)

    def illegal_cells(self, _state: PenguinsState, move: PenguinsMove, mistake: PenguinsMistake) -> Json:
        is_start = mistake in {PenguinsMistake.WRONG_COLOR, PenguinsMistake.PENGUINS}
        offending = move.start if is_start else move.target
        return {"cells": _places(move.start, move.target), "offendingCells": _places(offending)}


VIEW: Final = PenguinsView()


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
