"""The outcome of a check of a command: repeated steps, what they amount to, and JUnit. No program is started."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from lxml import etree

from spielleiter.contest.check import (
    ATTEMPTS,
    CheckSetup,
    CheckSteps,
    FirstGameSteps,
    Status,
    StepResult,
    is_fit,
    is_undecided,
    render_junit,
)
from spielleiter.contest.scripted_server import InconclusiveError, ScriptedServer, UnexpectedBehaviourError
from spielleiter.game.blokus.state import BlokusGame
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from tests.contest.checked import BASIC_STEPS, FakeStep, check
from tests.match.xunit import assert_is_xunit


@pytest.fixture
def fake_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every step pass at once, without starting a program."""

    class NoScriptedServer:
        async def __aenter__(self) -> None:
            pass

        async def __aexit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(CheckSteps, "scripted_server", lambda _steps: NoScriptedServer())
    for name in ("fragmented", "coalesced", "unknown", "pause", "whole_game", "early_end", "real_game"):
        monkeypatch.setattr(CheckSteps, name, FakeStep(0))
    for name in ("start", "take_seat", "ask", "judge_time", "parse", "play"):
        monkeypatch.setattr(FirstGameSteps, name, FakeStep(0))


@pytest.mark.usefixtures("fake_steps")
@pytest.mark.parametrize(("game_end", "rounds"), [(None, 24), ("noMovesLeft", 24), ("colorFinished", 25)])
async def test_the_end_of_a_game_can_be_chosen(
    game_end: str | None, rounds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[BlokusGame] = []

    async def note(steps: CheckSteps) -> str:
        assert isinstance(steps._edition.game, BlokusGame)
        found.append(steps._edition.game)
        return "noted"

    monkeypatch.setattr(CheckSteps, "fragmented", note)
    await check(tmp_path, "bot", game_end=game_end)
    (game,) = found
    assert game.rules.round_limit == rounds
    assert game.rules.ends_with_finished_color == (game_end == "colorFinished")


@pytest.mark.usefixtures("fake_steps")
@pytest.mark.parametrize("times", range(ATTEMPTS + 1))
@pytest.mark.parametrize(("owner", "name", "number"), [(CheckSteps, "pause", 10), (FirstGameSteps, "judge_time", 4)])
async def test_a_step_that_the_machine_disturbs_is_repeated(
    owner: type, name: str, number: int, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = FakeStep(times)
    monkeypatch.setattr(owner, name, step)
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

    monkeypatch.setattr(CheckSteps, "scripted_server", lambda _steps: Failing())
    first, *others = await check(tmp_path, "bot")
    assert Failing.attempts == ATTEMPTS
    assert (first.status, first.came) == (Status.UNDECIDED, "this machine failed: no space")
    assert {result.status for result in others} == {Status.NOT_TRIED}


async def test_a_whole_game_for_which_there_is_no_folder_is_undecided(tmp_path: Path) -> None:
    (tmp_path / "games").touch()
    steps = CheckSteps(CheckSetup("builtin:first", DEFAULT_GAME_TYPE, 1, 1), tmp_path)
    with pytest.raises(InconclusiveError, match="games"):
        await steps.real_game(1)


@pytest.mark.usefixtures("fake_steps")
async def test_a_failure_in_the_second_attempt_is_reported_for_the_first_undecided_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def start(_game: FirstGameSteps, _scripted_server: ScriptedServer) -> str:
        return await starting()

    starting = FakeStep(0, "connected")
    monkeypatch.setattr(FirstGameSteps, "start", start)
    step = FakeStep(1)

    async def ask(*_: object) -> str:
        starting.then = UnexpectedBehaviourError("nobody came")
        return await step()

    monkeypatch.setattr(FirstGameSteps, "ask", ask)
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
