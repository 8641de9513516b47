"""The levels of Hase und Igel: a model that agrees with the rules, evaluation, search and choice."""

from __future__ import annotations

import math
import random
from itertools import count

import pytest

from spielleiter.game.hase_und_igel import (
    GOAL_INDEX,
    HASE_UND_IGEL_2018,
    Advance,
    Board,
    Card,
    CardType,
    EatSalad,
    HaseUndIgelMove,
    HaseUndIgelState,
    Player,
    generate_board,
)
from spielleiter.players.alpha_beta import SearchLimits
from spielleiter.players.choosers import greedy_move, random_move
from spielleiter.players.hase_und_igel_levels import (
    EAT_SALAD,
    FALL_BACK,
    HASE_UND_IGEL_LEVELS,
    HURRY_AHEAD,
    LIMITS,
    SALAD,
    TAKE_OR_DROP_CARROTS,
    WEIGHTS,
    WIN,
    Hare,
    HareSearch,
    Track,
    choose_move,
    evaluate,
    hare_of,
    successors,
    with_position_carrots,
)
from spielleiter.players.search_budget import LONGEST_SEARCH, NoMoveError, SearchBudget
from spielleiter.players.strategies import make_chooser

BOARD = Board.from_letters("SHCCCC12HHLICCHI2C1I2CLCICH2CCIHCCH21ICH2CLIH1C2CCICCHC2ILHCHC1CG")
TRACK = Track(BOARD)
ALL_CARDS = TAKE_OR_DROP_CARROTS + EAT_SALAD + HURRY_AHEAD + FALL_BACK


def by_the_rules(state: HaseUndIgelState) -> set[tuple[Hare, Hare]]:
    """Return both players after each legal move."""
    seat = state.seat_on_turn
    after = [state.play(move).players for move in state.generate_legal_moves()]
    return {(hare_of(state.board, players[seat]), hare_of(state.board, players[1 - seat])) for players in after}


def by_the_model(state: HaseUndIgelState) -> set[tuple[Hare, Hare]]:
    track = Track(state.board)
    hare, other = hare_of(state.board, state.player_on_turn), hare_of(state.board, state.opponent)
    return {(after, with_position_carrots(track, other, after[0])) for after in successors(track, hare, other[0])}


@pytest.mark.parametrize("choose", [random_move, greedy_move])
def test_the_model_has_the_results_of_all_legal_moves(choose: object) -> None:
    state, count = HASE_UND_IGEL_2018.new_state(random.Random(8)), 0
    rng = random.Random(9)
    while state.outcome() is None:
        assert by_the_model(state) == by_the_rules(state)
        state, count = state.play(choose(state, rng)), count + 1  # type: ignore[operator]
    assert count > 20


@pytest.mark.parametrize(
    ("player", "opponent"),
    [
        pytest.param(Player(2, 68), Player(0), id="no card back to the start field"),
        pytest.param(Player(2, 68), Player(1), id="no card back from field 1 to the start field"),
        pytest.param(Player(59, 8, 0), Player(63, 5, 0), id="a card ahead to the goal"),
        pytest.param(Player(59, 8, 1), Player(63, 5, 0), id="no card ahead to the goal with a salad"),
        pytest.param(Player(63, 11, 0), Player(40), id="too many carrots for the goal"),
        pytest.param(Player(63, 10, 0), Player(40), id="nearly too many carrots for the goal"),
        pytest.param(Player(15, 0, 1), Player(11), id="no other move than a skip"),
        pytest.param(Player(10, 40, 3, last_action=Advance(10)), Player(12), id="a salad must be eaten"),
        pytest.param(Player(10, 40, 3, last_action=EatSalad()), Player(12), id="a salad field must be left"),
        pytest.param(Player(2, 9), Player(0), id="too few carrots to give back"),
        pytest.param(Player(0, 20), Player(5), id="too few carrots to drop with a card"),
        pytest.param(
            Player(1, 68, 5, (CardType.HURRY_AHEAD,), Card(CardType.EAT_SALAD)), Player(9), id="two cards in a chain"
        ),
    ],
)
def test_the_model_agrees_with_the_rules_in_special_cases(player: Player, opponent: Player) -> None:
    state = HaseUndIgelState(BOARD, (player, opponent))
    assert by_the_model(state) == by_the_rules(state)


