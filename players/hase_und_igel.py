"""What plays Hase und Igel: the evaluation for `greedy`, and the levels."""

from __future__ import annotations

from typing import Final

from spielleiter.game.hase_und_igel import GOAL_INDEX, FieldType, HaseUndIgelMove, HaseUndIgelState
from spielleiter.players.hase_und_igel_levels import HASE_UND_IGEL_LEVELS, turns_for_the_way
from spielleiter.players.search_budget import GamePlayers

_SALAD_TURNS: Final = 8
"""An estimate of the turns that a salad costs: moving to a salad field and eating, or playing a card."""


def turns_to_the_goal(state: HaseUndIgelState, move: HaseUndIgelMove) -> tuple[int, ...]:
    """Return whether the goal is reached, and the negated minimum number of turns for the remaining way."""
    player = state.play(move).players[state.seat_on_turn]
    turns = turns_for_the_way(GOAL_INDEX - player.index, player.carrots) + _SALAD_TURNS * player.salads
    if player.salads and state.board.type_at(player.index) is FieldType.SALAD:
        turns -= _SALAD_TURNS - 1  # the next turn eats it
    return player.index == GOAL_INDEX, -turns


PLAYERS: Final = GamePlayers(turns_to_the_goal, HASE_UND_IGEL_LEVELS)
