"""The command `spielleiter`: which commands there are.

Law: nothing is decided here; each command has a module of its own, imported when it is used.
"""

from __future__ import annotations

import os

import click

from spielleiter.cli.commands import SUBCOMMANDS, LazyGroup, show_help_alone
from spielleiter.cli.encoding import prepare_streams

COMMANDS = {
    "serve": ("spielleiter.cli.serve:serve", "Start the server."),
    "play": ("spielleiter.cli.play:play", "Play one game with a built-in strategy."),
    "admin": ("spielleiter.cli.admin:admin", "Prepare, watch, pause, step and cancel games."),
    "match": ("spielleiter.cli.match:match_command", "Let two programs play many games, and say which one is better."),
    "lend": ("spielleiter.cli.lend:lend", "Start a program for matches that are played elsewhere."),
    "borrow": ("spielleiter.cli.lend:borrow", "Play with a program that another machine lends."),
    "tournament": (
        "spielleiter.cli.tournament:tournament",
        "Let any number of programs play each other, and rate them.",
    ),
    "check": ("spielleiter.cli.check:check", "Find out whether a program is fit for the contest."),
    "bench": ("spielleiter.cli.bench:bench", "Measure how fast the server, the rules and the protocol are."),
    "demo": ("spielleiter.cli.demo:demo", "A server, two built-in players, one whole game."),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    invoke_without_command=True,
    subcommand_metavar=SUBCOMMANDS,
    epilog=(
        "Completion of commands and options by the Tab key: put "
        '`eval "$(_SPIELLEITER_COMPLETE=bash_source spielleiter)"` into ~/.bashrc '
        "(zsh_source and ~/.zshrc for zsh; for fish put `_SPIELLEITER_COMPLETE=fish_source spielleiter | source` "
        "into ~/.config/fish/completions/spielleiter.fish)."
    ),
)
@click.version_option(package_name="spielleiter", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """A local game server for the Software-Challenge, and what belongs to it."""
    show_help_alone(context)


def main() -> None:
    """The entry point of the installed command."""
    prepare_streams()
    if "_SPIELLEITER_COMPLETE" in os.environ:  # the Tab key was pressed
        from spielleiter.cli.bash_completion import register

        register()
    cli.main(prog_name="spielleiter")
