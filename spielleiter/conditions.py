"""The options that `match` and `tournament` share and that change nothing in the games.

Invariants: a match may be resumed with other ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click

from spielleiter.options import Decorated

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


def conditions_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the runner's `Conditions` that they set."""
    from match.traces import Keep

    return {"keep": Keep(options["keep"]), "is_restarting": options["restart"] == "always"}
