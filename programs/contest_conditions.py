"""The conditions of the contest: what its machine gives a program, and what it asks of one.

The source is what the contest publishes about handing in a program: it is started directly as ``MAIN -h HOST -p PORT -r
CODE``, in any order, with short or long options, on one thread of a Xeon E5-2620 v4, with 1.5 GB of memory, without a
network other than the game server, without a window, with two seconds a move; what it writes to disk is forgotten after
the game. The test of an upload is two games against the random player, and a pairing is six games.
"""

from __future__ import annotations

import enum
from typing import Final


class Condition(enum.Enum):
    """A condition of the contest.

    `key` is what files call it, and `sentence` says what it is. `title` is the beginning of its line in the report on a
    package, empty if it has none.
    """

    def __init__(self, key: str, sentence: str, title: str = "") -> None:
        self.key = key
        self.sentence = sentence
        self.title = title

    # those of the report, in its order
    PACKAGE = "package", "The ZIP contains a program that Linux can start as it is.", "the ZIP"
    UPLOAD_TEST = (
        "upload-test",
        "The program plays two games against the random player without a fault.",
        "test of the upload",
    )
    OPTIONS = (
        "options",
        "The program accepts -h, -p and -r in any order, and --host, --port and --reservation as well.",
        "options",
    )
    PAIRING = (
        "pairing",
        "The program plays six games, in which the first move alternates, without a fault.",
        "a pairing",
    )
    TWO_GAMES = (
        "two-games",
        "Two games of the program at the same time do not disturb each other.",
        "two games at once",
    )
    PROTOCOL = (
        "protocol",
        "The program copes with packets in pieces, with pauses and with every way a game can end.",
        "further steps",
    )
    START = "start", "The program takes its seat soon after its start.", "the start"
    END = (
        "end",
        "The program ends itself within a few seconds after the game, and leaves no process behind.",
        "the end",
    )
    THINK_TIME = "think-time", "Every move comes within two seconds on the processor of the contest.", "think time"
    MEMORY = "memory", "The program has 1.5 GB of memory; if it uses more, it is killed.", "memory"
    PROCESSES = (
        "processes",
        "The program has no more than 512 processes and threads; if it has more, it is killed.",
        "processes",
    )
    OUTPUT = "output", "The program does not write so much that this takes time.", "output"
    NETWORK = "network", "The program reaches the game server and nothing else.", "network"
    WINDOW = "window", "The program opens no window.", "window"
    INPUT = "input", "The program needs neither a terminal nor anybody who types.", "input"
    DISK = (
        "disk",
        "The program writes into its own and temporary folders only, up to 1 GB; if it writes more, it is killed.",
        "disk",
    )
    # of the machine alone
    HOST_NAME = "host-name", "The game server is called `gameserver` and is not on the program's own machine."
    PROCESSOR = "processor", "The program has one processor core."
    SPEED = "speed", "That core is a Xeon E5-2620 v4 at 2.1 GHz."
    READ_ONLY = "read-only", "The files of the system cannot be changed."
    SCRATCH = "scratch", "What the program writes to its own folder is forgotten after the game."
    DISPLAY = "display", "There is no screen: windows cannot be opened."
    PLATFORM = "platform", "The program runs on 64-bit Linux (x86-64)."
    IMAGE = "image", "The program finds only what its container image contains."


MACHINE: Final = (
    Condition.NETWORK,
    Condition.HOST_NAME,
    Condition.PROCESSOR,
    Condition.SPEED,
    Condition.MEMORY,
    Condition.PROCESSES,
    Condition.DISK,
    Condition.READ_ONLY,
    Condition.SCRATCH,
    Condition.DISPLAY,
    Condition.PLATFORM,
    Condition.IMAGE,
)
"""The conditions of the machine, each of which a sandbox keeps or not."""
LIMITS: Final = (Condition.MEMORY, Condition.PROCESSES, Condition.DISK)
"""The conditions that limit what a program uses."""
REPORTED: Final = tuple(each for each in Condition if each.title)
"""The conditions that a package is checked for, in the order of the report."""
