"""`spielleiter serve`: start the server. Each setting of server/config.py is an option; none is declared here."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import click
from msgspec import structs

from spielleiter.cli.completion import completing, editions_of_games, game_option_values, game_types
from spielleiter.cli.ctrl_c import EXIT_INTERRUPTED
from spielleiter.cli.running import run_async, starting_pages
from spielleiter.common.data_folder import data_folder
from spielleiter.common.process import HANGUP, hide_this_process, stop_signals
from spielleiter.server.config import IGNORED, PROPERTIES_FILE, SETTINGS, Config, load_config
from spielleiter.server.setting import Setting

RECENT_GAMES: Final = "recent-games"
"""The folder of the recent games, in the user's data folder."""
_VALUES: Final[Mapping[str, Callable[[], Iterable[str]]]] = MappingProxyType(
    {
        "default_game": game_types,
        "editions": editions_of_games,
        "start_piece": game_option_values("startPiece"),
    }
)
"""Completions for settings whose values are texts, by field."""


class _ServeCommand(click.Command):
    """Shows the options in the groups of the settings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        group_of = {setting.field: setting.group for setting in SETTINGS}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                groups.setdefault(group_of.get(parameter.name or "", "Other"), []).append(record)
        for name, records in groups.items():
            with formatter.section(name):
                formatter.write_dl(records)


def _option(setting: Setting) -> click.Option:
    """The option of a setting. Its value stays a text; `load_config` reads the texts from all sources alike."""
    kind = setting.kind
    help_text = f"{setting.help} [{setting.default}]" if setting.default else setting.help
    spellings = [*setting.options, setting.field]
    if kind.is_switch:
        spellings[0] = f"{setting.option}/{setting.negative_option}"
        return click.Option(spellings, default=None, help=help_text)
    more: dict[str, Any] = {}
    if setting.field in _VALUES:
        more["shell_complete"] = completing(_VALUES[setting.field])
    elif kind.choices:
        more["shell_complete"] = completing(lambda: kind.choices)
    elif kind.metavar == "FILE":
        more["type"] = click.Path()
    if kind.flag_text:
        more |= {"is_flag": False, "flag_value": kind.flag_text}
    metavar = f"[{kind.metavar}]" if kind.flag_text else kind.metavar
    return click.Option(spellings, metavar=metavar, multiple=kind.is_repeatable, help=help_text, **more)


def _serve(config: str | None, plugins: str | None, **options: Any) -> None:
    """Start the server. It runs until Ctrl-C, SIGTERM or the end of its terminal.

    Every option is also a property in server.properties (softTimeout for --soft-timeout) and an environment variable
    (SPIELLEITER_SOFT_TIMEOUT). Options take precedence over variables, variables over the file. Defaults are in square
    brackets.
    """
    hide_this_process()  # programs of a match on this server may run as the same user
    texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in options.items()}
    loaded = load_config({**texts, "config": config, "plugins": plugins}, os.environ)
    if loaded.game_options:
        from spielleiter.server.editions import choose_default, choose_editions, game_option_problem

        # options without effect in the default game are no misuse, since other games may take them
        edition = choose_default(loaded.default_game, choose_editions(loaded.editions, {}))
        ignored = [
            f"{name}={value} (in the default game: {why})"
            for name, value in loaded.game_options.items()
            if (why := game_option_problem(edition, name, value)) is not None
        ]
        loaded = structs.replace(loaded, ignored=(*loaded.ignored, *ignored))
    if loaded.recent_games and loaded.replay_directory is None:
        folder = data_folder(os.environ)
        if folder is None:
            why = "recentGames (this user has no data folder; saveReplay names another one)"
            loaded = structs.replace(loaded, ignored=(*loaded.ignored, why))
        else:
            loaded = structs.replace(loaded, recent_directory=folder / RECENT_GAMES)
    run(loaded)


serve = _ServeCommand(
    "serve",
    callback=_serve,
    help=_serve.__doc__,
    params=[
        *(_option(setting) for setting in SETTINGS),
        click.Option(
            ["--config"],
            type=click.Path(),
            metavar="FILE",
            help=f"File to read instead of {PROPERTIES_FILE} in the current directory.",
        ),
        click.Option(["--plugins"], metavar="DIR", help=f"Accepted without effect: {IGNORED['plugins']}."),
    ],
)


def run(config: Config) -> None:
    """Serve until a signal to stop. Raises StartError, and Exit if a second signal has aborted the shutdown."""
    import trio

    from spielleiter.server.app import Companion
    from spielleiter.server.app import serve as serve_connections
    from spielleiter.viewer.web.companion import open_pages

    recorder = None
    if config.trace_directory is not None:
        from spielleiter.wire.trace_writer import Recorder

        recorder = Recorder

    is_cut_short = False

    async def main() -> None:
        stop = trio.Event()
        async with trio.open_nursery() as nursery:

            async def watch_signals(task_status: trio.TaskStatus[None]) -> None:
                nonlocal is_cut_short
                with trio.open_signal_receiver(*stop_signals()) as signals:
                    task_status.started()
                    async for number in signals:
                        # when a terminal is closed, both the terminal and its shell send SIGHUP
                        is_cut_short = stop.is_set() and number != HANGUP
                        if is_cut_short:
                            nursery.cancel_scope.cancel()
                        stop.set()

            await nursery.start(watch_signals)
            await serve_connections(config, stop=stop, companion=companion, recorder=recorder)
            nursery.cancel_scope.cancel()

    with contextlib.ExitStack() as stack:
        companion: Companion = open_pages
        if config.viewer or config.metrics:
            companion = partial(open_pages, start=stack.enter_context(starting_pages()))  # before there are threads
        run_async(main)
    if is_cut_short:
        raise click.exceptions.Exit(EXIT_INTERRUPTED)
