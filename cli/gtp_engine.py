"""The options of `spielleiter play` for a GTP engine, and the strategy that plays with it.

Invariants: the engine is started before the server is asked for a seat, so an engine that cannot be used takes none.
"""

from __future__ import annotations

import random
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import click

from spielleiter.cli.commands import Misuse
from spielleiter.cli.decorated import Decorated
from spielleiter.cli.encoding import TEXT
from spielleiter.cli.numbers import Number
from spielleiter.server.setting import MAX_SECONDS

if TYPE_CHECKING:
    from spielleiter.client.gtp_blokus import BridgedPlayer
    from spielleiter.client.strategies import StrategyKind

GTP: Final = "gtp"
"""The name of the strategy."""


def engine_options(command: Decorated) -> Decorated:
    """Decorate a command with the options for an engine: `engine`, `engine_timeout`."""
    for option in (
        click.option(
            "--engine-timeout",
            type=Number(0, MAX_SECONDS, min_open=True),
            metavar="SECONDS",
            help="How long the engine may think about a move before greedy chooses it.  [default: 1.5]",
        ),
        click.option(
            "--engine",
            type=TEXT,
            metavar="COMMAND",
            help="The command that starts the engine of the strategy gtp: a program that speaks GTP, such as Pentobi's "
            "pentobi-gtp.",
        ),
    ):
        command = option(command)
    return command


def check_engine_options(strategy: str, engine: str | None, engine_timeout: float | None) -> None:
    """Raise UsageError if the strategy gtp lacks its engine, or if another strategy has one."""
    if strategy == GTP and engine is None:
        raise click.UsageError('the strategy gtp needs --engine, such as --engine "pentobi-gtp --game classic_2"')
    if strategy != GTP and (engine is not None or engine_timeout is not None):
        raise click.UsageError(f"the strategy {strategy} has no engine; add --strategy gtp")


def playing_strategies() -> dict[str, StrategyKind]:
    """Return the strategies of `play` by name: the built-in ones, and gtp, which `running_bridged_player` plays."""
    from spielleiter.client.gtp_blokus import POSITIONS
    from spielleiter.client.strategies import STRATEGIES, StrategyKind

    description = "the moves of another program, named by --engine (Blokus only)"
    return {**STRATEGIES, GTP: StrategyKind(GTP, description, position=POSITIONS)}


@asynccontextmanager
async def running_bridged_player(
    engine: str, say: Callable[[str], None], *, move_timeout: float | None, seed: int | None
) -> AsyncIterator[BridgedPlayer]:
    """Start the engine and make the player that asks it. Raises Misuse if the engine cannot be used."""
    from spielleiter.client.gtp_blokus import DEFAULT_ENGINE_TIMEOUT, BridgedPlayer
    from spielleiter.client.gtp_engine import EngineStartError, running_engine

    command = _for_the_system(engine)
    try:
        async with running_engine(command) as process:
            player = BridgedPlayer(
                process,
                say,
                timeout=DEFAULT_ENGINE_TIMEOUT if move_timeout is None else move_timeout,
                rng=random.Random(seed),
            )
            await player.prepare()
            yield player
    except EngineStartError as error:
        raise Misuse(f"--engine {engine}: {error}") from error


def _for_the_system(engine: str) -> str | list[str]:
    """Return the words, or on Windows perhaps the text, that the system starts. Raises Misuse."""
    from spielleiter.common.errors import SetupError
    from spielleiter.programs.program import BUILTIN, Command
    from spielleiter.programs.startable import require_startable
    from spielleiter.programs.windows_command import command_line

    if engine.startswith(BUILTIN):
        raise Misuse(f"--engine {engine}: a built-in strategy is no engine; choose it with --strategy")
    try:
        command = Command.parse(engine)
        require_startable(command)
        words = [command.words[0], *command.parameters]
        return command_line(words) if sys.platform == "win32" else words
    except (SetupError, ValueError) as error:
        raise Misuse(f"--engine: {error}") from error
