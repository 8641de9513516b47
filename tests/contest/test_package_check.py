"""The whole check of a package: its options, which conditions are tried in which order, and what is left at the end."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
import trio

from spielleiter.common.errors import MachineError, SetupError
from spielleiter.contest import package_check
from spielleiter.contest.calibration import Speed
from spielleiter.contest.check import ATTEMPTS, Status, StepResult
from spielleiter.contest.package_check import (
    OptionResult,
    check_package,
    games_result,
    option_forms,
    options_result,
    summed_up,
    try_option_forms,
    two_games_result,
)
from spielleiter.contest.package_games import GameResult, PackageCheckSetup
from spielleiter.contest.package_report import ConditionResult, PackageReport, PlayedGame, SandboxReport, State
from spielleiter.contest.runtime_faults import fault
from spielleiter.contest.scripted_server import InconclusiveError
from spielleiter.match.plan import ProgramTimeouts
from spielleiter.match.verdict import Verdict
from spielleiter.programs.contest_conditions import REPORTED, Condition
from spielleiter.programs.packages.faults import Finding
from spielleiter.programs.packages.package import unpack_package
from spielleiter.programs.sandbox.bubblewrap import bubblewrap_problem
from spielleiter.programs.sandbox.sandbox import BUBBLEWRAP, DOCKER, NONE, SandboxSettings
from spielleiter.programs.this_platform import PLATFORM
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from tests.contest.packages import SOUND, Planted, make_package, write_package
from tests.match.sample_records import game
from tests.programs.sandbox.sandboxes import make_sandbox
from tests.timeouts import HANG_TIMEOUT

CRASH = fault("crash", "pairing/games/0001", game="game 1", reason="x")
LATE = fault("does-not-end", game="game 1", reason="it still ran")
FORM = option_forms()[0]


def played(*findings: Finding, winner: int = 0, verdict: str = Verdict.REGULAR) -> GameResult:
    record = game(1, winner, verdict=verdict, reason="because")
    shown = PlayedGame("pairing", "game 1", verdict, "because", (1, 2), 3, 0.1, "pairing/games/0001", "")
    return GameResult(record, shown, findings, None, is_undecided=verdict == Verdict.OVERLOAD)


SPOILED = played(verdict=Verdict.OVERLOAD)


@pytest.mark.parametrize(
    ("games", "state", "text", "codes"),
    [
        ([played(), played(winner=1)], State.GREEN, "2 of 2 games without a fault, 1 won", []),
        ([played(LATE)], State.GREEN, "1 of 1 game without a fault, 1 won", []),  # it is a fault of the end
        (
            [played(), SPOILED],
            State.UNDECIDED,
            "1 of 2 games without a fault, 2 won; overloaded machine: because",
            [],
        ),
        ([played(CRASH), SPOILED, played(CRASH)], State.RED, "0 of 3 games without a fault, 3 won", ["crash"]),
    ],
)
def test_games_are_counted_and_faults_outweigh_what_this_machine_spoiled(
    games: list[GameResult], state: State, text: str, codes: list[str]
) -> None:
    result = games_result(Condition.PAIRING, games)
    assert (result.state, result.text, [each.code for each in result.findings]) == (state, text, codes)


@pytest.mark.parametrize(
    ("games", "known", "state", "text"),
    [
        ([played(), played(CRASH)], set(), State.YELLOW, "they disturb each other"),
        ([played(), played(CRASH)], {"crash"}, State.GREEN, "they show no fault that single games do not show"),
        ([played(), played()], set(), State.GREEN, "both were played without a fault"),
        ([played(), SPOILED], set(), State.NOT_CHECKED, "this machine was too busy for two games at once"),
    ],
)
def test_two_games_show_only_what_single_games_do_not_show(
    games: list[GameResult], known: set[str], state: State, text: str
) -> None:
    result = two_games_result(games, known)
    assert (result.state, result.text) == (state, text)
    found = [(each.code, each.file) for each in result.findings]
    assert found == ([("not-twice", "pairing/games/0001")] if state is State.YELLOW else [])


def test_options_are_green_if_every_form_is_understood() -> None:
    good, bad = OptionResult(FORM, 0.1), OptionResult(FORM, finding=fault("option-order", form="f", reason="r"))
    late = OptionResult(FORM, is_undecided=True)
    assert options_result([good, good]).text == "2 of 2 orders and forms are understood"
    assert options_result([good]).state is State.GREEN
    assert options_result([good, late]).state is State.UNDECIDED
    red = options_result([good, late, bad])
    assert (red.state, red.text) == (State.RED, "1 of 3 orders and forms are understood")


PASSED = StepResult(1, "starts", "it starts", Status.PASSED, "connected")
FAILED = StepResult(2, "the end: the opponent leaves", "the process ends", Status.FAILED, "it runs", folder="step02")
SAME = StepResult(3, "the end: the opponent is too slow", "the process ends", Status.FAILED, "it runs", folder="step03")
WARNING = StepResult(4, "unknown", "no end", Status.WARNING, "it ended", remark="not required", folder="step04")
UNDECIDED = StepResult(5, "a pause", "silence", Status.UNDECIDED, "late")


def test_steps_are_counted_and_those_that_miss_the_same_expectation_are_one_finding() -> None:
    done = summed_up([PASSED, PASSED])
    assert (done.state, done.text, done.findings) == (State.GREEN, "2 of 2 steps passed", ())
    assert summed_up([PASSED, UNDECIDED]).state is State.UNDECIDED
    assert summed_up([PASSED, WARNING]).state is State.YELLOW
    done = summed_up([PASSED, FAILED, SAME, WARNING, UNDECIDED])
    assert done.state is State.RED
    assert [(each.code, each.file) for each in done.findings] == [
        ("failed-step", "protocol/step02"),
        ("missed-step", "protocol/step04"),
    ]
    failed, missed = done.findings
    assert failed.text == "the end: the opponent leaves (and 1 more step): expected the process ends; got: it runs"
    assert "not required" in missed.text


def test_the_options_come_in_every_order_and_form_with_further_parameters_first_or_last() -> None:
    forms = option_forms(["--level", "3"])
    texts = [each.text(["--level", "3"]) for each in forms]
    assert texts[0] == "--level 3 -h HOST -p PORT -r CODE"
    assert len(set(texts[:6])) == 6
    assert texts[6:] == [
        "--level 3 --reservation CODE --host HOST --port PORT",
        "--level 3 --port PORT --host HOST --reservation CODE",
        "--level 3 --port PORT -r CODE -h HOST",
        "-h HOST -p PORT -r CODE --level 3",
    ]
    assert [each.code for each in forms] == ["option-order"] * 6 + ["option-names"] * 3 + ["parameter-order"]
    assert len(option_forms()) == 9
    for form in forms:
        words = form.arguments({"host": "gameserver", "port": "13050", "reservation": "590e"}, ["--level", "3"])
        given = {words[index].lstrip("-")[0]: words[index + 1] for index in range(0, len(words), 2)}
        assert given == {"h": "gameserver", "p": "13050", "r": "590e", "l": "3"}


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("python_on_the_path", "short_games", "few_endings")]

LONG_TIMEOUTS = ProgramTimeouts(HANG_TIMEOUT, HANG_TIMEOUT, HANG_TIMEOUT)


async def try_forms(
    folder: Path, planted: Planted, parameters: tuple[str, ...] = ()
) -> tuple[tuple[OptionResult, ...], list[str]]:
    path = make_package(folder / "player.zip", planted)
    package = unpack_package(path, folder / "program", parameters=parameters)
    setup = PackageCheckSetup(path, DEFAULT_GAME_TYPE, parameters=parameters, timeouts=LONG_TIMEOUTS)
    told: list[str] = []
    with trio.fail_after(HANG_TIMEOUT):
        results = await try_option_forms(setup, package, make_sandbox(NONE), folder / "out", told.append)
    assert PLATFORM.find_tagged(str(folder)) == ()
    return results, told


def use_forms(monkeypatch: pytest.MonkeyPatch, *indices: int) -> None:
    """Try only these forms, to save time."""
    monkeypatch.setattr(
        package_check, "option_forms", lambda parameters: [option_forms(parameters)[index] for index in indices]
    )


def codes(results: tuple[OptionResult, ...]) -> list[str]:
    return [each.finding.code for each in results if each.finding is not None]


async def test_a_sound_program_accepts_every_kind_of_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_forms(monkeypatch, 0, 3, 6, 8, 9)
    results, told = await try_forms(tmp_path, SOUND, ("fast", "--level", "3"))
    assert codes(results) == []
    assert len(results) == len(told) == 5
    assert all(each.seconds is not None and not each.is_undecided for each in results)
    assert told[-1] == "options as -h HOST -p PORT -r CODE fast --level 3"


async def test_options_by_position_fail_in_another_order(tmp_path: Path) -> None:
    """The remaining orders are not tried; the long options are, and fail as well."""
    by_position = Planted(start="assert sys.argv[1:6:2] == ['-h', '-p', '-r'], 'expected -h -p -r'")
    results, _ = await try_forms(tmp_path, by_position)
    assert codes(results) == ["option-order", "option-names"]
    assert results[0].finding is None
    assert len(results) == 3
    first, second = (each.finding for each in results if each.finding is not None)
    assert "as -h HOST -r CODE -p PORT" in first.text
    assert "its last words: AssertionError: expected -h -p -r" in first.text
    assert "as --reservation CODE --host HOST --port PORT" in second.text
    assert "AssertionError" in (tmp_path / "out" / first.file / "stderr.log").read_text()


async def test_parameters_are_tried_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_forms(monkeypatch, 0, -1)
    first = Planted(start="assert sys.argv[1] == 'fast', 'the level comes first'")
    results, _ = await try_forms(tmp_path, first, ("fast",))
    assert codes(results) == ["parameter-order"]


async def test_a_join_without_the_code_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_forms(monkeypatch, 0)
    plain = Planted(
        start="""
        server = socket.create_connection((options["host"], int(options["port"])))
        server.sendall(b"<protocol><join/>")
        server.recv(1)
        time.sleep(600)
        """
    )
    results, _ = await try_forms(tmp_path, plain)
    assert set(codes(results)) == {"plain-join"}


async def test_a_busy_machine_leaves_a_form_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = 0
    use_forms(monkeypatch, 0)

    async def late(_server: object) -> None:
        nonlocal attempts
        attempts += 1
        raise InconclusiveError("nobody connected in 30 s; 20 s of it waiting for a processor")

    monkeypatch.setattr("spielleiter.contest.scripted_server.ScriptedServer.wait_for_connection", late)
    results, _ = await try_forms(tmp_path, SOUND)
    assert codes(results) == []
    assert [each.is_undecided for each in results] == [True]
    assert attempts == ATTEMPTS


KEYS = [each.key for each in REPORTED]


class Recorder:
    """Remembers what a check tells."""

    def __init__(self) -> None:
        self.starts: list[str] = []
        self.texts: list[str] = []
        self.results: list[ConditionResult] = []

    def started(self, main: str, sandbox: SandboxReport, _speed: Speed) -> None:
        self.starts.append(f"{main} in {sandbox.name}")

    def doing(self, text: str) -> None:
        self.texts.append(text)

    def result(self, result: ConditionResult) -> None:
        self.results.append(result)


async def check(
    folder: Path, path: Path, kind: str = NONE, parameters: tuple[str, ...] = ()
) -> tuple[PackageReport, Recorder]:
    """Check a package; assert that nothing is left but what is below the folder of the check."""
    recorder = Recorder()
    setup = PackageCheckSetup(
        path,
        DEFAULT_GAME_TYPE,
        parameters=parameters,
        sandbox=SandboxSettings(kind),
        speed=0.001,  # so that a busy machine makes no move too slow
        soft_timeout=HANG_TIMEOUT,
        hard_timeout=HANG_TIMEOUT,
        pause=0.1,
        timeouts=LONG_TIMEOUTS,
    )
    with trio.fail_after(HANG_TIMEOUT):
        report = await check_package(setup, folder / "out", recorder)
    assert report.results == tuple(recorder.results)
    assert [each.condition.key for each in report.results] == KEYS
    assert PLATFORM.find_tagged(str(folder)) == ()
    return report, recorder


def states(report: PackageReport) -> dict[str, State]:
    return {each.condition.key: each.state for each in report.results}


async def test_a_sound_package_is_green(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = NONE if bubblewrap_problem() else BUBBLEWRAP
    pairing = 1
    monkeypatch.setattr(package_check, "PAIRING_GAMES", pairing)
    use_forms(monkeypatch, 0, -1)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    path = make_package(tmp_path / "player.zip")
    report, recorder = await check(tmp_path, path, kind, parameters=("fast",))
    expected = dict.fromkeys(KEYS, State.GREEN)
    if kind == NONE:
        expected |= {"network": State.NOT_CHECKED, "disk": State.YELLOW}
    problems = [each for each in report.results if each.state is not expected[each.condition.key]]
    assert problems == []
    assert report.verdict == "fit"
    assert recorder.starts == [f"start.sh in {kind}"]
    assert report.sandbox is not None
    assert bool(report.sandbox.gaps) == (kind == NONE) or "image" in str(report.sandbox.gaps)
    assert [each.condition for each in report.games] == ["upload-test"] * 2 + ["pairing"] * pairing + ["two-games"] * 2
    assert all((tmp_path / "out" / each.folder / each.replay).is_file() for each in report.games)
    assert list(scratch.glob("*/*")) == []


async def test_nothing_is_started_if_a_static_finding_is_red(tmp_path: Path) -> None:
    path = write_package(tmp_path / "player.zip", {"start.sh": "#!/bin/sh\r\ntouch started\r\n"})
    report, recorder = await check(tmp_path, path)
    assert report.verdict == "not fit"
    assert states(report) == {**dict.fromkeys(KEYS, State.NOT_CHECKED), "package": State.RED}
    assert "crlf" in [each.code for each in report.results[0].findings]
    assert recorder.starts == []
    assert (report.sandbox, report.speed, report.games) == (None, None, ())


async def test_a_program_that_takes_no_seat_is_tried_no_further(tmp_path: Path) -> None:
    path = make_package(tmp_path / "player.zip", Planted(start="input('Host? ')"))
    report, recorder = await check(tmp_path, path)
    found = states(report)
    assert found["upload-test"] is State.RED
    assert found["input"] is State.RED
    assert {found[key] for key in ("options", "pairing", "two-games", "protocol", "start", "end")} == {
        State.NOT_CHECKED
    }
    assert not any("options" in each or "greedy" in each for each in recorder.texts)
    assert len(report.games) == 2


@pytest.mark.parametrize(("before", "code"), [("", "options-in-one-word"), ("exit 3; ", "does-not-start")])
async def test_a_script_that_passes_its_options_as_one_word_is_named(before: str, code: str, tmp_path: Path) -> None:
    """The second script fails for another reason as well, so the correction of the first mistake does not help."""
    start = "if 'host' not in options: raise OSError('Name or service not known')"
    script = f'{before}exec python3 -IS player.py "$*"'
    path = make_package(tmp_path / "player.zip", Planted(start=start, script=script))
    report, _ = await check(tmp_path, path)
    upload = next(each for each in report.results if each.condition.key == "upload-test")
    assert [each.code for each in upload.findings] == [code]
    assert states(report)["network"] is not State.RED
    if not before:
        assert upload.findings[0].text.startswith('start.sh passes all of its options on as one word ("$*")')


async def test_a_sandbox_that_is_not_there_is_refused(tmp_path: Path) -> None:
    setup = PackageCheckSetup(
        make_package(tmp_path / "player.zip", SOUND), DEFAULT_GAME_TYPE, sandbox=SandboxSettings(DOCKER), speed=1.0
    )
    with pytest.raises(SetupError, match="expected an image"):
        await check_package(setup, tmp_path / "out", Recorder())


async def test_a_sandbox_that_fails_is_not_the_programs_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_sandbox(BUBBLEWRAP)  # which skips this without one
    folder = tmp_path / "bin"
    folder.mkdir()
    broken = folder / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: no name spaces today' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr("spielleiter.programs.sandbox.choice.bubblewrap_problem", str)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    recorder = Recorder()
    setup = PackageCheckSetup(
        make_package(tmp_path / "player.zip"), DEFAULT_GAME_TYPE, sandbox=SandboxSettings(BUBBLEWRAP), speed=1.0
    )
    with pytest.raises(MachineError, match="bwrap: no name spaces today"):
        await check_package(setup, tmp_path / "out", recorder)
    assert [each.state for each in recorder.results] == [State.GREEN]
