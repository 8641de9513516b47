"""A position of Hase und Igel, and the end of a game.

Law: a state is made of its parts and can be built from them; `play` answers with a new one. Whose turn it is follows
from the number of the turn. An illegal move changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from spielleiter.game.api import IllegalMoveError, Move, Outcome, Seat
from spielleiter.game.hase_und_igel.action import HaseUndIgelMove
from spielleiter.game.hase_und_igel.board import GOAL_INDEX, Board
from spielleiter.game.hase_und_igel.player import Player, PlayerColor
from spielleiter.game.hase_und_igel.rules import HaseUndIgelMistake, execute, generate_moves, position_carrots

ROUND_LIMIT: Final = 30

GOAL: Final = "goal"
"""Reason of an outcome: somebody is in the goal."""

ROUND_LIMIT_REACHED: Final = "round_limit"
"""Reason of an outcome: all rounds are played and nobody is in the goal."""


@dataclass(frozen=True, slots=True)
class HaseUndIgelState:
    """A position; `players` by seat (RED, BLUE), `last_move` with its actions as they were carried out."""

    board: Board
    players: tuple[Player, Player] = (Player(), Player())
    turn: int = 0
    last_move: HaseUndIgelMove | None = None

    @property
    def round(self) -> int:
        """The round from 1; the wire has none."""
        return 1 + self.turn // 2

    @property
    def seat_on_turn(self) -> Seat:
        """RED in even turns, BLUE in odd ones."""
        return self.turn % 2

    @property
    def color_on_turn(self) -> PlayerColor:
        return PlayerColor(self.turn % 2)

    @property
    def player_on_turn(self) -> Player:
        return self.players[self.turn % 2]

    @property
    def opponent(self) -> Player:
        """The player who is not on turn."""
        return self.players[1 - self.turn % 2]

    def check(self, move: Move) -> HaseUndIgelMistake | None:
        """The first rule that `move` breaks, in the order in which the actions are carried out, or None.

        Whether the game is over is not looked at. Raises TypeError for a move of another game.
        """
        return execute(self.board, self.player_on_turn, self.opponent, _own(move))[1]

    def play(self, move: Move) -> HaseUndIgelState:
        """The position after `move`. Raises IllegalMoveError; TypeError for a move of another game."""
        move = _own(move)
        player, mistake = execute(self.board, self.player_on_turn, self.opponent, move)
        if mistake is not None:
            raise IllegalMoveError(mistake, move)
        carrots = self.opponent.carrots + position_carrots(self.board, self.opponent, player)
        opponent = replace(self.opponent, carrots=carrots)
        players = (player, opponent) if self.seat_on_turn == PlayerColor.RED else (opponent, player)
        return HaseUndIgelState(self.board, players, self.turn + 1, HaseUndIgelMove(move.in_order))

    def generate_legal_moves(self) -> Iterator[HaseUndIgelMove]:
        """Every legal move once; there always is one, a lone skip if nothing else."""
        return generate_moves(self.board, self.player_on_turn, self.opponent)

    def outcome(self) -> Outcome | None:
        """The further one wins, then the one with fewer carrots, then RED; looked at when a round is complete."""
        red, blue = self.players
        if self.turn % 2 != 0:
            return None
        if GOAL_INDEX in {red.index, blue.index}:
            reason = GOAL
        elif self.turn >= 2 * ROUND_LIMIT:
            reason = ROUND_LIMIT_REACHED
        else:
            return None
        has_red_won = (red.index, -red.carrots) >= (blue.index, -blue.carrots)
        return Outcome(PlayerColor.RED if has_red_won else PlayerColor.BLUE, reason)

    def points(self, seat: Seat) -> tuple[int, ...]:
        """Field number and carrots."""
        player = self.players[seat]
        return player.index, player.carrots


def _own(move: Move) -> HaseUndIgelMove:
    if not isinstance(move, HaseUndIgelMove):
        raise TypeError(f"not a move of Hase und Igel: {move!r}")
    return move
