"""Positions of Blokus from games between random players."""

from __future__ import annotations

import random
from collections.abc import Iterator

from spielleiter.game.blokus.state import BlokusGame, BlokusState


def positions(game: BlokusGame, seed: int, step: int = 1) -> Iterator[BlokusState]:
    """Yield every `step`-th position of one game in which a move is requested."""
    rng = random.Random(seed)
    state = game.new_state(rng)
    count = 0
    while state.outcome() is None:
        if count % step == 0:
            yield state
        count += 1
        state = state.play(rng.choice(list(state.generate_legal_moves())))
