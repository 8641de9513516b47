"""Real packages in real sandboxes: every planted fault is named by its own code, and a sound program has none."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
import trio

import spielleiter.match.match_server
from spielleiter.contest.calibration import Speed
from spielleiter.contest.contest_conditions import CONDITIONS, UPLOAD_TEST
from spielleiter.contest.observed_faults import ObservedConditions
from spielleiter.contest.package_games import GameResult, PackageCheckSetup, PackageGames, affects_game
from spielleiter.contest.package_report import ConditionResult, State
from spielleiter.match.plan import ProgramTimeouts
from spielleiter.programs.command import join_command
from spielleiter.programs.packages.faults import Level
from spielleiter.programs.packages.package import unpack_package
from spielleiter.programs.processes import find_processes
from spielleiter.programs.sandbox.sandbox import BUBBLEWRAP, NONE, Condition, SandboxSettings
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from tests.contest.faulty_packages import FAULTS, Fault
from tests.contest.packages import SOUND, Planted, make_package
from tests.programs.sandbox.sandboxes import make_sandbox
from tests.timeouts import HANG_TIMEOUT, retry_with_longer_limits

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("python_on_the_path")]

MEMORY = 160 * 1024 * 1024
NO_LIMITS: Mapping[str, float] = MappingProxyType({})


class Played:
    """Games of a package, and what the report says about the conditions that were watched."""

    def __init__(self, results: tuple[GameResult, ...], observed: ObservedConditions) -> None:
        self.results = results
        self.watched: dict[str, ConditionResult] = {
            each.key: result for each in CONDITIONS if (result := observed.result(each)) is not None
        }

    @property
    def codes(self) -> set[str]:
        """The codes of all findings."""
        games = {finding.code for each in self.results for finding in each.findings}
        return games | {finding.code for each in self.watched.values() for finding in each.findings}

    @property
    def conditions(self) -> set[str]:
        """The keys of the conditions with findings, among them the games' own condition."""
        found = {key for key, each in self.watched.items() if each.findings}
        if any(affects_game(finding) for each in self.results for finding in each.findings):
            found.add(UPLOAD_TEST.key)
        return found


async def play(
    folder: Path,
    planted: Planted,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    games: int = 1,
    limits: Mapping[str, float] = NO_LIMITS,
) -> Played:
    """Play games of a package with this fault; assert that no process is left."""
    sandbox = make_sandbox(kind, MEMORY)
    monkeypatch.setattr(spielleiter.match.match_server, "choose_sandbox", lambda *_: sandbox)
    path = make_package(folder / "player.zip", planted)
    package = unpack_package(path, folder / "program")
    setup = PackageCheckSetup(
        path,
        DEFAULT_GAME_TYPE,
        sandbox=SandboxSettings(kind),
        soft_timeout=limits.get("move", HANG_TIMEOUT),
        hard_timeout=limits.get("hard", HANG_TIMEOUT),
        patience=ProgramTimeouts(limits.get("start", HANG_TIMEOUT), limits.get("exit", HANG_TIMEOUT), HANG_TIMEOUT),
    )
    player = PackageGames(setup, join_command(package.words), package.folder, folder / "out", 1.0)
    # what cannot be limited without a sandbox is a warning in every report
    gaps: dict[Condition, str] = {
        condition: reason for condition, reason in sandbox.gaps.items() if condition is not Condition.DISK
    }
    observed = ObservedConditions(Speed(0.001, is_measured=False), gaps)
    with trio.fail_after(HANG_TIMEOUT):
        results = await player.play(UPLOAD_TEST.key, "builtin:random", games, lambda _: None)
    observed.add_games(results)
    assert [each for each in find_processes("") if str(folder) in str(each)] == []
    return Played(results, observed)


