"""Options that several commands take, spelled the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from client.defaults import DEFAULT_HOST, DEFAULT_PORT

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def server_options(command: Decorated) -> Decorated:
    """Where the server is: `host`, `port`, `wait`."""
    for option in (
        click.option(
            "--wait",
            type=click.FloatRange(0),
            default=0.0,
            metavar="SECONDS",
            help="Wait this long for a server that is not there yet.",
        ),
        click.option(
            "-p",
            "--port",
            type=click.IntRange(1, 65535),
            default=DEFAULT_PORT,
            metavar="PORT",
            show_default=True,
            help="The server's port.",
        ),
        click.option(
            "-h", "--host", default=DEFAULT_HOST, metavar="HOST", show_default=True, help="The server's address."
        ),
    ):
        command = option(command)
    return command


def _complete_game_types(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[Any]:
    from click.shell_completion import CompletionItem

    from client.editions import DIALECTS

    return [CompletionItem(game_type) for game_type in DIALECTS if game_type.startswith(incomplete)]


def _known_game_type(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str:
    from client.editions import DEFAULT_GAME_TYPE, DIALECTS

    if value is not None and value not in DIALECTS:
        raise click.BadParameter(f"{value!r} is not known here, expected {' or '.join(DIALECTS)}")
    return value or DEFAULT_GAME_TYPE


def game_option(command: Decorated) -> Decorated:
    """Which game: `game`, a gameType this program knows."""
    return click.option(
        "--game",
        metavar="GAMETYPE",
        callback=_known_game_type,
        shell_complete=_complete_game_types,
        help="The gameType, which says what is played and in which form the server speaks; the first known one if "
        "it is not given.",
    )(command)


def json_option(command: Decorated) -> Decorated:
    """For scripts: `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Write JSON, one value a line, for scripts.")(command)
