"""Counting wrong verdicts in a results file."""

from __future__ import annotations

import json
from pathlib import Path

from spielleiter.bench.verdicts import Verdicts, read_verdicts

GAMES = {
    "whole": ["REGULAR", "REGULAR"],
    "left": ["LEFT", "REGULAR"],
    "late": ["REGULAR", "SOFT_TIMEOUT"],
    "cut off": ["REGULAR", "LEFT"],
    "cut off late": ["SOFT_TIMEOUT", "REGULAR"],
}


def test_causes_other_than_regular_are_wrong_unless_the_driver_aborted(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps({"room": room, "causes": causes}) + "\n" for room, causes in GAMES.items()))
    assert read_verdicts(path, {"cut off", "cut off late"}) == Verdicts(5, 3)


def test_a_missing_file_has_no_games(tmp_path: Path) -> None:
    assert read_verdicts(tmp_path / "results.jsonl", set()) == Verdicts(0, 0)
