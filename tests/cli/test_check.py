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
from spielleiter.cli.check import check_package_in_terminal
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
    2, "is lenient", "no <end>", Status.WARNING, "it\x02 ended", "last words", "nobody demands this\x03", "step03"
)
NOT_TRIED = StepResult(3, "ends", "the end", Status.NOT_TRIED)
SEASON = "swc_2027_blokus (blokus-2027)"
FAILED_LINES = [
    " 2  failed     plays",
    "        expected: a <move>",
    r"        got:      no\x01 move & nothing",
    "        stderr:   first line",
    "        stderr:   second line",
    "        kept in:  out/step02",
]
UNDECIDED_LINES = [
    " 2  undecided  plays",
    "        expected: a <move>",
    "        got:      late",
    "        stderr:   last words",
    "        kept in:  out/step02-attempt3",
]
WARNING_LINES = [
    " 2  warning    is lenient",
    "        expected: no <end>",
    r"        got:      it\x02 ended",
    "        stderr:   last words",
    r"        remark:   nobody demands this\x03",
    "        kept in:  out/step03",
]
NOT_TRIED_LINES = [" 3  not tried  ends"]


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


@pytest.mark.parametrize(
    ("more", "code", "lines"),
    [
        ([], 0, ["fit: the only step passed"]),
        (
            [FAILED, NOT_TRIED],
            3,
            [*FAILED_LINES, *NOT_TRIED_LINES, "not fit: 2 of 3 steps not passed, first 2, plays"],
        ),
        (
            [UNDECIDED, NOT_TRIED],
            4,
            [
                *UNDECIDED_LINES,
                *NOT_TRIED_LINES,
                "undecided: this machine was too busy for 2 of 3 steps; try again when it has less to do",
            ],
        ),
        (
            [UNDECIDED, FAILED],
            3,
            [*UNDECIDED_LINES, *FAILED_LINES, "not fit: 2 of 3 steps not passed, first 2, plays"],
        ),
        ([WARNING], 0, [*WARNING_LINES, "fit: 1 of 2 steps passed, 1 warning"]),
        (
            [FAILED, WARNING],
            3,
            [*FAILED_LINES, *WARNING_LINES, "not fit: 1 of 3 steps not passed, first 2, plays, 1 warning"],
        ),
    ],
)
def test_a_program_is_reported(more: list[StepResult], code: int, lines: list[str], steps: list[StepResult]) -> None:
    steps += more
    done = run("check", "bot", "--out", "out")
    assert done.exit_code == code
    assert done.stdout.splitlines() == [f"{SEASON}: checking bot", " 1  passed     starts: connected", *lines]


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize(
    ("options", "season"),
    [
        (("--edition", "blokus-2021-r1"), "swc_2021_blokus (blokus-2021-r1)"),
        (("--game", "swc_2021_blokus"), "swc_2021_blokus (blokus-2021-r3)"),
    ],
)
def test_the_season_is_in_the_first_line_of_every_output(options: tuple[str, ...], season: str) -> None:
    done = run("check", "bot", "--junit", "check.xml", *options)
    assert done.stdout.splitlines()[0] == f"{season}: checking bot"
    assert etree.parse("check.xml").getroot().get("name") == f"spielleiter check bot, {season}"


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
        (("bot", "--pause", "1e300"), "'1e300' cannot be used, expected a number above 0 and up to 31622400"),
        (("absent.zip",), "there is no file absent.zip"),
        (("player.zip", "--env", "A=b"), "--env: a package gets no variables in the contest"),
        (("player.zip", "--speed", "0"), "'0' cannot be used, expected a number from 0.05 to 20.0"),
        (("player.zip", "--sandbox", "jail"), "'jail' is not one of 'auto', 'docker', 'podman'"),
        (("builtin:random", "--main", "start.sh"), "--main needs a ZIP, as in `spielleiter check player.zip --main"),
        (("java", "bot.jar"), "'bot.jar' is one word too many; put the whole command line in quotation marks"),
        (("player.zip", "--html", "none/report.html"), "none/report.html: No such file or directory"),
        (("bot", "--out", "player.zip/out"), "Not a directory"),
        (("bot", "--junit", "none/check.xml"), "No such file or directory"),
        (("bot", "--junit", "."), "Is a directory"),
    ],
)
@pytest.mark.usefixtures("checks", "steps")
def test_misuse_is_one_line_before_the_first_step(arguments: tuple[str, ...], problem: str) -> None:
    done = run("check", *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("steps")
def test_a_machine_that_fails_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise MachineError("no space left")

    monkeypatch.setattr(spielleiter.contest.check, "check_program", fail)
    done = run("check", "bot")
    assert (done.exit_code, done.stderr) == (4, "spielleiter check: no space left\n")


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize("old", [None, "of the last check"])
def test_a_check_that_is_stopped_leaves_the_old_report(
    old: str | None, monkeypatch: pytest.MonkeyPatch, checks: Checks
) -> None:
    async def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(spielleiter.contest.check, "check_program", stop)
    checks.error = KeyboardInterrupt()
    paths = [Path(f"report.{kind}") for kind in ("junit", "html", "json")]
    for path in paths if old else ():
        path.write_text(old or "")
    assert run("check", "bot", "--junit", str(paths[0])).exit_code == 130
    options = [word for path in paths for word in (f"--{path.suffix[1:]}", str(path))]
    assert run("check", "player.zip", *options).exit_code == 130
    assert [path.read_text() if path.exists() else None for path in paths] == [old] * 3


@pytest.mark.slow
def test_outputs_are_kept_in_the_requested_folder(tmp_path: Path) -> None:
    command = f"{shlex.quote(sys.executable)} -c 'print(3)'"
    done = run("check", command, "--out", str(tmp_path / "out"))
    assert done.exit_code == 3
    assert (tmp_path / "out" / "step01" / "stdout.log").read_text().endswith("  3\n")
    assert (tmp_path / "out" / "step01" / "wire.log.gz").exists()


# -- packages ---------------------------------------------------------------------------------------------------------


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
def test_the_exit_code_follows_the_verdict_and_logs_are_kept_of_an_unfit_program(
    state: State, code: int, checks: Checks
) -> None:
    checks.report = report({"pairing": state})
    done = run("check", "player.zip")
    assert done.exit_code == code
    assert ("try again when this machine has less to do" in done.stdout) == (state is State.UNDECIDED)
    [folder] = checks.folders
    assert (f"logs and replays: {folder.parent}" in done.stdout) == folder.is_dir() == (code != 0)


def test_the_report_is_written_to_files_and_hostile_texts_are_escaped(checks: Checks, tmp_path: Path) -> None:
    run("check", "player.zip", "--html", "report.html")
    page = html.document_fromstring((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.findall(".//a") == []  # there are no logs
    checks.report = report({"pairing": State.RED}, text="\x1b[31m\nnot fit\x00")
    done = run("check", "player.zip")
    assert "\x1b" not in done.stdout
    assert r"\x1b[31m\nnot fit\x00" in done.stdout
    checks.report = report({"pairing": State.RED}, text="x")
    options = ("--html", "report.html", "--json", "report.json", "--junit", "report.xml", "--out", "a/out")
    assert run("check", "player.zip", *options).exit_code == 3
    page = html.document_fromstring((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert [each.get("href") for each in page.findall(".//td/a")] == ["./a/out/games/x", "./a/out/games/x/replay.xml"]
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["verdict"] == "not fit"
    assert etree.parse(tmp_path / "report.xml").getroot().get("failures") == "1"


def test_options_reach_the_check(checks: Checks) -> None:
    done = run(
        "check", "player.zip --fast", "--main", "run.sh", "--sandbox", "podman", "--image", "python:3.12",
        "--speed", "1.5", "--soft-timeout", "1500", "--exit-timeout", "3", "--pause", "0.5",
        "--edition", "blokus-2021-r1", "--", "--level", "3",
    )  # fmt: skip
    assert done.exit_code == 0
    [setup] = checks.setups
    assert (setup.path, setup.main, setup.parameters) == (Path("player.zip"), "run.sh", ("--fast", "--level", "3"))
    assert setup.sandbox == SandboxSettings("podman", "python:3.12")
    assert (setup.speed, setup.soft_timeout, setup.timeouts.exit, setup.pause) == (1.5, 1.5, 3, 0.5)
    assert (setup.game_type, setup.edition) == ("swc_2021_blokus", "blokus-2021-r1")


def test_a_sandbox_that_is_not_there_is_misuse(checks: Checks) -> None:
    checks.error = SetupError("sandbox docker: expected an image, such as --image python:3.12")
    done = run("check", "player.zip", "--sandbox", "docker")
    assert (done.exit_code, done.stderr) == (2, f"spielleiter: {checks.error}\n")
    assert not checks.folders[0].exists()


@pytest.mark.parametrize(
    ("term", "no_color", "is_coloured", "is_erased"),
    [("xterm", "", True, True), ("xterm", "1", False, True), ("dumb", "", False, False)],
)
def test_a_terminal_shows_states_in_colour_and_what_is_being_done(
    term: str, no_color: str, is_coloured: bool, is_erased: bool, monkeypatch: pytest.MonkeyPatch, checks: Checks
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", term)
    with pty(columns=60) as terminal:
        monkeypatch.setattr(sys, "stdout", terminal.file)
        monkeypatch.setattr(sys, "stderr", terminal.file)
        setup = PackageCheckSetup(Path("player.zip"), "swc_2027_blokus")
        check_package_in_terminal(setup, None, None, None, None)
        terminal.file.flush()
        monkeypatch.undo()
        text = terminal.end()
    assert ("\033[32m\033[1mgreen\033[0m        the ZIP: as expected" in text) == is_coloured
    assert ("  … inspecting the ZIP\r\033[K" in text) == is_erased
    assert ("\033" in text) == is_erased
