"""Matches that scripts play through the public API, with real processes."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import pytest
import trio

from spielleiter.match import (
    Conditions,
    EndReason,
    Entrant,
    GameRecord,
    JournalError,
    KeepPolicy,
    MatchSetup,
    ProgramTimeouts,
    SetupError,
    load_match,
    play_match,
    prepare_match,
    read_journal,
    run_match,
    summarise,
)
from tests.match.players import LIGHT
from tests.timeouts import HANG_TIMEOUT

ENDLESS = ProgramTimeouts(start=HANG_TIMEOUT, exit=HANG_TIMEOUT, game=HANG_TIMEOUT)


def prepare(
    first: str | Entrant = "builtin:greedy", second: str | Entrant = "builtin:first", games: int = 2
) -> MatchSetup:
    """A match with limits that no program reaches, however busy this machine is."""
    return prepare_match(
        first, second, games=games, seed=1, soft_timeout=HANG_TIMEOUT, hard_timeout=HANG_TIMEOUT, timeouts=ENDLESS
    )


@pytest.mark.slow
@pytest.mark.usefixtures("players")
def test_a_script_plays_a_match_of_two_commands(tmp_path: Path) -> None:
    finished: list[GameRecord] = []
    setup = prepare(Entrant("new", f"{LIGHT} greedy"), Entrant("old", f"{LIGHT} first"))
    result = play_match(setup, tmp_path / "result", on_game_finished=finished.append)
    assert (result.end, result.is_complete, result.faults) == (EndReason.COMPLETED, True, (0, 0))
    assert finished == list(result.records) == list(read_journal(tmp_path / "result"))
    assert [record.verdict for record in finished] == ["regular", "regular"]
    assert result.setup.names == ("new", "old")
    assert result.elo is not None
    assert result.summary.results.games == 2
    assert result.better is None
    assert "too few pairs to tell" in result.headline
    assert result.report.read_text().count("new") > 3
    assert json.loads((result.folder / "summary.json").read_text())["counted"] == 2


@pytest.mark.slow
def test_an_interrupted_match_is_continued(tmp_path: Path) -> None:
    class StopError(Exception):
        pass

    def stop(_record: GameRecord) -> None:
        raise StopError

    with pytest.raises(StopError):
        play_match(prepare(), tmp_path, on_game_finished=stop)
    assert [record.game for record in read_journal(tmp_path)] == [1]
    assert json.loads((tmp_path / "summary.json").read_text())["played"] == 1
    continued: list[int] = []
    result = play_match(load_match(tmp_path), tmp_path, on_game_finished=lambda record: continued.append(record.game))
    assert continued == [2]
    assert [record.game for record in result.records] == [1, 2]
    again = play_match(load_match(tmp_path), str(tmp_path))
    assert again.records == result.records
    assert summarise(again.records).results == result.summary.results
    with pytest.raises(JournalError, match="holds another match"):
        play_match(prepare(), tmp_path)


@pytest.mark.slow
async def test_a_program_that_runs_trio_plays_matches_side_by_side(tmp_path: Path) -> None:
    """None of them handles signals, and conditions apply to each."""
    ends: list[EndReason] = []

    async def play(folder: Path) -> None:
        conditions = Conditions(concurrency=2, keep=KeepPolicy.NONE)
        result = await run_match(prepare(), folder, conditions=conditions)
        assert not (folder / "games" / "0001").exists()
        ends.append(result.end)

    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(play, tmp_path / "one")
            nursery.start_soon(play, tmp_path / "two")
    assert ends == [EndReason.COMPLETED] * 2


@pytest.mark.slow
def test_a_match_can_be_played_outside_of_the_main_thread(tmp_path: Path) -> None:
    ends: list[EndReason] = []
    thread = threading.Thread(target=lambda: ends.append(play_match(prepare(), tmp_path).end))
    thread.start()
    thread.join(HANG_TIMEOUT)
    assert ends == [EndReason.COMPLETED]


@pytest.mark.slow
async def test_a_cancelled_match_leaves_reports_and_can_be_continued(tmp_path: Path) -> None:
    with trio.CancelScope() as scope:
        await run_match(prepare(games=4), tmp_path, on_game_finished=lambda _record: scope.cancel())
    assert scope.cancelled_caught
    assert json.loads((tmp_path / "summary.json").read_text())["played"] == 1
    with trio.fail_after(HANG_TIMEOUT):
        result = await run_match(load_match(tmp_path), tmp_path)
    assert len(result.records) == 4


def test_conditions_that_cannot_be_met_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    conditions = Conditions(concurrency=1, is_pinned=True, cores_per_game=3)
    with pytest.raises(SetupError):
        play_match(prepare(), tmp_path / "out", conditions=conditions)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_program_at_fault_is_no_exception(tmp_path: Path) -> None:
    result = play_match(prepare("builtin:greedy", "true"), tmp_path)
    assert (result.end, result.is_complete) == (EndReason.UNFIT, False)
    assert result.faults == (0, 2)
    assert {record.verdict for record in result.records} == {"does not start"}


def test_a_program_that_never_starts_has_lost_and_is_no_draw(tmp_path: Path) -> None:
    result = play_match(prepare(Entrant("broken", "false"), games=10), tmp_path)
    assert (result.end, result.is_complete, result.better) == (EndReason.UNFIT, False, None)
    tally = result.summary.results
    assert (tally.wins, tally.draws, tally.losses) == (0, 0, 2)
    assert [(record.winner, record.is_draw, record.is_counted) for record in result.records] == [(1, False, True)] * 2
    assert result.faults == (2, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="a running program cannot be deleted there")
@pytest.mark.parametrize("folder", ["bots", "it's a bot"])  # the second one is no command line without the file
@pytest.mark.parametrize("how", ['rm "$0"', 'chmod a-x "$0"', 'echo "#!/no/such/interpreter" > "$0"'])
def test_a_program_that_makes_its_file_unusable_loses_the_later_games(tmp_path: Path, folder: str, how: str) -> None:
    bot = tmp_path / folder / "bot.sh"
    bot.parent.mkdir()
    bot.write_text(f"#!/bin/sh\n{how}\nexit 1\n")
    bot.chmod(0o755)
    setup = prepare(Entrant("vanishing", str(bot)), games=4)
    result = play_match(setup, tmp_path / "match", conditions=Conditions(keeps_playing=True))
    assert [(record.verdict, record.offender) for record in result.records] == [("does not start", 0)] * 4
    assert [(record.winner, record.is_counted) for record in result.records] == [(1, True)] * 4


def test_a_match_is_extended(tmp_path: Path) -> None:
    play_match(prepare(), tmp_path)
    with pytest.raises(SetupError, match="only more"):
        load_match(tmp_path, games=1)
    result = play_match(load_match(tmp_path, games=4), tmp_path)
    assert [record.game for record in result.records] == [1, 2, 3, 4]
    assert load_match(tmp_path).games == 4
    # a setup with fewer games is the same match, and takes nothing away
    with pytest.raises(JournalError, match="holds another match"):
        play_match(prepare(), tmp_path)
