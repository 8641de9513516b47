"""`spielleiter lend` and `spielleiter borrow`: a program of another machine or container plays in a match."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Mapping

import click

from spielleiter.cli.options import TEXT, WholeNumber, game_option, port_number, server_options, variable_options
from spielleiter.cli.output import print_line
from spielleiter.cli.running import Failure, Misuse, run_async
from spielleiter.common.process import hide_this_process, stop_signals

EXIT_REFUSED = 127
"""The exit code of shells for a program that cannot be started."""


@click.command()
@click.argument("command", metavar="CMD")
@click.option("--host", default="127.0.0.1", metavar="HOST", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=WholeNumber(0, 65535),
    metavar="PORT",
    help="The port to listen on; 0: any free one.  [default: 13051]",
)
@click.option(
    "--server-host",
    "server_hosts",
    multiple=True,
    type=TEXT,
    metavar="HOST",
    help="A host that CMD may be told to play on; may be given several times.  [default: only the one that asks]",
)
@click.option(
    "--max-programs",
    type=WholeNumber(1),
    metavar="N",
    help="How many copies of CMD may run at the same time.  [default: 16]",
)
@variable_options
def lend(
    command: str,
    host: str,
    port: int | None,
    server_hosts: tuple[str, ...],
    max_programs: int | None,
    env: Mapping[str, str] | None,
    pass_env: tuple[str, ...] | None,
) -> None:
    """Offer CMD to matches on other machines: start it whenever `spielleiter borrow` asks for it.

    CMD is a command line as for `spielleiter match`. Anybody who can reach the port can start CMD, and nothing else.
    """
    import trio

    from spielleiter.programs.command import Command
    from spielleiter.programs.environment import added_variables, require_set
    from spielleiter.programs.remote import DEFAULT_REMOTE_PROGRAM_PORT, MAX_PROGRAMS, serve_remote_program
    from spielleiter.programs.startable import require_startable

    program = Command.parse(command)
    require_startable(program)
    require_set(pass_env or ())
    hide_this_process()
    environment = added_variables(pass_env or (), env or {})
    wanted = DEFAULT_REMOTE_PROGRAM_PORT if port is None else port

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            # Ctrl-C is handled as in every command, with the exit code for it
            with trio.open_signal_receiver(*set(stop_signals()) - {signal.SIGINT}) as signals:
                listening = await nursery.start(
                    lambda task_status: serve_remote_program(
                        program,
                        host,
                        wanted,
                        environment=environment,
                        server_hosts=server_hosts,
                        max_programs=max_programs or MAX_PROGRAMS,
                        warn=lambda text: print_line(text, err=True),
                        task_status=task_status,
                    )
                )
                print_line(f"offering {command} on {host} port {listening}")
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
@click.option("--seed", type=WholeNumber(0), default=0, metavar="N", help="The value of {seed} in the command line.")
@game_option()
def borrow(lender: str, host: str, port: int, wait: float, reservation: str, seed: int, game: str | None) -> None:
    """Let the program that `spielleiter lend` offers at HOST:PORT play on the server given by -h and -p.

    Passes on the program's output, and ends with its exit code, by its signal, or with 127 if the program cannot be
    started there. --wait is the time to wait for `spielleiter lend`, not for the server.
    """
    from spielleiter.programs.remote import RemoteProgramError, RemoteStartError, run_remote_program
    from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE

    lender_host, _, text = lender.rpartition(":")
    lender_port = port_number(text)
    if not lender_host or lender_port is None:
        raise click.BadParameter(f"{lender!r}, expected HOST:PORT")
    values = {"host": host, "port": str(port), "reservation": reservation, "seed": str(seed)}
    values["game"] = game or DEFAULT_GAME_TYPE
    outputs = {"stdout": sys.stdout.buffer, "stderr": sys.stderr.buffer}

    def write(name: str, data: bytes) -> None:
        outputs[name].write(data)
        outputs[name].flush()

    try:
        code = run_async(lambda: run_remote_program(lender_host.strip("[]"), lender_port, values, write, wait))
    except RemoteStartError as error:
        print_line(f"spielleiter borrow: {error}", err=True)
        raise click.exceptions.Exit(EXIT_REFUSED) from None
    except RemoteProgramError as error:
        raise Failure(str(error)) from None
    if code < 0 and sys.platform != "win32":  # Windows has no signals; there, the shell's exit code for one is used
        with contextlib.suppress(OSError):  # SIGKILL has no handler that could be reset
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    raise click.exceptions.Exit(code if code >= 0 else 128 - code)
