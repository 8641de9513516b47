"""Counts move sequences (perft), the usual test of a move generator.

perft(n) is the number of sequences of n moves from a position, each of them one that `generate_legal_moves` yields for
the colour or player on turn. A game that is over before the n-th move adds nothing. perft(0) is 1.

>>> import random
>>> from spielleiter.game.blokus import BLOKUS_2021
>>> start = BLOKUS_2021.with_options({"startPiece": "PENTO_V"}).new_state(random.Random())
>>> [perft(start, depth) for depth in range(3)]
[1, 12, 108]
"""

from __future__ import annotations

from spielleiter.game.api import State


def perft(state: State, depth: int) -> int:
    """Return the number of sequences of `depth` moves from `state`. Raises ValueError for a negative depth."""
    if depth < 0:
        raise ValueError(f"depth is {depth}")
    if depth == 0:
        return 1
    if depth == 1:
        # a state may have a method that is faster than making every move
        count = getattr(state, "count_legal_moves", None)
        return sum(1 for _ in state.generate_legal_moves()) if count is None else count()
    return sum(perft(state.play(move), depth - 1) for move in state.generate_legal_moves())
