"""One program in a sandbox, from making its folders to what was observed of it.

Invariants: leaving `open_run` ends everything inside the sandbox and removes its folders, whatever has happened. The
address is known from the beginning; the listening socket exists once the process inside has started.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import trio

from spielleiter.programs.confinement import ConfinementError
from spielleiter.programs.process_spec import ProcessSpec
from spielleiter.programs.processes import TAG_VARIABLE
from spielleiter.programs.sandbox.conditions import FILE_LIMIT, LIMITS, PROCESS_LIMIT, Condition
from spielleiter.programs.sandbox.control import Control
from spielleiter.programs.sandbox.network_counters import count_attempts
from spielleiter.programs.sandbox.observations import Observations
from spielleiter.programs.sandbox.sandbox import HIDDEN_VARIABLES, SERVER_ADDRESS, InnerCommand, Resources, Sandbox
from spielleiter.programs.sandbox.scratch import Scratch
from spielleiter.programs.sandbox.windows import find_window_attempts

_LOCAL: Final = "127.0.0.1"
_BACKLOG: Final = 16
_SIGKILL: Final = 9  # Windows has no name for it
_REPORT_TIMEOUT: Final = 2.0  # seconds for the last message to arrive after the process has ended


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """What the process inside reported at the end of the program; `returncode` is as in subprocess.

    `exceeded` is the value of the condition that the program did not keep and was killed for; empty for none.
    """

    returncode: int
    cpu_seconds: float
    peak_memory: int
    exceeded: str
    is_hidden: bool
    leftovers: tuple[str, ...]


class SandboxRun:
    """The run of one program; `open_run` makes it.

    The order of calls is `process_spec`, `begin` once that process has been started, `finish` once it has ended,
    `disconnect`, and then `observe`. `listener` may be awaited at any time.
    """

    def __init__(self, sandbox: Sandbox, source: Path, scratch: Scratch, resources: Resources) -> None:
        self.sandbox = sandbox
        self.report: Report | None = None
        """Set by `finish`; None if nothing was reported, since the program was killed or there is no process inside.

        If the kernel has killed both for exceeding a limit, it is made from what the kernel has counted.
        """
        self._source = source
        self._scratch = scratch
        self._resources = resources
        self._inside = sandbox.folders(scratch.layout)
        self._options: dict[str, Any] = {}
        self._control = Control(scratch.layout.control) if sandbox.has_helper else None
        self._listener: socket.socket | None = None
        self._has_listener = trio.Event()
        self._network_attempts: int | None = None
        if sandbox.has_own_network:
            self.address = sandbox.host, SERVER_ADDRESS[1]
        else:
            self._listener = _listen()
            self.address = sandbox.host, int(self._listener.getsockname()[1])
            self._has_listener.set()

    @property
    def folder(self) -> Path:
        """The folder on this machine that holds everything of this run."""
        return self._scratch.layout.root

    async def listener(self) -> socket.socket:
        """Return the listening socket for the program's connections, once there is one. The run closes it."""
        await self._has_listener.wait()
        assert self._listener is not None
        return self._listener

    def process_spec(self, spec: ProcessSpec, variables: Mapping[str, str]) -> ProcessSpec:
        """Return how to start, inside the sandbox, what `spec` describes.

        Its working directory must be the folder that the run was opened for. `variables` are environment variables for
        the program beside those of the sandbox.
        """
        sandbox, inside = self.sandbox, self._inside
        environment = {**sandbox.variables(inside), **variables, TAG_VARIABLE: spec.environment.get(TAG_VARIABLE, "")}
        arguments = [self._translated(word) for word in spec.arguments]
        if sandbox.needs_all_variables:
            spec = dataclasses.replace(spec, environment={**os.environ, **spec.environment})
        if self._control is None:
            return sandbox.process_spec(spec, InnerCommand(arguments, environment), self._scratch.layout)
        self._options = {
            "arguments": arguments,
            "cwd": str(inside.program),
            "environment": environment,
            "hidden": sorted(HIDDEN_VARIABLES),
            "core": sandbox.next_core(spec.cores),
            "memory": sandbox.memory if sandbox.watches_memory else None,
            "processes": PROCESS_LIMIT,
            "disk": sandbox.disk,
            "files": FILE_LIMIT,
            "folders": [*map(str, (inside.program, inside.home, inside.temporary)), *sandbox.more_folders],
            "own_users": sandbox.has_own_users,
            "cgroup": sandbox.has_cgroup,
        }
        host, port = SERVER_ADDRESS if sandbox.has_own_network else ("", 0)
        mode = "first" if sandbox.is_first_process else "below"
        inner = (mode, f"{inside.control}/socket", host, str(port))
        spec = sandbox.process_spec(spec, InnerCommand(inner, {}), self._scratch.layout)
        return dataclasses.replace(spec, arguments=[*self._resources.words, *spec.arguments])

    def _translated(self, word: str) -> str:
        """Return a word of the command line with a path in the program's folder as it is inside the sandbox."""
        source = str(self._source.absolute())
        return str(self._inside.program) + word[len(source) :] if word.startswith(source + os.sep) else word

    async def begin(self) -> None:
        """Wait until the program is running inside. Raises OSError or ValueError if that is impossible.

        Raises ConfinementError if the process inside ends before that.
        """
        if self._control is None:
            return
        await self._control.receive_descriptors()
        if self._control.listener is not None:
            self._listener = self._control.listener
            self._listener.setblocking(False)
            self._has_listener.set()
        await self._control.send(self._options)
        answer = await self._control.receive()
        if "failed" in answer:
            number = answer.get("errno")
            text = str(answer["failed"])
            raise OSError(number, os.strerror(number)) if isinstance(number, int) else ValueError(text)

    async def finish(self) -> None:
        """Take the report, after the process that `process_spec` describes has ended."""
        if self._control is None or self.report is not None:
            return
        self.report = await self._received_report(self._control)
        exceeded = self._resources.exceeded()
        if exceeded and self.report is None:  # the kernel has killed the process inside as well
            self.report = Report(-_SIGKILL, 0.0, self.sandbox.memory, exceeded, is_hidden=False, leftovers=())
        elif exceeded and self.report is not None and not self.report.exceeded:
            self.report = dataclasses.replace(self.report, exceeded=exceeded, leftovers=())

    async def _received_report(self, control: Control) -> Report | None:
        with trio.move_on_after(_REPORT_TIMEOUT):
            try:
                message = await control.receive()
                if message["killed"] in {"", *(each.value for each in LIMITS)}:
                    return Report(
                        int(message["exit"]),
                        float(message["cpu"]),
                        int(message["peak"]),
                        str(message["killed"]),
                        bool(message["hidden"]),
                        tuple(map(str, message["left"])),
                    )
            except (ConfinementError, KeyError, TypeError, ValueError):
                pass
        return None

    def disconnect(self) -> None:
        """End everything that is still running inside."""
        if self._control is not None:
            if self._control.counters:
                self._network_attempts = count_attempts(self._control.counters)
            self._control.disconnect()

    def observe(self, outputs: Sequence[Path], output_size: int, peak_memory: int | None = None) -> Observations:
        """Return what was observed. Blocks.

        `outputs` are the files with what the program wrote. `peak_memory` is what the system has measured, in bytes; it
        counts where nothing inside reports it, but the memory is limited.
        """
        if Condition.MEMORY in self.sandbox.gaps:
            peak_memory = None
        files, size = self._scratch.written()
        report = self.report
        return Observations(
            sandbox=self.sandbox.name,
            peak_memory=peak_memory if report is None else report.peak_memory,
            exceeded_memory=report is not None and report.exceeded == Condition.MEMORY.value,
            exceeded_processes=report is not None and report.exceeded == Condition.PROCESSES.value,
            exceeded_disk=report is not None and report.exceeded == Condition.DISK.value,
            hid_files=report is not None and report.is_hidden,
            not_limited=tuple(each.value for each in LIMITS if each in self.sandbox.gaps),
            network_attempts=self._network_attempts,
            window_attempts=find_window_attempts(*outputs),
            output_size=output_size,
            files_written=files,
            bytes_written=size,
            leftovers=() if report is None else report.leftovers,
        )

    def close(self) -> None:
        self.disconnect()
        if self._control is not None:
            self._control.close()
        if self._listener is not None:
            self._listener.close()


@asynccontextmanager
async def open_run(sandbox: Sandbox, folder: Path) -> AsyncIterator[SandboxRun]:
    """Prepare `sandbox` for one run of a program that is in `folder`. Raises OSError."""
    scratch = await trio.to_thread.run_sync(Scratch, folder)
    try:
        resources = await trio.to_thread.run_sync(sandbox.open_resources, scratch.layout)
        try:
            run = SandboxRun(sandbox, folder, scratch, resources)
            try:
                yield run
            finally:
                run.close()
        finally:
            await _always(resources.release)
    finally:
        await _always(scratch.remove)


async def _always(function: functools.partial[None] | Any) -> None:
    """Call a blocking function in a thread, even if this task was cancelled."""
    with trio.CancelScope(shield=True):
        await trio.to_thread.run_sync(function)


def _listen() -> socket.socket:
    sock = socket.socket()
    try:
        sock.setblocking(False)
        sock.bind((_LOCAL, 0))
        sock.listen(_BACKLOG)
    except BaseException:
        sock.close()
        raise
    return sock
