"""A check of real programs: which step fails, and what is said of it."""

from __future__ import annotations

import gzip
import itertools
import shlex
from pathlib import Path

import pytest
import trio

from spielleiter.common.errors import SetupError
from spielleiter.common.text import count_text
from spielleiter.contest.check import (
    CheckSetup,
    CheckSteps,
    Status,
    StepResult,
    check_program,
    is_fit,
)
from spielleiter.contest.scripted_server import UnexpectedBehaviourError
from spielleiter.game.api import Outcome
from spielleiter.game.blokus.state import BlokusState
from spielleiter.match.plan import MatchSetup, ProgramTimeouts
from spielleiter.match.records import GameRecord
from spielleiter.programs.processes import TAG_VARIABLE
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.protocol.messages import JoinPreparedRequest
from spielleiter.server.editions import EDITIONS
from tests.contest.checked import BASIC_STEPS, STEPS, FakeStep, check
from tests.interpreter import PYTHON
from tests.match.answering import answering_program
from tests.match.players import LIGHT
from tests.timeouts import HANG_TIMEOUT, retry_with_longer_limits

PLAY = f"{PYTHON} -m spielleiter play --seed 1"


def failed(results: tuple[StepResult, ...]) -> list[str]:
    return [result.title for result in results if result.status is Status.FAILED]


def assert_all_passed(results: tuple[StepResult, ...], edition: str, folder: Path) -> None:
    assert [(result.title, result.came) for result in results if result.status is not Status.PASSED] == []
    assert all(result.came and result.expected for result in results)
    folders = {result.folder for result in results}
    assert len(folders) == STEPS - BASIC_STEPS + 1  # the first steps share a folder
    assert all((folder / name / "wire.log.gz").exists() for name in folders)
    written = gzip.decompress((folder / results[0].folder / "wire.log.gz").read_bytes())
    assert EDITIONS[edition].dialect.encode(JoinPreparedRequest("")).split(b"=")[0] in written


@pytest.mark.slow
async def test_a_built_in_player_is_fit(tmp_path: Path) -> None:
    """Every step starts `spielleiter play` as a process of its own, as for a user."""
    assert_all_passed(await check(tmp_path, "builtin:greedy"), next(iter(EDITIONS)), tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("players")
@pytest.mark.parametrize(
    ("strategy", "edition"), list(zip(itertools.cycle(["greedy", "random", "first"]), sorted(EDITIONS), strict=False))
)
async def test_built_in_strategies_are_fit_in_every_edition(strategy: str, edition: str, tmp_path: Path) -> None:
    command = f"{LIGHT} {strategy} --edition {edition} -h {{host}} -p {{port}} -r {{reservation}}"
    assert_all_passed(await check(tmp_path, command, EDITIONS[edition].game_type, edition), edition, tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("players")
async def test_a_program_that_joins_any_game_fails_only_the_step_of_taking_its_seat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CheckSteps, "real_game", FakeStep(0))  # the tests of the referee cover that step
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
        patience = ProgramTimeouts(start=HANG_TIMEOUT, exit=limit, game=HANG_TIMEOUT)
        setup = CheckSetup(command, DEFAULT_GAME_TYPE, HANG_TIMEOUT, HANG_TIMEOUT, 0.1, patience)
        with trio.fail_after(HANG_TIMEOUT):
            results = await check_program(setup, tmp_path / f"{limit:g}")
        assert failed(results) == [result.title for result in results[10:]]
        assert results[-1].came.startswith(f"does not end: it still ran {limit:g} s after the end of the game")

    await retry_with_longer_limits(attempt, 0.2)


@pytest.mark.slow
@pytest.mark.usefixtures("players")
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
        patience = ProgramTimeouts(start=HANG_TIMEOUT, exit=limit, game=HANG_TIMEOUT)
        command = f"{LIGHT} first --edition {edition} --ends-with stream"
        setup = CheckSetup(command, chosen.game_type, HANG_TIMEOUT, HANG_TIMEOUT, 0.1, patience, edition)
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
@pytest.mark.usefixtures("players")
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


def test_the_tag_variable_is_not_a_setting_of_the_server() -> None:
    assert not TAG_VARIABLE.startswith("SPIELLEITER_")
