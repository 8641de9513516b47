"""Options that `tournament` shares with `match`: tests, limits and the end at the first fault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spielleiter.match.records import GameRecord, load_setup, read_journal
from spielleiter.match.verdict import Verdict
from tests.cli.background import run
from tests.cli.tournaments import FILE
from tests.match.sample_records import fault

LONG = FILE.replace("games = 4", "games = 200")


def write(folder: Path, text: str) -> str:
    (folder / "t.toml").write_text(text)
    return str(folder / "t.toml")


def matches(out: Path) -> list[Path]:
    return sorted((out / "matches").iterdir())


@pytest.mark.usefixtures("faults")
@pytest.mark.parametrize(
    ("lines", "options"),
    [
        ("", ("--significance", "0.05", "--min-tests", "30")),
        ("significance = 0.05\nmin_tests = 30\n", ()),
        ("significance = 0.05\n", ("--min-tests", "30")),
    ],
)
def test_each_match_ends_once_one_program_is_better(lines: str, options: tuple[str, ...], tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("tournament", write(tmp_path, lines + LONG), "--out", str(out), *options)
    assert done.exit_code == 0, done.stderr
    assert [len(read_journal(folder)) for folder in matches(out)] == [30] * 3
    for folder in matches(out):
        setup, summary = load_setup(folder), json.loads((folder / "summary.json").read_text())
        assert (setup["significance"], setup["min_games"]) == (0.05, 30)
        assert (summary["significance"]["risk"], summary["better"]) == (0.05, 0)
    table = (out / "table.md").read_text()
    assert table.count("of 20, risk 0.05: a\\|b is better") == 2
    assert "| match | games | score | Elo, 95 % | significance |" in table


@pytest.mark.usefixtures("faults")
def test_ratings_are_differences_from_the_program_that_an_option_names(tmp_path: Path) -> None:
    out, file = tmp_path / "out", write(tmp_path, FILE)
    done = run("tournament", file, "--out", str(out), "--anchor", "d")
    assert done.exit_code == 2
    assert "anchor 'd': expected the name of a program, 'a|b' or 'b' or 'c'" in done.stderr
    done = run("tournament", file, "--out", str(out), "--anchor", "b")
    assert done.exit_code == 0, done.stderr
    title, head = "## Ratings: difference from b", "|  | program | rating |"
    ratings = done.stdout.partition(title)[2]
    assert ratings.startswith(f"\n\n{head}")
    assert "| 2 | b | +0 |" in ratings
    assert title in run("tournament", "--resume", str(out)).stdout
    assert "## Ratings: difference from c" in run("tournament", "--resume", str(out), "--anchor", "c").stdout


@pytest.mark.usefixtures("faults")
def test_a_resumed_tournament_keeps_its_test_and_plays_no_decided_match_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("tournament", write(tmp_path, LONG), "--out", str(out), "--significance", "0.05").exit_code == 0
    played = [len(read_journal(folder)) for folder in matches(out)]
    assert played == [20] * 3
    done = run("tournament", "--resume", str(out), "--significance", "0.05")
    assert done.exit_code == 0, done.stderr
    assert "game " not in done.stderr
    assert [len(read_journal(folder)) for folder in matches(out)] == played


@pytest.mark.usefixtures("faults")
def test_without_time_limits_no_program_has_any(tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    assert run("tournament", write(tmp_path, FILE), "--out", str(out), "--no-timeout").exit_code == 0
    assert run("tournament", "--resume", str(out)).exit_code == 0
    assert run("tournament", write(tmp_path, "no_timeout = true\n" + FILE), "--out", str(other)).exit_code == 0
    for folder in (*matches(out), *matches(other)):
        assert not any(entrant["can_timeout"] for entrant in load_setup(folder)["entrants"])


@pytest.mark.parametrize(("lines", "options"), [("", ("--fail-fast",)), ("fail_fast = true\n", ())])
def test_with_fail_fast_the_first_fault_interrupts_the_tournament(
    lines: str, options: tuple[str, ...], faults: dict[str, GameRecord], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    faults["b"] = fault(1, 0, Verdict.CRASH)
    done = run("tournament", write(tmp_path, lines + FILE), "--out", str(out), "--fail-on", "crash", *options)
    assert done.exit_code == 3
    assert f"a program failed; --resume {out} continues" in done.stdout
    assert [len(read_journal(folder)) for folder in matches(out)] == [4, 4, 1]
    assert run("tournament", "--resume", str(out)).exit_code == 0
    assert [len(read_journal(folder)) for folder in matches(out)] == [4, 4, 4]


@pytest.mark.usefixtures("faults")
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--significance", "0.1"), "--significance 0.1 (begun with 0.05)"),
        (("--min-tests", "50"), "--min-tests 50 (begun with 30)"),
        (("--no-timeout",), "--no-timeout (begun without)"),
    ],
)
def test_a_resumed_tournament_refuses_other_tests_and_limits(
    options: tuple[str, ...], problem: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    file = write(tmp_path, "significance = 0.05\nmin_tests = 30\n" + FILE)
    assert run("tournament", file, "--out", str(out)).exit_code == 0
    refused = run("tournament", "--resume", str(out), *options)
    assert refused.exit_code == 2
    assert problem in refused.stderr


@pytest.mark.parametrize(
    ("lines", "options", "problem"),
    [
        ("significance = 0.1\n", ("--significance", "0.05"), "t.toml says significance = 0.1; leave one of them out"),
        ("min_tests = 30\n", (), "min_tests: has no effect without significance"),
        ("", ("--min-tests", "30"), "min_tests: has no effect without significance"),
        ("significance = 2\n", (), "significance 2: expected more than 0 and at most 0.5"),
        ('significance = "much"\n', (), "significance 'much': expected a number"),
        ('fail_fast = "yes"\n', (), "fail_fast 'yes': expected true or false"),
        ("no_timeout = 1\n", (), "no_timeout 1: expected true or false"),
    ],
)
def test_contradictions_are_refused(lines: str, options: tuple[str, ...], problem: str, tmp_path: Path) -> None:
    refused = run("tournament", write(tmp_path, lines + FILE), "--out", str(tmp_path / "out"), *options)
    assert refused.exit_code == 2
    assert problem in refused.stderr
    assert not (tmp_path / "out").exists()
