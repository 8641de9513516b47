"""Command lines that a user can copy to let a program take a seat.

Invariants: every line works as it is on the machine of the server, in the shells of its system, once the name of the
program is right; its words contain nothing that a shell would act on.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass

from spielleiter.protocol.defaults import DEFAULT_HOST, DEFAULT_PORT


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A line to copy: the `kind` of program that it starts (java, python, executable, builtin), and its `text`."""

    kind: str
    text: str

    def as_json(self) -> dict[str, str]:
        """Return both values by name."""
        return asdict(self)


def program_arguments(host: str, port: int, reservation: str | None = None) -> str:
    """Return the arguments for a program of the contest, with those that differ from the defaults."""
    words = []
    if host != DEFAULT_HOST:
        words += ["--host", host]
    if port != DEFAULT_PORT:
        words += ["--port", str(port)]
    if reservation is not None:
        words += ["--reservation", reservation]
    return " ".join(words)


def joining_commands(
    host: str, port: int, game_type: str, reservation: str | None = None, *, is_windows: bool = os.name == "nt"
) -> list[CommandLine]:
    """Return the command lines with which a program, or a built-in player, takes a seat.

    - `host`, `port`: where the programs reach the server.
    - `game_type`: the game; a built-in player is told it, unless its reservation says which game it is.
    - `reservation`: the code of a reserved seat; None for a seat that anyone may take.
    - `is_windows`: whether the lines are for the shells of Windows.
    """
    arguments = program_arguments(host, port, reservation)
    builtin = arguments if reservation is not None else f"--game {game_type} {arguments}"
    python, executable = ("python", ".\\program.exe") if is_windows else ("python3", "./program")
    starts = {
        "java": f"java -jar program.jar {arguments}",
        "python": f"{python} program.py {arguments}",
        "executable": f"{executable} {arguments}",
        "builtin": f"spielleiter play --strategy greedy {builtin}",
    }
    return [CommandLine(kind, text.rstrip()) for kind, text in starts.items()]
