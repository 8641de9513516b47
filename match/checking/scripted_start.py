"""Starting a program together with a scripted server that it connects to, in a sandbox or without one.

Invariants: leaving the context ends the program and closes its port, whatever has happened. An error of the program is
raised as it is, without the exception groups of nurseries. A failure of this machine is an InconclusiveError, so that
a check goes on.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import trio

from spielleiter.client.exception_groups import first_error
from spielleiter.game.api import Seat
from spielleiter.match.checking.errors import InconclusiveError, UnexpectedBehaviourError
from spielleiter.match.checking.scripted_server import RESERVATION, ScriptedServer
from spielleiter.match.errors import MatchError, NotStartedError, SandboxError, SupervisorError
from spielleiter.match.games.match_server import ProgramPort
from spielleiter.match.programs.program import Command, Program
from spielleiter.match.records.wire_log import WIRE_LOG, WireLog
from spielleiter.match.sandbox.run import open_run
from spielleiter.match.sandbox.sandbox import Sandbox
from spielleiter.server.core.policy import Edition
from spielleiter.server.errors import os_error_text

_HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Confined:
    """A program that runs in a sandbox: the sandbox, and the program's folder, of which each run gets a copy."""

    sandbox: Sandbox
    folder: Path


@asynccontextmanager
async def open_scripted_server(
    edition: Edition,
    command: Command,
    seat: Seat,
    folder: Path,
    tag: str,
    connect_timeout: float,
    confined: Confined | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> AsyncIterator[ScriptedServer]:
    """Start the program with a scripted server to connect to; leaving the context ends the program.

    The program's outputs and the bytes on the wire are kept in `folder`. `confined` is the sandbox that it runs in;
    None for none. `environment` are its variables beside those that every program gets. Raises
    UnexpectedBehaviourError, and InconclusiveError if this machine or the sandbox failed.
    """
    with _failures_of_this_machine():
        await trio.Path(folder).mkdir(parents=True, exist_ok=True)
        with WireLog(folder / WIRE_LOG) as log:
            async with _open_port(confined) as port:
                host, number = port.address
                values = {"host": host, "port": str(number), "reservation": RESERVATION, "seed": "1"}
                values["game"] = edition.game_type
                program = Program(
                    command.arguments(values),
                    tag,
                    folder / "stdout.log",
                    folder / "stderr.log",
                    cwd="" if confined is None else str(confined.folder),
                    environment=environment,
                    is_own=command.is_builtin,
                    confinement=port.run,
                )
                problem: MatchError | None = None
                async with trio.open_nursery() as nursery:
                    scripted_server: ScriptedServer | None = None
                    try:
                        await nursery.start(program.run)
                        listener = await port.listener()
                        scripted_server = ScriptedServer(edition, seat, program, listener, connect_timeout, log)
                        yield scripted_server
                    except UnexpectedBehaviourError as error:  # raised later, so that it is not wrapped in a group
                        problem = error
                    except NotStartedError as error:
                        problem = UnexpectedBehaviourError(str(error))
                    finally:
                        if scripted_server is not None:
                            with trio.CancelScope(shield=True, deadline=trio.current_time() + 1):
                                await scripted_server.aclose()
                    await program.end(0)
                    nursery.cancel_scope.cancel()
                if problem is not None:
                    raise problem


@contextmanager
def _failures_of_this_machine() -> Iterator[None]:
    """Raise a failure of this machine or of a sandbox as InconclusiveError, without an exception group."""
    problem: BaseException | None = None
    try:
        yield
    except* (SandboxError, SupervisorError, OSError) as group:
        problem = first_error(group)
    if problem is not None:
        text = os_error_text(problem) if isinstance(problem, OSError) else str(problem)
        raise InconclusiveError(f"this machine failed: {text}")


@asynccontextmanager
async def _open_port(confined: Confined | None) -> AsyncIterator[ProgramPort]:
    """Open the port that the program connects to, in its sandbox if it has one. Raises OSError."""
    if confined is None:
        with socket.socket() as listener:
            listener.setblocking(False)
            listener.bind((_HOST, 0))
            listener.listen(1)
            yield ProgramPort((_HOST, int(listener.getsockname()[1])), listener)
    else:
        async with open_run(confined.sandbox, confined.folder) as run:
            yield ProgramPort(run.address, None, run)
