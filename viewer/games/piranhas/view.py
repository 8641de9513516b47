"""The view of Piranhas: the board as 100 letters, the swarms, and from where to where a fish has swum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from spielleiter.game.api import Mistake, Move, Outcome, Seat, State
from spielleiter.game.piranhas.board import CELLS, RAYS, SIZE, STRIDE, Bits, scan
from spielleiter.game.piranhas.state import (
    BLOCKED,
    FIRST_UNION,
    PiranhasMistake,
    PiranhasMove,
    PiranhasState,
)
from spielleiter.viewer.positions.view import Json, View, Words

COLORS: Final = ("RED", "BLUE")
"""The colours of the seats, as in the contest."""
LETTERS: Final = ("123", "abc")
"""For each seat the letters of its fish by size."""

RULE_WORDS: Final[Mapping[PiranhasMistake, Words]] = {
    PiranhasMistake.WRONG_START: {
        "de": "Dort ist kein Fisch des Spielers.",
        "en": "There is no fish of the player's own.",
    },
    PiranhasMistake.JUMP_OVER_OPPONENT: {
        "de": "Fische des Gegners dürfen nicht übersprungen werden.",
        "en": "Fish of the opponent cannot be jumped over.",
    },
    PiranhasMistake.DESTINATION_OUT_OF_BOUNDS: {
        "de": "Der Fisch würde das Spielfeld verlassen.",
        "en": "The fish would leave the board.",
    },
    PiranhasMistake.DESTINATION_BLOCKED: {
        "de": "Auf dem Zielfeld sitzt ein Krake.",
        "en": "A squid is on the target.",
    },
    PiranhasMistake.DESTINATION_BLOCKED_BY_SELF: {
        "de": "Auf dem Zielfeld ist ein eigener Fisch.",
        "en": "A fish of the player's own is on the target.",
    },
}


@dataclass(frozen=True, slots=True)
class PiranhasView(View):
    """The view of positions of the type PiranhasState."""

    name: str = "piranhas"

    def color(self, state: State, _seat: Seat) -> str | None:
        return COLORS[_own(state).seat_on_turn]

    def parts(self, state: State) -> Json:
        position = _own(state)
        return {
            "fields": {"turn": position.turn, "round": position.round},
            "board": {"size": SIZE, "cells": letters(position)},
        }

    def player(self, state: State, seat: Seat) -> Json:
        fish = _own(state).fish[seat]
        swarms = list(fish.swarms())
        numbers = {"swarm": max(fish.largest_swarm, 0), "fish": fish.cells.bit_count(), "swarms": len(swarms)}
        heaviest = max(swarms, key=fish.weight, default=0)
        return {"color": COLORS[seat], **numbers, "swarmCells": _cells(heaviest), "fields": numbers}

    def picture(self, state: State) -> Json:
        return {"size": SIZE, "cells": letters(_own(state))}

    def count_moves(self, state: State) -> list[int]:
        position = _own(state)
        if position.outcome() is not None:
            return [0, 0]
        # the other player's moves, as if it were on turn, even where the game would be over in that case
        other = replace(position, turn=position.turn + 1, rules=replace(position.rules, loses_without_moves=False))
        counts = [0, 0]
        for each in (position, other):
            counts[each.seat_on_turn] = sum(1 for _ in each.generate_legal_moves())
        return counts

    def last_move(self, state: State, previous: State | None) -> Json | None:
        position = _own(state)
        move = position.last_move
        if move is None:
            return None
        seat = 1 - position.seat_on_turn
        shown = {} if previous is None else _shown(_own(previous), move)
        cells = [shown[end] for end in ("from", "to") if shown.get(end)]
        return {
            "player": seat,
            "color": COLORS[seat],
            "kind": "MOVE",
            "piece": None,
            "cells": cells,
            "text": str(move),
            **shown,
        }

    def move(self, state: State, move: Move) -> Json:
        assert isinstance(move, PiranhasMove)
        return _shown(_own(state), move)

    def end_words(self, outcome: Outcome) -> Words:
        if outcome.reason == BLOCKED:
            return {"de": "Der Gegner kann nicht mehr ziehen", "en": "the opponent cannot move"}
        if outcome.reason == FIRST_UNION:
            return {
                "de": "Die Schwärme sind gleich groß, und er war zuerst vereint",
                "en": "the swarms are equal, and this one was united first",
            }
        return {"de": "Es zählt der größte Schwarm", "en": "the heaviest swarm counts"}

    def rule_words(self, mistake: Mistake) -> Words:
        assert isinstance(mistake, PiranhasMistake)
        return RULE_WORDS[mistake]

    def illegal_cells(self, state: State, move: Move, mistake: Mistake) -> Json:
        assert isinstance(move, PiranhasMove)
        assert move.start is not None
        position, number = _own(state), move.start.number
        if mistake is PiranhasMistake.WRONG_START or move.direction is None:
            return {"piece": None, "cells": [list(move.start)], "offendingCells": [list(move.start)]}
        ray = RAYS[number][move.direction]
        seat = position.seat_on_turn
        own, other = position.fish[seat].cells, position.fish[1 - seat].cells
        distance = (ray.line & (own | other)).bit_count()
        is_beyond = distance > len(ray.targets)
        passed, target = (ray.cells, None) if is_beyond else ray.targets[distance - 1]
        offending = _cells(passed & other) if mistake is PiranhasMistake.JUMP_OVER_OPPONENT else []
        way = [list(move.start), *_cells(passed)]
        if target is not None:
            way += _cells(1 << target)
            offending = offending or _cells(1 << target)
        return {"piece": None, "cells": way, "offendingCells": offending}


VIEW: Final = PiranhasView()


def _own(state: State) -> PiranhasState:
    assert isinstance(state, PiranhasState)
    return state


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
