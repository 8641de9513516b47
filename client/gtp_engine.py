r"""An engine that speaks GTP, the Go Text Protocol, version 2: its process, commands and responses.

A command is a line. A response begins with ``=`` (success) or ``?`` (failure), repeats the number of its command, and
ends with an empty line:

>>> encode_command(7, "play", "1", "a20,b20")
b'7 play 1 a20,b20\n'
>>> reader = ResponseReader()
>>> reader.feed(b"=7 \n\n?8 illegal")
[Response(number=7, is_success=True, text='')]
>>> reader.feed(b" move\r\n\n")
[Response(number=8, is_success=False, text='illegal move')]
"""

from __future__ import annotations

import itertools
import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

import trio

from spielleiter.client.client_errors import StrategyError


class EngineError(StrategyError):
    """The base class of these errors."""


class EngineStartError(EngineError):
    """The engine cannot be started, or is not an engine for this game."""


class EngineRefusalError(EngineError):
    """The engine answered a command with a failure."""


class EngineProtocolError(EngineError):
    """The engine wrote something that is not GTP."""


class EngineGoneError(EngineError):
    """The engine has ended, or its output has."""


MAX_SIZE: Final = 1 << 20
"""The greatest number of bytes from the end of one response to the end of the next one."""

_FIRST_LINE: Final = re.compile(r"([=?])(\d{0,9})(?:\s+(.*))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Response:
    """A response to a command. `number` is that of the command, or None if the engine left it out."""

    number: int | None
    is_success: bool
    text: str


def encode_command(number: int, name: str, *arguments: str) -> bytes:
    """Return the line for the command `name`. `number` comes back with the response.

    Raises ValueError for a line break in a word, since it would begin another command.
    """
    line = " ".join((str(number), name, *arguments))
    if not line.isprintable():
        raise ValueError(f"control characters in the command {line!r}")
    return line.encode() + b"\n"


class ResponseReader:
    """Collects what an engine writes, and returns the responses in it."""

    def __init__(self) -> None:
        self._rest = b""
        self._lines: list[str] | None = None
        """The lines of the response that is being read; None between two responses."""
        self._head: tuple[int | None, bool] = (None, False)
        self._size = 0

    def feed(self, data: bytes) -> list[Response]:
        """Return the responses that `data` completes. Raises EngineProtocolError if there is too much text."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        responses = []
        for raw in lines:
            self._size += len(raw) + 1
            # control characters are dropped, and a tab is a space, as the standard asks
            text = raw.decode("utf-8", "replace").replace("\t", " ")
            line = "".join(character for character in text if character.isprintable()).rstrip()
            if self._lines is None:
                if match := _FIRST_LINE.fullmatch(line):
                    self._head = (int(match[2]) if match[2] else None, match[1] == "=")
                    self._lines = [match[3] or ""]
            elif line:
                self._lines.append(line)
            else:
                responses.append(Response(*self._head, "\n".join(self._lines).strip()))
                self._lines = None
                self._size = 0
        if self._size + len(self._rest) > MAX_SIZE:
            raise EngineProtocolError(f"it wrote more than {MAX_SIZE} bytes without a complete response")
        return responses


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
        self._error_output = b""

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
                    number = response.number
                    if number is None:  # an engine that leaves the numbers out answers the oldest command
                        number = next(iter(self._unanswered), 0)
                    if (answered := self._unanswered.pop(number, None)) is not None:
                        with suppress(trio.BrokenResourceError):  # abandoned
                            answered.send_nowait(response)
        except EngineProtocolError as error:
            self._fail(error)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._fail(EngineGoneError("its output broke"))
        else:
            with trio.move_on_after(QUIT_TIMEOUT):
                await self.process.wait()
            code = self.process.returncode
            how = "it closed its output" if code is None else f"it ended with exit code {code}"
            lines = self._error_output.decode("utf-8", "replace").strip().splitlines()
            self._fail(EngineGoneError(f"{how} ({shown_text(lines[-1])})" if lines else how))

    async def read_errors(self) -> None:
        """Read standard error, and keep the end of it."""
        assert self.process.stderr is not None
        try:
            while data := await self.process.stderr.receive_some(_CHUNK):
                self._error_output = (self._error_output + data)[-_CHUNK:]
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
            if sys.platform != "win32":  # kill what it has started: its group keeps its id while a process is in it
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.process.pid, signal.SIGKILL)
            await self.process.wait()

    def _fail(self, error: EngineError) -> None:
        self._failure = error
        for answered in self._unanswered.values():
            answered.close()


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
        process = await trio.lowlevel.open_process(
            command if isinstance(command, str) else list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **_OWN_GROUP,
        )
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
