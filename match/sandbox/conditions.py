"""The contest's conditions for a program, as a table: a key and a sentence in English and in German.

The sentences describe the contest. Which of them a sandbox keeps is said by the sandbox (sandbox.py).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

MEMORY_LIMIT: Final = 1536 * 1024 * 1024
"""The memory of a program in the contest, in bytes."""


PROCESS_LIMIT: Final = 512
"""The processes and threads of a program at the same time. The contest names no limit."""
DISK_LIMIT: Final = 1024 * 1024 * 1024
"""The bytes that a program may have on the disk. The contest names no limit."""
FILE_LIMIT: Final = 100_000
"""The files and folders that a program may make. The contest names no limit."""
TIME_LIMIT: Final = 3600.0
"""The seconds of processor time that a program may use in one run on Windows: more than a game takes."""


class Condition(enum.Enum):
    """A condition of the contest; the value is its key in reports."""

    NETWORK = "network"
    HOST_NAME = "host-name"
    PROCESSOR = "processor"
    SPEED = "speed"
    MEMORY = "memory"
    PROCESSES = "processes"
    DISK = "disk"
    READ_ONLY = "read-only"
    SCRATCH = "scratch"
    DISPLAY = "display"
    PLATFORM = "platform"
    IMAGE = "image"


LIMITS: Final = (Condition.MEMORY, Condition.PROCESSES, Condition.DISK)
"""The conditions that limit what a program uses."""


@dataclass(frozen=True, slots=True)
class Sentences:
    """One condition in words."""

    english: str
    german: str


CONDITIONS: Final[Mapping[Condition, Sentences]] = MappingProxyType(
    {
        Condition.NETWORK: Sentences(
            "A program reaches the game server and nothing else.",
            "Ein Programm erreicht den Spielserver und sonst nichts.",
        ),
        Condition.HOST_NAME: Sentences(
            "The game server is called `gameserver` and is not on the program's own machine.",
            "Der Spielserver heißt `gameserver` und läuft nicht auf dem Rechner des Programms.",
        ),
        Condition.PROCESSOR: Sentences(
            "A program has one processor core.",
            "Ein Programm hat einen Prozessorkern.",
        ),
        Condition.SPEED: Sentences(
            "That core is a Xeon E5-2620 v4 at 2.1 GHz.",
            "Dieser Kern gehört zu einem Xeon E5-2620 v4 mit 2,1 GHz.",
        ),
        Condition.MEMORY: Sentences(
            "A program has 1.5 GB of memory; if it uses more, it is killed.",
            "Ein Programm hat 1,5 GB Arbeitsspeicher; braucht es mehr, wird es beendet.",
        ),
        Condition.PROCESSES: Sentences(
            "A program has no more than 512 processes and threads; if it has more, it is killed.",
            "Ein Programm hat höchstens 512 Prozesse und Threads; hat es mehr, wird es beendet.",
        ),
        Condition.DISK: Sentences(
            "A program writes no more than 1 GB; if it writes more, it is killed.",
            "Ein Programm schreibt höchstens 1 GB; schreibt es mehr, wird es beendet.",
        ),
        Condition.READ_ONLY: Sentences(
            "The files of the system cannot be changed.",
            "Die Dateien des Systems lassen sich nicht ändern.",
        ),
        Condition.SCRATCH: Sentences(
            "What a program writes to its own folder is forgotten after the game.",
            "Was ein Programm in seinen eigenen Ordner schreibt, ist nach dem Spiel vergessen.",
        ),
        Condition.DISPLAY: Sentences(
            "There is no screen: windows cannot be opened.",
            "Es gibt keinen Bildschirm: Fenster lassen sich nicht öffnen.",
        ),
        Condition.PLATFORM: Sentences(
            "A program runs on 64-bit Linux (x86-64).",
            "Ein Programm läuft unter 64-Bit-Linux (x86-64).",
        ),
        Condition.IMAGE: Sentences(
            "A program finds only what its container image contains.",
            "Ein Programm findet nur vor, was sein Container-Image enthält.",
        ),
    }
)
