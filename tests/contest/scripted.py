"""Programs of a few lines that meet a scripted server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import trio

from spielleiter.contest.scripted_server import ScriptedServer, open_scripted_server
from spielleiter.programs.command import Command
from spielleiter.programs.processes import find_processes
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import choose_editions
from tests.interpreter import PYTHON
from tests.timeouts import HANG_TIMEOUT

EDITION = choose_editions({}, {})[DEFAULT_GAME_TYPE]
UNTIL_THE_END: Final = "b''.join(iter(lambda: s.recv(65536), b''))"
"""An expression of `sender` that reads everything up to the end of the server's stream."""


async def run_scripted(
    command: str,
    act: Callable[[ScriptedServer], Awaitable[object]],
    folder: Path,
    seat: int = 0,
    connect_timeout: float = HANG_TIMEOUT,
    edition: Edition = EDITION,
) -> object:
    """Start the program against a scripted server and return what `act` returns; afterwards no process is left."""
    try:
        with trio.fail_after(HANG_TIMEOUT):
            async with open_scripted_server(
                edition, Command.parse(command), seat, folder, str(folder), connect_timeout
            ) as scripted_server:
                return await act(scripted_server)
    finally:
        assert find_processes(str(folder)) == ()
    raise AssertionError("a scripted server suppresses no exception")


def sender(data: str, then: str = "") -> str:
    """Return the command of a program that connects, sends bytes and then executes a statement."""
    script = (
        f"import socket, sys, time; s = socket.create_connection((sys.argv[1], int(sys.argv[2]))); s.sendall({data})"
    )
    return f"""{PYTHON} -I -c "{script}; {then}" {{host}} {{port}}"""
