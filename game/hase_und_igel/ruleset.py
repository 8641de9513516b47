"""Hase und Igel as a `Game`: options, and the start of a new game.

Invariants: without options, a board is generated for each game. The option `board` prescribes the board.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from spielleiter.game.api import GameError, GameOptionError, State
from spielleiter.game.hase_und_igel.board import Board, FieldType, generate_board
from spielleiter.game.hase_und_igel.state import HaseUndIgelState

_BOARD_OPTION: Final = "board"
_LETTERS: Final = " ".join(field.value for field in FieldType)
_EXAMPLE: Final = generate_board(random.Random(0))


@dataclass(frozen=True, slots=True)
class HaseUndIgelGame:
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
