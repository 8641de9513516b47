"""How a match ends: its exit code, and what it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

import spielleiter.match.runner
from spielleiter.common.errors import MachineError
from spielleiter.match.records import GameRecord, read_journal
from spielleiter.match.verdict import Verdict
from tests.cli.background import run
from tests.cli.matches import play
from tests.match.sample_records import absence, fault, game

NOT_COUNTED = {"is_counted": False}


@pytest.mark.parametrize(
    ("records", "options", "code"),
    [
        ([fault(1, 0, Verdict.CRASH)], (), 0),
        ([fault(1, 0, Verdict.CRASH)], ("--fail-on", "crash"), 3),
        ([fault(1, 0, Verdict.CRASH)], ("--fail-on", "timeout,message"), 0),
        ([fault(1, 1, Verdict.HANGS)], ("--fail-on", "timeout", "--fail-on", "message"), 3),
        ([fault(1, 1, Verdict.NONSENSE)], ("--fail-on", "timeout,message"), 3),
        ([fault(1, 1, Verdict.LEFTOVERS)], ("--fail-on", "any"), 3),
        ([fault(1, 1, Verdict.NEVER_ENDS)], ("--fail-on", "any"), 3),
        ([fault(1, 1, Verdict.NEVER_ENDS)], ("--fail-on", "crash,timeout,illegal,message"), 0),
        ([fault(1, 1, Verdict.NEVER_ENDS)], ("--fail-on", "exit"), 3),
        ([fault(1, 1, Verdict.LEFTOVERS)], ("--fail-on", "exit"), 3),
        ([game(1, None, verdict=Verdict.SERVER_FAILED, **NOT_COUNTED)], ("--fail-on", "any"), 4),
        ([game(1, None, verdict=Verdict.OVERLOAD, **NOT_COUNTED)], ("--fail-on", "any"), 0),
        ([fault(1, 0, Verdict.CRASH)], ("--fail-fast",), 0),
    ],
)
def test_the_exit_code_depends_on_faults(
    records: list[GameRecord], options: tuple[str, ...], code: int, games: dict[int, GameRecord], tmp_path: Path
) -> None:
    games |= {record.game: record for record in records}
    assert play(tmp_path, *options).exit_code == code
    assert len(read_journal(tmp_path / "out")) == (1 if "--fail-fast" in options else 4)


@pytest.mark.parametrize(
    ("winner", "options", "code"),
    [
        (0, ("--require", "better"), 0),
        (0, ("--require", "not-worse"), 0),
        (None, ("--require", "better"), 1),
        (None, ("--require", "not-worse"), 0),
        (1, ("--require", "better"), 1),
        (1, ("--require", "not-worse"), 1),
        (1, (), 0),
        (0, ("--sprt", "elo0=0 elo1=50"), 0),
        (1, ("--sprt", "elo0=0 elo1=50"), 1),
        (1, ("--significance", "0.05", "--min-tests", "10"), 0),
    ],
)
def test_the_exit_code_depends_on_the_better_program(
    winner: int | None, options: tuple[str, ...], code: int, games: dict[int, GameRecord], tmp_path: Path
) -> None:
    games |= {number: game(number, winner) for number in range(1, 201)}
    done = play(tmp_path, *options, games=200)
    assert done.exit_code == code
    played = len(read_journal(tmp_path / "out"))
    if "--sprt" in options:
        assert played < 200
        assert "SPRT accepted" in done.stdout
        assert "decided before all games were played" in done.stdout
    else:
        assert played == (16 if "--significance" in options else 200)


@pytest.mark.parametrize("requirement", ["better", "not-worse"])
def test_a_requirement_is_refused_with_too_few_games(
    requirement: str, games: dict[int, GameRecord], tmp_path: Path
) -> None:
    games |= {number: game(number, 0) for number in range(1, 13)}
    refused = play(tmp_path, "--require", requirement, games=11)
    assert refused.exit_code == 2
    assert "11 games cannot show which program is better, expected at least -n 12" in refused.stderr
    assert not (tmp_path / "out").exists()
    assert play(tmp_path, "--require", requirement, games=12).exit_code == 0


def test_a_requirement_is_not_met_if_too_few_games_count(games: dict[int, GameRecord], tmp_path: Path) -> None:
    games |= {number: game(number, 0) for number in range(1, 12)}
    games[12] = game(12, None, is_counted=False, verdict=Verdict.OVERLOAD)
    done = play(tmp_path, "--require", "not-worse", games=12)
    assert done.exit_code == 1
    assert "too few pairs to tell (5 complete pairs, at least 6 are needed)" in done.stdout


def test_the_standing_is_printed_after_every_n_games(games: dict[int, GameRecord], tmp_path: Path) -> None:
    games |= {number: game(number, 0) for number in range(1, 7)}
    done = play(tmp_path, "--report-every", "4", "--sprt", "elo0=0 elo1=5 model=normalized", games=6)
    interim = [line for line in done.stderr.splitlines() if line.startswith("after ")]
    assert interim == ["after 4 games: +4 =0 -0  LLR +0.04 (-2.94, +2.94)  Elo +∞ [−389.6, +∞]"]


def test_a_machine_that_fails_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> GameRecord:
        raise MachineError("no space left")

    monkeypatch.setattr(spielleiter.match.runner, "play_game", fail)
    done = play(tmp_path)
    assert (done.exit_code, done.stderr) == (4, "spielleiter match: no space left\n")
    assert (tmp_path / "out" / "summary.json").exists()


@pytest.mark.parametrize("absent", [0, 1])
def test_a_program_that_cannot_play_ends_the_match_and_is_no_answer(
    absent: int, games: dict[int, GameRecord], tmp_path: Path
) -> None:
    reason = "/nowhere/bot: there is no such program"
    games |= {number: absence(number, absent, reason=reason) for number in range(1, 13)}
    done = play(tmp_path, "--require", "not-worse", games=12)
    assert done.exit_code == 5
    assert len(read_journal(tmp_path / "out")) == 2
    name = ("greedy", "random")[absent]
    assert f"{name} cannot play: does not start in game 2 (/nowhere/bot: there is no such program)" in done.stderr
    assert f"it was started as: builtin:{name}" in done.stderr


def test_all_games_are_played_against_a_program_that_cannot_play_if_asked(
    games: dict[int, GameRecord], tmp_path: Path
) -> None:
    games |= {number: absence(number, 1) for number in range(1, 7)}
    assert play(tmp_path, games=8).exit_code == 5
    done = run("match", "--resume", str(tmp_path / "out"), "--keep-playing")
    assert done.exit_code == 0, done.stderr
    assert len(read_journal(tmp_path / "out")) == 8
    assert "greedy: +8 =0 -0" in done.stdout
    assert "random: +0 =0 -8" in done.stdout


def test_a_match_without_counted_games_is_no_success(games: dict[int, GameRecord], tmp_path: Path) -> None:
    games |= {number: game(number, None, verdict=Verdict.OVERLOAD, is_counted=False) for number in range(1, 13)}
    assert play(tmp_path, "--require", "not-worse", games=12).exit_code == 4


def test_concurrency_is_limited_to_what_can_be_judged(games: dict[int, GameRecord], tmp_path: Path) -> None:
    done = play(tmp_path, "-j", "1000")
    assert done.exit_code == 0
    assert done.stderr.startswith("1000 games at a time are too many for ")
