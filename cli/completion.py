"""Completion of option values with the Tab key: games, editions, start pieces, strategies.

Invariants: all values come from the server or the client, whose modules are imported when a shell asks for completions.
The scripts for the shells come from click.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import click
from click.shell_completion import CompletionItem

Completer: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completing(values: Callable[[], Iterable[str]]) -> Completer:
    """A completer that offers those of `values()` that begin with the incomplete word."""

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(value) for value in values() if value.startswith(incomplete)]

    return complete


def game_types() -> list[str]:
    from spielleiter.server.editions import choose_editions

    return list(choose_editions({}, {}))


def editions() -> list[str]:
    from spielleiter.server.editions import EDITIONS

    return list(EDITIONS)


def editions_of_games() -> list[str]:
    """The values of `serve --edition`: ``GAMETYPE=EDITION``."""
    from spielleiter.server.editions import EDITIONS

    return [f"{edition.game_type}={edition.name}" for edition in EDITIONS.values()]


def game_option_values(option: str) -> Callable[[], list[str]]:
    """A function that returns all values of a game option, such as ``startPiece``, in any of the games."""

    def values() -> list[str]:
        from spielleiter.game.api import GameOptionError
        from spielleiter.server.editions import choose_editions

        known: dict[str, None] = {}
        for edition in choose_editions({}, {}).values():
            if option in edition.game.option_names:
                try:
                    edition.game.with_options({option: ""})
                except GameOptionError as error:
                    known |= dict.fromkeys(error.known)
        return list(known)

    return values


def programs() -> list[str]:
    """The built-in programs of a match."""
    from spielleiter.client.strategies import STRATEGIES
    from spielleiter.programs.command import BUILTIN

    return [BUILTIN + name for name in STRATEGIES]


def complete_strategies(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer strategies with their descriptions, which some shells show."""
    from spielleiter.cli.gtp_engine import playing_strategies

    kinds = playing_strategies().values()
    return [CompletionItem(kind.name, help=kind.description) for kind in kinds if kind.name.startswith(incomplete)]
