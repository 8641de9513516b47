"""Running a program: starting it, collecting its output, measuring it and ending it.

Once `Program.run` has returned or was cancelled, nothing that the program has started is running, in any session and
with any environment, as far as the system allows (platform_api.py). The only exceptions are processes that do not even
react to SIGKILL: they are named in `Program.survivors`, and nothing waits for them without a time limit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

import trio

from spielleiter.common.errors import NotStartedError, SandboxError, first_error
from spielleiter.programs.environment import inherited_variables, open_home, own_variables
from spielleiter.programs.linux_processes import TAG_VARIABLE, KnownThreads, ProcessInfo, Usage
from spielleiter.programs.outputs import Output
from spielleiter.programs.platform_api import KILL_TIMEOUT, READ_SIZE, REPORT_TIMEOUT, Process, ProcessSpec
from spielleiter.programs.sandbox.sandbox_run import SandboxEndedError, SandboxRun
from spielleiter.programs.startable import start_error_text
from spielleiter.programs.this_platform import PLATFORM

_TERMINATE_TIMEOUT: Final = 0.5  # seconds for a process to end after SIGTERM, and to read what is left in the pipes
_READING_TURNS: Final = 10  # the least turns of the event loop in which that is read
_SANDBOX_START_TIMEOUT: Final = 60.0  # seconds for a sandbox to start a program


class Program:
    """A process and everything that it starts, with its outputs written to the files `out` and `error`.

    `tag` identifies it in the environment of all these processes. It is started in the directory `cwd`; empty for the
    current one. `cores` are the processor cores that it may use; None for any. `memory` limits its data, in bytes.
    `stdin` is a file descriptor for its standard input; None for an empty input. `confinement` is the sandbox that it
    runs in; None for none. `environment` are its variables beside those that every program gets (environment.py);
    `is_own` says that it is one of ours, which gets the settings of this Python as well. With `has_lazy_outputs`, the
    files `out` and `error` are made only if something is written to them.

    `exited` is set once the process itself has ended, `gone` once nothing of it is left. `returncode` is as in
    subprocess, negative for a signal.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        tag: str,
        out: Path,
        error: Path,
        cores: Iterable[int] | None = None,
        cwd: str = "",
        *,
        environment: Mapping[str, str] = MappingProxyType({}),
        is_own: bool = False,
        memory: int | None = None,
        stdin: int | None = None,
        confinement: SandboxRun | None = None,
        has_lazy_outputs: bool = False,
    ) -> None:
        self.exited = trio.Event()
        self.gone = trio.Event()
        self.returncode: int | None = None
        self.started_at: float | None = None
        """The instant at which it was started, on trio's clock; the times in its outputs count from there."""
        self.cpu_seconds = 0.0
        self.peak_memory = 0
        """The most bytes that it had in memory, once it has ended; 0 if that is not known."""
        self.exceeded = ""
        """The limit for which its sandbox killed it: "memory", "processes" or "disk"; empty for none."""
        self.was_ended = False
        """Whether the match had to end it."""
        self.leftovers: tuple[ProcessInfo, ...] = ()
        """The processes that outlived the process after it had ended by itself."""
        self.known_threads: KnownThreads | None = None
        """See `MeasuredProcesses` (machine_delay.py)."""
        self._scope = trio.CancelScope()
        self._spec = ProcessSpec(
            arguments=list(arguments),
            cwd=cwd or None,
            environment={**(own_variables() if is_own else inherited_variables()), **environment, TAG_VARIABLE: tag},
            cores=None if cores is None else tuple(cores),
            memory=memory,
            stdin=stdin,
        )
        self._program, self._cwd = self._spec.arguments[0], self._spec.cwd
        self._confinement = confinement
        if confinement is not None:
            self._spec = confinement.process_spec(self._spec, environment)
        self._outputs = tuple(Output(path, is_lazy=has_lazy_outputs) for path in (out, error))
        self._process: Process | None = None

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Start the process and return once it and everything that it started is gone.

        Raises NotStartedError, and OSError if it can have no home folder.
        """
        async with AsyncExitStack() as stack:
            spec = self._spec
            if self._confinement is None:  # a sandbox has a home folder of its own
                home = await stack.enter_async_context(open_home())
                spec = replace(spec, environment={**home, **spec.environment})
            started_at = self.started_at = trio.current_time()
            try:
                process = self._process = await PLATFORM.start(spec)
            except (OSError, ValueError) as error:
                raise NotStartedError(start_error_text(self._spec.arguments[0], error, self._spec.cwd)) from None
            try:
                if self._confinement is not None:
                    await begin(self._confinement, process, self._program, self._cwd)
                task_status.started()
                with self._scope:
                    await self._follow(process, started_at)
            finally:
                with trio.CancelScope(shield=True):  # takes limited time: see `survivors`
                    if not self.exited.is_set():
                        self.was_ended = True
                    await process.end()
                    if self._confinement is not None:
                        self._confinement.disconnect()
                    self._note_exit(process)
                    if self.known_threads is not None:
                        self.known_threads.close()
                        self.known_threads = None
                    self.gone.set()

    async def _follow(self, process: Process, started_at: float) -> None:
        """Copy the outputs and wait for the end of the process and its children."""
        async with trio.open_nursery() as watching:
            watching.start_soon(process.watch_supervisor)
            async with trio.open_nursery() as copying:
                for stream, output in zip(process.open_outputs(), self._outputs, strict=True):
                    copying.start_soon(_copy, stream, output, started_at)
                await process.wait()
                if self._confinement is not None:
                    await self._confinement.finish()
                self._note_exit(process)
                await process.wait_for_children()
                if not self.was_ended:
                    self.leftovers = process.leftovers
                    if self._confinement is not None:  # processes of the sandbox itself may end later than the program
                        report = self._confinement.report
                        names = () if report is None else report.leftovers
                        self.leftovers = tuple(ProcessInfo(0, name) for name in names)
                watching.start_soon(_end_copying, copying.cancel_scope)
            watching.cancel_scope.cancel()

    @property
    def survivors(self) -> tuple[ProcessInfo, ...]:
        """The processes that could not be ended because they do not react to SIGKILL."""
        return () if self._process is None else self._process.survivors

    seconds_lost = 0.0
    """How long a program waits for a processor is measured by its processes instead (machine_delay.py)."""

    @property
    def supervisor_stops(self) -> int:
        """How often the supervisor of this program was found stopped."""
        return 0 if self._process is None else self._process.supervisor_stops

    @property
    def has_stopped_supervisor(self) -> bool:
        """Whether the program was killed because it stopped its supervisor too often."""
        return self._process is not None and self._process.has_stopped_supervisor

    @property
    def cpu_seconds_so_far(self) -> float:
        """Processor time in seconds of the process and of everything that it has started, up to now or to the end."""
        if self._process is None or self.exited.is_set():
            return self.cpu_seconds
        return self._process.cpu_seconds_so_far

    def _note_exit(self, process: Process) -> None:
        self.returncode, self.cpu_seconds = process.returncode, process.cpu_seconds
        self.peak_memory = process.peak_memory
        report = None if self._confinement is None else self._confinement.report
        if report is not None:
            self.returncode, self.cpu_seconds = report.returncode, max(self.cpu_seconds, report.cpu)
            self.peak_memory, self.exceeded = report.peak, report.killed
        self.exited.set()

    @property
    def output_size(self) -> int:
        """The bytes that it has written to its two outputs, as far as they were read."""
        return sum(output.total for output in self._outputs)

    def redirect_outputs(self, out: Path, error: Path) -> None:
        """Write the following output of the program to these files. Raises OSError."""
        for output, path in zip(self._outputs, (out, error), strict=True):
            output.redirect_to(path)

    def listen_to_errors(self, listener: Callable[[bytes], None] | None) -> None:
        """Call `listener` with what it writes to standard error from now on, as far as that is kept; None: nobody."""
        self._outputs[1].listener = listener

    def pause_outputs(self) -> None:
        """Close the files of its outputs, so that they can be removed; what follows is dropped until a redirection."""
        for output in self._outputs:
            output.pause()

    async def end(self, grace_period: float) -> None:
        """Wait until the process is gone; end it and its group after `grace_period` seconds.

        Does nothing if the process could not be started. Takes limited time, even if the process cannot be killed.
        """
        if self._process is not None:
            await self._end_process(self._process, grace_period)
            await self.gone.wait()

    async def _end_process(self, process: Process, grace_period: float) -> None:
        if await self._ends_within(process, grace_period):
            return
        self.was_ended = True
        process.terminate()
        if await self._exits_within(_TERMINATE_TIMEOUT):
            return
        await process.kill()
        if await self._exits_within(REPORT_TIMEOUT):
            return
        await process.kill_supervisor()
        if not await self._exits_within(KILL_TIMEOUT):
            self._scope.cancel()  # `run` ends what can be ended and gives up the rest

    async def _exits_within(self, seconds: float) -> bool:
        with trio.move_on_after(seconds):
            await self.exited.wait()
        return self.exited.is_set()

    async def _ends_within(self, process: Process, seconds: float) -> bool:
        """Return whether the process ends by itself within `seconds`.

        That time is extended once, by the time that the process has spent waiting for a processor.
        """
        before = Usage.of(self.pids) if seconds else Usage({})
        if await self._exits_within(seconds):
            return True
        if seconds:
            extension = Usage.of(self.pids).seconds_lost(before, seconds, os.cpu_count() or 1)
            if await self._exits_within(extension):
                return True
        if process.has_ended:  # this process had no time to notice, or the program has stopped its supervisor
            process.resume_supervisor()
            await self._exits_within(REPORT_TIMEOUT)
        return self.exited.is_set()

    @property
    def root(self) -> int | None:
        """The id of its supervisor, which it and everything that it has started is below; None if it has none."""
        return None if self._process is None else self._process.root

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids of the process and of what it has started so far; without a supervisor, only in its session."""
        return () if self._process is None else self._process.pids

    def find_all(self) -> tuple[int, ...]:
        """Return the same ids as `pids`, but certainly all of them if there is a supervisor.

        Reads a file of every process of this machine.
        """
        return () if self._process is None else self._process.find_all()


