"""Whether an option of the rules, such as `startPiece`, has an effect on a game."""

from __future__ import annotations

from spielleiter.game.api import GameOptionError
from spielleiter.server.core.policy import Edition


def game_option_problem(edition: Edition, name: str, value: str) -> str | None:
    """Return why the option `name` cannot have this `value` in the edition's game; None if it can."""
    if name not in edition.game.option_names:
        return f"{edition.game_type} has no option {name}"
    try:
        edition.game.with_options({name: value})
    except GameOptionError as error:
        return f"{error} ({edition.game_type})"
    return None
