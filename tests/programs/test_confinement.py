"""Waiting for a program to start in its sandbox; the sandbox is a fake, and time is virtual."""

from __future__ import annotations

import errno
from typing import Any

import pytest
import trio
import trio.testing

from spielleiter.common.errors import NotStartedError, SandboxError
from spielleiter.programs.program import begin
from spielleiter.programs.sandbox.run import SandboxEndedError


class Process:
    """A process that ends after `seconds`, and has written `text` to standard error."""

    def __init__(self, seconds: float, text: bytes = b"") -> None:
        self._seconds = seconds
        self.stdout, self.stderr = trio.testing.MemoryReceiveStream(), trio.testing.MemoryReceiveStream()
        self.stderr.put_data(text)
        for stream in self.open_outputs():
            stream.put_eof()

    def open_outputs(self) -> tuple[trio.testing.MemoryReceiveStream, trio.testing.MemoryReceiveStream]:
        return self.stdout, self.stderr

    async def wait(self) -> None:
        await trio.sleep(self._seconds)


class Sandbox:
    """A sandbox that starts its program after `seconds`, or raises `error` instead."""

    def __init__(self, seconds: float, error: Exception | None = None) -> None:
        self._seconds, self._error = seconds, error

    async def begin(self) -> None:
        await trio.sleep(self._seconds)
        if self._error is not None:
            raise self._error


async def start(sandbox: Any, process: Any) -> None:
    try:
        await begin(sandbox, process, "./bot", None)
    except (NotStartedError, SandboxError):
        for stream in process.open_outputs():
            with pytest.raises(trio.ClosedResourceError):
                await stream.receive_some(1)
        raise


async def test_a_program_that_runs_is_no_error(autojump_clock: trio.testing.MockClock) -> None:
    await start(Sandbox(1), Process(100))


async def test_a_program_that_ends_at_once_has_started(autojump_clock: trio.testing.MockClock) -> None:
    await start(Sandbox(1), Process(0.9))


@pytest.mark.parametrize(
    ("sandbox", "process", "kind", "text"),
    [
        (Sandbox(1, OSError(errno.ENOENT, "")), (100, b""), NotStartedError, "./bot: there is no such program"),
        (Sandbox(1, ValueError("embedded null byte")), (100, b""), NotStartedError, "'./bot': embedded null byte"),
        (
            Sandbox(1, SandboxEndedError()),
            (100, b"a\nno permission\n"),
            SandboxError,
            "its sandbox could not be started: no permission",
        ),
        (Sandbox(100), (1, b""), SandboxError, "its sandbox could not be started: it gave no reason"),
        (Sandbox(100), (100, b""), SandboxError, "its sandbox has not started it within 60 s"),
    ],
)
async def test_what_keeps_a_program_from_starting_is_named(
    sandbox: Sandbox,
    process: tuple[float, bytes],
    kind: type[Exception],
    text: str,
    autojump_clock: trio.testing.MockClock,
) -> None:
    with pytest.raises(kind) as problem:
        await start(sandbox, Process(*process))
    assert str(problem.value) == text
