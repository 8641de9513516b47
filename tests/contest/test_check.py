"""A check of real programs: which step fails, what is said of it, what it amounts to, and its JUnit file."""

from __future__ import annotations

import gzip
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

import pytest
import trio

import spielleiter.contest.check
from spielleiter.common.errors import SetupError
from spielleiter.common.text import count_text
from spielleiter.contest.check import (
    ATTEMPTS,
    CheckSetup,
    ProgramCheck,
    Status,
    StepResult,
    check_program,
    is_fit,
    is_undecided,
    render_junit,
)
from spielleiter.contest.scripted_server import (
    EARLY_ENDINGS,
    InconclusiveError,
    ScriptedServer,
    UnexpectedBehaviourError,
)
from spielleiter.game.api import Outcome
from spielleiter.game.blokus.state import BlokusGame, BlokusState
from spielleiter.match.plan import MatchSetup, ProgramTimeouts
from spielleiter.match.records import GameRecord
from spielleiter.programs.this_platform import PLATFORM
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.protocol.messages import JoinPreparedRequest
from spielleiter.server.editions import EDITIONS
from tests.match.players import LIGHT
from tests.match.xunit import assert_is_xunit
from tests.timeouts import HANG_TIMEOUT, retry_with_longer_limits

STEPS: Final = 22
BASIC_STEPS: Final = 6
"""The steps that share one game and one folder."""


async def check(
    folder: Path,
    command: str,
    game_type: str = DEFAULT_GAME_TYPE,
    edition: str | None = None,
    game_end: str | None = None,
    **times: float,
) -> tuple[StepResult, ...]:
    """Run the check; assert that every step was reported in order and that no process is left."""
    reported: list[StepResult] = []
    limits: dict[str, Any] = {"soft_timeout": HANG_TIMEOUT, "hard_timeout": HANG_TIMEOUT, "pause": 0.1, **times}
    timeouts = ProgramTimeouts(HANG_TIMEOUT, HANG_TIMEOUT, HANG_TIMEOUT)
    setup = CheckSetup(command, game_type, timeouts=timeouts, edition=edition, game_end=game_end, **limits)
    with trio.fail_after(HANG_TIMEOUT):
        results = await check_program(setup, folder, reported.append)
    assert results == tuple(reported)
    left_out = len(EARLY_ENDINGS) - len(vars(spielleiter.contest.check)["EARLY_ENDINGS"])  # by a fixture
    assert [result.number for result in results] == list(range(1, STEPS - left_out + 1))
    assert PLATFORM.find_tagged(str(folder)) == ()
    return results


class FakeStep:
    """A step that is inconclusive `times` times, and then has a result or raises an error."""

    def __init__(self, times: int, then: str | UnexpectedBehaviourError = "as expected") -> None:
        self.times = times
        self.then = then
        self.calls = 0

    async def __call__(self, *_: object) -> str:
        self.calls += 1
        if self.calls <= self.times:
            raise InconclusiveError(f"late, {self.calls}")
        if isinstance(self.then, UnexpectedBehaviourError):
            raise self.then
        return self.then


FIRST_GAME: Final = ("start", "take_seat", "ask", "judge_time", "parse", "play")
IN_THE_MIDDLE: Final = ("fragmented", "coalesced", "unknown", "pause")
"""Further steps, which leave a game before its end."""
OTHERS: Final = (*IN_THE_MIDDLE, "whole_game", "early_end", "real_game")


