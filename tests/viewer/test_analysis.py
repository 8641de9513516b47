"""The analysis finds a planted mistake, is the same in every run, bounds its work, and prints what it finds."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from spielleiter.client.choosers import greedy_move
from spielleiter.game.api import Move, Seat, State
from spielleiter.game.blokus import BLOKUS_2027, BlokusState, SetMove, SkipMove
from spielleiter.game.hase_und_igel import HASE_UND_IGEL_2018
from spielleiter.game.hase_und_igel.board import Board
from spielleiter.protocol.messages import Memento, RoomData
from spielleiter.server.core.room import Ending
from spielleiter.server.editions import EDITIONS
from spielleiter.server.replay import encode_replay
from spielleiter.viewer import analysis
from spielleiter.viewer.analysis import (
    METHOD,
    MOMENTS,
    AnalysisError,
    analyse_replay,
    describe_moment,
    find_moments,
    main,
)
from spielleiter.viewer.replay_files import Replay
from tests.timeouts import HANG_TIMEOUT
from tests.viewer.replay_files import ended, played, record_of

BLOKUS = EDITIONS["blokus-2027"]
HASE = EDITIONS["hase-und-igel-2018"]


@cache
def played_with_a_mistake(mistake: int, plies: int) -> list[State]:
    """A game of the built-in player in which the ply `mistake` is a skip, from its fiftieth ply on."""
    rng = random.Random(4)
    state: State = BLOKUS_2027.new_state(rng)
    for _ in range(50):
        state = state.play(greedy_move(state, rng))
    states = [state]
    while len(states) <= plies and states[-1].outcome() is None:
        state = states[-1]
        states.append(state.play(SkipMove() if len(states) == mistake else greedy_move(state, rng)))
    return states


@pytest.mark.slow
def test_a_move_that_was_given_away_is_found() -> None:
    states = played_with_a_mistake(5, 16)
    seat = states[4].seat_on_turn
    moments = find_moments(states, (seat,))
    found = {moment.ply: moment for moment in moments}[5]
    assert isinstance(found.played, SkipMove)
    assert isinstance(found.better, SetMove)
    assert found.loss >= 3
    assert states[4].check(found.better) is None
    assert all(moment.player == seat for moment in moments)
    assert [moment.loss for moment in moments] == sorted((moment.loss for moment in moments), reverse=True)
    assert len(moments) <= MOMENTS


@pytest.mark.slow
def test_the_result_depends_on_the_seed_only() -> None:
    states = played_with_a_mistake(3, 6)
    assert find_moments(states, (0, 1), seed=7) == find_moments(states, (0, 1), seed=7)
    found = [find_moments(states, (0, 1), seed) for seed in range(4)]
    assert any(each != found[0] for each in found)


@pytest.mark.slow
def test_progress_counts_to_the_end() -> None:
    steps: list[tuple[int, int]] = []
    find_moments(played_with_a_mistake(3, 6), (0, 1), 0, lambda done, of: steps.append((done, of)))
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert len({of for _, of in steps}) == 1
    assert steps[-1][0] == steps[-1][1]


def test_a_game_without_moves_has_no_moments() -> None:
    assert find_moments([BLOKUS_2027.new_state(random.Random(1))], ()) == []


@pytest.mark.slow
def test_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "MOST_PLIES", 10)
    plies = 0
    states = played_with_a_mistake(3, 6)
    play = BlokusState.play

    def count(state: BlokusState, move: Move) -> BlokusState:
        nonlocal plies
        plies += 1
        return play(state, move)

    monkeypatch.setattr(BlokusState, "play", count)
    find_moments(states, (0, 1))
    assert 10 <= plies <= 10 + 2 * 100


def test_impossible_positions_are_refused() -> None:
    state = HASE_UND_IGEL_2018.new_state(random.Random(1))
    with pytest.raises(AnalysisError, match="cannot occur"):
        find_moments([replace(state, board=Board.from_letters("SC" + 4000 * "H"))], (0,))


def test_a_position_in_which_nobody_can_move_is_its_own_end() -> None:
    start = BLOKUS_2027.new_state(random.Random(1))
    assert isinstance(start, BlokusState)
    full = (1 << 420) - 1
    stuck = replace(start, turn=4, cells=(0, full, 0, 0), remaining_masks=(3, 3, 3, 3))
    assert stuck.outcome() is None
    assert find_moments([stuck, stuck], (0, 1)) == []


@pytest.mark.slow
def test_the_report_has_sentences_in_both_languages() -> None:
    states = played_with_a_mistake(3, 6)
    moments = find_moments(states, (0, 1))
    for moment in moments:
        shown = describe_moment(moment, states[moment.ply - 1], states[moment.ply])
        assert (shown["ply"], shown["player"], shown["loss"]) == (moment.ply, moment.player, moment.loss)
        assert shown["played"] == str(moment.played)
        assert shown["better"]["text"] == str(moment.better)
        assert shown["better"]["cells"]
        assert str(moment.better) in shown["words"]["de"]
        assert str(moment.better) in shown["words"]["en"]
    assert "Schätzung" in METHOD["de"]
    assert "estimate" in METHOD["en"]


@pytest.mark.slow
@pytest.mark.parametrize(("winners", "explained"), [((0,), {1}), ((1,), {0}), ((0, 1), {0, 1})])
def test_the_loser_is_explained_or_both_after_a_draw(winners: tuple[Seat, ...], explained: set[Seat]) -> None:
    states = played_with_a_mistake(3, 6)
    record: list[RoomData] = [*(Memento(state) for state in states), ended(BLOKUS, Ending.won_by(winners), states[-1])]
    moments = analyse_replay(Replay(BLOKUS, tuple(record), ""))["moments"]
    assert {moment["player"] for moment in moments} <= explained
    assert moments


@pytest.fixture(autouse=True)
def _own_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the priority of this process, in which other tests follow."""
    monkeypatch.setattr("os.nice", lambda _increment: 0)


