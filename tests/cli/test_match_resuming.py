"""`spielleiter match --resume`, and the folder of a match."""

from __future__ import annotations

from pathlib import Path

import pytest

import spielleiter.match.runner
from spielleiter.match.plan import MatchSetup, PlannedGame
from spielleiter.match.records import GameRecord, open_journal, read_journal
from spielleiter.match.verdict import Verdict
from spielleiter.programs.program import Command
from tests.cli.background import run
from tests.cli.matches import MATCH, play, setup_of
from tests.match.sample_records import fault, game


def test_a_resumed_match_plays_the_missing_games(games: dict[int, GameRecord], tmp_path: Path) -> None:
    assert play(tmp_path, "--seed", "7").exit_code == 0
    journal = tmp_path / "out" / "games.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join([lines[0], lines[2], lines[3][:40]]))
    games |= {number: game(number, 1) for number in range(1, 5)}
    done = run("match", "--resume", str(tmp_path / "out"))
    assert done.exit_code == 0
    assert "greedy against random, 4 games, seed 7" in done.stdout
    assert {record.game: record.winner for record in read_journal(tmp_path / "out")} == {1: 0, 2: 1, 3: 0, 4: 1}


@pytest.mark.usefixtures("games")
def test_a_resumed_match_refuses_changed_options(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    assert play(tmp_path, "--seed", "7").exit_code == 0
    done = run(*MATCH, "--resume", out, "-n", "2", "--seed", "7", "--soft-timeout", "9", "-j", "2")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        f"spielleiter: --resume {out}: the match was begun with other options: --games 2 (begun with 4), "
        "--soft-timeout 9 (begun with 2000); leave those options out to continue it, "
        "or begin another match in another folder\n"
    )
    again = run(*MATCH, "--resume", out, "--out", out, "-n", "4", "--seed", "7", "-j", "2", "--fail-on", "any")
    assert again.exit_code == 0
    assert len(read_journal(tmp_path / "out")) == 4


def test_a_match_is_extended_by_a_higher_number_of_games(games: dict[int, GameRecord], tmp_path: Path) -> None:
    assert play(tmp_path, "--seed", "7", games=3).exit_code == 0
    before = (tmp_path / "out" / "games.jsonl").read_text()
    games |= {number: game(number, 1) for number in range(1, 9)}
    done = run("match", "--resume", str(tmp_path / "out"), "-n", "8")
    assert done.exit_code == 0, done.stderr
    assert "extended from 3 to 8 games" in done.stderr
    records = read_journal(tmp_path / "out")
    assert [record.winner for record in records] == [0, 0, 0, 1, 1, 1, 1, 1]
    assert (tmp_path / "out" / "games.jsonl").read_text().startswith(before)
    assert setup_of(tmp_path)["games"] == 8
    # the same games as those of a match that had as many from the beginning
    assert run(*MATCH, "-n", "8", "--seed", "7", "--out", str(tmp_path / "whole")).exit_code == 0
    assert [(each.pair, each.seats) for each in records] == [
        (each.pair, each.seats) for each in read_journal(tmp_path / "whole")
    ]
    again = run("match", "--resume", str(tmp_path / "out"))
    assert (again.exit_code, len(read_journal(tmp_path / "out"))) == (0, 8)


@pytest.mark.usefixtures("games")
def test_a_match_is_not_resumed_with_another_version_of_a_program(tmp_path: Path) -> None:
    bot = tmp_path / "bot"
    bot.write_text("#!/bin/sh\n# one")
    bot.chmod(0o755)
    options = ("--player1", str(bot), "--player2", "builtin:first", "--out", str(tmp_path / "out"))
    assert run("match", *options, "-n", "4").exit_code == 0
    bot.write_text("#!/bin/sh\n# two")
    done = run("match", "--resume", str(tmp_path / "out"), "-n", "8")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "has changed since the match" in done.stderr
    assert setup_of(tmp_path)["games"] == 4
    bot.write_text("#!/bin/sh\n# one")
    assert run("match", "--resume", str(tmp_path / "out"), "-n", "8").exit_code == 0


def test_a_journal_that_a_program_changes_during_the_match_is_restored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    journal = tmp_path / "out" / "games.jsonl"

    async def play_game(setup: MatchSetup, planned: PlannedGame, *_: object) -> GameRecord:
        if planned.game == 3:
            journal.write_text(journal.read_text().replace('"winner": 0', '"winner": 1'))
        return game(planned.game, 0, names=setup.names, seats=planned.seats, pair=planned.pair)

    monkeypatch.setattr(spielleiter.match.runner, "play_game", play_game)
    done = play(tmp_path)
    assert done.exit_code == 0
    assert "was changed by another program" in done.stderr
    assert "greedy: +4 =0 -0" in done.stdout
    assert [record.winner for record in read_journal(tmp_path / "out")] == [0, 0, 0, 0]


def test_resuming_without_a_match_is_misuse(tmp_path: Path) -> None:
    done = run("match", "--resume", str(tmp_path))
    assert done.exit_code == 2
    assert "is there a match?" in done.stderr


def test_a_resumed_match_starts_its_programs_where_it_was_begun(
    games: dict[int, GameRecord], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, other = tmp_path / "begun", tmp_path / "other"
    original.mkdir()
    other.mkdir()
    (original / "my bot").touch(0o755)
    monkeypatch.chdir(original)
    assert run("match", "--player1", "my bot", "--player2", "builtin:first", "-n", "2", "--out", "out").exit_code == 0
    seen: list[tuple[str, ...]] = []

    async def play_game(setup: MatchSetup, planned: PlannedGame, *_: object) -> GameRecord:
        seen.append((setup.cwd, Command.parse(setup.entrants[0].command, setup.cwd).words[0]))
        return game(planned.game, 0)

    monkeypatch.setattr(spielleiter.match.runner, "play_game", play_game)
    (original / "out" / "games.jsonl").write_text("")
    monkeypatch.chdir(other)
    done = run("match", "--resume", "../begun/out")
    assert done.exit_code == 0, done.stderr
    assert seen == [(str(original), "./my bot")] * 2

    (original / "out").rename(other / "out")
    (original / "my bot").unlink()
    original.rmdir()
    done = run("match", "--resume", "out")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"spielleiter: {original}: the directory that the programs are started in does not exist\n"


@pytest.mark.usefixtures("games")
def test_a_folder_that_cannot_be_used_is_misuse_before_the_first_game(tmp_path: Path) -> None:
    assert play(tmp_path).exit_code == 0
    out = tmp_path / "out"
    with open_journal(out):
        done = run("match", "--resume", str(out))
    assert (done.exit_code, done.stderr) == (2, f"spielleiter: {out}: another match is being played in this folder\n")
    (tmp_path / "file").touch()
    done = run(*MATCH, "--out", str(tmp_path / "file" / "out"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "cannot be written (Not a directory)" in done.stderr


def test_control_characters_in_names_are_escaped(games: dict[int, GameRecord], tmp_path: Path) -> None:
    games[1] = fault(1, 1, Verdict.CRASH, reason="\x1b[2J")
    done = play(tmp_path, "--name1", "a\x1b[2J\u202e", games=2)
    assert done.exit_code == 0
    assert done.stdout.replace("\n", "").isprintable()
    assert done.stderr.replace("\n", "").isprintable()
    assert r"a\x1b[2J\u202e: +2 =0 -0" in done.stdout
