"""A check of real programs: which step fails, what is said of it, what it amounts to, and its JUnit file."""

from __future__ import annotations

import gzip
import itertools
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from lxml import etree

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
from spielleiter.contest.scripted_server import InconclusiveError, ScriptedServer, UnexpectedBehaviourError
from spielleiter.game.api import Outcome
from spielleiter.game.blokus.state import BlokusGame, BlokusState
from spielleiter.match.plan import MatchSetup, ProgramTimeouts
from spielleiter.match.records import GameRecord
from spielleiter.programs.processes import find_processes
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.protocol.messages import JoinPreparedRequest
from spielleiter.server.editions import EDITIONS
from tests.interpreter import PYTHON
from tests.match.answering import answering_program
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
    assert [result.number for result in results] == list(range(1, STEPS + 1))
    assert [process for process in find_processes("") if str(folder) in str(process)] == []
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


@pytest.fixture
def no_real_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the two steps that the tests of the referee cover; `test_a_built_in_player_is_fit` has them."""
    monkeypatch.setattr(ProgramCheck, "real_game", FakeStep(0))


@pytest.fixture
def fake_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every step pass at once, without starting a program."""

    class NoScriptedServer:
        async def __aenter__(self) -> None:
            pass

        async def __aexit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(ProgramCheck, "scripted_server", lambda _steps: NoScriptedServer())
    for name in ("fragmented", "coalesced", "unknown", "pause", "whole_game", "early_end", "real_game"):
        monkeypatch.setattr(ProgramCheck, name, FakeStep(0))
    for name in ("start", "take_seat", "ask", "judge_time", "parse", "play"):
        monkeypatch.setattr(ProgramCheck, name, FakeStep(0))


@pytest.mark.usefixtures("fake_steps")
@pytest.mark.parametrize(("game_end", "rounds"), [(None, 24), ("noMovesLeft", 24), ("colorFinished", 25)])
async def test_the_end_of_a_game_can_be_chosen(
    game_end: str | None, rounds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[BlokusGame] = []

    async def note(steps: ProgramCheck) -> str:
        assert isinstance(steps.edition.game, BlokusGame)
        found.append(steps.edition.game)
        return "noted"

    monkeypatch.setattr(ProgramCheck, "fragmented", note)
    await check(tmp_path, "bot", game_end=game_end)
    (game,) = found
    assert game.rules.round_limit == rounds
    assert game.rules.ends_with_finished_color == (game_end == "colorFinished")


@pytest.mark.usefixtures("fake_steps")
@pytest.mark.parametrize("times", range(ATTEMPTS + 1))
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
    class Failing:
        attempts = 0

        async def __aenter__(self) -> None:
            Failing.attempts += 1
            raise InconclusiveError("this machine failed: no space")

        async def __aexit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(ProgramCheck, "scripted_server", lambda _steps: Failing())
    first, *others = await check(tmp_path, "bot")
    assert Failing.attempts == ATTEMPTS
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
    ("statuses", "undecided"),
    [
        ((Status.PASSED, Status.WARNING), False),
        ((Status.PASSED, Status.UNDECIDED, Status.NOT_TRIED), True),
        ((Status.FAILED, Status.UNDECIDED), False),
    ],
)
def test_a_failure_is_not_undecided(statuses: tuple[Status, ...], undecided: bool) -> None:
    results = [StepResult(number, "step", "", status) for number, status in enumerate(statuses, 1)]
    assert is_undecided(results) == undecided


@pytest.mark.parametrize(
    ("statuses", "fit"),
    [
        ((), True),
        ((Status.PASSED, Status.WARNING), True),
        ((Status.PASSED, Status.WARNING, Status.FAILED), False),
        ((Status.PASSED, Status.NOT_TRIED), False),
        ((Status.PASSED, Status.UNDECIDED), False),
    ],
)
def test_warnings_do_not_make_a_program_unfit(statuses: tuple[Status, ...], fit: bool) -> None:
    results = [StepResult(number, "step", "", status) for number, status in enumerate(statuses, 1)]
    assert is_fit(results) == fit


PASSED = StepResult(1, "starts", "it starts", Status.PASSED, "connected")
FAILED = StepResult(2, "plays", "a <move>", Status.FAILED, "no\x01 move & nothing", "first line\nsecond line")
WARNING = StepResult(
    2, "is lenient", "no <end>", Status.WARNING, "it\x02 ended", "last words", "nobody demands this\x03"
)
UNDECIDED = StepResult(2, "plays", "a <move>", Status.UNDECIDED, "late\x04", "last words")
NOT_TRIED = StepResult(3, "ends", "the end", Status.NOT_TRIED)


def suite_of(results: Sequence[StepResult], command: str = "bot") -> etree._Element:
    return assert_is_xunit(render_junit(command, results, "chess (1972)").encode())[0]


