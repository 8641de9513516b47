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


def test_whatever_the_driver_has_not_done_itself_is_false(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps({"room": room, "causes": causes}) + "\n" for room, causes in GAMES.items()))
    assert read_verdicts(path, {"cut off", "cut off late"}) == Verdicts(5, 3)


def test_without_a_file_no_game_has_ended(tmp_path: Path) -> None:
    assert read_verdicts(tmp_path / "results.jsonl", set()) == Verdicts(0, 0)
