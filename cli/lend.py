"""`spielleiter lend` and `spielleiter borrow`: a program of a match that runs in another container or machine.

Law: whoever borrows looks to the match like the program itself: the same output, the same exit code, and gone when it
is ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

import click

from spielleiter.cli.commands import Failure, Misuse, run_async, tell
from spielleiter.cli.encoding import TEXT
from spielleiter.cli.numbers import WholeNumber, port_number
from spielleiter.cli.options import game_option, server_options
from spielleiter.server.runtime.signals import stop_signals

EXIT_REFUSED = 127
"""What shells say where a program cannot be started."""


@click.command()
@click.argument("command", metavar="CMD")
@click.option("--host", default="127.0.0.1", metavar="HOST", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=WholeNumber(0, 65535), metavar="PORT", help="The port to listen on; 0: any.  [default: 13051]"
)
def lend(command: str, host: str, port: int | None) -> None:
    """Start CMD for every match that borrows it over the network.

    CMD is what `spielleiter match` takes for a player. Whoever reaches the port can have it started, and nothing else.
    """
    import trio

    from spielleiter.match.errors import SetupError
    from spielleiter.match.programs.program import Command
    from spielleiter.match.programs.remote import DEFAULT_REMOTE_PROGRAM_PORT, serve_remote_program
    from spielleiter.match.programs.startable import require_startable

    try:
        program = Command.parse(command)
        require_startable(program)
    except SetupError as error:
        raise Misuse(str(error)) from None

    wanted = DEFAULT_REMOTE_PROGRAM_PORT if port is None else port

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            # Ctrl-C ends the command as every other one, with its own exit code
            with trio.open_signal_receiver(*set(stop_signals()) - {signal.SIGINT}) as signals:
                listening = await nursery.start(
                    lambda task_status: serve_remote_program(
                        program, host, wanted, warn=lambda text: tell(text, err=True), task_status=task_status
                    )
                )
                tell(f"lends {command} on {host} port {listening}")
                async for _ in signals:
                    break
            nursery.cancel_scope.cancel()

    try:
        run_async(main)
    except OSError as error:
        raise Misuse(
            f"cannot listen on {host} port {wanted}: {error.strerror or error}; choose another --host or --port"
        ) from None


@click.command()
@click.argument("lender", metavar="HOST:PORT")
@server_options
@click.option(
    "-r", "--reservation", type=TEXT, required=True, metavar="CODE", help="Take the seat that this code reserves."
)
@click.option("--seed", type=WholeNumber(0), default=0, metavar="N", help="For commands that name {seed}.")
@game_option
def borrow(lender: str, host: str, port: int, wait: float, reservation: str, seed: int, game: str) -> None:
    """Have the program that `spielleiter lend` has at HOST:PORT play at the server given by -h and -p.

    Writes what it writes, ends with its exit code, by its signal, or with 127 if it cannot be started there. --wait is
    for the lender.
    """
    from spielleiter.match.programs.remote import RemoteProgramError, RemoteStartError, run_remote_program

    place, _, text = lender.rpartition(":")
    number = port_number(text)
    if not place or number is None:
        raise click.BadParameter(f"{lender!r}, expected HOST:PORT")
    values = {"host": host, "port": str(port), "reservation": reservation, "seed": str(seed), "game": game}
    outputs = {"stdout": sys.stdout.buffer, "stderr": sys.stderr.buffer}

    def write(name: str, data: bytes) -> None:
        outputs[name].write(data)
        outputs[name].flush()

    try:
        code = run_async(lambda: run_remote_program(place.strip("[]"), number, values, write, wait))
    except RemoteStartError as error:
        tell(f"spielleiter borrow: {error}", err=True)
        raise click.exceptions.Exit(EXIT_REFUSED) from None
    except RemoteProgramError as error:
        raise Failure(str(error)) from None
    if code < 0:
        with contextlib.suppress(OSError):  # SIGKILL has no handler to be taken away
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    raise click.exceptions.Exit(code if code >= 0 else 128 - code)
