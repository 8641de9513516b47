"""Positions of a game without a view of its own: shown as a table."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from spielleiter.game.api import GameOverError, IllegalMoveError, Mistake, Move, Outcome
from spielleiter.viewer.positions.describe import (
    describe_illegal_move,
    describe_legal_moves,
    describe_position,
    view_of,
)


class NimMistake(Mistake):
    TOO_MANY = 1


@dataclass(frozen=True)
class Take:
    count: int


@dataclass(frozen=True)
class Nim:
    """Take 1 or 2 of the rest; a game that the viewer knows nothing about."""

    rest: int = 3
    turn: int = 0
    note: object = "x" * 1000
    last_move: Take | None = None

    @property
    def round(self) -> int:
        return 1 + self.turn // 2

    @property
    def seat_on_turn(self) -> int:
        return self.turn % 2

    def check(self, move: Move) -> NimMistake | None:
        if self.outcome() is not None:
            raise GameOverError(move)
        if not isinstance(move, Take):
            raise TypeError(move)
        return None if move.count <= self.rest else NimMistake.TOO_MANY

    def play(self, move: Move) -> Nim:
        mistake = self.check(move)
        if mistake is not None:
            raise IllegalMoveError(mistake, move)
        assert isinstance(move, Take)
        return replace(self, rest=self.rest - move.count, turn=self.turn + 1, last_move=move)

    def generate_legal_moves(self) -> list[Take]:
        return [Take(count) for count in (1, 2) if count <= self.rest]

    def outcome(self) -> Outcome | None:
        return None if self.rest else Outcome(1 - self.seat_on_turn, "last")

    def points(self, seat: int) -> tuple[int, ...]:
        return (seat, self.rest)


def test_a_game_without_a_view_is_a_table() -> None:
    state = Nim()
    after = state.play(Take(2))
    position = describe_position(after, 1, state)
    assert json.loads(json.dumps(position)) == position
    assert position["game"] == "table"
    assert position["fields"]["rest"] == 1
    assert position["fields"]["turn"] == 1
    assert len(position["fields"]["note"]) < 300
    assert position["sideToMove"] == {"player": 1, "color": None}
    assert position["players"][1] == {"points": 1, "fields": {"1": 1, "2": 1}}
    assert position["legalMoves"] is None
    assert position["lastMove"] == {"player": 0, "color": None, "kind": "Take", "text": "Take(count=2)"}
    assert describe_position(after, 1)["lastMove"]["player"] is None
    assert describe_position(state, 0)["lastMove"] is None
    assert describe_legal_moves(after, 1) == {
        "ply": 1,
        "canSkip": False,
        "moves": [{"index": 0, "text": "Take(count=1)"}],
    }
    assert view_of(state).pieces() == {}


def test_illegal_moves_of_a_game_without_a_view() -> None:
    illegal = describe_illegal_move(Nim(1), Take(2), "no")
    assert illegal is not None
    assert illegal["rule"] == "The move breaks a rule: too many."
    assert illegal["text"] == "no"
    assert describe_illegal_move(Nim(1), Take(1), "no") is None
    assert describe_illegal_move(Nim(0), Take(1), "no") is None
    assert describe_illegal_move(Nim(1), "no move", "no") is None
