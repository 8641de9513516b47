"""Options of `match` and `tournament` that do not affect the games.

Invariants: these options may be different each time a match is resumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from spielleiter.cli.decorated import Decorated

if TYPE_CHECKING:
    from spielleiter.match.tournament_file import Tournament

NAMES: Final = ("keep", "keep_playing", "restart")


def condition_options(command: Decorated) -> Decorated:
    """Decorate a command with these options; their parameters are NAMES."""
    for option in (
        click.option(
            "--restart",
            type=click.Choice(["always", "never"]),
            default="always",
            show_default=True,
            help="always: start programs for every game; never: a program that can play several games in a row gets "
            "the next one on standard input.",
        ),
        click.option(
            "--keep-playing",
            is_flag=True,
            default=False,
            help="Play all games, although a program has failed in all of its first games or was never there.",
        ),
        click.option(
            "--keep",
            type=click.Choice(["none", "failed", "all"]),
            default="all",
            show_default=True,
            help="Which folders of games to keep: all, none, or those of games in which something went wrong.",
        ),
    ):
        command = option(command)
    return command


def conditions_of(options: Mapping[str, Any], described: Tournament | None = None) -> dict[str, Any]:
    """The fields of `Conditions` that these options set.

    An option that was not given is None in `options`; its value is then taken from `described`.
    """
    from spielleiter.match.game_folder import KeepPolicy

    keep, restart, keeps_playing = options["keep"], options["restart"], bool(options["keep_playing"])
    if described is not None:
        keeps_playing = keeps_playing or described.keeps_playing
        keep = keep or described.keep.value
        restart = restart or ("always" if described.is_restarting else "never")
    return {"keep": KeepPolicy(keep), "is_restarting": restart == "always", "keeps_playing": keeps_playing}
