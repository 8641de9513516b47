"""What all sandboxes have in common: the conditions of the contest, which of them they keep, how they start a program.

A new sandbox is a subclass of `Sandbox` in a file of its own, chosen in choice.py. What it cannot keep of the
conditions has a sentence in `gaps`.

Where the system is Linux, a small process of ours (helper.py) starts the program within the sandbox. It opens the
server's listening socket in the sandbox's own network and hands it out, so packets take no detour; it watches the
limits, and reports the end.
"""

from __future__ import annotations

import abc
import dataclasses
import itertools
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spielleiter.programs.contest_conditions import MACHINE, Condition
from spielleiter.programs.platform_api import ProcessSpec
from spielleiter.programs.this_platform import PLATFORM

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


# -- settings ---------------------------------------------------------------------------------------------------------

AUTO: Final = "auto"
DOCKER: Final = "docker"
PODMAN: Final = "podman"
BUBBLEWRAP: Final = "bubblewrap"
NONE: Final = "none"
KINDS: Final = (AUTO, DOCKER, PODMAN, BUBBLEWRAP, NONE)
"""The kinds of sandboxes that can be asked for."""


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """The sandbox of an entrant: `kind` is one of KINDS, `image` the container image; None for none.

    `python_version` is the version of Python that the program is built for, such as ``3.12``; empty if it does not
    matter. It is used if there is no image and this machine has it.
    """

    kind: str = AUTO
    image: str | None = None
    python_version: str = ""


# -- the interface ----------------------------------------------------------------------------------------------------

GAMESERVER: Final = "gameserver"
"""The server's host name in the contest."""
SERVER_ADDRESS: Final = ("127.0.0.2", 28050)
"""Where the server listens in a network of the sandbox's own.

It is not 127.0.0.1 port 13050, so that a program that ignores its options does not reach the server by accident.
"""
PROGRAM_HOST: Final = "player"
"""The host name of a program's own machine."""
PROGRAM_ADDRESS: Final = "127.0.1.1"

HIDDEN_VARIABLES: Final = frozenset(
    {
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "XAUTHORITY",
        "XDG_RUNTIME_DIR",
        "DBUS_SESSION_BUS_ADDRESS",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "FTP_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
    }
)
"""Variables that a program does not get, in capital letters."""

SLOWER: Final = "The processor of this machine is another one; think times are compared by an estimated factor."

X86_64: Final = frozenset({"x86_64", "amd64"})
"""The names of the contest's processor architecture."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of one run on this machine, all of them below `root`."""

    root: Path
    program: Path
    """A copy of the program's folder, in which it is started."""
    home: Path
    temporary: Path
    control: Path
    """Holds the socket that the process inside the sandbox connects to."""
    label: str
    """A name for the run that no other run on this machine has."""


def mounted_folders(layout: Layout) -> Layout:
    """Return the folders by the names that they have in a sandbox with a file system of its own."""
    return dataclasses.replace(
        layout,
        program=Path("/player"),
        home=Path("/home/player"),
        temporary=Path("/tmp"),  # noqa: S108 - inside the sandbox it is a folder of the run
        control=Path("/.spielleiter/control"),
    )


class Sandbox(abc.ABC):
    """A way to run programs under the contest's conditions."""

    name: str
    """The name in reports: one of KINDS, without "auto"."""
    gaps: Mapping[Condition, str]
    """Why a condition cannot be kept here, one sentence for each."""
    host = GAMESERVER
    """The name by which a program reaches the server."""
    has_own_name_spaces = True
    """Whether it has a network and process ids of its own, in name spaces of this machine.

    The process inside opens the server's listening socket there, and everything else ends with it.
    """
    has_helper = sys.platform == "linux"
    """Whether a process of ours (helper.py) starts the program within the sandbox."""
    shows_cgroup = False
    """Whether the process inside finds the counters of its cgroup, as in a container whose memory is limited."""
    has_own_users = False
    """Whether it has a user name space of its own, in which the system counts processes separately."""
    other_writable_folders: tuple[str, ...] = ()
    """The folders inside that a program can write to besides those of `Layout`."""
    disk = DISK_LIMIT
    """The limit for what a program writes, in bytes."""
    watches_memory = True
    """Whether the process inside the sandbox enforces the memory limit; False if nothing or the kernel does."""
    python_description = "the Python of this machine"
    """What programs find as `python3`, as a part of a sentence."""

    def __init__(self, memory: int = MEMORY_LIMIT) -> None:
        self.memory = memory
        """The limit in bytes."""
        self._turns = itertools.count()

    @property
    def kept(self) -> frozenset[Condition]:
        """The conditions that are kept."""
        return frozenset(MACHINE) - frozenset(self.gaps)

    @abc.abstractmethod
    def process_spec(
        self, spec: ProcessSpec, words: Sequence[str], variables: Mapping[str, str], layout: Layout
    ) -> ProcessSpec:
        """Return how to start a process inside the sandbox.

        `spec` is how the program would be started without a sandbox. With a helper, `words` are the options of
        helper.py, which is told about the `variables` in another way. Without one, they are the program's own command
        line, and the variables are set for it.
        """

    @abc.abstractmethod
    def folders(self, layout: Layout) -> Layout:
        """Return the same folders by the names that they have inside the sandbox."""

    def variables(self, inside: Layout) -> dict[str, str]:
        """The environment variables that a program gets beside those of the sandbox itself."""
        return {"HOME": str(inside.home), "TMPDIR": str(inside.temporary), "LANG": "C.UTF-8"}

    def open_resources(self, layout: Layout) -> Resources:  # noqa: ARG002 - for sandboxes that need it
        """Provide for what the run needs besides its process; see `Resources`."""
        return Resources()

    def next_core(self, cores: Sequence[int] | None) -> int | None:
        """Return the processor core for a run, one of `cores` or, if that is None, of all; None if that is unknown."""
        if cores is None and PLATFORM.can_bind_cores:
            cores = PLATFORM.usable_cores()
            return cores[next(self._turns) % len(cores)]
        return None if not cores else cores[0]


class Resources:
    """What has to be removed after a run, also if this process is killed; here: nothing."""

    @property
    def words(self) -> Sequence[str]:
        """The words before the command that starts the sandbox."""
        return ()

    def exceeded(self) -> str:
        """Return the limit that the run has exceeded as far as the kernel has counted; empty if none."""
        return ""

    def release(self) -> None:
        """Remove it. Blocks for a moment."""


NOT_STARTED: Final = 256
"""Instead of the exit code of a command that could not be started, or took too long; no command has this one."""


def run_briefly(command: Sequence[str], timeout: float) -> tuple[int, str]:
    """Run a command; return its exit code and its standard output, or the error if it failed. Blocks."""
    try:
        done = subprocess.run(  # noqa: S603
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return NOT_STARTED, str(error)
    return done.returncode, (done.stderr if done.returncode else done.stdout).decode("utf-8", "replace")
