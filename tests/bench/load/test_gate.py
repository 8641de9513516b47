"""Moves are released in order, and the number of moves in flight is limited."""

from __future__ import annotations

from typing import Any

from spielleiter.bench.load.gate import Gate


class FakeGame:
    """Notes for which seats a move was sent."""

    def __init__(self) -> None:
        self.seats: tuple[int, ...] = (0, 1)
        self.answered: list[int] = []

    def answer(self, seat: int) -> None:
        self.answered.append(seat)


def games(count: int) -> tuple[list[Any], Gate]:
    gate, all_games = Gate(), [FakeGame() for _ in range(count)]
    for game in all_games:
        gate.add(game, 0)
    return all_games, gate


def test_moves_are_released_in_order_up_to_the_limit() -> None:
    (first, second, third), gate = games(3)
    gate.release(2)
    assert [game.answered for game in (first, second, third)] == [[0], [0], []]
    gate.add(second, 1)
    gate.release(2)
    assert [game.answered for game in (first, second, third)] == [[0], [0], [0]]
    gate.add(first, 1)
    gate.release(2)
    assert second.answered == [0, 1]


def test_a_game_that_is_over_makes_room_for_another() -> None:
    (first, second), gate = games(2)
    gate.release(1)
    gate.forget(first)
    gate.release(1)
    assert second.answered == [0]


def test_a_move_of_a_seat_that_has_left_is_dropped() -> None:
    (first, second), gate = games(2)
    first.seats = (1,)
    gate.release(1)
    assert (first.answered, second.answered) == ([], [0])
