"""Strategies of every kind are asked for a move without blocking the event loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import pytest
import trio

from spielleiter.client.asking import Strategy, ask
from spielleiter.game.api import Move, State
from spielleiter.protocol.messages import MoveData
from tests.client.fake import START
from tests.timeouts import HANG_TIMEOUT

MOVE = next(START.generate_legal_moves())


def plain(state: State) -> Move:
    return next(iter(state.generate_legal_moves()))


async def asynchronous(state: State) -> Move:
    await trio.lowlevel.checkpoint()
    return plain(state)


class Plain:
    def __call__(self, state: State) -> Move:
        return plain(state)


class Asynchronous:
    async def __call__(self, state: State) -> Move:
        return await asynchronous(state)


def with_option(state: State, *, depth: int) -> Move:
    return plain(state)


async def asynchronous_with_option(state: State, *, depth: int) -> Move:
    return await asynchronous(state)


@pytest.mark.parametrize(
    "strategy",
    [
        plain,
        asynchronous,
        Plain(),
        Asynchronous(),
        partial(with_option, depth=3),
        partial(asynchronous_with_option, depth=3),
        lambda state: asynchronous(state),  # noqa: PLW0108 - a plain function that returns a coroutine
    ],
)
async def test_every_callable_that_takes_a_position_is_a_strategy(strategy: Strategy) -> None:
    assert await ask(strategy, START) == MoveData(MOVE)


async def test_hints_may_come_with_the_move() -> None:
    assert await ask(lambda _state: MoveData(MOVE, ("depth 3",)), START) == MoveData(MOVE, ("depth 3",))


async def test_the_answer_is_not_checked() -> None:
    assert (await ask(lambda _state: None, START)).move is None


def _noting_threads(seen: list[threading.Thread]) -> tuple[Callable[[State], Move], Callable[[State], object]]:
    def here(state: State) -> Move:
        seen.append(threading.current_thread())
        return plain(state)

    async def here_async(state: State) -> Move:
        return here(state)

    return here, here_async


async def test_a_plain_function_runs_in_another_thread_and_an_async_one_in_this() -> None:
    seen: list[threading.Thread] = []
    for each in _noting_threads(seen):
        await ask(each, START)
    assert [each is threading.current_thread() for each in seen] == [False, True]


async def test_a_computing_function_does_not_block_the_loop_and_is_abandoned_when_cancelled() -> None:
    may_return = threading.Event()
    computing = trio.Event()

    def compute(state: State) -> Move:
        trio.from_thread.run_sync(computing.set)
        assert may_return.wait(HANG_TIMEOUT)
        return plain(state)

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, compute, START)
            await computing.wait()
            nursery.cancel_scope.cancel()
    finally:
        may_return.set()


async def test_calls_do_not_wait_for_each_other() -> None:
    """There are more calls than trio has worker threads by default."""
    count = int(trio.to_thread.current_default_thread_limiter().total_tokens) + 1
    together = threading.Barrier(count)

    def meet(state: State) -> Move:
        together.wait(HANG_TIMEOUT)
        return plain(state)

    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(ask, meet, START)


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_errors_of_a_strategy_are_not_wrapped(kind: str) -> None:
    def fail(state: State) -> Move:
        raise LookupError("no idea")

    async def fail_async(state: State) -> Move:
        return fail(state)

    with pytest.raises(LookupError, match="no idea"):
        await ask(fail if kind == "plain" else fail_async, START)
