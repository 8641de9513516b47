"""Counting move sequences: the quickest proof that a rule set is right.

Law: perft(n) is the number of sequences of n moves from a position, each legal for the colour or player on turn, as
`generate_legal_moves` tells them; a game that is over before the n-th move adds nothing. perft(0) is 1.
"""

from __future__ import annotations

from spielleiter.game.api import Move, State


def perft(state: State, depth: int) -> int:
    """The number of sequences of `depth` moves from `state`. Raises ValueError for a negative depth."""
    if depth < 0:
        raise ValueError(f"depth is {depth}")
    if depth == 0:
        return 1
    if state.outcome() is not None:
        return 0
    if depth == 1:
        return _count_legal_moves(state)
    return sum(perft(state.play(move), depth - 1) for move in state.generate_legal_moves())


def divide(state: State, depth: int) -> dict[Move, int]:
    """For every move, perft of the position after it with one move less: adds up to perft(state, depth).

    Raises ValueError for a depth below 1.
    """
    if depth < 1:
        raise ValueError(f"depth is {depth}")
    if state.outcome() is not None:
        return {}
    return {move: perft(state.play(move), depth - 1) for move in state.generate_legal_moves()}


def _count_legal_moves(state: State) -> int:
    """A state may offer a quicker way than making every move."""
    count = getattr(state, "count_legal_moves", None)
    return sum(1 for _ in state.generate_legal_moves()) if count is None else count()
