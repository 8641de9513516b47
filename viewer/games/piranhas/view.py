"""The view of Piranhas: the board as 100 letters, the swarms, and from where to where a fish has swum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from spielleiter.game.api import Seat
from spielleiter.game.piranhas.board import CELLS, RAYS, SIZE, STRIDE, Bits, scan
from spielleiter.game.piranhas.state import (
    BLOCKED,
    FIRST_UNION,
    PiranhasMistake,
    PiranhasMove,
    PiranhasState,
)
from spielleiter.viewer.positions.view import TEAM_COLORS, Bilingual, Json, TeamView, counts_of_moves, played_move

LETTERS: Final = ("123", "abc")
"""For each seat the letters of its fish by size."""

_RULES: Final[Mapping[PiranhasMistake, Bilingual]] = {
    PiranhasMistake.WRONG_START: ("Dort ist kein Fisch des Spielers.", "There is no fish of the player's own."),
    PiranhasMistake.JUMP_OVER_OPPONENT: (
        "Fische des Gegners dürfen nicht übersprungen werden.",
        "Fish of the opponent cannot be jumped over.",
    ),
    PiranhasMistake.DESTINATION_OUT_OF_BOUNDS: (
        "Der Fisch würde das Spielfeld verlassen.",
        "The fish would leave the board.",
    ),
    PiranhasMistake.DESTINATION_BLOCKED: ("Auf dem Zielfeld sitzt ein Krake.", "A squid is on the target."),
    PiranhasMistake.DESTINATION_BLOCKED_BY_SELF: (
        "Auf dem Zielfeld ist ein eigener Fisch.",
        "A fish of the player's own is on the target.",
    ),
}

_ENDS: Final[Mapping[str | None, Bilingual]] = {
    BLOCKED: ("Der Gegner kann nicht mehr ziehen", "the opponent cannot move"),
    FIRST_UNION: (
        "Die Schwärme sind gleich groß, und er war zuerst vereint",
        "the swarms are equal, and this one was united first",
    ),
    None: ("Es zählt der größte Schwarm", "the heaviest swarm counts"),
}


class PiranhasView(TeamView):
    """The view of positions of the type PiranhasState."""

    name = "piranhas"
    rule_texts = _RULES
    end_texts = _ENDS

    def parts(self, state: PiranhasState) -> Json:
        return {"board": self.picture(state)}

    def player(self, state: PiranhasState, seat: Seat) -> Json:
        fish = state.fish[seat]
        swarms = list(fish.swarms())
        numbers = {"swarm": max(fish.largest_swarm, 0), "fish": fish.cells.bit_count(), "swarms": len(swarms)}
        heaviest = max(swarms, key=fish.weight, default=0)
        return {"color": TEAM_COLORS[seat], **numbers, "swarmCells": _cells(heaviest), "fields": numbers}

    def picture(self, state: PiranhasState) -> Json:
        return {"width": SIZE, "height": SIZE, "cells": letters(state)}

    def count_moves(self, state: PiranhasState) -> list[int]:
        # the other player's moves, as if it were on turn, even where the game would be over in that case
        other = replace(state, turn=state.turn + 1, rules=replace(state.rules, loses_without_moves=False))
        return counts_of_moves(state, other)

    def last_move(self, state: PiranhasState, previous: PiranhasState | None) -> Json | None:
        move = state.last_move
        if move is None:
            return None
        seat = 1 - state.seat_on_turn
        shown = {} if previous is None else _shown(previous, move)
        cells = [shown[end] for end in ("from", "to") if shown.get(end)]
        return played_move(seat, TEAM_COLORS[seat], move, cells=cells, **shown)

    def move(self, state: PiranhasState, move: PiranhasMove) -> Json:
        return _shown(state, move)

    def illegal_cells(self, state: PiranhasState, move: PiranhasMove, mistake: PiranhasMistake) -> Json:
        assert move.start is not None
        if mistake is PiranhasMistake.WRONG_START or move.direction is None:
            return {"cells": [list(move.start)], "offendingCells": [list(move.start)]}
        ray = RAYS[move.start.number][move.direction]
        seat = state.seat_on_turn
        own, other = state.fish[seat].cells, state.fish[1 - seat].cells
        distance = (ray.line & (own | other)).bit_count()
        is_beyond = distance > len(ray.targets)
        passed, target = (ray.cells, None) if is_beyond else ray.targets[distance - 1]
        offending = _cells(passed & other) if mistake is PiranhasMistake.JUMP_OVER_OPPONENT else []
        way = [list(move.start), *_cells(passed)]
        if target is not None:
            way += _cells(1 << target)
            offending = offending or _cells(1 << target)
        return {"cells": way, "offendingCells": offending}


VIEW: Final = PiranhasView()


def _cells(cells: Bits) -> list[list[int]]:
    return [list(cell) for number in scan(cells) if (cell := CELLS[number]) is not None]


def letters(position: PiranhasState) -> str:
    """Return a letter for each cell, row by row from below: `.`, `x` for a squid, or one of `LETTERS`."""
    found = ["."] * (SIZE * STRIDE)
    for signs, fish in zip(LETTERS, position.fish, strict=True):
        for sign, cells in zip(signs, fish, strict=True):
            for number in scan(cells):
                found[number] = sign
    for number in scan(position.squids):
        found[number] = "x"
    return "".join(found[y * STRIDE + x] for y in range(SIZE) for x in range(SIZE))


def _shown(before: PiranhasState, move: PiranhasMove) -> Json:
    """Return from where to where a fish swims, and whether it eats one; nothing for a move that is not legal there."""
    target = before.target(move) if _can_move(before, move) else None
    if target is None or move.start is None or move.direction is None:
        return {}
    eaten = before.size_at(target)
    return {
        "from": list(move.start),
        "to": list(target),
        "direction": move.direction.name,
        "eaten": None if eaten is None else eaten[1],
    }


def _can_move(before: PiranhasState, move: PiranhasMove) -> bool:
    """Return whether the rules can judge the move: a hostile replay may go on after the end, or hold any move."""
    is_on_board = move.start is not None and move.start.is_on_board
    return is_on_board and move.direction is not None and before.outcome() is None
