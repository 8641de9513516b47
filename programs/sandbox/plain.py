"""No sandbox: limits that need no help of the system, for machines without containers and bubblewrap.

The program runs in a copy of its folder, with folders of its own for home and temporary files, without variables that
lead to a screen or a proxy. On Linux the process inside watches its limits, on Windows a Job Object does; on other
systems nothing is limited. Everything else that the contest forbids is possible, and `gaps` says so.
"""

from __future__ import annotations

import dataclasses
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from spielleiter.programs.contest_conditions import Condition
from spielleiter.programs.platform_api import JobLimits, ProcessSpec
from spielleiter.programs.sandbox.pythons import find_python, python_outside, write_commands
from spielleiter.programs.sandbox.sandbox import (
    HIDDEN_VARIABLES,
    MEMORY_LIMIT,
    NONE,
    PROCESS_LIMIT,
    SLOWER,
    TIME_LIMIT,
    X86_64,
    Layout,
    Sandbox,
)
from spielleiter.programs.this_platform import PLATFORM

_COMMANDS: Final = "commands"


class PlainSandbox(Sandbox):
    """Programs run with limits only. `reason` says in one sentence why there is no better sandbox; it may be empty.

    `python_version` is the version of Python that programs are built for.
    """

    name = NONE
    host = "127.0.0.1"
    has_own_name_spaces = False

    def __init__(self, reason: str = "", memory: int = MEMORY_LIMIT, python_version: str = "") -> None:
        super().__init__(memory)
        why = f" {reason}" if reason else ""
        self._program_python = found = find_python(built_for=python_version) if self.has_helper else None
        version = ""
        if self.has_helper:
            self.python_description = "no Python" if found is None else f"Python {found.version}"
            version = f" ({self.python_description})"
        self.gaps = {
            Condition.NETWORK: f"The program can reach the network, since there is no sandbox.{why}",
            Condition.HOST_NAME: "The program gets 127.0.0.1 for the server, since there is no sandbox.",
            Condition.SPEED: SLOWER,
            Condition.READ_ONLY: "The program can change every file that you can change, since there is no sandbox.",
            Condition.SCRATCH: "Only its own folder is a copy; what the program writes elsewhere stays there.",
            Condition.DISK: "Only what the program writes to its own folders is limited, not what it writes elsewhere, "
            "such as in /dev/shm.",
            Condition.IMAGE: f"The program finds what is installed on this machine{version}.",
        }
        if sys.platform == "win32":
            self.gaps |= {
                Condition.DISK: "The program can write any amount of data, which Windows does not limit.",
                Condition.DISPLAY: "The program can open windows; only Linux runs it without a screen.",
            }
        elif sys.platform != "linux":
            self.gaps |= {
                Condition.PROCESSOR: "The program can use all processor cores; one can be set on Linux only.",
                Condition.PROCESSES: "The program can start any number of processes; it can be limited on Linux only.",
                Condition.DISK: "The program can write any amount of data; it can be limited on Linux only.",
                Condition.MEMORY: "The program can use all memory; it can be limited on Linux only.",
                Condition.DISPLAY: "The program can open windows; only Linux runs it without a screen.",
            }
        if sys.platform != "linux" or platform.machine() not in X86_64:
            system = f"{platform.system()} on {platform.machine()}"
            self.gaps[Condition.PLATFORM] = f"The program runs on {system}, in the contest on 64-bit Linux (x86-64)."

    def folders(self, layout: Layout) -> Layout:
        return layout

    def process_spec(
        self, spec: ProcessSpec, words: Sequence[str], variables: Mapping[str, str], layout: Layout
    ) -> ProcessSpec:
        if self.has_helper:
            if self._has_commands:
                assert self._program_python is not None
                commands = layout.root / _COMMANDS
                commands.mkdir()
                write_commands(self._program_python, commands)
            return dataclasses.replace(spec, arguments=[*python_outside(), *words], cwd="/")
        visible = {name: value for name, value in spec.environment.items() if name.upper() not in HIDDEN_VARIABLES}
        visible |= variables
        if sys.platform == "win32":
            core = self.next_core(spec.cores)
            spec = dataclasses.replace(
                spec,
                cores=None if core is None else (core,),
                job=JobLimits(self.memory, PROCESS_LIMIT, TIME_LIMIT),
            )
        return dataclasses.replace(spec, arguments=words, cwd=str(layout.program), environment=visible)

    def variables(self, inside: Layout) -> dict[str, str]:
        home, temporary = str(inside.home), str(inside.temporary)
        if sys.platform == "win32":
            return {**PLATFORM.home_variables(home), "TEMP": temporary, "TMP": temporary}
        known = super().variables(inside)
        if self._has_commands:
            known["PATH"] = os.pathsep.join([str(inside.root / _COMMANDS), os.environ.get("PATH", os.defpath)])
        return known

    @property
    def _has_commands(self) -> bool:
        """Whether the commands of a Python that was chosen lead the PATH."""
        return self._program_python is not None and not self._program_python.is_default
