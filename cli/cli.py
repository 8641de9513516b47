"""The command `spielleiter` with its table of commands, whose modules are imported when they are used."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from typing import Any

import click

from spielleiter.cli.ctrl_c import EXIT_INTERRUPTED
from spielleiter.cli.output import prepare_streams, print_line
from spielleiter.cli.running import EXIT_BUG, EXIT_FAILURE, EXIT_MISUSE, SUBCOMMANDS

COMMANDS = {
    "serve": ("spielleiter.cli.serve:serve", "Start the server."),
    "play": ("spielleiter.cli.play:play", "Play one game with a built-in strategy."),
    "admin": ("spielleiter.cli.admin:admin", "Prepare, observe, pause, step and cancel games."),
    "replay": ("spielleiter.cli.replay:replay", "Show a saved game: in the browser, the terminal, or as a file."),
    "view": ("spielleiter.cli.view:view", "Watch and play in the browser at a server that runs elsewhere."),
    "proxy": ("spielleiter.cli.proxy:proxy", "Pass on everything between clients and a server, and record it."),
    "replay-wire": (
        "spielleiter.cli.replay_wire:replay_wire",
        "Send a recorded conversation again and compare the answers.",
    ),
    "match": ("spielleiter.cli.match:match_command", "Let two programs play many games and say which one is better."),
    "test-client": (
        "spielleiter.cli.test_client:test_client",
        "Play a match with the options and the output of test-client.jar.",
    ),
    "lend": ("spielleiter.cli.lend:lend", "Offer a program to matches on other machines."),
    "borrow": ("spielleiter.cli.lend:borrow", "Play with a program that another machine offers."),
    "tournament": (
        "spielleiter.cli.tournament:tournament",
        "Let any number of programs play each other and rate them.",
    ),
    "league": ("spielleiter.cli.league:league", "Run a league for a class: uploads, games all day, tables, pages."),
    "upload": ("spielleiter.cli.upload:upload", "Upload a program to a league."),
    "help-league": ("spielleiter.cli.help_league:help_league", "Let this PC run programs for a league."),
    "check": ("spielleiter.cli.check:check", "Test whether a program is fit for the contest."),
    "bench": ("spielleiter.cli.bench:bench", "Measure the speed of the server and of matches."),
    "demo": ("spielleiter.cli.demo:demo", "Show a whole game of two built-in players."),
    "doctor": ("spielleiter.cli.doctor:doctor", "Say what this machine can and cannot do."),
}

BEGINNING = """\
To begin with spielleiter, a local game server for the Software-Challenge:
  spielleiter demo     shows a whole game of two built-in players
  spielleiter serve    starts the server that your own player connects to
  spielleiter play     starts an opponent for it, in a second terminal
  spielleiter --help   lists all commands; `spielleiter doctor` checks this PC
"""
"""What the command prints if it is called alone; the exit code is 0, as that of pip, docker and cargo."""


class LazyGroup(click.Group):
    """A group whose commands are listed in a table and imported when they are used, so that help is fast.

    `lazy` maps the name of a command to ``"module:attribute"`` and its line in the help.
    """

    def __init__(self, *args: Any, lazy: dict[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in self._lazy:
            return None
        module, _, attribute = self._lazy[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:  # click suggests only commands that are loaded already
            raise click.NoSuchCommand(error.command_name, possibilities=self._lazy, ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self._lazy.items()])

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the program and exit; a failure is printed as one line, and only a bug as a traceback."""
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except click.ClickException as error:
            context = getattr(error, "ctx", None)
            name = context.command_path if context else extra.get("prog_name") or self.name
            print_line(f"{name}: {' '.join(error.format_message().split())}", err=True)
            sys.exit(error.exit_code)
        except click.Abort:
            sys.exit(EXIT_INTERRUPTED)
        except Exception as error:
            from spielleiter.common.errors import JournalError, SetupError, os_error_text
            from spielleiter.server.errors import StartError

            if isinstance(error, SetupError | JournalError | StartError):
                text, code = str(error), EXIT_MISUSE
            elif isinstance(error, OSError):  # a full disk, a file without permission: no bug
                text, code = os_error_text(error), EXIT_FAILURE
            else:
                traceback.print_exc()
                sys.exit(EXIT_BUG)
            print_line(f"{extra.get('prog_name') or self.name}: {text}", err=True)
            sys.exit(code)
        sys.exit(code if isinstance(code, int) else 0)


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    invoke_without_command=True,
    subcommand_metavar=SUBCOMMANDS,
    epilog=(
        "\b\n"  # click's mark for text that must not be wrapped
        "To complete commands and options with the Tab key, add this line\n"
        "to ~/.bashrc:\n"
        '  eval "$(_SPIELLEITER_COMPLETE=bash_source spielleiter)"\n'
        "or to ~/.zshrc:\n"
        '  eval "$(_SPIELLEITER_COMPLETE=zsh_source spielleiter)"\n'
        "or to ~/.config/fish/completions/spielleiter.fish:\n"
        "  _SPIELLEITER_COMPLETE=fish_source spielleiter | source\n"
    ),
)
@click.version_option(package_name="spielleiter", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """A local game server for the Software-Challenge, with players, matches, tournaments and checks."""
    if context.invoked_subcommand is None:
        click.echo(BEGINNING, nl=False)


def main() -> None:
    """The entry point of the installed command."""
    prepare_streams()
    if "_SPIELLEITER_COMPLETE" in os.environ:  # a shell asks for completions
        from click.shell_completion import add_completion_class

        from spielleiter.cli.completion import BashComplete

        add_completion_class(BashComplete)  # replaces click's class of the same name
    cli.main(prog_name="spielleiter")
