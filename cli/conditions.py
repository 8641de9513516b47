"""The options that `match` and `tournament` share and that change nothing in the games.

Invariants: a match may be resumed with other ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from spielleiter.cli.options import Decorated

if TYPE_CHECKING:
    from spielleiter.match.tournaments.tournament import Tournament

NAMES: Final = ("keep", "restart")


def condition_options(command: Decorated) -> Decorated:
    """Add them, by the names in NAMES."""
    for option in (
        click.option(
            "--restart",
            type=click.Choice(["always", "never"]),
            default="always",
            show_default=True,
            help="never: a program that can play several games in a row is told the next one on standard input.",
        ),
        click.option(
            "--keep",
            type=click.Choice(["none", "failed", "all"]),
            default="all",
            show_default=True,
            help="Which games' folders are kept: those of all games, or of games in which something went wrong.",
        ),
    ):
        command = option(command)
    return command


def conditions_of(options: Mapping[str, Any], described: Tournament | None = None) -> dict[str, Any]:
    """The fields of the runner's `Conditions` that they set.

    `options` has None for what was not asked for; then what `described` says holds.
    """
    from spielleiter.match.records.game_files import KeepPolicy

    keep, restart = options["keep"], options["restart"]
    if described is not None:
        keep = keep or described.keep.value
        restart = restart or ("always" if described.is_restarting else "never")
    return {"keep": KeepPolicy(keep), "is_restarting": restart == "always"}
