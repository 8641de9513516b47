"""The compact model of Hase und Igel agrees with the rules."""

from __future__ import annotations

import random

import pytest

from spielleiter.client.choosers import greedy_move, random_move
from spielleiter.client.levels.hase_und_igel_model import (
    ALL_CARDS,
    EAT_SALAD,
    FALL_BACK,
    HURRY_AHEAD,
    TAKE_OR_DROP_CARROTS,
    Hare,
    Track,
    hare_of,
    successors,
    with_position_carrots,
)
from spielleiter.game.hase_und_igel import (
    HASE_UND_IGEL_2018,
    Advance,
    Board,
    Card,
    CardType,
    EatSalad,
    HaseUndIgelState,
    Player,
)

BOARD = Board.from_letters("SHCCCC12HHLICCHI2C1I2CLCICH2CCIHCCH21ICH2CLIH1C2CCICCHC2ILHCHC1CG")


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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_the_model_has_the_results_of_all_legal_moves_in_many_games(seed: int) -> None:
    rng = random.Random(seed)
    state = HASE_UND_IGEL_2018.new_state(rng)
    while state.outcome() is None:
        assert by_the_model(state) == by_the_rules(state)
        state = state.play(rng.choice(list(state.generate_legal_moves())))


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


def test_a_player_is_a_tuple_of_what_matters() -> None:
    assert hare_of(BOARD, Player()) == (0, 68, 5, ALL_CARDS, False)
    some = Player(10, 30, 2, (CardType.EAT_SALAD, CardType.FALL_BACK), EatSalad())
    assert hare_of(BOARD, some) == (10, 30, 2, EAT_SALAD + FALL_BACK, True)
    others = Player(10, 30, 2, (CardType.TAKE_OR_DROP_CARROTS, CardType.HURRY_AHEAD), Advance(10))
    assert hare_of(BOARD, others) == (10, 30, 2, TAKE_OR_DROP_CARROTS + HURRY_AHEAD, False)


def test_a_track_knows_the_salad_fields_ahead() -> None:
    track = Track(BOARD)
    assert [track.salads_ahead[index] for index in (0, 9, 10, 41, 42, 57, 64)] == [4, 4, 3, 2, 1, 0, 0]
