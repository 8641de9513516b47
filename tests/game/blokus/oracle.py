"""Reading the recorded positions, moves and verdicts of the official rule code (see data/README.md).

Invariants: this module contains no rules; it only converts between texts and values.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Final, TypeAlias

from spielleiter.game.blokus.moves import SetMove, SkipMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape, bit, orientation
from spielleiter.game.blokus.state import BLOKUS_2021, BLOKUS_2027, BlokusGame, BlokusState

Line: TypeAlias = dict[str, Any]

DATA: Final = Path(__file__).parent / "data"

GAMES: Final[dict[int, BlokusGame]] = {
    season: game.with_options({"gameEnd": "noMovesLeft"}) for season, game in ((2021, BLOKUS_2021), (2027, BLOKUS_2027))
}
"""For each season the game with which the data were computed."""


@cache
def read_lines(path: Path) -> list[Line]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@cache
def read_games(path: Path) -> dict[int, list[Line]]:
    """The lines of each game in a file, by the number of the game."""
    return {number: list(lines) for number, lines in groupby(read_lines(path), key=lambda line: int(line["game"]))}


@cache
def read_perft() -> list[Line]:
    with gzip.open(DATA / "perft.json.gz", "rt", encoding="utf-8") as file:
        positions: list[Line] = json.load(file)["positions"]
    return positions


def parse_move(text: str) -> SetMove | SkipMove:
    first, *rest = text.split(",")
    if first == "SKIP":
        return SkipMove(Color[rest[0]])
    shape, rotation, is_flipped, x, y = rest
    return SetMove(Color[first], Shape[shape], Rotation[rotation], is_flipped == "true", int(x), int(y))


def format_move(move: SetMove) -> str:
    is_flipped = "true" if move.is_flipped else "false"
    return f"{move.color.name},{move.shape.name},{move.rotation.name},{is_flipped},{move.x},{move.y}"


def format_cells(move: SetMove) -> str:
    turned = orientation(move.shape, move.rotation, move.is_flipped)
    return f"{move.shape.name}:" + " ".join(sorted(f"{move.x + x:02}.{move.y + y:02}" for x, y in turned.cells))


def digest(texts: Iterable[str]) -> str:
    return hashlib.sha256(";".join(sorted(texts)).encode()).hexdigest()


def parse_position(season: int, position: Line) -> BlokusState:
    """The state that a `position` object describes. It has no last move."""
    cells, remaining = [0] * 4, [0] * 4
    initials = {color.name[0]: color for color in Color}
    for y, row in enumerate(position["board"]):
        for x, letter in enumerate(row):
            if letter != ".":
                cells[initials[letter]] |= bit(x, y)
    for color in Color:
        remaining[color] = sum(1 << Shape[name] for name in position["left"][color.name])
    blue, yellow, red, green = (position["lastMoveMono"].get(color.name) for color in Color)
    return BlokusState(
        GAMES[season].rules,
        Shape[position["start"]],
        position["turn"],
        (cells[0], cells[1], cells[2], cells[3]),
        (remaining[0], remaining[1], remaining[2], remaining[3]),
        sum(1 << initials[letter] for letter in position["valid"]),
        mono_last=(blue, yellow, red, green),
    )


def describe(state: BlokusState) -> Line:
    """The fields of a line that are compared with a position."""
    return {
        "turn": state.turn,
        "round": state.round,
        "valid": "".join(color.name[0] for color in state.valid_colors),
        "points": [*state.points(0), *state.points(1)],
    }


def describe_end(state: BlokusState) -> Line:
    """The fields that only some of the last lines have."""
    return {
        "lastMoveMono": {color.name: state.mono_last[color] for color in Color if state.mono_last[color] is not None},
        "pieces_left": [len(state.remaining_shapes(color)) for color in Color],
    }


def follow(season: int, lines: Iterable[Line]) -> Iterator[tuple[Line, BlokusState]]:
    """Every line of a game, with the state after the moves of the lines before it."""
    state: BlokusState | None = None
    for line in lines:
        if state is None:
            state = BlokusState(GAMES[season].rules, Shape[line["start"]])
        yield line, state
        if "move" in line:
            state = state.play(parse_move(line["move"]))
