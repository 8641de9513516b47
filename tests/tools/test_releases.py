"""The kit with real releases, where they are built: `SEASON_RELEASES` names the folder that has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.season.forms import read_forms
from tools.season.oracle import play_games
from tools.season.record import record
from tools.season.release import Release
from tools.season.rules import RulesError, open_rules

FOLDER = os.environ.get("SEASON_RELEASES")
RELEASES = sorted(path.parent for path in Path(FOLDER).glob("*/classpath")) if FOLDER else []
pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(not RELEASES, reason="SEASON_RELEASES names no folder with releases of `season build`"),
]
each_release = pytest.mark.parametrize("folder", RELEASES, ids=[path.name for path in RELEASES])


@each_release
def test_a_game_is_played_by_the_rules_of_the_release(folder: Path) -> None:
    with open_rules(Release(folder)) as rules:
        lines = list(play_games(rules, 1, 1))
        assert lines[-1]["end"]
        verdicts = {probe["verdict"] for line in lines[:-1] for probe in line["probes"]}
        assert len(verdicts) > 3
        rules.load(lines[0]["exact"])
        assert rules.position()["state"] == lines[0]["state"]
        assert rules.moves(1)["count"] == lines[0]["count"] == rules.perft(1)[0]
        assert "state" in {form["name"] for form in read_forms(rules)["forms"].values()}
        with pytest.raises(RulesError, match="unknown question"):
            rules.ask("nonsense")


@each_release
def test_a_recording_of_the_release_is_repeatable(folder: Path, tmp_path: Path) -> None:
    texts = []
    for number in "12":
        record(
            Release(folder),
            tmp_path / number,
            whole_games=0,
            wrong_moves=0,
            seed=5,
            only="move_to_another_room",
            say=lambda _line: None,
        )
        texts.append((tmp_path / number / "cases" / "move_to_another_room.txt").read_text("utf-8"))
    # without the instants: only what is said to one connection has an order
    first, second = (sorted(line[9:] for line in text.splitlines()) for text in texts)
    assert first == second
