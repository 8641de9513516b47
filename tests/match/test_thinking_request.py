"""Requests for moves, and how much of their time the machine took."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

import pytest
import trio
import trio.testing

from spielleiter.match.builtin_players import ChosenMove, PoolPlayer, Request
from tests.match.first_position import STATE


@pytest.fixture
def player() -> PoolPlayer:
    return PoolPlayer(cast("Callable[[Request], Awaitable[ChosenMove]]", None), 1, "first", 1)


@pytest.fixture
def request_for_move(player: PoolPlayer) -> Request:
    player._request = Request(player, STATE, lambda _now: None)
    return player._request


async def test_the_time_of_workers_that_ended_is_lost(
    player: PoolPlayer, request_for_move: Request, autojump_clock: trio.testing.MockClock
) -> None:
    assert player.seconds_lost == 0
    await trio.sleep(1)
    request_for_move.begin(lambda: 2.0)
    await trio.sleep(2)
    assert player.seconds_lost == 0
    request_for_move.interrupt()
    await trio.sleep(4)
    assert player.seconds_lost == 6
    request_for_move.begin(lambda: 8.0)
    await trio.sleep(8)
    assert player.seconds_lost == 6
    assert (request_for_move.interruptions, player.interruptions) == (1, 1)


async def test_the_time_of_workers_that_ended_is_not_that_of_an_answered_move(
    player: PoolPlayer, request_for_move: Request, autojump_clock: trio.testing.MockClock
) -> None:
    """The think time is that of the worker that answered, so nothing may be subtracted from it for the others."""
    request_for_move.begin(lambda: 0.0)
    await trio.sleep(4)
    request_for_move.interrupt()
    request_for_move.begin(lambda: 0.0)
    await trio.sleep(3)
    request_for_move.finish(ChosenMove(None, 0.0, 3.0, 3.0))
    assert player.seconds_lost == 0


@pytest.mark.parametrize(("cpu_seconds", "lost"), [(0.5, 2.5), (3.0, 0), (3.01, 0), (None, 0)])
async def test_before_an_answer_the_time_in_which_a_worker_does_not_compute_is_lost(
    cpu_seconds: float | None,
    lost: float,
    player: PoolPlayer,
    request_for_move: Request,
    autojump_clock: trio.testing.MockClock,
) -> None:
    request_for_move.begin(lambda: cpu_seconds)
    await trio.sleep(3)
    assert player.seconds_lost == lost


def test_after_an_answer_the_time_in_which_its_worker_did_not_compute_is_lost(
    player: PoolPlayer, request_for_move: Request
) -> None:
    request_for_move.chosen = ChosenMove(None, 0.0, 3.0, 1.0)
    assert player.seconds_lost == 2
    request_for_move.chosen = ChosenMove(None, 0.0, 1.0, 1.001)  # the two clocks differ a little
    assert player.seconds_lost == 0
