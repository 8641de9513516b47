"""An engine's process: commands to its standard input, responses from its standard output.

Invariants: one task writes, one reads the responses, and one reads standard error, so that the engine never blocks. A
command that is abandoned (its caller was cancelled) leaves no trace: its response is dropped when it arrives, since
responses are told apart by their numbers. When `running_engine` is left, the process has ended; except on Windows, so
have all processes that it has started and that are still in its group, such as the engine behind a wrapper script.
"""

from __future__ import annotations

import itertools
import math
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Protocol

import trio

from spielleiter.client.gtp.errors import (
    EngineError,
    EngineGoneError,
    EngineProtocolError,
    EngineRefusalError,
    EngineStartError,
)
from spielleiter.client.gtp.protocol import Response, ResponseReader, encode_command

QUIT_TIMEOUT: Final = 0.5
"""Seconds for which an engine may run on after it was told to quit; then it is killed."""

_CHUNK: Final = 65536
_SHOWN: Final = 200
"""The characters of an engine's texts that are shown."""
_OWN_GROUP: Final[dict[str, Any]] = {} if sys.platform == "win32" else {"process_group": 0}


class AsksEngine(Protocol):
    """What a player needs of an engine."""

    @property
    def is_busy(self) -> bool:
        """Whether there are commands that the engine has not answered yet."""
        ...

    async def ask(self, name: str, *arguments: str) -> str:
        """Send a command, wait for its response, and return the response's text. Raises EngineError."""
        ...


class Engine:
    """A running engine; `running_engine` makes one."""

    def __init__(self, process: trio.Process) -> None:
        self.process: Final = process
        self._numbers = itertools.count(1)
        self._to_write, self._commands = trio.open_memory_channel[bytes](math.inf)
        self._unanswered: dict[int, trio.MemorySendChannel[Response]] = {}
        """The commands without a response, in the order in which they were sent, including abandoned ones."""
        self._failure: EngineError | None = None
        self._last_words = b""

    @property
    def is_busy(self) -> bool:
        """Whether there are commands that the engine has not answered yet, including abandoned ones."""
        return bool(self._unanswered)

    async def ask(self, name: str, *arguments: str) -> str:
        """Send a command, wait for its response, and return the response's text.

        Raises EngineRefusalError if the response is a failure, EngineProtocolError if the engine writes something else,
        and EngineGoneError if it has ended.
        """
        if self._failure is not None:
            raise self._failure
        number = next(self._numbers)
        answered, answer = trio.open_memory_channel[Response](1)
        line = encode_command(number, name, *arguments)
        self._unanswered[number] = answered
        self._to_write.send_nowait(line)
        try:
            response = await answer.receive()
        except trio.EndOfChannel:
            assert self._failure is not None  # `_fail` sets it before it closes the channel
            raise self._failure from None
        finally:
            answer.close()
        if not response.is_success:
            raise EngineRefusalError(f"it refused {name}: {shown_text(response.text) or 'no reason given'}")
        return response.text

    async def write_all(self) -> None:
        """Write the commands. Ends when the engine does."""
        assert self.process.stdin is not None
        async for line in self._commands:
            try:
                await self.process.stdin.send_all(line)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return  # `read_all` says why

    async def read_all(self) -> None:
        """Read the responses. Ends when the engine does, or when it writes something else."""
        assert self.process.stdout is not None
        reader = ResponseReader()
        try:
            while data := await self.process.stdout.receive_some(_CHUNK):
                for response in reader.feed(bytes(data)):
                    self._answer(response)
        except EngineProtocolError as error:
            self._fail(error)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._fail(EngineGoneError("its output broke"))
        else:
            with trio.move_on_after(QUIT_TIMEOUT):
                await self.process.wait()
            self._fail(EngineGoneError(self._ending()))

    async def read_errors(self) -> None:
        """Read standard error, and keep the end of it."""
        assert self.process.stderr is not None
        try:
            while data := await self.process.stderr.receive_some(_CHUNK):
                self._last_words = (self._last_words + data)[-_CHUNK:]
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return

    async def quit(self) -> None:
        """Ask the engine to quit; kill it if it does not."""
        with trio.CancelScope(shield=True):
            with trio.move_on_after(QUIT_TIMEOUT):
                assert self.process.stdin is not None
                with suppress(trio.BrokenResourceError):
                    if not self._unanswered:
                        await self.process.stdin.send_all(b"quit\n")
                await self.process.stdin.aclose()  # the end of its input, which ends an engine as well
                await self.process.wait()
            if self.process.returncode is None:
                self.process.kill()
            self._kill_group()
            await self.process.wait()

    def _kill_group(self) -> None:
        """Kill what the engine has started: its group keeps its id for as long as a process is in it."""
        if sys.platform != "win32":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def _answer(self, response: Response) -> None:
        number = response.number
        if number is None:  # an engine that leaves the numbers out answers the oldest command
            number = next(iter(self._unanswered), 0)
        answered = self._unanswered.pop(number, None)
        if answered is not None:
            with suppress(trio.BrokenResourceError):  # abandoned
                answered.send_nowait(response)

    def _fail(self, error: EngineError) -> None:
        self._failure = error
        for answered in self._unanswered.values():
            answered.close()

    def _ending(self) -> str:
        code = self.process.returncode
        how = "it closed its output" if code is None else f"it ended with exit code {code}"
        lines = self._last_words.decode("utf-8", "replace").strip().splitlines()
        return f"{how} ({shown_text(lines[-1])})" if lines else how


def shown_text(text: str) -> str:
    """Return text of an engine as part of a line: without control characters, and shortened."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."


@asynccontextmanager
async def running_engine(command: str | Sequence[str]) -> AsyncIterator[Engine]:
    """Start an engine; when the block ends, it quits or is killed.

    `command` is the words of a command line; on Windows, it may be one text for the system. Raises EngineStartError if
    there is no such program.
    """
    try:
        process = await _start(command)
    except OSError as error:
        raise EngineStartError(os.strerror(error.errno) if error.errno else str(error)) from error
    except ValueError as error:  # a null byte in a word
        raise EngineStartError(str(error)) from error
    engine = Engine(process)
    failure: Exception | None = None
    try:
        async with trio.open_nursery() as nursery:
            for task in (engine.write_all, engine.read_all, engine.read_errors):
                nursery.start_soon(task)
            try:
                yield engine
            except Exception as error:  # raised below, so that it is not wrapped in an exception group
                failure = error
            nursery.cancel_scope.cancel()
    finally:
        await engine.quit()
        with trio.CancelScope(shield=True):
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    await stream.aclose()
    if failure is not None:
        raise failure


async def _start(command: str | Sequence[str]) -> trio.Process:
    return await trio.lowlevel.open_process(
        command if isinstance(command, str) else list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **_OWN_GROUP,
    )
