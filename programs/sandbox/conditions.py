"""The conditions that the contest's machine sets for a program: limits, and a sentence for each in reports.

Which of them a sandbox keeps is said by the sandbox (sandbox.py). What a check demands of a program is another table
(contest/contest_conditions.py).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
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


SENTENCES: Final[Mapping[Condition, str]] = MappingProxyType(
    {
        Condition.NETWORK: "A program reaches the game server and nothing else.",
        Condition.HOST_NAME: "The game server is called `gameserver` and is not on the program's own machine.",
        Condition.PROCESSOR: "A program has one processor core.",
        Condition.SPEED: "That core is a Xeon E5-2620 v4 at 2.1 GHz.",
        Condition.MEMORY: "A program has 1.5 GB of memory; if it uses more, it is killed.",
        Condition.PROCESSES: "A program has no more than 512 processes and threads; if it has more, it is killed.",
        Condition.DISK: "A program writes no more than 1 GB; if it writes more, it is killed.",
        Condition.READ_ONLY: "The files of the system cannot be changed.",
        Condition.SCRATCH: "What a program writes to its own folder is forgotten after the game.",
        Condition.DISPLAY: "There is no screen: windows cannot be opened.",
        Condition.PLATFORM: "A program runs on 64-bit Linux (x86-64).",
        Condition.IMAGE: "A program finds only what its container image contains.",
    }
)