def test_no_card_leads_ahead_of_a_player_in_the_goal() -> None:
    state = HaseUndIgelState(BOARD, (Player(64, 5, 0), Player(59, 8, 0)), turn=1)
    assert by_the_model(state) == by_the_rules(state)


def test_a_value_can_be_calculated_by_hand() -> None:
    # field 62 is a POSITION_1; two more fields, and three carrots for one step of two
    expected = 62 * WEIGHTS.progress - WEIGHTS.turns + WEIGHTS.fields["1"] + WEIGHTS.cards[HURRY_AHEAD]
    assert evaluate(TRACK, (62, 3, 0, HURRY_AHEAD, False)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("better", "worse", "difference"),
    [
        pytest.param(
            (2, 30, 0, 0, False), (2, 30, 1, 0, False), WEIGHTS.salad + WEIGHTS.late_salad * 2 / 64, id="early"
        ),
        pytest.param(
            (49, 30, 0, 0, False), (49, 30, 1, 0, False), WEIGHTS.salad + WEIGHTS.late_salad * 49 / 64, id="late"
        ),
        pytest.param(
            (61, 30, 1, 0, False),
            (61, 30, 2, 0, False),
            WEIGHTS.missed_salad + WEIGHTS.salad + WEIGHTS.late_salad * 61 / 64,
            id="after the last salad field",
        ),
        pytest.param(
            (61, 30, 1, EAT_SALAD, False),
            (61, 30, 1, 0, False),
            WEIGHTS.cards[EAT_SALAD] + WEIGHTS.missed_salad,
            id="a card for the last salad",
        ),
        pytest.param((61, 30, 0, EAT_SALAD, False), (61, 30, 0, 0, False), 0, id="a card for no salad"),
        pytest.param((22, 30, 2, 0, False), (22, 30, 2, 0, True), WEIGHTS.fields[SALAD], id="before eating"),
    ],
)
def test_what_salads_are_worth(better: Hare, worse: Hare, difference: float) -> None:
    assert evaluate(TRACK, better) - evaluate(TRACK, worse) == pytest.approx(difference)


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
    search = HareSearch(TRACK, SearchLimits(nodes=10**9, depth=depth), never)
    best = search.best(choices, other, turn)
    values = {choice: value_after(TRACK, choice, other, turn, depth) for choice in choices}
    assert values[best] == max(values.values())


@pytest.mark.parametrize(
    ("red_carrots", "blue_carrots", "sign"),
    [(4, 5, 1), (4, 4, 1), (5, 4, -1)],
)
def test_in_the_goal_fewer_carrots_win_and_then_red(red_carrots: int, blue_carrots: int, sign: int) -> None:
    red, blue = (64, red_carrots, 0, 0, False), (64, blue_carrots, 0, 0, False)
    assert HareSearch(TRACK, SearchLimits(nodes=10), never).value_of(red, blue, 42, 3, -WIN, WIN) == sign * (WIN - 42)


def test_a_decided_game_ends_the_search() -> None:
    search = HareSearch(TRACK, SearchLimits(nodes=10**9), never)
    search.best(successors(TRACK, (61, 6, 0, 0, False), 40), (40, 9, 2, 0, False), 31)
    assert search.depth == 1


@pytest.mark.parametrize("nodes", [1, 30, 300, 3000])
@pytest.mark.parametrize("seed", range(4))
def test_the_work_exceeds_the_budget_by_the_replies_to_one_position_at_most(nodes: int, seed: int) -> None:
    track = Track(generate_board(random.Random(seed)))
    choices = list(dict.fromkeys(successors(track, START, 0)))
    search = HareSearch(track, SearchLimits(nodes), never)
    assert search.best(choices, START, 0) in choices
    assert search.nodes < nodes + 100


