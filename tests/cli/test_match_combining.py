"""`spielleiter match --combine`: several matches, one result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spielleiter.match.records import GameRecord
from spielleiter.match.verdict import Verdict
from tests.cli.background import run
from tests.cli.matches import MATCH
from tests.match.sample_records import fault, game

SWAPPED = ("match", "--player1", "builtin:random", "--player2", "builtin:greedy")


def play(folder: Path, seed: int, *options: str, command: tuple[str, ...] = MATCH, count: int = 4) -> str:
    """Play a match in `folder` and return its path as a text."""
    done = run(*command, "-n", str(count), "--seed", str(seed), "--out", str(folder), *options)
    assert done.exit_code == 0, done.stderr
    return str(folder)


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def test_the_games_of_all_matches_count(games: dict[int, GameRecord], tmp_path: Path) -> None:
    one = play(tmp_path / "one", 1, count=3)
    games |= {number: game(number, 1, seed=10 + number) for number in range(1, 5)}
    # there greedy is the second program, and wins
    two = play(tmp_path / "two", 2, command=SWAPPED)
    games |= {number: game(number, 1, seed=20 + number) for number in range(1, 5)}
    games[2] = fault(2, 0, Verdict.CRASH, seed=22)
    three = play(tmp_path / "three", 3)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    out = tmp_path / "all"
    done = run("match", "--combine", one, two, three, "--out", str(out))
    assert done.exit_code == 0, done.stderr
    found = summary(out)
    assert (found["names"], found["planned"], found["played"]) == (["greedy", "random"], 11, 11)
    assert found["results"] == {"wins": 7, "draws": 0, "losses": 4}
    assert [each["crashes"] for each in found["programs"]] == [1, 0]
    assert sum(found["pairs"]) == 5  # half a pair of the first match stays alone
    assert "greedy: +7 =0 -4" in done.stdout
    assert (out / "report.html").exists()
    assert {file: file.read_bytes() for file in before} == before
    lines = (out / "games.csv").read_text().splitlines()
    assert len(lines) == 12
    assert "../three/games/" in lines[-1]


def test_the_exit_code_is_that_of_a_match(games: dict[int, GameRecord], tmp_path: Path) -> None:
    folders = []
    for seed in (1, 2):
        games |= {number: game(number, 1, seed=10 * seed + number) for number in range(1, 7)}
        folders.append(play(tmp_path / str(seed), seed, count=6))
    assert run("match", "--combine", *folders, "--out", str(tmp_path / "all"), "--require", "better").exit_code == 1
    games |= {number: fault(number, 0, Verdict.CRASH, seed=70 + number) for number in (1, 2)}
    folders.append(play(tmp_path / "3", 3, count=2))
    assert run("match", "--combine", *folders, "--out", str(tmp_path / "b"), "--fail-on", "crash").exit_code == 3


@pytest.mark.parametrize(
    ("command", "options", "problem"),
    [
        (MATCH, ("--soft-timeout", "900"), "they differ in time limits or rules"),
        (MATCH, ("--edition", "blokus-2021-r1"), "they differ in game"),
        (("match", "--player1", "builtin:greedy", "--player2", "builtin:first"), (), "is a match of greedy and first"),
        (MATCH, ("--no-timeout1",), "greedy is another program there, or has other settings"),
    ],
)
def test_matches_that_cannot_be_compared_are_refused(
    command: tuple[str, ...],
    options: tuple[str, ...],
    problem: str,
    games: dict[int, GameRecord],
    tmp_path: Path,
) -> None:
    one = play(tmp_path / "one", 1)
    games |= {number: game(number, 0, seed=10 + number) for number in range(1, 5)}
    other = play(tmp_path / "other", 2, *options, command=command)
    done = run("match", "--combine", one, other, "--out", str(tmp_path / "all"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert problem in done.stderr
    assert not (tmp_path / "all").exists()


def test_the_default_edition_is_the_same_with_and_without_its_name(
    games: dict[int, GameRecord], tmp_path: Path
) -> None:
    one = play(tmp_path / "one", 1)
    games |= {number: game(number, 0, seed=10 + number) for number in range(1, 5)}
    other = play(tmp_path / "other", 2, "--edition", "blokus-2027")
    assert run("match", "--combine", one, other, "--out", str(tmp_path / "all")).exit_code == 0


@pytest.mark.parametrize("is_changed", [False, True])
def test_the_contents_of_programs_are_compared(
    is_changed: bool, games: dict[int, GameRecord], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are those at the beginning of each match, wherever the files are now."""
    monkeypatch.chdir(tmp_path)
    bot = tmp_path / "bot"
    command = ("match", "--player1", "./bot", "--player2", "builtin:first")
    bot.write_text("#!/bin/sh\n")
    bot.chmod(0o755)
    one = play(tmp_path / "one", 1, command=command)
    games |= {number: game(number, 0, seed=10 + number) for number in range(1, 5)}
    if is_changed:
        bot.write_text("#!/bin/sh\n# better\n")
    other = play(tmp_path / "other", 2, command=command)
    bot.unlink()
    done = run("match", "--combine", one, other, "--out", str(tmp_path / "all"))
    if is_changed:
        assert done.exit_code == 2
        assert "bot is another program there" in done.stderr
    else:
        assert done.exit_code == 0, done.stderr
        assert "is not known" not in done.stderr


def test_a_program_whose_contents_are_not_known_is_named(games: dict[int, GameRecord], tmp_path: Path) -> None:
    command = ("match", "--player1", "sh -c true", "--name1", "sh", "--player2", "builtin:first")
    one = play(tmp_path / "one", 1, command=command)
    games |= {number: game(number, 0, seed=10 + number) for number in range(1, 5)}
    other = play(tmp_path / "other", 2, command=command)
    done = run("match", "--combine", one, other, "--out", str(tmp_path / "all"))
    assert done.exit_code == 0
    assert "whether sh was the same program in all matches is not known" in done.stderr


@pytest.mark.usefixtures("games")
def test_the_same_games_do_not_count_twice(tmp_path: Path) -> None:
    one, copy = play(tmp_path / "one", 1), play(tmp_path / "copy", 1)
    for folders in ((one, copy), (one, one)):
        done = run("match", "--combine", *folders, "--out", str(tmp_path / "all"))
        assert done.exit_code == 2
        assert "hold the same games" in done.stderr


@pytest.mark.usefixtures("games")
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--combine",), "at least two matches"),
        (("--combine", "ONE"), "at least two matches"),
        (("ONE", "TWO"), "need --combine"),
        (("--combine", "ONE", "NONE"), "is there a match?"),
        (("--combine", "ONE", "TWO", "--out", "ONE"), "holds a match"),
        (("--combine", "ONE", "TWO", "--resume", "ONE"), "--resume"),
        (("--combine", "ONE", "TWO", "--player1", "builtin:first"), "--player1"),
    ],
)
def test_misuse_is_one_line(options: tuple[str, ...], problem: str, tmp_path: Path) -> None:
    places = {name: str(tmp_path / name) for name in ("ONE", "TWO", "NONE")}
    play(tmp_path / "ONE", 1)
    done = run("match", *(places.get(option, option) for option in options))
    assert (done.exit_code, done.stdout) == (2, "")
    assert problem in done.stderr
