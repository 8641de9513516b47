"""The positions on which the rules are measured: recorded ones, or those of scripted games."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from spielleiter.bench.load.positions import MOST, read_positions
from spielleiter.game.blokus.moves import SetMove, SkipMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape

LINES = (
    {"game": 0, "start": "PENTO_L", "move": "BLUE,PENTO_L,MIRROR,true,0,16"},
    {"game": 0, "start": "PENTO_L", "move": "YELLOW,PENTO_L,RIGHT,true,16,0"},
    {"game": 0, "end": True},
    {"game": 3, "start": "PENTO_V", "move": "BLUE,PENTO_V,NONE,false,0,0"},
)


@pytest.mark.parametrize("edition", ["blokus-2021-r3", "blokus-2027"])
def test_without_recordings_scripted_games_are_used(
    edition: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPIELLEITER_SHARED", str(tmp_path))
    positions = read_positions(edition)
    assert positions.source == "8 scripted games"
    assert 300 < len(positions.played) < 2 * MOST
    assert all(state.check(move) is None for state, move in positions.played)


def test_positions_of_recorded_games_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "oracle"
    folder.mkdir()
    with gzip.open(folder / "blokus2021_games.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in LINES)
    monkeypatch.setenv("SPIELLEITER_SHARED", str(tmp_path))
    positions = read_positions("blokus-2021-r3")
    assert positions.source == "oracle, blokus2021_games.jsonl.gz"
    assert [(state.turn, state.start_shape.name) for state, _ in positions.played] == [
        (0, "PENTO_L"),
        (1, "PENTO_L"),
        (0, "PENTO_V"),
    ]
    assert positions.played[0][1] == SetMove(Color.BLUE, Shape.PENTO_L, Rotation.MIRROR, True, 0, 16)


def test_skipped_turns_of_recorded_games_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "oracle"
    folder.mkdir()
    moves = ["BLUE,PENTO_L,MIRROR,true,0,16", "YELLOW,PENTO_L,RIGHT,true,16,0", "RED,PENTO_L,LEFT,true,0,0"]
    moves += ["GREEN,PENTO_L,MIRROR,false,18,16", "SKIP,BLUE", "SKIP,YELLOW"]
    with gzip.open(folder / "blokus2021_games.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps({"game": 0, "start": "PENTO_L", "move": move}) + "\n" for move in moves)
    monkeypatch.setenv("SPIELLEITER_SHARED", str(tmp_path))
    assert [move for _, move in read_positions("blokus-2021-r3").played][-2:] == [
        SkipMove(Color.BLUE),
        SkipMove(Color.YELLOW),
    ]
