"""Games are let through in their order, and only so many moves are on the way."""

from __future__ import annotations

from typing import Any

from spielleiter.bench.load.gate import Gate


class FakeGame:
    """Notes which seats were told to answer."""

    def __init__(self) -> None:
        self.seats = {0, 1}
        self.answered: list[int] = []

    def answer(self, seat: int) -> None:
        self.answered.append(seat)


def games(count: int) -> tuple[list[Any], Gate]:
    gate, all_games = Gate(), [FakeGame() for _ in range(count)]
    for game in all_games:
        gate.arrive(game, 0)  # type: ignore[arg-type]
    return all_games, gate


def test_so_many_moves_are_on_the_way_and_the_first_come_first() -> None:
    (first, second, third), gate = games(3)
    gate.let_through(2)
    assert [game.answered for game in (first, second, third)] == [[0], [0], []]
    gate.arrive(second, 1)
    gate.let_through(2)
    assert [game.answered for game in (first, second, third)] == [[0], [0], [0]]
    gate.arrive(first, 1)
    gate.let_through(2)
    assert second.answered == [0, 1]


def test_a_game_that_is_over_makes_room() -> None:
    (first, second), gate = games(2)
    gate.let_through(1)
    gate.forget(first)
    gate.let_through(1)
    assert second.answered == [0]


def test_a_seat_that_is_gone_is_passed_over() -> None:
    (first, second), gate = games(2)
    first.seats.discard(0)
    gate.let_through(1)
    assert (first.answered, second.answered) == ([], [0])
