"""The name of the season that is played, the same in all outputs.

Invariants: the gameType comes first, as it is written on the wire, followed by the edition's name in parentheses.
"""

from __future__ import annotations

from spielleiter.server.editions import choose_editions


def season_text(game_type: str, edition: str | None = None) -> str:
    """For example ``swc_2027_blokus (blokus-2027)``; None means the default edition of that game. Raises StartError."""
    if edition is None:
        edition = choose_editions({}, {})[game_type].name
    return f"{game_type} ({edition})"
