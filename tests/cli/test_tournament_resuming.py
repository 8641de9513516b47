"""`spielleiter tournament --resume` with another file: programs come, go and change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import spielleiter.match.runner
from spielleiter.match.plan import MatchSetup, PlannedGame
from spielleiter.match.records import GameRecord, load_setup, read_journal
from tests.cli.background import run
from tests.match.sample_records import game

STRENGTH = {"w": 4, "x": 3, "y": 2, "z": 1}


@pytest.fixture(autouse=True)
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The programs of each game, in the order of playing; the stronger one wins."""
    games: list[tuple[str, str]] = []

    async def play_game(setup: MatchSetup, planned: PlannedGame, _folder: Path, *_more: object) -> GameRecord:
        games.append(setup.names)
        first, second = (STRENGTH[name] for name in setup.names)
        return game(planned.game, int(second > first), names=setup.names, pair=planned.pair, seats=planned.seats)

    monkeypatch.setattr(spielleiter.match.runner, "play_game", play_game)
    return games


def write(folder: Path, names: Sequence[str], head: str = "games = 2", contents: Mapping[str, str] = {}) -> str:
    """Write the file of a tournament and its programs, and return the path of the file."""
    text = f"{head}\n"
    for name in names:
        bot = folder / f"bot-{name}"
        bot.write_text(f"#!/bin/sh\n# {contents.get(name, name)}\n")
        bot.chmod(0o755)
        text += f'[[program]]\nname = "{name}"\ncommand = "{bot}"\n'
    (folder / "t.toml").write_text(text)
    return str(folder / "t.toml")


def table(out: Path) -> dict[str, tuple[int, int]]:
    """Wins and losses by program."""
    lines: list[dict[str, Any]] = json.loads((out / "table.json").read_text())
    return {line["name"]: (line["wins"], line["losses"]) for line in lines}


def left_out(out: Path) -> list[tuple[list[str], int, str]]:
    found = json.loads((out / "tournament.json").read_text())["left_out"]
    return [(each["programs"], each["games"], each["reason"]) for each in found]


def test_a_program_joins_a_tournament(played: list[tuple[str, str]], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("tournament", write(tmp_path, "xz"), "--out", str(out)).exit_code == 0
    # at the beginning and in the middle, so that all numbers change
    done = run("tournament", write(tmp_path, "wxyz"), "--resume", str(out))
    assert done.exit_code == 0, done.stderr
    assert played.count(("x", "z")) == 2
    assert len(played) == 2 * 6
    assert table(out) == {"w": (6, 0), "x": (4, 2), "y": (2, 4), "z": (0, 6)}
    assert done.stdout.endswith(report := (out / "table.md").read_text())
    again = run("tournament", "--resume", str(out))
    assert (again.exit_code, len(played)) == (0, 12)
    assert again.stdout.endswith(report)


def test_a_program_leaves_a_tournament_and_comes_back(played: list[tuple[str, str]], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("tournament", write(tmp_path, "wxyz"), "--out", str(out)).exit_code == 0
    done = run("tournament", write(tmp_path, "xyz"), "--resume", str(out))
    assert done.exit_code == 0, done.stderr
    assert len(played) == 12
    assert table(out) == {"x": (4, 0), "y": (2, 2), "z": (0, 4)}
    assert left_out(out) == [([first, second], 2, "w no longer takes part") for first, second in ("wx", "wy", "wz")]
    assert "## Not counted" in done.stdout
    assert run("tournament", write(tmp_path, "wxyz"), "--resume", str(out)).exit_code == 0
    assert len(played) == 12
    assert table(out)["w"] == (6, 0)
    assert left_out(out) == []


def test_the_order_of_the_programs_does_not_matter(played: list[tuple[str, str]], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("tournament", write(tmp_path, "xyz"), "--out", str(out)).exit_code == 0
    assert run("tournament", write(tmp_path, "zyx"), "--resume", str(out)).exit_code == 0
    assert len(played) == 6
    assert table(out) == {"x": (4, 0), "y": (2, 2), "z": (0, 4)}
    # what is added to a match has the order of that match
    assert run("tournament", write(tmp_path, "zyx", "games = 4"), "--resume", str(out)).exit_code == 0
    assert len(played) == 12
    assert table(out) == {"x": (8, 0), "y": (4, 4), "z": (0, 8)}
    assert sorted(load_setup(each)["games"] for each in (out / "matches").iterdir()) == [4, 4, 4]
    assert {record.names for each in (out / "matches").iterdir() for record in read_journal(each)} == {
        ("x", "y"),
        ("x", "z"),
        ("y", "z"),
    }


def test_a_new_version_of_a_program_plays_its_matches_again(played: list[tuple[str, str]], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("tournament", write(tmp_path, "xyz"), "--out", str(out)).exit_code == 0
    file = write(tmp_path, "xyz", contents={"y": "another version"})
    done = run("tournament", file, "--resume", str(out))
    assert done.exit_code == 0, done.stderr
    assert played[6:] == [("x", "y")] * 2 + [("y", "z")] * 2
    assert table(out) == {"x": (4, 0), "y": (2, 2), "z": (0, 4)}
    assert left_out(out) == [(["x", "y"], 2, "y has changed since"), (["y", "z"], 2, "y has changed since")]
    assert len(list((out / "matches").iterdir())) == 5


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        ("games = 2\nseed = 3", "other values of seed"),
        ("games = 2\nkind = 'swiss'", "other values of kind"),
        ("games = 2\nsoft_timeout = 500", "other values of time limits or rules"),
        ("games = 2\nsprt = 'elo0=0 elo1=5'", "other values of sprt"),
        ("games = 1", "other values of games"),
    ],
)
def test_matches_that_could_not_be_compared_are_refused(head: str, problem: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("tournament", write(tmp_path, "xy"), "--out", str(out)).exit_code == 0
    kept = (out / "tournament.toml").read_text()
    done = run("tournament", write(tmp_path, "xyz", head), "--resume", str(out))
    assert done.exit_code == 2
    assert problem in done.stderr
    assert (out / "tournament.toml").read_text() == kept


def test_rounds_are_paired_anew_and_no_match_is_lost(played: list[tuple[str, str]], tmp_path: Path) -> None:
    head = "games = 2\nkind = 'knock-out'\nseeding = 'listed'"
    out = tmp_path / "out"
    assert run("tournament", write(tmp_path, "wxyz", head), "--out", str(out)).exit_code == 0
    assert played[::2] == [("w", "z"), ("x", "y"), ("w", "x")]
    done = run("tournament", write(tmp_path, "wxz", head), "--resume", str(out))
    assert done.exit_code == 0, done.stderr
    assert played[6::2] == [("x", "z")]  # the final of w and x is known
    assert "champion" in done.stdout
    assert left_out(out) == [(["w", "z"], 2, "this pairing is not played"), (["x", "y"], 2, "y no longer takes part")]
