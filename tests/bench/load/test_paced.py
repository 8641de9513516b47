"""A driver whose players think: moves are sent when they are due, and not after the game has ended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spielleiter.bench.load import paced
from spielleiter.bench.load.paced import Paced, PacedGame
from spielleiter.bench.load.plan import Plan
from tests.bench.load.fake_server import PREPARED, REQUEST, SCRIPT, Server, packet

PACE = 10.0


class Clock:
    """Stands still until a test sets it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(paced, "perf_counter", clock)
    return clock


@pytest.fixture
def driver(server: Server, clock: Clock) -> Iterator[Paced]:
    driver = Paced(Plan(server.port, "swc_test", REQUEST, (SCRIPT,), 1, pace=PACE))
    yield driver
    driver.finish()
    driver.close()


def start_game(driver: Paced, server: Server) -> PacedGame:
    """A game whose first player has been asked for a move."""
    administrator = server.accept()
    game = PacedGame(driver, 0)
    driver.games.append(game)
    administrator.sendall(PREPARED)
    while not game.seats:
        driver.poll()
    game.requested(game.seats[0], 0.0)
    return game


def test_a_move_is_sent_after_the_think_time(driver: Paced, server: Server, clock: Clock) -> None:
    game = start_game(driver, server)
    player = server.accept()
    player.recv(4096)
    clock.now += PACE / 2 - 0.001  # less than the shortest think time
    driver.send_due()
    assert (game.ply, driver.moves) == (0, 0)
    clock.now += PACE + 0.002  # more than the longest one
    driver.play(0.0)
    assert (game.ply, driver.moves) == (1, 1)
    assert player.recv(4096) == packet(0)


def test_no_move_is_sent_in_a_game_that_has_ended(driver: Paced, server: Server, clock: Clock) -> None:
    game = start_game(driver, server)
    game.leave()
    clock.now += 2 * PACE
    driver.send_due()
    assert driver.moves == 0


def test_without_thinking_players_the_driver_waits_for_data(driver: Paced, server: Server) -> None:
    administrator = server.accept()
    game = PacedGame(driver, 0)
    driver.games.append(game)
    administrator.sendall(PREPARED)
    while not game.seats:
        driver.play()
    assert game.room