def test_the_steps_are_a_test_suite() -> None:
    suite = suite_of([PASSED, FAILED, NOT_TRIED], "bot <fast>\x02")
    assert dict(suite.attrib) == {
        "name": r"spielleiter check bot <fast>\x02, chess (1972)",
        "tests": "3",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
    }
    assert [case.get("name") for case in suite] == ["01 starts", "02 plays", "03 ends"]
    assert [[child.tag for child in case] for case in suite] == [[], ["failure", "system-err"], ["skipped"]]
    assert suite[1][0].get("message") == r"no\x01 move & nothing"
    assert suite[1][0].text == "expected: a <move>"
    assert suite[1][1].text == "first line\nsecond line"


def test_a_warning_is_a_skipped_test() -> None:
    suite = suite_of([PASSED, WARNING])
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "0", "1")
    assert [child.tag for child in suite[1]] == ["skipped", "system-out", "system-err"]
    assert suite[1][0].get("message") == r"warning: it\x02 ended (nobody demands this\x03)"
    assert [child.text for child in suite[1]] == [None, "expected: no <end>", "last words"]


def test_an_undecided_step_is_an_error() -> None:
    suite = suite_of([PASSED, UNDECIDED, NOT_TRIED])
    assert (suite.get("failures"), suite.get("errors"), suite.get("skipped")) == ("0", "1", "1")
    error, words = suite[1]
    assert (error.tag, error.get("type")) == ("error", "undecided")
    assert error.get("message") == r"this machine was too busy: late\x04"
    assert (error.text, words.tag, words.text) == ("expected: a <move>", "system-err", "last words")


PLAY = f"{PYTHON} -m spielleiter play --seed 1"


def failed(results: tuple[StepResult, ...]) -> list[str]:
    return [result.title for result in results if result.status is Status.FAILED]


def assert_all_passed(results: tuple[StepResult, ...], edition: str, folder: Path) -> None:
    assert [(result.title, result.came) for result in results if result.status is not Status.PASSED] == []
    assert all(result.came and result.expected for result in results)
    folders = {result.folder for result in results if result.came != "as expected"}  # without those that are left out
    assert len(folders) in {STEPS - BASIC_STEPS + 1, STEPS - BASIC_STEPS - 1}  # the first steps share a folder
    assert all((folder / name / "wire.log.gz").exists() for name in folders)
    written = gzip.decompress((folder / results[0].folder / "wire.log.gz").read_bytes())
    assert EDITIONS[edition].dialect.encode(JoinPreparedRequest("")).split(b"=")[0] in written


