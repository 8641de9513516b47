"""The positions of Blokus on which the rules are measured.

Invariants: they are those of the recordings of the official rule code, if these are in the folder `SPIELLEITER_SHARED`
or beside the project; otherwise they are from scripted games. The result says which.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final, TypeAlias

from spielleiter.bench.load.scripts import SCRIPT_COUNT, game_of, play_game
from spielleiter.game.blokus.moves import SetMove, SkipMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.game.blokus.state import BlokusState

MOST: Final = 1000
"""The approximate maximum number of positions that are measured; they are selected evenly."""

Played: TypeAlias = tuple[BlokusState, SetMove | SkipMove]


@dataclass(frozen=True)
class Positions:
    """Positions, each with the move that was made in it, and their source."""

    source: str
    played: tuple[Played, ...]


def read_positions(edition: str) -> Positions:
    """Return positions from all stages of games of this edition."""
    name = f"{game_of(edition).name.replace('-', '')}_games.jsonl.gz"
    folder = _shared()
    path = None if folder is None else folder / "oracle" / name
    if path is not None and path.exists():
        return Positions(f"oracle, {name}", _evenly(list(_recorded(edition, path))))
    return Positions(f"{SCRIPT_COUNT} scripted games", _evenly(list(_scripted(edition))))


def _shared() -> Path | None:
    named = os.environ.get("SPIELLEITER_SHARED")
    return Path(named) if named else Path(__file__).resolve().parents[3] / "shared"


def _evenly(played: Sequence[Played]) -> tuple[Played, ...]:
    return tuple(played[:: max(1, len(played) // MOST)])


def _scripted(edition: str) -> Iterator[Played]:
    for seed in range(SCRIPT_COUNT):
        for state, move in play_game(game_of(edition), seed):
            if move is not None:
                yield state, move


def _recorded(edition: str, path: Path) -> Iterator[Played]:
    rules = game_of(edition).with_options({"gameEnd": "noMovesLeft"})
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    for _, game in groupby(lines, key=_game_number):
        moves = [line for line in game if "move" in line]
        state: Any = None
        for line in moves:
            if state is None:
                state = BlokusState(rules.rules, Shape[line["start"]])  # type: ignore[attr-defined]
            move = _parse_move(line["move"])
            yield state, move
            state = state.play(move)


def _game_number(line: dict[str, Any]) -> int:
    return int(line["game"])


def _parse_move(text: str) -> SetMove | SkipMove:
    color, *rest = text.split(",")
    if color == "SKIP":
        return SkipMove(Color[rest[0]])
    shape, rotation, is_flipped, x, y = rest
    return SetMove(Color[color], Shape[shape], Rotation[rotation], is_flipped == "true", int(x), int(y))