async def _copy(stream: trio.abc.ReceiveStream, output: Output, started_at: float) -> None:
    """Write everything that is read from `stream` to `output`, with the seconds since `started_at`."""
    async with stream:
        output.open()
        try:
            while chunk := await stream.receive_some(READ_SIZE):
                output.write(bytes(chunk), trio.current_time() - started_at)
        finally:
            output.close()


async def _end_copying(copying: trio.CancelScope) -> None:
    """Cancel the copying of outputs that somebody else keeps open; what is still in the pipes is part of the output."""
    for _ in range(_READING_TURNS):  # a deadline alone would pass unread while the event loop stands still
        await trio.sleep(_TERMINATE_TIMEOUT / _READING_TURNS)
    copying.cancel()


async def begin(run: SandboxRun, process: Process, program: str, cwd: str | None) -> None:
    """Wait until `program` runs in the sandbox that `process` has started.

    Raises NotStartedError with the same words as outside of a sandbox. A sandbox that fails, or does not start its
    program within a time limit, is a SandboxError: that is not the program's fault.
    """
    problem = ""
    try:
        with trio.move_on_after(_SANDBOX_START_TIMEOUT) as waiting:
            try:
                async with trio.open_nursery() as nursery:

                    async def cancel_at_exit() -> None:
                        await process.wait()
                        await trio.sleep(_TERMINATE_TIMEOUT)  # the sandbox may have reported a start before that
                        nursery.cancel_scope.cancel()

                    nursery.start_soon(cancel_at_exit)
                    await run.begin()
                    nursery.cancel_scope.cancel()
                    return
            except* (OSError, ValueError) as group:
                error = first_error(group)
                assert isinstance(error, OSError | ValueError)
                problem = start_error_text(program, error, cwd)
            except* SandboxEndedError:
                pass
    except BaseException:  # cancelled: nobody will read what it writes
        for stream in process.open_outputs():
            await trio.aclose_forcefully(stream)
        raise
    out, error_output = process.open_outputs()
    async with out, error_output:
        if waiting.cancelled_caught:
            raise SandboxError(f"its sandbox has not started it within {_SANDBOX_START_TIMEOUT:g} s")
        if problem:
            raise NotStartedError(problem)
        text = b""  # what the sandbox wrote, which has ended without starting the program
        with trio.move_on_after(_TERMINATE_TIMEOUT):
            while chunk := await error_output.receive_some(READ_SIZE):
                text += bytes(chunk)
    lines = text.decode("utf-8", "replace").strip().splitlines()
    raise SandboxError(f"its sandbox could not be started: {lines[-1].strip() if lines else 'it gave no reason'}")