async def assert_fault_is_named(fault: Fault, folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Play the games; with a limit for moves, repeat that with a longer one if another move has exceeded it."""

    async def attempt(limit: float) -> None:
        limits = {name: value * limit if name in {"move", "hard"} else value for name, value in fault.limits.items()}
        planted = dataclasses.replace(fault.planted, move=fault.planted.move.replace("LIMIT", str(limit)))
        place = folder / str(limit)
        place.mkdir()
        assert_named(await play(place, planted, kind, monkeypatch, games=fault.games, limits=limits), fault)

    if "move" in fault.limits:
        await retry_with_longer_limits(attempt, 1.0)
    else:
        await attempt(1.0)


def assert_named(played: Played, fault: Fault) -> None:
    assert played.codes == {fault.code}
    assert fault.condition.key in played.conditions
    [finding] = {
        finding.code: finding
        for finding in [
            *(finding for each in played.results for finding in each.findings),
            *(finding for each in played.watched.values() for finding in each.findings),
        ]
    }.values()
    assert ";" in finding.text, "says what to do"
    assert "\n" not in finding.text


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if not fault.needs_isolation])
async def test_a_fault_is_named_by_its_own_code(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await assert_fault_is_named(FAULTS[name], tmp_path, NONE, monkeypatch)


@pytest.mark.parametrize(
    "name",
    [name for name, fault in FAULTS.items() if fault.needs_isolation]
    + [
        "ends too late",
        "leaves a process",
        "needs too much memory",
        "needs a window",
        "starts too many processes",
        "hides its files",
    ],
)
async def test_a_fault_is_named_in_a_sandbox(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await assert_fault_is_named(FAULTS[name], tmp_path, BUBBLEWRAP, monkeypatch)


@pytest.mark.parametrize("kind", [NONE, BUBBLEWRAP])
async def test_a_sound_program_has_no_fault(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes a file, prints a little, has a child, and asks for nothing that the contest does not have."""
    busy = Planted(
        start="""
        open("log.txt", "w").write("hello")
        print("hello", file=sys.stderr)
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        """
    )
    played = await play(tmp_path, busy, kind, monkeypatch, games=2)
    assert played.codes == set()
    assert not any(each.is_undecided for each in played.results)
    states = {key: each.state for key, each in played.watched.items()}
    unknown = {"start"} | ({"network", "disk"} if kind == NONE else set())
    assert {key for key, state in states.items() if state is State.NOT_CHECKED} == unknown
    assert all(state is State.GREEN for key, state in states.items() if key not in unknown)
    if kind == BUBBLEWRAP:
        assert "1 file" in played.watched["disk"].text
    assert [each.game.replay for each in played.results] != ["", ""]


async def test_two_games_at_once_share_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = await _two_games(tmp_path, SOUND, monkeypatch)
    assert [each.findings for each in results] == [(), ()]


async def test_a_fixed_port_is_noticed_when_two_games_run_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both programs try to take the same name, which is free as long as one of them runs alone."""
    name = f"\\0{tmp_path}"
    taken = Planted(
        start=f"""
        lock = socket.socket(socket.AF_UNIX)
        lock.bind({name!r}.replace("\\\\0", chr(0)))
        """,
        move="if moves == 1: time.sleep(2)",
    )
    results = await _two_games(tmp_path, taken, monkeypatch)
    assert sorted(len(each.findings) for each in results) == [0, 1]


async def _two_games(folder: Path, planted: Planted, monkeypatch: pytest.MonkeyPatch) -> tuple[GameResult, ...]:
    sandbox = make_sandbox(NONE)
    monkeypatch.setattr(spielleiter.match.match_server, "choose_sandbox", lambda *_: sandbox)
    path = make_package(folder / "player.zip", planted)
    package = unpack_package(path, folder / "program")
    limits = ProgramTimeouts(HANG_TIMEOUT, HANG_TIMEOUT, HANG_TIMEOUT)
    setup = PackageCheckSetup(
        path,
        DEFAULT_GAME_TYPE,
        sandbox=SandboxSettings(NONE),
        soft_timeout=HANG_TIMEOUT,
        hard_timeout=HANG_TIMEOUT,
        patience=limits,
    )
    games = PackageGames(setup, join_command(package.words), package.folder, folder / "out", 1.0)
    with trio.fail_after(HANG_TIMEOUT):
        return await games.play_two_at_once("two-games", "builtin:random")


def test_every_code_of_a_game_has_a_planted_fault() -> None:
    """The others are tested where they arise."""
    from spielleiter.contest.contest_conditions import FAULTS as KNOWN

    elsewhere = {
        "option-order", "option-names", "parameter-order", "plain-join", "not-twice", "failed-step", "missed-step",
        "slow-start", "too-slow", "nearly-too-slow", "much-memory", "much-output", "tampers",
            "options-in-one-word", "wheel-for-other-python", "other-python", "other-spelling",
            "much-disk", "hides-files", "memory-not-limited", "processes-not-limited", "disk-not-limited",
    }  # fmt: skip
    assert {fault.code for fault in FAULTS.values()} == set(KNOWN) - elsewhere
    assert all(KNOWN[fault.code].level is not Level.GREEN for fault in FAULTS.values())


_BURN = """
def burn(seconds, clock=time.process_time):
    end = clock() + seconds
    while clock() < end:
        pass
"""


async def test_a_late_answer_is_measured_like_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether this machine has delayed it is known only then."""
    planted = Planted(start=_BURN, move="burn(0.6)")
    [result] = (await play(tmp_path, planted, NONE, monkeypatch, limits={"move": 0.5})).results
    assert len(result.answers) == len(result.record.think_times[0]) == 1
    assert result.answers[0].processor >= 0.5
    assert result.answers[0].seconds > 0.5


async def test_each_answer_has_its_own_processor_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that of the start, nor that of other answers; sleeping takes none, and children count."""
    planted = Planted(
        start=f"{_BURN}burn(0.6)",
        move="""
            if moves == 1:
                time.sleep(0.5)
            elif moves == 2:
                burn(0.5)
            elif moves == 3:
                if not (child := os.fork()):
                    burn(0.5)
                    os._exit(0)
                os.waitpid(child, 0)
        """,
    )
    [result] = (await play(tmp_path, planted, NONE, monkeypatch)).results
    assert len(result.answers) == len(result.record.think_times[0])
    asleep, computing, waiting_for_a_child, *others = result.answers
    assert asleep.seconds >= 0.5
    assert asleep.processor < 0.25
    assert computing.processor >= 0.45
    assert waiting_for_a_child.processor >= 0.45
    assert sum(each.processor for each in others) < 0.45
    assert all(each.waited <= each.seconds for each in result.answers)
