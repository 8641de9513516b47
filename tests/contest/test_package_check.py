"""The whole check of a package: which conditions are tried, in which order, and what is left at the end."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
import trio

from spielleiter.common.errors import MachineError, SetupError
from spielleiter.contest import package_check
from spielleiter.contest.calibration import Speed
from spielleiter.contest.contest_conditions import CONDITIONS
from spielleiter.contest.package_check import check_package
from spielleiter.contest.package_games import PackageCheckSetup
from spielleiter.contest.package_report import ConditionResult, PackageReport, SandboxReport, State
from spielleiter.match.plan import ProgramTimeouts
from spielleiter.programs.processes import find_processes
from spielleiter.programs.sandbox.bubblewrap import bubblewrap_problem
from spielleiter.programs.sandbox.sandbox import BUBBLEWRAP, DOCKER, NONE, SandboxSettings
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from tests.contest.packages import SOUND, Planted, make_package, write_package
from tests.timeouts import HANG_TIMEOUT

KEYS = [each.key for each in CONDITIONS]


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
    folder: Path, path: Path, kind: str = NONE, *, limit: float = HANG_TIMEOUT, parameters: tuple[str, ...] = ()
) -> tuple[PackageReport, Recorder]:
    """Check a package; assert that nothing is left but what is below the folder of the check."""
    recorder = Recorder()
    setup = PackageCheckSetup(
        path,
        DEFAULT_GAME_TYPE,
        parameters=parameters,
        sandbox=SandboxSettings(kind),
        speed=0.001,  # so that a busy machine makes no move too slow
        soft_timeout=limit,
        hard_timeout=limit,
        pause=0.1,
        patience=ProgramTimeouts(HANG_TIMEOUT, HANG_TIMEOUT, HANG_TIMEOUT),
    )
    with trio.fail_after(HANG_TIMEOUT):
        report = await check_package(setup, folder / "out", recorder)
    assert report.results == tuple(recorder.results)
    assert [each.condition.key for each in report.results] == KEYS
    assert [each for each in find_processes("") if str(folder) in str(each)] == []
    return report, recorder


def states(report: PackageReport) -> dict[str, State]:
    return {each.condition.key: each.state for each in report.results}


@pytest.mark.slow
@pytest.mark.usefixtures("python_on_the_path")
@pytest.mark.parametrize("kind", [NONE, BUBBLEWRAP])
async def test_a_sound_package_is_green(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == BUBBLEWRAP and (problem := bubblewrap_problem()):
        pytest.skip(f"no bubblewrap: {problem}")
    pairing = 6 if kind == BUBBLEWRAP else 2
    monkeypatch.setattr(package_check, "PAIRING_GAMES", pairing)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    report, recorder = await check(tmp_path, make_package(tmp_path / "player.zip"), kind, parameters=("fast",))
    expected = dict.fromkeys(KEYS, State.GREEN)
    if kind == NONE:
        expected |= {"network": State.NOT_CHECKED, "disk": State.YELLOW}
    problems = [each for each in report.results if each.state is not expected[each.condition.key]]
    assert problems == []
    assert report.is_fit
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


async def test_a_file_that_is_no_zip_has_no_main_file(tmp_path: Path) -> None:
    path = tmp_path / "player.zip"
    path.write_bytes(b"no zip")
    report, _ = await check(tmp_path, path)
    assert report.main == ""
    assert [each.code for each in report.results[0].findings] == ["not-a-zip"]


@pytest.mark.slow
@pytest.mark.usefixtures("python_on_the_path")
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


@pytest.mark.slow
@pytest.mark.usefixtures("python_on_the_path")
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


@pytest.mark.slow
@pytest.mark.usefixtures("python_on_the_path")
async def test_a_sandbox_that_fails_is_not_the_programs_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if problem := bubblewrap_problem():
        pytest.skip(f"no bubblewrap: {problem}")
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
