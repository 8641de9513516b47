"""Tournaments in which a round depends on the one before: knock-out and Swiss."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import spielleiter.match.runner
from tests.cli.background import run
from tests.cli.tournaments import FILE, play_where_b_does_not_start

CUP = FILE.replace("games = 4", 'kind = "knock-out"\nseeding = "listed"\ngames = 4')
SWISS = FILE.replace("games = 4", 'kind = "swiss"\nseeding = "listed"\ngames = 4')


@pytest.mark.usefixtures("faults")
def test_a_knock_out_has_a_champion(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(CUP)
    out = tmp_path / "out"
    done = run("tournament", str(tmp_path / "t.toml"), "--out", str(out))
    assert done.exit_code == 0, done.stderr
    assert "swc_2027_blokus (blokus-2027), final: a|b against b, 4 games\n" in done.stdout
    lines = (out / "table.md").read_text().splitlines()
    assert lines[0] == "swc_2027_blokus (blokus-2027): knock-out of 3 programs, 4 games a match, seed 0"
    assert lines[4:9] == [
        "|  | program | reached | seeded |",
        "|--:|---|---|--:|",
        "| 1 | a\\|b | champion | 1 |",
        "| 2 | b | final | 2 |",
        "| 3 | c | semi-final | 3 |",
    ]
    assert lines[-2] == "| semi-final | a\\|b | bye | – | – | – | – |"
    assert lines[-1].startswith("| final | a\\|b – b | 4 | 4 : 0 | +∞ ")
    assert lines[-1].endswith(" | a\\|b | score |")
    report = json.loads((out / "tournament.json").read_text())
    assert report["season"] == "swc_2027_blokus (blokus-2027)"
    assert [line["name"] for line in report["standings"]] == ["a|b", "b", "c"]
    assert report["rounds"][1]["matches"] == [
        {
            "programs": ["a|b", "b"],
            "folders": ["matches/002_a_b_b"],
            "score": [4.0, 0.0],
            "winner": "a|b",
            "reason": "score",
        }
    ]
    page = (out / "report.html").read_text()
    assert '<a href="./matches/002_a_b_b/report.html">a|b – b</a>' in page


@pytest.mark.usefixtures("faults")
def test_a_swiss_tournament_has_standings(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(SWISS)
    done = run("tournament", str(tmp_path / "t.toml"), "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.stderr
    lines = (tmp_path / "out" / "table.md").read_text().splitlines()
    assert lines[0] == ("swc_2027_blokus (blokus-2027): Swiss system, 2 rounds, of 3 programs, 4 games a match, seed 0")
    assert lines[6:9] == [
        "| 1 | a\\|b | 2 | 2 | 2 | 0 | 0 | 0 | 100.0 % | 1 |",
        "| 2 | b | 1 | 3 | 0 | 0 | 1 | 1 | 0.0 % | 2 |",
        "| 3 | c | 1 | 3 | 0 | 0 | 1 | 1 | 0.0 % | 3 |",
    ]


@pytest.mark.parametrize("text", [CUP, SWISS])
@pytest.mark.parametrize("cut", [1, 2])
@pytest.mark.usefixtures("faults")
def test_a_resumed_tournament_keeps_its_pairings(text: str, cut: int, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / "t.toml").write_text(text)
    assert run("tournament", str(tmp_path / "t.toml"), "--out", str(out)).exit_code == 0
    reports = {name: (out / name).read_text() for name in ("table.md", "tournament.json", "report.html")}
    folders = sorted(folder.name for folder in (out / "matches").iterdir())
    # the state after an interruption in this match
    for folder in sorted((out / "matches").iterdir())[cut:]:
        shutil.rmtree(folder)
    journal = out / "matches" / folders[cut - 1] / "games.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:1]))
    done = run("tournament", "--resume", str(out))
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count("game ") == 3 + 4 * (2 - cut)
    assert sorted(folder.name for folder in (out / "matches").iterdir()) == folders
    assert {name: (out / name).read_text() for name in reports} == reports
    # there is nothing left to play
    again = run("tournament", "--resume", str(out))
    assert (again.exit_code, again.stderr) == (0, "")
    assert {name: (out / name).read_text() for name in reports} == reports


def test_a_program_that_cannot_play_is_eliminated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(spielleiter.match.runner, "play_game", play_where_b_does_not_start)
    (tmp_path / "t.toml").write_text(CUP)
    out = tmp_path / "out"
    done = run("tournament", str(tmp_path / "t.toml"), "--out", str(out))
    assert done.exit_code == 5
    assert "b cannot play: does not start" in done.stderr
    text = (out / "table.md").read_text()
    assert r"| semi-final | b – c | 2 of 4: b cannot play | 0 : 2 | −∞ \[−∞, +∞\] | c | the other cannot play |" in text
    again = run("tournament", "--resume", str(out))
    assert again.exit_code == 5
    assert "b cannot play: does not start" in again.stderr
    assert again.stdout.splitlines()[-1] == done.stdout.splitlines()[-1]
