"""Positions of Hase und Igel, and the game that makes them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from spielleiter.game.api import (
    GameError,
    GameOptionError,
    GameOverError,
    IllegalMoveError,
    Move,
    Outcome,
    Seat,
    State,
    own_move,
)
from spielleiter.game.hase_und_igel.board import (
    GOAL_INDEX,
    Board,
    FieldType,
    HaseUndIgelMove,
    Player,
    PlayerColor,
    generate_board,
)
from spielleiter.game.hase_und_igel.rules import HaseUndIgelMistake, execute, generate_moves, position_carrots

ROUND_LIMIT: Final = 30

GOAL: Final = "goal"
"""The reason of an outcome: a player is in the goal."""

ROUND_LIMIT_REACHED: Final = "round_limit"
"""The reason of an outcome: all rounds have been played, and no player is in the goal."""


class HaseUndIgelState(Struct, frozen=True):
    """A position; implements `spielleiter.game.api.State`. The default values are those at the start of a game.

    `players` are RED (seat 0) and BLUE (seat 1). `last_move` has its actions in the order in which they were carried
    out; it is None before the first move.
    """

    board: Board
    players: tuple[Player, Player] = (Player(), Player())
    turn: int = 0
    last_move: HaseUndIgelMove | None = None

    @property
    def round(self) -> int:
        """The number of the current round, from 1. It does not appear on the wire."""
        return 1 + self.turn // 2

    @property
    def seat_on_turn(self) -> Seat:
        """The player to move: RED in even turns, BLUE in odd ones. Meaningless once the game is over."""
        return self.turn % 2

    @property
    def color_on_turn(self) -> PlayerColor:
        """The colour of the player to move."""
        return PlayerColor(self.turn % 2)

    @property
    def player_on_turn(self) -> Player:
        """The player to move."""
        return self.players[self.turn % 2]

    @property
    def opponent(self) -> Player:
        """The player who is not to move."""
        return self.players[1 - self.turn % 2]

    def check(self, move: Move) -> HaseUndIgelMistake | None:
        """Return the first rule that `move` breaks, or None if it is legal.

        The actions are checked in the order in which they are carried out. Raises GameOverError if the game is over,
        and TypeError for a move of another game.
        """
        return self._execute(own_move(move, HaseUndIgelMove))[1]

    def play(self, move: Move) -> HaseUndIgelState:
        """Return the position after `move`.

        Raises IllegalMoveError for a move that breaks a rule, GameOverError if the game is over, and TypeError for a
        move of another game.
        """
        move = own_move(move, HaseUndIgelMove)
        player, mistake = self._execute(move)
        if mistake is not None:
            raise IllegalMoveError(mistake, move)
        carrots = self.opponent.carrots + position_carrots(self.board, self.opponent, player)
        opponent = replace(self.opponent, carrots=carrots)
        players = (player, opponent) if self.seat_on_turn == PlayerColor.RED else (opponent, player)
        return HaseUndIgelState(self.board, players, self.turn + 1, HaseUndIgelMove(move.in_order))

    def generate_legal_moves(self) -> Iterator[HaseUndIgelMove]:
        """Yield every legal move once; nothing once the game is over.

        Until then, there is always a legal move: a lone skip if there is no other one.
        """
        if self._end_reason() is not None:
            return iter(())
        return generate_moves(self.board, self.player_on_turn, self.opponent)

    def outcome(self) -> Outcome | None:
        """Return the outcome once the game is over, else None; a game can end only with a complete round.

        The player who is further ahead has won. If both are on the same field, the one with fewer carrots has won; if
        the carrots are equal as well, RED has won.
        """
        reason = self._end_reason()
        if reason is None:
            return None
        red, blue = self.players
        has_red_won = (red.index, -red.carrots) >= (blue.index, -blue.carrots)
        return Outcome(PlayerColor.RED if has_red_won else PlayerColor.BLUE, reason)

    def points(self, seat: Seat) -> tuple[int, ...]:
        """Return the two parts of the score of `seat`: the index of its field, and its carrots."""
        player = self.players[seat]
        return player.index, player.carrots

    def _end_reason(self) -> str | None:
        if self.turn % 2 != 0:
            return None
        red, blue = self.players
        if GOAL_INDEX in {red.index, blue.index}:
            return GOAL
        return ROUND_LIMIT_REACHED if self.turn >= 2 * ROUND_LIMIT else None

    def _execute(self, move: HaseUndIgelMove) -> tuple[Player, HaseUndIgelMistake | None]:
        """Return the player on turn after `move`, and the mistake, if there is one. Raises GameOverError."""
        if self._end_reason() is not None:
            raise GameOverError(move)
        return execute(self.board, self.player_on_turn, self.opponent, move)


_BOARD_OPTION: Final = "board"
_LETTERS: Final = " ".join(field.value for field in FieldType)
_EXAMPLE: Final = generate_board(random.Random(0))


class HaseUndIgelGame(Struct, frozen=True):
    """A game and its board (None: one is generated for each game); implements `spielleiter.game.api.Game`."""

    name: str
    board: Board | None = None

    @property
    def option_names(self) -> frozenset[str]:
        """`board` (the 65 letters of the fields)."""
        return frozenset({_BOARD_OPTION})

    def with_options(self, options: Mapping[str, str]) -> HaseUndIgelGame:
        """Return the same game on the board that the option `board` gives as 65 letters; see `Board.from_letters`.

        Raises GameOptionError if the value is not a regular board.
        """
        letters = options.get(_BOARD_OPTION)
        if letters is None:
            return self
        try:
            board = Board.from_letters(letters)
        except ValueError as error:
            raise GameOptionError(f"{_BOARD_OPTION}: a letter of {letters!r} is none of {_LETTERS}") from error
        if not board.is_regular():
            raise GameOptionError(f"{_BOARD_OPTION}: {letters!r} is not a board of this game, for example {_EXAMPLE}")
        return replace(self, board=board)

    def new_state(self, rng: random.Random) -> HaseUndIgelState:
        """Return the position with both players at the start of the chosen board, or of one generated with `rng`."""
        return HaseUndIgelState(generate_board(rng) if self.board is None else self.board)

    def resume(self, state: State) -> HaseUndIgelState:
        """Return `state` as it is. It keeps its own board, and no other option changes how a game continues.

        Raises GameError for a position of another game.
        """
        if not isinstance(state, HaseUndIgelState):
            raise GameError(f"not a position of {self.name}: {state!r}")
        return state


HASE_UND_IGEL_2018: Final = HaseUndIgelGame("hase-und-igel-2018")