def replay() -> bytes:
    states = played(HASE)[-7:]
    return encode_replay(HASE.dialect, "", record_of(HASE, states))


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.slow
def test_it_ends_without_a_message_if_nobody_reads_it() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "spielleiter.viewer.analysis", "--events", "-"],
        input=replay(),
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=HANG_TIMEOUT,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.slow
def test_a_process_of_its_own_reads_standard_input() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "spielleiter.viewer.analysis", "--events", "-"],
        input=replay(),
        capture_output=True,
        timeout=HANG_TIMEOUT,
        check=True,
    )
    lines = lines_of(done.stdout.decode())
    assert done.stderr == b""
    assert {line["event"] for line in lines[:-1]} == {"progress"}
    assert lines[-1]["event"] == "result"
    assert set(lines[-1]["method"]) == {"de", "en"}
    winner = record_of(HASE, played(HASE))[-1]
    assert all(moment["player"] not in getattr(winner, "winners", ()) for moment in lines[-1]["moments"])


def test_a_file_and_one_player(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(replay())
    for number in (1, 2):
        assert main([str(path), "--player", str(number), "--seed", "3"]) == 0
        moments = lines_of(capsys.readouterr().out)
        assert moments
        assert all(moment["player"] == number - 1 for moment in moments)
        assert all({"ply", "turn", "loss", "better", "words"} <= moment.keys() for moment in moments)


def test_a_bad_file_is_one_line_of_text_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["missing.xml"]) == 2
    assert capsys.readouterr() == ("", "missing.xml: There is no such file.\n")


def test_a_bad_file_is_one_event(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "missing.xml"), "--events"]) == 2
    (line,) = lines_of(capsys.readouterr().out)
    assert line == {
        "event": "failed",
        "error": {"de": "Diese Datei gibt es nicht.", "en": "There is no such file."},
    }


def test_impossible_positions_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = played(HASE, plies=0)[0]
    object.__setattr__(state, "board", Board.from_letters("SC" + 100 * "H"))
    path = tmp_path / "a.xml"
    path.write_bytes(encode_replay(HASE.dialect, "", [Memento(state)]))
    assert main([str(path), "--events"]) == 2
    (line,) = lines_of(capsys.readouterr().out)
    assert "cannot occur in a game" in line["error"]["en"]
