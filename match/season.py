"""Which season is played, as every output names it.

Invariants: the gameType comes first, as programs write it on the wire, and then the edition's name.
"""

from __future__ import annotations

from spielleiter.server.editions import choose_editions


def season_text(game_type: str, edition: str | None = None) -> str:
    """``swc_2027_blokus (blokus-2027)``; `edition`: None is the usual one of that game. Raises StartError."""
    if edition is None:
        edition = choose_editions({}, {})[game_type].name
    return f"{game_type} ({edition})"
