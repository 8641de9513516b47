"""Calls a strategy to get its move for a position.

A strategy is a function that takes a position and returns the move to play there, for example one of
`state.generate_legal_moves()`. To send debug hints along with the move, it returns `MoveData(move, ("a hint",))`.

A plain function runs in a worker thread. It may compute for any time: the end of the game is still noticed, and
whatever the function returns after that is dropped. Python cannot stop a thread, so the function runs until it returns.
The calls of one game follow one after the other, but not always in the same thread. If a game ends while the function
computes, the first call of the next game may come before that call has returned.

An `async def` function runs on trio's event loop instead. It is cancelled at its next `await` when the game ends. While
it computes without an `await`, nothing else runs: the end of the game is not noticed, and other players in the same
process wait. On the other hand, it avoids the 0.1 to 0.2 ms that a thread costs for each move. The built-in strategies
need less than 1 ms for most moves and are asynchronous for this reason.

Invariants: the event loop keeps running while a plain function computes. What a strategy returns is not checked here.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias

import trio

from spielleiter.game.api import Move, State
from spielleiter.protocol.messages import MoveData

Strategy: TypeAlias = Callable[[Any], Move | MoveData | Awaitable[Move | MoveData]]
"""A function that takes a position and returns a move, or an awaitable of a move."""


async def ask(strategy: Strategy, state: State) -> MoveData:
    """Call `strategy` with the position `state` and return its answer, which is not checked.

    Raises whatever the strategy raises.
    """
    if _is_async(strategy):
        answer = strategy(state)
    else:
        # a limiter of its own, so that neither other players nor an abandoned call can delay this one
        (answer,) = await trio.to_thread.run_sync(
            partial(_boxed, strategy, state), abandon_on_cancel=True, limiter=trio.CapacityLimiter(1)
        )
    if inspect.isawaitable(answer):
        answer = await answer
    return answer if isinstance(answer, MoveData) else MoveData(answer)


def _is_async(strategy: Strategy) -> bool:
    return inspect.iscoroutinefunction(strategy) or inspect.iscoroutinefunction(
        getattr(type(strategy), "__call__", None)  # noqa: B004 - the question is how it is called, not whether
    )


def _boxed(strategy: Strategy, state: State) -> tuple[Any]:
    """Return the answer in a tuple, since trio refuses an awaitable as the result of a worker thread."""
    return (strategy(state),)
