"""What players see of a position, for comparisons with positions that were sent."""

from __future__ import annotations

from spielleiter.game.api import State


def as_seen(state: State) -> State:
    """Return the position without what its game hides."""
    return state.as_seen() if hasattr(state, "as_seen") else state
