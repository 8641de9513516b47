"""The analysis finds a planted mistake, is the same in every run, bounds its work, and prints what it finds."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from spielleiter.game.api import Move, Seat, State
from spielleiter.game.blokus import BLOKUS_2027, BlokusState, SetMove, SkipMove
from spielleiter.game.hase_und_igel.board import Board
from spielleiter.game.hase_und_igel.state import HaseUndIgelState
from spielleiter.players.choosers import greedy_move
from spielleiter.protocol.messages import Memento, RoomData
from spielleiter.server.core.room import Ending
from spielleiter.server.editions import EDITIONS
from spielleiter.server.replay import encode_replay
from spielleiter.viewer import analysis
from spielleiter.viewer.analysis import MOMENTS, analyse_replay, describe_moment, find_moments, main
from spielleiter.viewer.replay_files import Replay
from tests.timeouts import HANG_TIMEOUT
from tests.viewer.replay_files import NAMES, played, record_of

BLOKUS, HASE = EDITIONS["blokus-2027"], EDITIONS["hase-und-igel-2018"]


@pytest.fixture(autouse=True)
def _own_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the priority of this process, in which other tests follow."""
    monkeypatch.setattr("os.nice", lambda _increment: 0)


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
    shown = describe_moment(found, states[4], states[5])
    assert (shown["ply"], shown["player"], shown["loss"], shown["turn"]) == (5, seat, found.loss, states[5].turn)
    assert (shown["played"], shown["better"]["text"]) == (str(found.played), str(found.better))
    assert shown["better"]["cells"]
    assert all(str(found.better) in text for text in shown["words"].values())


@pytest.mark.slow
def test_the_result_depends_on_the_seed_only_and_its_progress_is_told() -> None:
    states = played_with_a_mistake(3, 6)
    steps: list[tuple[int, int]] = []
    first = find_moments(states, (0, 1), 7, lambda done, of: steps.append((done, of)))
    assert find_moments(states, (0, 1), 7) == first
    assert any(find_moments(states, (0, 1), seed) != first for seed in range(3))
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert {of for _, of in steps} == {steps[-1][0]}


@pytest.mark.slow
def test_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "MOST_PLIES", 10)
    plies = 0
    play = BlokusState.play

    def count(state: BlokusState, move: Move) -> BlokusState:
        nonlocal plies
        plies += 1
        return play(state, move)

    states = played_with_a_mistake(3, 6)
    monkeypatch.setattr(BlokusState, "play", count)
    find_moments(states, (0, 1))
    assert 10 <= plies <= 10 + 2 * 100


def test_games_without_moves_and_positions_in_which_nobody_can_move_have_no_moments() -> None:
    start = BLOKUS_2027.new_state(random.Random(1))
    assert isinstance(start, BlokusState)
    full = (1 << 420) - 1
    stuck = replace(start, turn=4, cells=(0, full, 0, 0), remaining_masks=(3, 3, 3, 3))
    assert stuck.outcome() is None
    assert find_moments([start], ()) == find_moments([stuck, stuck], (0, 1)) == []


@pytest.mark.slow
@pytest.mark.parametrize(("winners", "explained"), [((0,), {1}), ((1,), {0}), ((0, 1), {0, 1})])
def test_the_loser_is_explained_or_both_after_a_draw(winners: tuple[Seat, ...], explained: set[Seat]) -> None:
    states = played_with_a_mistake(3, 6)
    result = Ending.won_by(winners).result(BLOKUS, states[-1], NAMES)
    record: list[RoomData] = [*(Memento(state) for state in states), result]
    found = analyse_replay(Replay(BLOKUS, tuple(record), ""))
    assert found["moments"]
    assert {moment["player"] for moment in found["moments"]} <= explained
    assert set(found["method"]) == {"de", "en"}


def replay() -> bytes:
    return encode_replay(HASE.dialect, "", record_of(HASE, played(HASE)[-7:]))


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.slow
def test_it_ends_without_a_message_if_nobody_reads_it() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "spielleiter.viewer.analysis", "--events", "-"]
    try:
        done = subprocess.run(
            command, input=replay(), stdout=writing, stderr=subprocess.PIPE, timeout=HANG_TIMEOUT, check=False
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_file_and_one_player(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(replay())
    for number in (1, 2):
        assert main([str(path), "--player", str(number), "--seed", "3"]) == 0
        moments = lines_of(capsys.readouterr().out)
        assert moments
        assert all(moment["player"] == number - 1 for moment in moments)
        assert all({"ply", "turn", "loss", "better", "words"} <= moment.keys() for moment in moments)


def test_a_file_that_cannot_be_analysed_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["missing.xml"]) == 2
    assert capsys.readouterr() == ("", "missing.xml: There is no such file.\n")
    assert main(["missing.xml", "--events"]) == 2
    error = {"de": "Diese Datei gibt es nicht.", "en": "There is no such file."}
    assert lines_of(capsys.readouterr().out) == [{"event": "failed", "error": error}]
    state = played(HASE, plies=0)[0]
    assert isinstance(state, HaseUndIgelState)
    state = replace(state, board=Board.from_letters("SC" + 100 * "H"))
    path = tmp_path / "a.xml"
    path.write_bytes(encode_replay(HASE.dialect, "", [Memento(state)]))
    assert main([str(path), "--events"]) == 2
    assert "cannot occur in a game" in lines_of(capsys.readouterr().out)[0]["error"]["en"]
