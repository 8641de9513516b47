"""`spielleiter check` of a command line and of a package: output, exit codes and files."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import etree, html

import spielleiter.contest.check
import spielleiter.contest.package_check
from spielleiter.cli.check import PackageScreen, check_package_in_terminal
from spielleiter.common.errors import MachineError, SetupError
from spielleiter.contest.check import CheckSetup, Status, StepResult
from spielleiter.contest.package_check import CheckListener
from spielleiter.contest.package_games import PackageCheckSetup
from spielleiter.contest.package_report import PackageReport, SandboxReport, State
from spielleiter.programs.sandbox.sandbox import SandboxSettings
from tests.cli.background import run
from tests.cli.terminal import pty
from tests.contest.package_reports import report

PASSED = StepResult(1, "starts", "it starts", Status.PASSED, "connected")
FAILED = StepResult(
    2, "plays", "a <move>", Status.FAILED, "no\x01 move & nothing", "first line\nsecond line", folder="step02"
)
UNDECIDED = StepResult(2, "plays", "a <move>", Status.UNDECIDED, "late", "last words", folder="step02-attempt3")
WARNING = StepResult(
    2, "is lenient", "no <end>", Status.WARNING, "it\x02 ended", "last words", "nobody demands this\x03"
)
NOT_TRIED = StepResult(3, "ends", "the end", Status.NOT_TRIED)
SEASON = "swc_2027_blokus (blokus-2027)"


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


class Checks:
    """The checks that were started, and the report that they return."""

    def __init__(self) -> None:
        self.setups: list[PackageCheckSetup] = []
        self.folders: list[Path] = []
        self.report = report()
        self.error: BaseException | None = None

    async def check(self, setup: PackageCheckSetup, folder: Path, listener: CheckListener) -> PackageReport:
        self.setups.append(setup)
        self.folders.append(folder)
        if self.error is not None:
            raise self.error
        listener.doing("inspecting the ZIP")
        assert self.report.speed is not None
        listener.started("start.sh", SandboxReport("none", (), ()), self.report.speed)
        for result in self.report.results:
            listener.result(result)
        return self.report


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Checks:
    """Checks of the package `player.zip` in the current folder; nothing is started."""
    (tmp_path / "player.zip").touch()
    monkeypatch.chdir(tmp_path)
    made_up = Checks()
    monkeypatch.setattr(spielleiter.contest.package_check, "check_package", made_up.check)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return made_up


def test_a_check_that_is_stopped_leaves_no_empty_reports(checks: Checks, tmp_path: Path) -> None:
    checks.error = KeyboardInterrupt()
    options = ("--html", "report.html", "--json", "report.json", "--junit", "report.xml")
    assert run("check", "player.zip", *options).exit_code == 130
    assert [each.name for each in tmp_path.glob("report*")] == []


def test_every_condition_is_a_line_that_begins_with_its_state(checks: Checks) -> None:
    checks.report = report({"options": State.RED, "memory": State.YELLOW, "network": State.NOT_CHECKED})
    done = run("check", "player.zip", "--out", "out")
    assert done.exit_code == 3
    lines = done.stdout.splitlines()
    assert lines[0] == f"{SEASON}: checking player.zip"
    assert lines[1].startswith("running start.sh; sandbox: none, only limits; a core of this machine is estimated")
    assert lines[2] == "green        the ZIP: as expected"
    assert "red          options: as expected" in lines
    assert "not checked  network: as expected" in lines
    [finding] = [line for line in lines if "[crash]" in line]
    assert finding.startswith("             [crash] game 1: the program crashes (as expected); ")
    assert lines[lines.index(finding) + 1] == "             logs: out/games/0001"
    assert lines[-4:] == [
        "1 condition of the contest could not be kept here:",
        "  no network: as expected",
        "logs and replays: out",
        "not fit: 13 green, 1 yellow, 1 red, 1 not checked; 12 s",
    ]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("state", "code"),
    [(State.GREEN, 0), (State.YELLOW, 0), (State.NOT_CHECKED, 0), (State.RED, 3), (State.UNDECIDED, 4)],
)
def test_the_exit_code_follows_the_verdict(state: State, code: int, checks: Checks) -> None:
    checks.report = report({"pairing": state})
    done = run("check", "player.zip")
    assert done.exit_code == code
    assert ("try again when this machine has less to do" in done.stdout) == (state is State.UNDECIDED)


def test_logs_are_kept_without_a_folder_only_if_the_program_is_not_fit(checks: Checks) -> None:
    assert "logs and replays" not in run("check", "player.zip").stdout
    assert not checks.folders[0].exists()
    checks.report = report({"pairing": State.RED})
    assert f"logs and replays: {checks.folders[0].parent}" in run("check", "player.zip").stdout
    assert checks.folders[1].is_dir()


def test_the_report_is_written_to_files(checks: Checks, tmp_path: Path) -> None:
    checks.report = report({"pairing": State.RED}, text="x")
    options = ("--html", "report.html", "--json", "report.json", "--junit", "report.xml", "--out", "a/out")
    assert run("check", "player.zip", *options).exit_code == 3
    page = html.document_fromstring((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert [each.get("href") for each in page.findall(".//td/a")] == ["./a/out/games/x", "./a/out/games/x/replay.xml"]
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["verdict"] == "not fit"
    assert etree.parse(tmp_path / "report.xml").getroot().get("failures") == "1"


def test_a_page_beside_no_logs_has_no_links(checks: Checks, tmp_path: Path) -> None:
    run("check", "player.zip", "--html", "report.html")
    assert checks.report.games
    assert html.document_fromstring((tmp_path / "report.html").read_text(encoding="utf-8")).findall(".//a") == []


def test_options_reach_the_check(checks: Checks) -> None:
    done = run(
        "check", "player.zip", "--main", "run.sh", "--sandbox", "podman", "--image", "python:3.12", "--speed", "1.5",
        "--soft-timeout", "1500", "--exit-timeout", "3", "--pause", "0.5", "--edition", "blokus-2021-r1",
        "--", "--level", "3",
    )  # fmt: skip
    assert done.exit_code == 0
    [setup] = checks.setups
    assert (setup.path, setup.main, setup.parameters) == (Path("player.zip"), "run.sh", ("--level", "3"))
    assert setup.sandbox == SandboxSettings("podman", "python:3.12")
    assert (setup.speed, setup.soft_timeout, setup.timeouts.exit, setup.pause) == (1.5, 1.5, 3, 0.5)
    assert (setup.game_type, setup.edition) == ("swc_2021_blokus", "blokus-2021-r1")


def test_a_package_with_parameters_may_be_one_word(checks: Checks) -> None:
    assert run("check", "player.zip --level 3", "--", "fast").exit_code == 0
    assert (checks.setups[0].path, checks.setups[0].parameters) == (Path("player.zip"), ("--level", "3", "fast"))


@pytest.mark.usefixtures("checks")
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("absent.zip",), "there is no file absent.zip"),
        (("player.zip", "--speed", "0"), "'0' cannot be used, expected a number from 0.05 to 20.0"),
        (("player.zip", "--sandbox", "jail"), "'jail' is not one of 'auto', 'docker', 'podman'"),
        (("builtin:random", "--main", "start.sh"), "--main needs a ZIP, as in `spielleiter check player.zip --main"),
        (("builtin:random", "--html", "report.html"), "--html needs a ZIP"),
        (("java", "bot.jar"), "'bot.jar' is one word too many; put the whole command line in quotation marks"),
        (("player.zip", "--html", "none/report.html"), "none/report.html: No such file or directory"),
    ],
)
def test_misuse_with_a_package_is_one_line(arguments: tuple[str, ...], problem: str) -> None:
    done = run("check", *arguments)
    assert done.exit_code == 2
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_sandbox_that_is_not_there_is_misuse(checks: Checks) -> None:
    checks.error = SetupError("sandbox docker: expected an image, such as --image python:3.12")
    done = run("check", "player.zip", "--sandbox", "docker")
    assert (done.exit_code, done.stderr) == (2, f"spielleiter: {checks.error}\n")
    assert not checks.folders[0].exists()


@pytest.mark.parametrize(("variable", "is_coloured"), [(None, True), ("NO_COLOR", False)])
def test_a_terminal_shows_states_in_colour_and_what_is_being_done(
    variable: str | None, is_coloured: bool, monkeypatch: pytest.MonkeyPatch, checks: Checks
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    if variable is not None:
        monkeypatch.setenv(variable, "1")
    with pty(columns=60) as terminal:
        monkeypatch.setattr(sys, "stdout", terminal.file)
        monkeypatch.setattr(sys, "stderr", terminal.file)
        setup = PackageCheckSetup(Path("player.zip"), "swc_2027_blokus")
        check_package_in_terminal(setup, None, None, None, None)
        terminal.file.flush()
        text = terminal.end()
    assert ("\033[32m\033[1mgreen\033[0m        the ZIP: as expected" in text) == is_coloured
    assert "  … inspecting the ZIP\r\033[K" in text
    assert len(checks.folders) == 1


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_dumb_terminal_gets_plain_lines(stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with pty() as terminal:
        monkeypatch.setattr(sys, stream, terminal.file)
        screen = PackageScreen(Path("out"))
        screen.doing("inspecting the ZIP")
        for result in report().results[:1]:
            screen.result(result)
        screen.clear()
        monkeypatch.undo()
        assert "\033" not in terminal.end()


def test_hostile_texts_are_escaped(checks: Checks) -> None:
    checks.report = report({"pairing": State.RED}, text="\x1b[31m\nnot fit\x00")
    done = run("check", "player.zip")
    assert "\x1b" not in done.stdout
    assert r"\x1b[31m\nnot fit\x00" in done.stdout
