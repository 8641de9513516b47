"""The conditions of the contest that a package is checked for, in the order of the report.

The source is what the contest publishes about handing in a program: it is started directly as ``MAIN -h HOST -p PORT -r
CODE``, in any order, with short or long options, on one thread of a Xeon E5-2620 v4, with 1.5 GB of memory, without a
network other than the game server, without a window, with two seconds a move; what it writes to disk is forgotten after
the game. The test of an upload is two games against the random player, and a pairing is six games.

Invariants: every fault of `package_faults` belongs to one of these conditions, and every condition has a line in every
report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ContestCondition:
    """A condition: `key` names it in files, `title` is the beginning of its line, `demand` is what the contest asks."""

    key: str
    title: str
    demand: str


PACKAGE: Final = ContestCondition("package", "the ZIP", "The ZIP contains a program that Linux can start as it is.")
UPLOAD_TEST: Final = ContestCondition(
    "upload-test",
    "test of the upload",
    "The program plays two games against the random player without a fault.",
)
OPTIONS: Final = ContestCondition(
    "options",
    "options",
    "The program accepts -h, -p and -r in any order, and --host, --port and --reservation as well.",
)
PAIRING: Final = ContestCondition(
    "pairing",
    "a pairing",
    "The program plays six games, in which the first move alternates, without a fault.",
)
TWO_GAMES: Final = ContestCondition(
    "two-games", "two games at once", "Two games of the program at the same time do not disturb each other."
)
PROTOCOL: Final = ContestCondition(
    "protocol",
    "further steps",
    "The program copes with packets in pieces, with pauses and with every way a game can end.",
)
END: Final = ContestCondition(
    "end", "the end", "The program ends itself within a few seconds after the game, and leaves no process behind."
)
START: Final = ContestCondition("start", "the start", "The program takes its seat soon after its start.")
THINK_TIME: Final = ContestCondition(
    "think-time", "think time", "Every move comes within two seconds on the processor of the contest."
)
MEMORY: Final = ContestCondition("memory", "memory", "The program needs no more than 1.5 GB of memory.")
PROCESSES: Final = ContestCondition(
    "processes", "processes", "The program does not start so many processes and threads that it looks like an attack."
)
OUTPUT: Final = ContestCondition("output", "output", "The program does not write so much that this takes time.")
NETWORK: Final = ContestCondition("network", "network", "The program uses no network but the game server.")
WINDOW: Final = ContestCondition("window", "window", "The program opens no window.")
INPUT: Final = ContestCondition("input", "input", "The program needs neither a terminal nor anybody who types.")
DISK: Final = ContestCondition(
    "disk", "disk", "The program writes into its own folder or the folder for temporary files only, and not too much."
)

CONDITIONS: Final = (
    PACKAGE,
    UPLOAD_TEST,
    OPTIONS,
    PAIRING,
    TWO_GAMES,
    PROTOCOL,
    START,
    END,
    THINK_TIME,
    MEMORY,
    PROCESSES,
    OUTPUT,
    NETWORK,
    WINDOW,
    INPUT,
    DISK,
)
"""All conditions, in the order of the report."""