@pytest.mark.slow
async def test_a_built_in_player_is_fit(tmp_path: Path) -> None:
    """Every step starts `spielleiter play` as a process of its own, as for a user."""
    assert_all_passed(await check(tmp_path, "builtin:greedy"), next(iter(EDITIONS)), tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("players", "no_real_game")
@pytest.mark.parametrize(
    ("strategy", "edition"), list(zip(itertools.cycle(["greedy", "random", "first"]), sorted(EDITIONS), strict=False))
)
async def test_built_in_strategies_are_fit_in_every_edition(strategy: str, edition: str, tmp_path: Path) -> None:
    command = f"{LIGHT} {strategy} --edition {edition} -h {{host}} -p {{port}} -r {{reservation}}"
    assert_all_passed(await check(tmp_path, command, EDITIONS[edition].game_type, edition), edition, tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("players", "no_real_game")
async def test_a_program_that_joins_any_game_fails_only_the_step_of_taking_its_seat(tmp_path: Path) -> None:
    results = await check(tmp_path, f"{LIGHT} first -h {{host}} -p {{port}}")
    assert failed(results) == ["takes its seat"]
    assert results[1].came.startswith("join came instead of joinPrepared: it takes any free seat instead of the one")
    assert Status.NOT_TRIED not in {result.status for result in results}


@pytest.mark.slow
@pytest.mark.usefixtures("players")
async def test_the_chosen_end_applies_to_the_games_against_random(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: list[object] = []

    async def play(setup: MatchSetup, *_: object) -> GameRecord:
        options.append(setup.server_options.get("game_end"))
        raise UnexpectedBehaviourError("not played")

    monkeypatch.setattr("spielleiter.contest.check.play_game", play)
    await check(tmp_path, f"{LIGHT} first", game_end="colorFinished")
    assert options == ["colorFinished"] * 2


@pytest.mark.slow
async def test_a_program_for_another_season_is_told_which_one_is_checked(tmp_path: Path) -> None:
    results = await check(tmp_path, f"{PLAY} -s first -h {{host}} -p {{port}} --game swc_2021_blokus")
    assert failed(results) == ["takes its seat"]
    assert results[1].came.startswith(
        f"join came for gameType 'swc_2021_blokus', but the game here is {DEFAULT_GAME_TYPE!r}"
    )
    assert {result.status for result in results[2:]} == {Status.NOT_TRIED}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "number", "title", "came", "limits"),
    [
        ("/nowhere/bot", 1, "starts", "/nowhere/bot: there is no such program", {}),
        ("sh -c 'echo no book >&2; exit 3' bot", 1, "starts", "the process ended with exit code 3", {}),
        (f"{PLAY} -s first -h {{host}} -p {{port}} -r mine", 2, "takes its seat", "reservation code 'mine'", {}),
        ("builtin:crash", 3, "answers a request", "it ended its connection; the process ended with exit code 1", {}),
        ("builtin:silent", 3, "answers a request", "no answer came in {hard_timeout:g} s", {"hard_timeout": 0.5}),
        (f"{PLAY} -s slow --delay DELAY", 4, "is in time", "the answer came after ", {"soft_timeout": 0.3}),
        ("builtin:garbage", 5, "can be understood", "Not well-formed XML", {}),
        ("builtin:illegal", 6, "keeps the rules", "", {}),
    ],
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

    await retry_with_longer_limits(attempt, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "number", "came"),
    [
        (
            '<data class="sc.plugin2027.SkipMove"><color>BLUE</color><hint content="x"/></data>',
            5,
            (
                "<room> cannot be read: unbekanntes Element <hint> in <data>; "
                "the official server ends the connection at that without a word"
            ),
        ),
        (
            '<data class="sc.plugin2027.SkipMove"/>',
            5,
            "incomplete skip: im Element data fehlt das Element color",
        ),
    ],
)
async def test_what_the_release_would_not_accept_is_named(data: str, number: int, came: str, tmp_path: Path) -> None:
    results = await check(tmp_path, answering_program(tmp_path, data), DEFAULT_GAME_TYPE)
    bad = results[number - 1]
    assert (bad.status, bad.came) == (Status.FAILED, came)
    assert {result.status for result in results[: number - 1]} == {Status.PASSED}


@pytest.mark.slow
async def test_a_program_that_does_not_connect_is_reminded_of_its_options(tmp_path: Path) -> None:
    """Usually such a program ignores its options, and has connected to the default port."""
    setup = CheckSetup(
        "sleep 500 {port}", DEFAULT_GAME_TYPE, HANG_TIMEOUT, HANG_TIMEOUT, 0.1, ProgramTimeouts(start=0.1)
    )
    first, *_ = await check_program(setup, tmp_path, lambda _result: None)
    assert first.expected == "the process starts and connects in 0.1 s, to the host and port it was given (-h, -p)"
    assert first.came.startswith("nobody connected in 0.1 s")


@pytest.mark.slow
async def test_a_failed_step_shows_the_end_of_standard_error(tmp_path: Path) -> None:
    first, *_ = await check(tmp_path, "sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11; do echo line $i >&2; done; exit 3' bot")
    lines = [line[11:] for line in first.stderr.splitlines()]
    assert lines == [f"line {number}" for number in range(2, 12)]


@pytest.mark.slow
@pytest.mark.usefixtures("players")
async def test_a_program_that_does_not_end_fails_every_step_in_which_a_game_ends(tmp_path: Path) -> None:
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
@pytest.mark.usefixtures("players", "no_real_game")
async def test_failing_a_step_that_the_official_server_never_causes_is_only_a_warning(tmp_path: Path) -> None:
    """Some packages for players end at the first element that they do not know."""
    results = await check(tmp_path, f"{LIGHT} first --ends-at unknownElement")
    assert [result.title for result in results if result.status is not Status.PASSED] == ["unknown elements"]
    warning = next(result for result in results if result.status is Status.WARNING)
    assert "the process ended with exit code 1" in warning.came
    assert "unknownElement is not known here" in warning.stderr
    assert "the official server sends no unknown elements" in warning.remark
    assert [result.remark for result in results if result.status is not Status.WARNING] == [""] * (STEPS - 1)
    assert is_fit(results)


@pytest.mark.slow
@pytest.mark.usefixtures("players")
@pytest.mark.parametrize("edition", ["blokus-2027", "hase-und-igel-2018"])
async def test_waiting_for_the_end_of_the_stream_is_only_a_warning(edition: str, tmp_path: Path) -> None:
    """The documents of some seasons promise that the server ends the stream, but no release does it."""
    chosen = EDITIONS[edition]

    async def attempt(limit: float) -> None:
        timeouts = ProgramTimeouts(start=HANG_TIMEOUT, exit=limit, game=HANG_TIMEOUT)
        command = f"{LIGHT} first --edition {edition} --ends-with stream"
        setup = CheckSetup(command, chosen.game_type, HANG_TIMEOUT, HANG_TIMEOUT, 0.1, timeouts, edition)
        with trio.fail_after(HANG_TIMEOUT):
            results = await check_program(setup, tmp_path / f"{limit:g}")
        warned = [result for result in results if result.status is not Status.PASSED]
        assert {result.status for result in warned} == {Status.WARNING}
        assert all(result.remark.startswith("the official server leaves the stream open") for result in warned)
        ends = [result.title for result in results if "the end: " in result.title or "by the script" in result.title]
        violation = "the end: the program is told that it broke a rule"
        if not chosen.policy.keeps_violators:  # the release ends the stream then
            ends.remove(violation)
        games = [result.title for result in results[-2:]]
        if chosen.policy.ends_players_streams:
            games = []
        assert [result.title for result in warned] == ends + games
        assert is_fit(results)

    await retry_with_longer_limits(attempt, 0.4)


@pytest.mark.slow
@pytest.mark.usefixtures("players", "no_real_game")
@pytest.mark.parametrize("plies", [1, 2, 5])
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
