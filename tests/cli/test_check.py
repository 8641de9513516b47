"""`spielleiter check`: its output, exit codes and files."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import etree

import spielleiter.contest.check
from spielleiter.common.errors import MachineError
from spielleiter.contest.check import CheckSetup, Status, StepResult
from tests.cli.background import run

PASSED = StepResult(1, "starts", "it starts", Status.PASSED, "connected")
FAILED = StepResult(
    2, "plays", "a <move>", Status.FAILED, "no\x01 move & nothing", "first line\nsecond line", folder="step02"
)
UNDECIDED = StepResult(2, "plays", "a <move>", Status.UNDECIDED, "late", "last words", folder="step02-attempt3")
WARNING = StepResult(
    2, "is lenient", "no <end>", Status.WARNING, "it\x02 ended", "last words", "nobody demands this\x03"
)
NOT_TRIED = StepResult(3, "ends", "the end", Status.NOT_TRIED)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[StepResult]:
    """The steps that a check of the program `bot` in the current folder reports; the program is not started."""
    bot = tmp_path / "bot"
    bot.write_text("#!/bin/sh\n")
    bot.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    made_up = [PASSED]

    async def check_program(
        _setup: CheckSetup, _folder: Path, tell: Callable[[StepResult], None]
    ) -> tuple[StepResult, ...]:
        for step in made_up:
            tell(step)
        return tuple(made_up)

    monkeypatch.setattr(spielleiter.contest.check, "check_program", check_program)
    return made_up


@pytest.mark.usefixtures("steps")
def test_a_fit_program_is_reported() -> None:
    done = run("check", "bot")
    assert done.exit_code == 0
    assert done.stdout == (
        "swc_2027_blokus (blokus-2027): checking bot\n 1  passed     starts: connected\nfit: the only step passed\n"
    )


def test_a_failed_step_is_reported_with_all_details(steps: list[StepResult]) -> None:
    steps += [FAILED, NOT_TRIED]
    done = run("check", "bot")
    assert done.exit_code == 3
    assert done.stdout.splitlines()[2:] == [
        " 2  failed     plays",
        "        expected: a <move>",
        r"        got:      no\x01 move & nothing",
        "        stderr:   first line",
        "        stderr:   second line",
        " 3  not tried  ends",
        "not fit: 2 of 3 steps not passed, first 2, plays",
    ]


def test_the_folder_of_a_failed_step_is_printed(steps: list[StepResult], tmp_path: Path) -> None:
    steps.append(FAILED)
    done = run("check", "bot", "--out", str(tmp_path / "out"))
    assert f"        kept in:  {tmp_path / 'out' / 'step02'}" in done.stdout.splitlines()
    assert done.stdout.count("kept in:") == 1


def test_a_busy_machine_leaves_the_check_undecided(steps: list[StepResult], tmp_path: Path) -> None:
    steps += [UNDECIDED, NOT_TRIED]
    done = run("check", "bot", "--junit", str(tmp_path / "check.xml"))
    assert done.exit_code == 4
    assert done.stdout.splitlines()[2:] == [
        " 2  undecided  plays",
        "        expected: a <move>",
        "        got:      late",
        "        stderr:   last words",
        " 3  not tried  ends",
        "undecided: this machine was too busy for 2 of 3 steps; try again when it has less to do",
    ]
    steps.append(FAILED)
    assert run("check", "bot").exit_code == 3


def test_a_failed_step_takes_precedence_over_undecided_ones(steps: list[StepResult]) -> None:
    steps += [UNDECIDED, FAILED]
    done = run("check", "bot")
    assert done.exit_code == 3
    assert done.stdout.splitlines()[-1] == "not fit: 2 of 3 steps not passed, first 2, plays"


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize(
    ("options", "season"),
    [
        (("--edition", "blokus-2021-r1"), "swc_2021_blokus (blokus-2021-r1)"),
        (("--game", "swc_2021_blokus"), "swc_2021_blokus (blokus-2021-r3)"),
        (("--game", "swc_2021_blokus", "--edition", "blokus-2021-21.4.0"), "swc_2021_blokus (blokus-2021-21.4.0)"),
    ],
)
def test_the_season_is_in_the_first_line_of_every_output(options: tuple[str, ...], season: str, tmp_path: Path) -> None:
    done = run("check", "bot", "--junit", str(tmp_path / "check.xml"), *options)
    assert done.stdout.splitlines()[0] == f"{season}: checking bot"
    suite = etree.parse(tmp_path / "check.xml").getroot()
    assert suite.get("name") == f"spielleiter check bot, {season}"


def test_a_warning_does_not_change_the_exit_code(steps: list[StepResult]) -> None:
    steps.append(WARNING)
    done = run("check", "bot")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[2:] == [
        " 2  warning    is lenient",
        "        expected: no <end>",
        r"        got:      it\x02 ended",
        "        stderr:   last words",
        r"        remark:   nobody demands this\x03",
        "fit: 1 of 2 steps passed, 1 warning",
    ]


def test_warnings_are_counted_after_a_failure(steps: list[StepResult]) -> None:
    steps += [FAILED, WARNING, WARNING]
    done = run("check", "bot")
    assert done.exit_code == 3
    assert done.stdout.splitlines()[-1] == "not fit: 1 of 4 steps not passed, first 2, plays, 2 warnings"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("builtin:clever",), "there is no such strategy"),
        (("./no-such-bot",), "there is no file ./no-such-bot"),
        (("./bot", "--game", "swc_2027_blokus", "--edition", "blokus-2021-r1"), "that edition is of swc_2021_blokus"),
        (
            ("bot", "--soft-timeout", "3", "--hard-timeout", "2"),
            "the soft time limit (3 ms) is above the hard one (2 ms)",
        ),
        (("bot", "--game-end", "never"), "gameEnd: 'never' is not one of colorFinished, noMovesLeft (swc_2027_blokus)"),
        (
            ("bot", "--game-end", "noMovesLeft", "--game", "swc_2018_hase_und_igel"),
            "swc_2018_hase_und_igel has no option gameEnd",
        ),
        (("bot", "--hard-timeout", "9" * 23), "' cannot be used, expected a whole number from 1 to 2147483647"),
        (("bot", "--pause", "1e300"), "'1e300' cannot be used, expected a number above 0 and up to 31622400"),
    ],
)
def test_misuse_is_one_line(arguments: tuple[str, ...], problem: str) -> None:
    done = run("check", *arguments)
    assert done.exit_code == 2
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("steps")
def test_a_machine_that_fails_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise MachineError("no space left")

    monkeypatch.setattr(spielleiter.contest.check, "check_program", fail)
    done = run("check", "bot")
    assert (done.exit_code, done.stderr) == (4, "spielleiter check: no space left\n")


@pytest.mark.parametrize(
    ("option", "place", "reason"),
    [
        ("--out", "file/out", "Not a directory"),
        ("--junit", "none/check.xml", "No such file or directory"),
        ("--junit", "", "Is a directory"),
    ],
)
def test_unwritable_files_are_refused_before_the_first_step(
    option: str, place: str, reason: str, tmp_path: Path, steps: list[StepResult]
) -> None:
    (tmp_path / "file").touch()
    done = run("check", "bot", option, str(tmp_path / place))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"spielleiter: {tmp_path}")
    assert done.stderr.endswith(f": {reason}\n")


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize("old", [None, "of the last check"])
def test_a_check_that_is_stopped_leaves_the_old_report(
    old: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(spielleiter.contest.check, "check_program", stop)
    report = tmp_path / "check.xml"
    if old is not None:
        report.write_text(old)
    assert run("check", "bot", "--junit", str(report)).exit_code == 130
    assert (report.read_text() if report.exists() else None) == old


@pytest.mark.slow
def test_outputs_are_kept_in_the_requested_folder(tmp_path: Path) -> None:
    command = f"{shlex.quote(sys.executable)} -c 'print(3)'"
    done = run("check", command, "--out", str(tmp_path / "out"))
    assert done.exit_code == 3
    assert (tmp_path / "out" / "step01" / "stdout.log").read_text().endswith("  3\n")
    assert (tmp_path / "out" / "step01" / "wire.log.gz").exists()
