"""The built-in strategies on a connection: choosers that send their moves, and those that misbehave on the wire."""

from __future__ import annotations

import random
from typing import Final

import trio

from spielleiter.client.player import Player, Responder, respond_with
from spielleiter.game.api import Move, State
from spielleiter.players.choosers import random_move
from spielleiter.players.strategies import strategy_called

DEFAULT_DELAY: Final = 3.0
"""Seconds after which `slow` answers; a server's soft time limit is 2 s by default."""

GARBAGE: Final = b'\n  <room roomId="<<<">\n    <data class=>&nothing;\n  </moor>'


async def _never_answer(_player: Player, _state: State) -> None:
    await trio.sleep_forever()


_BAD_RESPONDERS: Final[dict[str, Responder]] = {
    "crash": lambda player, _state: player.abort(),
    "garbage": lambda player, _state: player.send_bytes(GARBAGE),
    "silent": _never_answer,
}


def make_responder(name: str, *, seed: int | None = None, delay: float = DEFAULT_DELAY) -> Responder:
    """Return the built-in strategy called `name`, as a responder for `Player.play_with`.

    - `name`: one of `STRATEGIES`, such as ``random`` or ``greedy``, or ``level-9@0.5``: see `strategy_called`.
    - `seed`: makes the strategy choose the same moves in every run; None means different ones.
    - `delay`: the seconds after which ``slow`` answers.

    Raises KeyError for an unknown name.

        report = await player.play_with(make_responder("greedy", seed=1))
    """
    kind, rng = strategy_called(name), random.Random(seed)
    if kind is None:
        raise KeyError(name)
    if name in _BAD_RESPONDERS:
        return _BAD_RESPONDERS[name]
    choose = kind.choose or random_move

    def think(state: State) -> Move:  # a plain function: it runs in a thread, not in the event loop
        return choose(state, rng)

    async def answer(state: State) -> Move:  # takes about a millisecond, too little for a thread
        if kind.choose is None:
            await trio.sleep(delay)
        return choose(state, rng)

    return respond_with(think if kind.level else answer)
