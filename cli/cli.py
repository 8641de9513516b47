"""The command `spielleiter` with its table of commands.

Invariants: this module makes no decisions; each command has its own module, which is imported when it is used.
"""

from __future__ import annotations

import os

import click

from spielleiter.cli.commands import SUBCOMMANDS, LazyGroup
from spielleiter.cli.encoding import prepare_streams

COMMANDS = {
    "serve": ("spielleiter.cli.serve:serve", "Start the server."),
    "play": ("spielleiter.cli.play:play", "Play one game with a built-in strategy."),
    "admin": ("spielleiter.cli.admin:admin", "Prepare, observe, pause, step and cancel games."),
    "replay": ("spielleiter.cli.replay:replay", "Show a saved game: in the browser, the terminal, or as a file."),
    "proxy": ("spielleiter.cli.proxy:proxy", "Pass on everything between clients and a server, and record it."),
    "replay-wire": (
        "spielleiter.cli.replay_wire:replay_wire",
        "Send a recorded conversation again and compare the answers.",
    ),
    "match": ("spielleiter.cli.match:match_command", "Let two programs play many games and say which one is better."),
    "lend": ("spielleiter.cli.lend:lend", "Offer a program to matches on other machines."),
    "borrow": ("spielleiter.cli.lend:borrow", "Play with a program that another machine offers."),
    "tournament": (
        "spielleiter.cli.tournament:tournament",
        "Let any number of programs play each other and rate them.",
    ),
    "check": ("spielleiter.cli.check:check", "Test whether a program is fit for the contest."),
    "bench": ("spielleiter.cli.bench:bench", "Measure the speed of the server and of matches."),
    "demo": ("spielleiter.cli.demo:demo", "Show a whole game of two built-in players."),
    "doctor": ("spielleiter.cli.doctor.command:doctor", "Say what this machine can and cannot do."),
}

BEGINNING = """\
To begin with spielleiter, a local game server for the Software-Challenge:
  spielleiter demo     shows a whole game of two built-in players
  spielleiter serve    starts the server that your own player connects to
  spielleiter play     starts an opponent for it, in a second terminal
  spielleiter --help   lists all commands; `spielleiter doctor` checks this PC
"""
"""What the command prints if it is called alone; the exit code is 0, as that of pip, docker and cargo."""


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
        from spielleiter.cli.bash_completion import register

        register()
    cli.main(prog_name="spielleiter")