def fake(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Make these steps pass at once, without starting a program."""
    for name in names:
        monkeypatch.setattr(ProgramCheck, name, FakeStep(0))


@pytest.fixture
def no_real_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the two steps that the tests of the referee cover; `test_a_built_in_player_is_fit` has them."""
    fake(monkeypatch, "real_game")


@pytest.fixture
def fake_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every step pass at once."""
    monkeypatch.setattr(ProgramCheck, "scripted_server", lambda _steps: nullcontext())
    fake(monkeypatch, *FIRST_GAME, *OTHERS)


@pytest.mark.usefixtures("fake_steps")
@pytest.mark.parametrize("times", [1, ATTEMPTS])
@pytest.mark.parametrize(("name", "number"), [("pause", 10), ("judge_time", 4)])
async def test_a_step_that_the_machine_disturbs_is_repeated(
    name: str, number: int, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = FakeStep(times)
    monkeypatch.setattr(ProgramCheck, name, step)
    results = await check(tmp_path, "bot")
    assert step.calls == min(times + 1, ATTEMPTS)
    if times < ATTEMPTS:
        assert {result.status for result in results} == {Status.PASSED}
        assert is_fit(results)
        return
    assert (results[number - 1].status, results[number - 1].came) == (Status.UNDECIDED, f"late, {ATTEMPTS}")
    assert results[number - 1].folder == f"step{1 if number <= BASIC_STEPS else number:02d}-attempt{ATTEMPTS}"
    others = Status.NOT_TRIED if number <= BASIC_STEPS else Status.PASSED
    assert {result.status for result in results[number:]} == {others}
    assert not is_fit(results)
    assert is_undecided(results)


@pytest.mark.usefixtures("fake_steps")
async def test_a_machine_that_cannot_start_the_first_game_leaves_it_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = 0

    @asynccontextmanager
    async def failing(_steps: ProgramCheck) -> AsyncIterator[None]:
        nonlocal attempts
        attempts += 1
        if attempts <= ATTEMPTS:
            raise InconclusiveError("this machine failed: no space")
        yield

    monkeypatch.setattr(ProgramCheck, "scripted_server", failing)
    first, *others = await check(tmp_path, "bot")
    assert attempts == ATTEMPTS
    assert (first.status, first.came) == (Status.UNDECIDED, "this machine failed: no space")
    assert {result.status for result in others} == {Status.NOT_TRIED}


async def test_a_whole_game_for_which_there_is_no_folder_is_undecided(tmp_path: Path) -> None:
    (tmp_path / "games").touch()
    steps = ProgramCheck(CheckSetup("builtin:first", DEFAULT_GAME_TYPE, 1, 1), tmp_path)
    with pytest.raises(InconclusiveError, match="games"):
        await steps.real_game(1)


@pytest.mark.usefixtures("fake_steps")
async def test_a_failure_in_the_second_attempt_is_reported_for_the_first_undecided_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def start(_game: ProgramCheck, _scripted_server: ScriptedServer) -> str:
        return await starting()

    starting = FakeStep(0, "connected")
    monkeypatch.setattr(ProgramCheck, "start", start)
    step = FakeStep(1)

    async def ask(*_: object) -> str:
        starting.then = UnexpectedBehaviourError("nobody came")
        return await step()

    monkeypatch.setattr(ProgramCheck, "ask", ask)
    results = await check(tmp_path, "bot")
    statuses = [result.status for result in results]
    assert statuses[:3] == [Status.PASSED, Status.PASSED, Status.FAILED]
    assert set(statuses[3:]) == {Status.NOT_TRIED}
    assert results[2].came == "nobody came"


@pytest.mark.parametrize(
    ("statuses", "fit", "undecided"),
    [
        ((), True, False),
        ((Status.PASSED, Status.WARNING), True, False),
        ((Status.PASSED, Status.NOT_TRIED), False, False),
        ((Status.PASSED, Status.UNDECIDED, Status.NOT_TRIED), False, True),
        ((Status.WARNING, Status.FAILED, Status.UNDECIDED), False, False),
    ],
)
def test_warnings_do_not_make_a_program_unfit_and_a_failure_is_not_undecided(
    statuses: tuple[Status, ...], fit: bool, undecided: bool
) -> None:
    results = [StepResult(number, "step", "", status) for number, status in enumerate(statuses, 1)]
    assert (is_fit(results), is_undecided(results)) == (fit, undecided)


def test_the_steps_are_a_test_suite() -> None:
    words = "first line\nsecond line"
    results = [
        StepResult(1, "starts", "it starts", Status.PASSED, "connected"),
        StepResult(2, "plays", "a <move>", Status.FAILED, "no\x01 move & nothing", words),
        StepResult(3, "is lenient", "no <end>", Status.WARNING, "it\x02 ended", words, "nobody demands this\x03"),
        StepResult(4, "pauses", "silence", Status.UNDECIDED, "late\x04", words),
        StepResult(5, "ends", "the end", Status.NOT_TRIED),
    ]
    suite = assert_is_xunit(render_junit("bot <fast>\x02", results, "chess (1972)").encode())[0]
    assert dict(suite.attrib) == {
        "name": r"spielleiter check bot <fast>\x02, chess (1972)",
        "tests": "5",
        "failures": "1",
        "errors": "1",
        "skipped": "2",
    }
    assert [case.get("name") for case in suite] == ["01 starts", "02 plays", "03 is lenient", "04 pauses", "05 ends"]
    assert [[(child.tag, child.get("message"), child.text) for child in case] for case in suite] == [
        [],
        [("failure", r"no\x01 move & nothing", "expected: a <move>"), ("system-err", None, words)],
        [
            ("skipped", r"warning: it\x02 ended (nobody demands this\x03)", None),
            ("system-out", None, "expected: no <end>"),
            ("system-err", None, words),
        ],
        [("error", r"this machine was too busy: late\x04", "expected: silence"), ("system-err", None, words)],
        [("skipped", "an earlier step that this one depends on was not passed", None)],
    ]


def failed(results: tuple[StepResult, ...]) -> list[str]:
    return [result.title for result in results if result.status is Status.FAILED]


def assert_all_passed(results: tuple[StepResult, ...], edition: str, folder: Path) -> None:
    assert len(results) == STEPS
    assert [(result.title, result.came) for result in results if result.status is not Status.PASSED] == []
    assert all(result.came and result.expected for result in results)
    folders = {result.folder for result in results if result.came != "as expected"}  # without those that are left out
    assert len(folders) in {STEPS - BASIC_STEPS + 1 - 9, STEPS - BASIC_STEPS - 1}  # the first steps share a folder
    assert all((folder / name / "wire.log.gz").exists() for name in folders)
    written = gzip.decompress((folder / results[0].folder / "wire.log.gz").read_bytes())
    assert EDITIONS[edition].dialect.encode(JoinPreparedRequest("")).split(b"=")[0] in written


@pytest.mark.slow
async def test_a_built_in_player_is_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step starts `spielleiter play` as a process of its own, as for a user."""
    fake(monkeypatch, "early_end")
    assert_all_passed(await check(tmp_path, "builtin:greedy"), next(iter(EDITIONS)), tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("players", "no_real_game")
@pytest.mark.parametrize(
    ("strategy", "edition"),
    [("first", "blokus-2027"), ("random", "blokus-2021-r2"), ("greedy", "hase-und-igel-2018")],
)
async def test_built_in_strategies_are_fit_in_every_season(strategy: str, edition: str, tmp_path: Path) -> None:
    command = f"{LIGHT} {strategy} --edition {edition} -h {{host}} -p {{port}} -r {{reservation}}"
    assert_all_passed(await check(tmp_path, command, EDITIONS[edition].game_type, edition), edition, tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("players")
async def test_a_program_that_joins_any_game_fails_only_the_step_of_taking_its_seat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(monkeypatch, *OTHERS[1:])
    results = await check(tmp_path, f"{LIGHT} first -h {{host}} -p {{port}}")
    assert failed(results) == ["takes its seat"]
    assert results[1].came.startswith("join came instead of joinPrepared: it takes any free seat instead of the one")
    assert Status.NOT_TRIED not in {result.status for result in results}


@pytest.mark.slow
@pytest.mark.usefixtures("players")
async def test_the_chosen_end_of_a_game_applies_to_all_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: list[object] = []

    async def play(setup: MatchSetup, *_: object) -> GameRecord:
        options.append(setup.server_options.get("game_end"))
        raise UnexpectedBehaviourError("not played")

    monkeypatch.setattr("spielleiter.contest.check.play_game", play)
    setup = CheckSetup(f"{LIGHT} first", DEFAULT_GAME_TYPE, HANG_TIMEOUT, HANG_TIMEOUT, game_end="colorFinished")
    steps = ProgramCheck(setup, tmp_path)
    assert isinstance(steps.edition.game, BlokusGame)
    assert steps.edition.game.rules.ends_with_finished_color
    with pytest.raises(UnexpectedBehaviourError, match="not played"):
        await steps.real_game(1)
    assert options == ["colorFinished"]


@pytest.mark.slow
@pytest.mark.usefixtures("players")
@pytest.mark.parametrize(
    ("command", "number", "title", "came", "limits"),
    [
        ("sh -c 'seq 11 >&2; exit 3' bot", 1, "starts", "the process ended with exit code 3", {}),
        (f"{LIGHT} first -h {{host}} -p {{port}} -r mine", 2, "takes its seat", "reservation code 'mine'", {}),
        ("builtin:crash", 3, "answers a request", "it ended its connection; the process ended with exit code 1", {}),
        (f"{LIGHT} silent", 3, "answers a request", "no answer came in {hard_timeout:g} s", {"hard_timeout": 0.5}),
        (f"{LIGHT} slow --delay DELAY", 4, "is in time", "the answer came after ", {"soft_timeout": 0.3}),
        (f"{LIGHT} garbage", 5, "can be understood", "Not well-formed XML", {}),
        (f"{LIGHT} illegal", 6, "keeps the rules", "", {}),
    ],
    ids=["ends", "other-code", "crash", "silent", "slow", "garbage", "illegal"],
)
async def test_a_bad_program_fails_at_the_right_step(
    command: str, number: int, title: str, came: str, limits: dict[str, float], tmp_path: Path
) -> None:
    async def attempt(scale: float) -> None:
        longer = {name: limit * scale for name, limit in limits.items()}
        slow = command.replace("DELAY", f"{0.4 * scale:g}")
        results = await check(tmp_path / f"{scale:g}", slow, DEFAULT_GAME_TYPE, None, None, **longer)
        bad = results[number - 1]
        assert (bad.status, bad.title) == (Status.FAILED, title)
        assert came.format(**longer) in bad.came
        assert {result.status for result in results[: number - 1]} <= {Status.PASSED}
        assert {result.status for result in results[number:]} == {Status.NOT_TRIED}
        if "seq" in command:
            assert [line.split()[-1] for line in bad.stderr.splitlines()] == [str(each) for each in range(2, 12)]

    await retry_with_longer_limits(attempt, 1)


@pytest.mark.slow
@pytest.mark.usefixtures("players", "few_endings", "short_games")
async def test_a_program_that_does_not_end_fails_every_step_in_which_a_game_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(monkeypatch, *IN_THE_MIDDLE)
    script = f'{LIGHT} first "$@"; exec sleep 500'
    command = f"sh -c {shlex.quote(script)} bot"

    async def attempt(limit: float) -> None:
        timeouts = ProgramTimeouts(start=HANG_TIMEOUT, exit=limit, game=HANG_TIMEOUT)
        setup = CheckSetup(command, DEFAULT_GAME_TYPE, HANG_TIMEOUT, HANG_TIMEOUT, 0.1, timeouts)
        with trio.fail_after(HANG_TIMEOUT):
            results = await check_program(setup, tmp_path / f"{limit:g}")
        assert failed(results) == [result.title for result in results[10:]]
        assert results[-1].came.startswith(f"does not end: it still ran {limit:g} s after the end of the game")

    await retry_with_longer_limits(attempt, 0.2)


@pytest.mark.slow
@pytest.mark.usefixtures("players")
async def test_failing_a_step_that_the_official_server_never_causes_is_only_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some packages for players end at the first element that they do not know."""
    fake(monkeypatch, *(name for name in OTHERS if name != "unknown"))
    results = await check(tmp_path, f"{LIGHT} first --ends-at unknownElement")
    assert [result.title for result in results if result.status is not Status.PASSED] == ["unknown elements"]
    warning = next(result for result in results if result.status is Status.WARNING)
    assert "the process ended with exit code 1" in warning.came
    assert "unknownElement is not known here" in warning.stderr
    assert "the official server sends no unknown elements" in warning.remark
    assert [result.remark for result in results if result.status is not Status.WARNING] == [""] * (STEPS - 1)
    assert is_fit(results)


@pytest.mark.slow
@pytest.mark.usefixtures("players", "few_endings", "short_games")
async def test_waiting_for_the_end_of_the_stream_is_only_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The documents of some seasons promise that the server ends the stream, but no release does it."""
    fake(monkeypatch, *IN_THE_MIDDLE)

    async def attempt(limit: float) -> None:
        timeouts = ProgramTimeouts(start=HANG_TIMEOUT, exit=limit, game=HANG_TIMEOUT)
        command = f"{LIGHT} first --ends-with stream"
        setup = CheckSetup(command, DEFAULT_GAME_TYPE, HANG_TIMEOUT, HANG_TIMEOUT, 0.1, timeouts)
        with trio.fail_after(HANG_TIMEOUT):
            results = await check_program(setup, tmp_path / f"{limit:g}")
        warned = [result for result in results if result.status is not Status.PASSED]
        assert {result.status for result in warned} == {Status.WARNING}
        assert all(result.remark.startswith("the official server leaves the stream open") for result in warned)
        assert warned == list(results[10:])
        late = "the process ended with exit code 0, but not before the server had ended the stream"
        assert {result.came for result in warned[:-2]} == {late}
        assert is_fit(results)

    await retry_with_longer_limits(attempt, 0.2)


@pytest.mark.slow
@pytest.mark.usefixtures("players", "few_endings", "no_real_game")
@pytest.mark.parametrize("plies", [1, 2])
async def test_a_game_may_end_after_a_few_moves(plies: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(BlokusState, "outcome", lambda self: Outcome(0, "points") if self.turn >= plies else None)
    results = await check(tmp_path, f"{LIGHT} first")
    assert [(result.title, result.came) for result in results if result.status is not Status.PASSED] == []
    outcomes = {result.title: result.came for result in results}
    moves = count_text(plies // 2, "move")  # those of the second player
    assert outcomes["fragmented packets"].startswith(f"{moves}, ")
    assert outcomes["fragmented packets"].endswith("; then the game was over")
    assert outcomes["a whole game by the script"].startswith(f"{moves}, ")
    is_cut_short = outcomes["the end: the opponent leaves"].startswith("the game was over by the rules before")
    assert is_cut_short == (plies == 1)


async def test_an_invalid_command_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError):
        await check(tmp_path, "builtin:clever")
