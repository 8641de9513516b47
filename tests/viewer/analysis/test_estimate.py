"""The estimate finds a planted mistake, is the same in every run, and bounds its work."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest

from spielleiter.client.choosers import greedy_move
from spielleiter.game.api import State
from spielleiter.game.blokus import BLOKUS_2027, BlokusState, SetMove, SkipMove
from spielleiter.game.hase_und_igel import HASE_UND_IGEL_2018
from spielleiter.game.hase_und_igel.board import Board
from spielleiter.viewer.analysis import estimate
from spielleiter.viewer.analysis.estimate import MOMENTS, AnalysisError, find_moments
from spielleiter.viewer.analysis.report import METHOD, describe_moments, sides_to_explain


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
    early = BLOKUS_2027.new_state(random.Random(4))
    worths = {seed: estimate._Continuations(seed).worth(early, 1) for seed in range(3)}
    assert len(set(worths.values())) > 1
    assert worths[2] == estimate._Continuations(2).worth(early, 1)


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
    monkeypatch.setattr(estimate, "MOST_PLIES", 10)
    worths = estimate._Continuations(0)
    states = played_with_a_mistake(3, 4)
    for state in states:
        worths.worth(state, 2)
    assert 10 <= worths._plies <= 10 + 2 * 100
    assert worths.worth(states[0], 2) == states[0].points(0)[0] - states[0].points(1)[0]


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
    for shown, moment in zip(describe_moments(moments, states), moments, strict=True):
        assert (shown["ply"], shown["player"], shown["loss"]) == (moment.ply, moment.player, moment.loss)
        assert shown["played"] == str(moment.played)
        assert shown["better"]["text"] == str(moment.better)
        assert shown["better"]["cells"]
        assert str(moment.better) in shown["words"]["de"]
        assert str(moment.better) in shown["words"]["en"]
    assert "Schätzung" in METHOD["de"]
    assert "estimate" in METHOD["en"]


def test_the_loser_is_explained_or_both_after_a_draw() -> None:
    assert sides_to_explain(0) == (1,)
    assert sides_to_explain(1) == (0,)
    assert sides_to_explain(None) == (0, 1)
