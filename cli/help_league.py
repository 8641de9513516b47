"""`spielleiter help-league`: this PC runs programs for a league that another machine leads."""

from __future__ import annotations

import sys

import click

from spielleiter.cli.options import TEXT, WholeNumber
from spielleiter.cli.output import print_line
from spielleiter.cli.running import Failure, run_async
from spielleiter.common.process import hide_this_process


@click.command()
@click.argument("url", metavar="URL")
@click.argument("code", metavar="CODE", required=False)
@click.option(
    "--pairs",
    type=WholeNumber(1, 256),
    metavar="N",
    help="How many pairs of games may run programs here at the same time.  [default: one for each two cores]",
)
@click.option(
    "--image",
    type=TEXT,
    metavar="IMAGE",
    help="Run programs in containers of this image, which must be on this machine.  [default: bubblewrap]",
)
@click.option("--only-confined", is_flag=True, help="Run nothing without a sandbox, whatever the league allows.")
def help_league(url: str, code: str | None, pairs: int | None, image: str | None, *, only_confined: bool) -> None:
    """Run programs for the league at URL, until Ctrl-C.

    URL and CODE are on the league's page for helpers' PCs; without CODE, it is asked for, so that nobody else who uses
    this PC can see it. Nothing has to be installed or opened for it, and administrator rights are not needed: this PC
    only connects to the league, over TLS, and checks the league's certificate by the CODE. Programs run in this PC's
    sandbox; without one, they run only if the teacher has allowed that, and can then do whatever this user can: whoever
    leads the league can run anything here.
    """
    import trio

    from spielleiter.common.errors import SetupError, first_error
    from spielleiter.league.helper import Helper, LeagueAddress, NotWantedError, describe_machine, parse_url
    from spielleiter.league.helper_code import HelperCode
    from spielleiter.programs.contest_conditions import Condition
    from spielleiter.programs.sandbox.choice import choose_sandbox
    from spielleiter.programs.sandbox.sandbox import NONE

    host, port = parse_url(url)
    if code is None:
        code = click.prompt("CODE of this PC", hide_input=True)
    address = LeagueAddress(host, port, HelperCode.parse(code))
    hide_this_process()
    is_terminal = sys.stdout.isatty()

    def note_count(running: int, finished: int) -> None:
        if is_terminal:
            click.echo(f"\rprograms running: {running}, finished: {finished}   ", nl=False)

    def tell(text: str) -> None:
        if is_terminal:
            click.echo("\r", nl=False)
        print_line(text)

    async def main() -> None:
        sandbox = await trio.to_thread.run_sync(choose_sandbox, image)
        if only_confined and sandbox.name == NONE:
            raise SetupError(f"--only-confined: there is no sandbox on this PC: {sandbox.gaps[Condition.NETWORK]}")
        machine = await trio.to_thread.run_sync(describe_machine, sandbox, image)
        places = pairs or max(1, machine.cores // 2)
        tell(f"connecting to the league at {host}:{port}")
        await Helper(address, sandbox, machine, places, tell, note_count, image=image).run()

    try:
        run_async(main)
    except NotWantedError as error:
        raise Failure(str(error)) from None
    except BaseExceptionGroup as group:  # programs were ended at the same time
        if isinstance(first := first_error(group), NotWantedError):
            raise Failure(str(first)) from None
        raise
