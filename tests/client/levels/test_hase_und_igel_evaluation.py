"""The evaluation of a player, compared with another player that differs in one point."""

from __future__ import annotations

import pytest

from spielleiter.client.levels.hase_und_igel_evaluation import IN_THE_GOAL, WEIGHTS, evaluate
from spielleiter.client.levels.hase_und_igel_model import ALL_CARDS, EAT_SALAD, FALL_BACK, HURRY_AHEAD, SALAD, Track
from spielleiter.game.hase_und_igel import Board

TRACK = Track(Board.from_letters("SHCCCC12HHLICCHI2C1I2CLCICH2CCIHCCH21ICH2CLIH1C2CCICCHC2ILHCHC1CG"))


def test_the_goal_is_worth_more_than_anything_else() -> None:
    assert evaluate(TRACK, (64, 3, 0, 0, False)) == IN_THE_GOAL > evaluate(TRACK, (63, 1, 0, ALL_CARDS, False))


def test_a_value_can_be_calculated_by_hand() -> None:
    # field 62 is a POSITION_1; two more fields, and three carrots for one step of two
    expected = 62 * WEIGHTS.progress - WEIGHTS.turns + WEIGHTS.fields["1"] + WEIGHTS.cards[HURRY_AHEAD]
    assert evaluate(TRACK, (62, 3, 0, HURRY_AHEAD, False)) == pytest.approx(expected)


def test_a_salad_counts_more_at_the_end_of_the_way() -> None:
    early, late = (
        evaluate(TRACK, (index, 30, 0, 0, False)) - evaluate(TRACK, (index, 30, 1, 0, False)) for index in (2, 49)
    )
    assert early == pytest.approx(WEIGHTS.salad + WEIGHTS.late_salad * 2 / 64)
    assert late == pytest.approx(WEIGHTS.salad + WEIGHTS.late_salad * 49 / 64)


def test_a_salad_that_can_no_longer_be_eaten_ahead_counts_more() -> None:
    # after the last salad field, only the card is left
    one, two = (evaluate(TRACK, (61, 30, salads, 0, False)) for salads in (1, 2))
    with_card = evaluate(TRACK, (61, 30, 1, EAT_SALAD, False))
    assert with_card - one == pytest.approx(WEIGHTS.cards[EAT_SALAD] + WEIGHTS.missed_salad)
    assert one - two == pytest.approx(WEIGHTS.missed_salad + WEIGHTS.salad + WEIGHTS.late_salad * 61 / 64)


def test_the_card_for_a_salad_is_worth_nothing_without_a_salad() -> None:
    assert evaluate(TRACK, (61, 30, 0, EAT_SALAD, False)) == evaluate(TRACK, (61, 30, 0, 0, False))
    assert evaluate(TRACK, (61, 30, 0, FALL_BACK, False)) != evaluate(TRACK, (61, 30, 0, 0, False))


def test_a_salad_field_counts_only_before_eating() -> None:
    before, after = (evaluate(TRACK, (22, 30, 2, 0, has_eaten)) for has_eaten in (False, True))
    assert before - after == pytest.approx(WEIGHTS.fields[SALAD])
