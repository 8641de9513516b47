"""The counts of `perft` equal those of the official rule code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pytest

from spielleiter.game.api import Mistake, Move, Outcome, Seat, State
from spielleiter.game.blokus.state import BlokusState
from spielleiter.game.perft import perft
from tests.game.blokus.oracle import parse_position, read_perft

FAST, SLOW = 1500, 75_000
"""The number of positions before the last move that a test may visit."""


def table() -> list[object]:
    """Every depth of every recorded position, except those that would take too long."""
    params: list[object] = []
    for line in read_perft():
        for depth, (parents, count) in enumerate(zip([1, *line["perft"]], line["perft"], strict=False), 1):
            if parents <= SLOW:
                state = parse_position(line["season"], line["position"])
                marks = [] if parents <= FAST else [pytest.mark.slow]
                params.append(pytest.param(state, depth, count, marks=marks, id=f"{line['id']}-{depth}"))
    return params


@pytest.mark.no_cover
@pytest.mark.parametrize(("state", "depth", "count"), table())
def test_counts(state: BlokusState, depth: int, count: int) -> None:
    assert perft(state, depth) == count


def shared(name: str) -> BlokusState:
    return next(parse_position(line["season"], line["position"]) for line in read_perft() if line["id"] == name)


def test_depth_zero_is_one_sequence() -> None:
    assert perft(shared("2021-shared-8"), 0) == 1


def test_a_finished_game_has_no_sequences() -> None:
    state = shared("2021-shared-8")
    over = replace(state, turn=101)
    assert state.has_legal_move()
    assert over.outcome() is not None
    assert perft(over, 0) == 1
    assert perft(over, 1) == 0


def test_a_negative_depth_is_refused() -> None:
    state = shared("2021-shared-8")
    with pytest.raises(ValueError, match="-1"):
        perft(state, -1)


@dataclass(frozen=True)
class Countdown:
    """A game without `count_legal_moves`: each move takes away 1 or 2, until nothing is left."""

    turn: int
    left: int

    @property
    def round(self) -> int:
        return self.turn // 2 + 1

    @property
    def seat_on_turn(self) -> Seat:
        return self.turn % 2

    def check(self, move: Move) -> Mistake | None:
        raise AssertionError(move)

    def play(self, move: Move) -> Countdown:
        assert isinstance(move, int)
        return Countdown(self.turn + 1, self.left - move)

    def generate_legal_moves(self) -> Iterable[int]:
        return (taken for taken in (1, 2) if taken <= self.left)

    def outcome(self) -> Outcome | None:
        return None if self.left else Outcome(self.seat_on_turn, "empty")

    def points(self, seat: Seat) -> tuple[int, ...]:
        return (seat,)


def test_perft_works_with_any_game() -> None:
    state: State = Countdown(turn=0, left=5)
    assert [perft(state, depth) for depth in range(7)] == [1, 2, 4, 7, 5, 1, 0]
