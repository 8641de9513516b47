"""What a program needs from its sandbox, which programs/sandbox/run.py provides.

Invariants: a sandbox that does not start its program within a time limit is given up. A program that cannot be started
inside is a `NotStartedError` with the same words as outside. A sandbox that fails is a `SandboxError`: that is not the
program's fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

import trio

from spielleiter.common.errors import NotStartedError, SandboxError, first_error
from spielleiter.programs.process import READ_SIZE, Process
from spielleiter.programs.process_spec import ProcessSpec
from spielleiter.programs.start_problem import start_problem

_START_TIMEOUT: Final = 60.0  # seconds for a sandbox to start a program
_READ_TIMEOUT: Final = 0.5  # seconds to read what a sandbox has written that has ended


class ConfinementError(Exception):
    """A program did not start, and its sandbox has ended without a reason."""


class ConfinementReport(Protocol):
    """What is known about the end of a program that ran in a sandbox; the attributes are those of `Program`."""

    @property
    def returncode(self) -> int: ...

    @property
    def cpu_seconds(self) -> float: ...

    @property
    def peak_memory(self) -> int: ...

    @property
    def exceeded(self) -> str: ...

    @property
    def leftovers(self) -> tuple[str, ...]: ...


class Confinement(Protocol):
    """A sandbox for one program, as programs/sandbox/run.py provides it; the methods are called in this order."""

    @property
    def report(self) -> ConfinementReport | None:
        """What was reported by `finish`; None if nothing was."""
        ...

    def process_spec(self, spec: ProcessSpec, variables: Mapping[str, str], /) -> ProcessSpec:
        """Return how to start what `spec` describes inside, with these environment variables."""
        ...

    async def begin(self) -> None:
        """Wait until the program is running. Raises OSError, ValueError and ConfinementError."""
        ...

    async def finish(self) -> None:
        """Take the report after the process has ended."""
        ...

    def disconnect(self) -> None:
        """End everything that is still running inside."""
        ...


async def begin(confinement: Confinement, process: Process, program: str, cwd: str | None) -> None:
    """Wait until `program` runs in the sandbox that `process` has started. Raises NotStartedError and SandboxError."""
    problem = ""
    with trio.move_on_after(_START_TIMEOUT) as waiting:
        try:
            async with trio.open_nursery() as nursery:

                async def cancel_at_exit() -> None:
                    await process.wait()
                    await trio.sleep(_READ_TIMEOUT)  # the sandbox may have reported a start before that
                    nursery.cancel_scope.cancel()

                nursery.start_soon(cancel_at_exit)
                await confinement.begin()
                nursery.cancel_scope.cancel()
                return
        except* (OSError, ValueError) as group:
            error = first_error(group)
            assert isinstance(error, OSError | ValueError)
            problem = start_problem(program, error, cwd)
        except* ConfinementError:
            pass
    out, error_output = process.open_outputs()
    async with out, error_output:
        sandbox_problem = "" if problem or waiting.cancelled_caught else await _sandbox_problem(error_output)
    if waiting.cancelled_caught:
        raise SandboxError(f"its sandbox has not started it within {_START_TIMEOUT:g} s")
    if problem:
        raise NotStartedError(problem)
    raise SandboxError(sandbox_problem)


async def _sandbox_problem(stream: trio.abc.ReceiveStream) -> str:
    """Return what a sandbox wrote that has ended without starting the program."""
    text = b""
    with trio.move_on_after(_READ_TIMEOUT):
        while chunk := await stream.receive_some(READ_SIZE):
            text += bytes(chunk)
    lines = text.decode("utf-8", "replace").strip().splitlines()
    return f"its sandbox could not be started: {lines[-1].strip() if lines else 'it gave no reason'}"