def test_more_nodes_look_further() -> None:
    depths = []
    for nodes in (1, 1000, 10_000):
        search = HareSearch(TRACK, SearchLimits(nodes), never)
        search.best(successors(TRACK, START, 0), START, 0)
        depths.append(search.depth)
    assert depths == sorted(set(depths))


def test_the_clock_ends_a_search_with_its_best_choice_so_far() -> None:
    looks = iter([False, False, True])
    search = HareSearch(TRACK, SearchLimits(nodes=10**9), lambda: next(looks))
    choices = successors(TRACK, START, 0)
    best = search.best(choices, START, 0)
    assert next(looks, None) is None
    assert search.nodes < 3 * (256 + 100)
    same_work = HareSearch(TRACK, SearchLimits(search.nodes), never)
    assert same_work.best(choices, START, 0) == best


NUMBERS = range(1, 1 + len(HASE_UND_IGEL_LEVELS))
FIRST = HASE_UND_IGEL_2018.new_state(random.Random(3))


def moves_of_a_game(limits: SearchLimits, seed: int) -> list[HaseUndIgelMove]:
    """Return the moves of a game of a level against itself, in which no search is cut."""
    state, rng, moves = FIRST, random.Random(seed), []
    while state.outcome() is None:
        moves.append(choose_move(limits, state, rng, SearchBudget(math.inf, clock=lambda: 0.0)))
        state = state.play(moves[-1])
    return moves


@pytest.mark.slow
@pytest.mark.parametrize("limits", LIMITS, ids=lambda limits: f"{limits.nodes} nodes")
def test_the_same_seed_gives_the_same_game(limits: SearchLimits) -> None:
    assert moves_of_a_game(limits, 5) == moves_of_a_game(limits, 5)


@pytest.mark.slow
def test_the_seed_decides_between_equally_good_moves() -> None:
    first = moves_of_a_game(LIMITS[0], 0)
    assert any(moves_of_a_game(LIMITS[0], seed) != first for seed in range(1, 12))


def test_a_level_that_this_game_does_not_have_is_an_error_that_names_those_it_has() -> None:
    missing = f"level-{1 + len(NUMBERS)}"
    with pytest.raises(NoMoveError, match=f"no {missing} here: this game has level-1 to level-{len(NUMBERS)}"):
        make_chooser(missing)(FIRST)


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_a_level_answers_with_legal_moves_in_random_games(number: int) -> None:
    choose, rng = make_chooser(f"level-{number}", seed=1), random.Random(number)
    for _ in range(2):
        state = HASE_UND_IGEL_2018.new_state(rng)
        while state.outcome() is None:
            assert state.check(choose(state)) is None
            state = state.play(rng.choice(list(state.generate_legal_moves())))


@pytest.mark.parametrize("number", NUMBERS)
def test_every_level_goes_to_the_goal_if_that_wins(number: int) -> None:
    state = HaseUndIgelState(FIRST.board, (Player(30), Player(62, 9, 0)), turn=31)
    after = state.play(make_chooser(f"level-{number}", seed=1)(state))
    assert after.players[1].index == GOAL_INDEX


def test_the_clock_ends_a_search_that_takes_too_long() -> None:
    seconds = count(0.0, LONGEST_SEARCH / 4)
    state = FIRST
    budget = SearchBudget(clock=lambda: next(seconds))
    move = choose_move(SearchLimits(nodes=10**9), state, random.Random(1), budget)
    assert state.check(move) is None
    assert budget.was_cut
    assert next(seconds) == pytest.approx(1.25 * LONGEST_SEARCH)  # it was read at the start and then until the limit


def test_a_finished_game_has_no_move() -> None:
    over = HaseUndIgelState(FIRST.board, (Player(GOAL_INDEX), Player()))
    with pytest.raises(NoMoveError, match="no move is possible"):
        make_chooser("level-1")(over)
