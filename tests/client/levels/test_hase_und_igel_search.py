"""The search of Hase und Igel: right values, and limits that hold."""

from __future__ import annotations

import random

import pytest

from spielleiter.client.levels.hase_und_igel_evaluation import evaluate
from spielleiter.client.levels.hase_und_igel_model import ALL_CARDS, Hare, Track, successors, with_position_carrots
from spielleiter.client.levels.hase_und_igel_search import WIN, Limits, Search
from spielleiter.game.hase_und_igel import Board, generate_board

TRACK = Track(Board.from_letters("SHCCCC12HHLICCHI2C1I2CLCICH2CCIHCCH21ICH2CLIH1C2CCICCHC2ILHCHC1CG"))
START: Hare = (0, 68, 5, ALL_CARDS, False)


def never() -> bool:
    return False


def value_by_definition(track: Track, hare: Hare, other: Hare, turn: int, depth: int) -> float:
    """Return the value of a position without any pruning."""
    if turn % 2 == 0 and (64 in {hare[0], other[0]} or turn == 60):
        return WIN - turn if (hare[0], -hare[1]) >= (other[0], -other[1]) else turn - WIN
    if depth == 0:
        return evaluate(track, hare) - evaluate(track, other)
    return max(value_after(track, choice, other, turn, depth) for choice in successors(track, hare, other[0]))


def value_after(track: Track, choice: Hare, other: Hare, turn: int, depth: int) -> float:
    return -value_by_definition(track, with_position_carrots(track, other, choice[0]), choice, turn + 1, depth - 1)


@pytest.mark.parametrize(
    ("depth", "players", "turn"),
    [
        pytest.param(1, (START, START), 0, id="start"),
        pytest.param(2, ((22, 60, 3, 5, True), (26, 41, 2, 10, False)), 20, id="RED in the middle"),
        pytest.param(2, ((49, 30, 1, 6, False), (44, 41, 2, 8, False)), 29, id="BLUE in the middle"),
        pytest.param(3, ((60, 9, 0, 4, False), (61, 14, 0, 0, False)), 40, id="RED near the goal"),
        pytest.param(3, ((60, 9, 0, 4, False), (64, 2, 0, 0, False)), 41, id="BLUE after RED"),
        pytest.param(3, ((43, 9, 1, 2, False), (50, 14, 2, 1, False)), 58, id="the last round"),
    ],
)
def test_pruning_does_not_change_the_value_of_the_best_choice(
    depth: int, players: tuple[Hare, Hare], turn: int
) -> None:
    hare, other = players
    choices = list(dict.fromkeys(successors(TRACK, hare, other[0])))
    search = Search(TRACK, Limits(nodes=10**9, depth=depth), never)
    best = search.best(choices, other, turn)
    values = {choice: value_after(TRACK, choice, other, turn, depth) for choice in choices}
    assert values[best] == max(values.values())


def test_a_search_reaches_the_goal_at_once_if_that_wins() -> None:
    choices = successors(TRACK, (61, 6, 0, 0, False), 40)
    assert Search(TRACK, Limits(nodes=5000), never).best(choices, (40, 9, 2, 0, False), 31)[0] == 64


@pytest.mark.parametrize(
    ("red_carrots", "blue_carrots", "sign"),
    [(4, 5, 1), (4, 4, 1), (5, 4, -1)],
)
def test_in_the_goal_fewer_carrots_win_and_then_red(red_carrots: int, blue_carrots: int, sign: int) -> None:
    red, blue = (64, red_carrots, 0, 0, False), (64, blue_carrots, 0, 0, False)
    assert Search(TRACK, Limits(nodes=10), never)._search(red, blue, 42, 3, -WIN, WIN) == sign * (WIN - 42)


def test_a_decided_game_ends_the_search() -> None:
    search = Search(TRACK, Limits(nodes=10**9), never)
    search.best(successors(TRACK, (61, 6, 0, 0, False), 40), (40, 9, 2, 0, False), 31)
    assert search.depth == 1


def test_the_last_turns_are_searched_to_the_end() -> None:
    search = Search(TRACK, Limits(nodes=10**9), never)
    hare, other = (43, 9, 1, 2, False), (50, 14, 2, 1, False)
    search.best(successors(TRACK, hare, other[0]), other, 58)
    assert search.depth <= 2


def test_a_single_choice_needs_no_search() -> None:
    search = Search(TRACK, Limits(nodes=1000), never)
    assert search.best([START], START, 1) == START
    assert search.nodes == search.depth == 0


@pytest.mark.parametrize("nodes", [1, 30, 300, 3000])
@pytest.mark.parametrize("seed", range(4))
def test_the_work_exceeds_the_budget_by_the_replies_to_one_position_at_most(nodes: int, seed: int) -> None:
    track = Track(generate_board(random.Random(seed)))
    choices = list(dict.fromkeys(successors(track, START, 0)))
    search = Search(track, Limits(nodes), never)
    assert search.best(choices, START, 0) in choices
    assert search.nodes < nodes + 100


def test_more_nodes_look_further() -> None:
    depths = []
    for nodes in (1, 1000, 10_000):
        search = Search(TRACK, Limits(nodes), never)
        search.best(successors(TRACK, START, 0), START, 0)
        depths.append(search.depth)
    assert depths == sorted(set(depths))


def test_the_clock_ends_a_search_with_its_best_choice_so_far() -> None:
    looks = iter([False, False, True])
    search = Search(TRACK, Limits(nodes=10**9), lambda: next(looks))
    choices = successors(TRACK, START, 0)
    best = search.best(choices, START, 0)
    assert next(looks, None) is None
    assert search.nodes < 3 * (256 + 100)
    same_work = Search(TRACK, Limits(search.nodes), never)
    assert same_work.best(choices, START, 0) == best
