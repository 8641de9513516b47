"""A process of the league beside the one with the pages: started, told what to do, and started again when it ends.

Parent and child exchange messages (frames.py) over the child's standard input and output. The child ends when its
input does, which happens however the parent ends. What it prints goes to standard error.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, BinaryIO, Final, Generic, TypeVar

import msgspec
import trio

from spielleiter.common.own_python import own_python
from spielleiter.common.process import hide_this_process, stop_signals
from spielleiter.league.frames import FrameBuffer, FrameError, FrameStream, framed

FIRST_PAUSE: Final = 0.5
"""Seconds until a process that has ended is started again; each further time twice as long."""
LONGEST_PAUSE: Final = 30.0
LONG_LIFE: Final = 60.0
"""Seconds after which a process that has ended counts as the first one that does."""
CLOSE_TIMEOUT: Final = 15.0
"""Seconds that a process has to end after its input, for example to end the programs that it has started."""
MAX_MESSAGE: Final = 256 * 1024 * 1024
"""The most bytes of a message: the files of a game or a package."""
MAX_WAITING: Final = 4096
"""The most messages that wait for a process to read them; one that reads no more than that hangs, and is ended."""

_READ_SIZE: Final = 64 * 1024
_Message = TypeVar("_Message")


def _ignore(_message: object) -> None: ...


# -- the parent -------------------------------------------------------------------------------------------------------


def own_module(module: str, *arguments: str) -> list[str]:
    """The command line that runs one of our modules."""
    # -P: the working directory may contain a module with the name of one that we import
    return [*own_python(), "-P", "-m", module, *arguments]


class ChildProcess(Generic[_Message]):
    """The process that `command` starts, whose words these are.

    `decode` reads a message of it, and `on_message` is called with each one. `on_start` is called when it was started,
    and `on_end` when it has ended: with the reason in words, and the seconds until it is started again. `send_nowait`
    may be called in all three. Nothing is said twice: what a process was told, the next one does not know.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        decode: Callable[[bytes], _Message],
        on_message: Callable[[_Message], object] = _ignore,
        on_start: Callable[[], object] = lambda: None,
        on_end: Callable[[str, float], object] = lambda _reason, _pause: None,
    ) -> None:
        self._command = command
        self._decode = decode
        self._on_message = on_message
        self._on_start = on_start
        self._on_end = on_end
        self._outgoing: trio.MemorySendChannel[msgspec.Struct] | None = None
        self._process: trio.Process | None = None

    @property
    def is_running(self) -> bool:
        """Whether it can be sent something."""
        return self._outgoing is not None

    def send_nowait(self, message: msgspec.Struct) -> bool:
        """Send a message without waiting; False if the process is not running, or hangs and is ended for that."""
        if self._outgoing is None or self._process is None:
            return False
        try:
            self._outgoing.send_nowait(message)
        except trio.WouldBlock:
            self._process.kill()
            return False
        return True

    async def run(self) -> None:
        """Keep the process running until cancelled."""
        pause = FIRST_PAUSE
        while True:
            since = trio.current_time()
            reason = _exit_text(await self.run_once())
            if trio.current_time() - since > LONG_LIFE:
                pause = FIRST_PAUSE
            self._on_end(reason, pause)
            await trio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def run_once(self) -> int:
        """Start the process and return its exit code, negative for a signal; if cancelled, end it.

        A process that writes what is no message is ended. Raises OSError if it cannot be started.
        """
        process, stream = await _start(self._command)
        outgoing, waiting = trio.open_memory_channel[msgspec.Struct](MAX_WAITING)
        self._process, self._outgoing = process, outgoing
        try:
            async with stream:
                link = FrameStream(stream, self._decode, MAX_MESSAGE)
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_send_all, waiting, link)
                    self._on_start()
                    try:
                        while (message := await link.receive()) is not None:
                            self._on_message(message)
                    except FrameError:
                        process.kill()
                    nursery.cancel_scope.cancel()
        finally:
            self._process = self._outgoing = None
            with trio.CancelScope(shield=True):  # its input has ended
                with trio.move_on_after(CLOSE_TIMEOUT):
                    await process.wait()
                process.kill()
                code = await process.wait()
        return code


async def _send_all(waiting: trio.MemoryReceiveChannel[msgspec.Struct], link: FrameStream[Any]) -> None:
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):  # the reader notices that the process has ended
        async for message in waiting:
            await link.send(message)


def _exit_text(code: int) -> str:
    if code >= 0:
        return f"the exit code is {code}"
    with suppress(ValueError):
        return f"the signal {signal.Signals(-code).name} ended it"
    return f"the signal {-code} ended it"


async def _start(command: Sequence[str]) -> tuple[trio.Process, trio.abc.Stream]:
    """Start a process; return it and the stream of its standard input and output. Raises OSError."""
    # passwords in variables are for the server only
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPIELLEITER_")}
    errors = subprocess.DEVNULL if sys.stderr is None else None
    if sys.platform == "win32":
        pipe = subprocess.PIPE
        flags = subprocess.CREATE_NEW_PROCESS_GROUP
        process = await trio.lowlevel.open_process(
            command, stdin=pipe, stdout=pipe, stderr=errors, env=environment, creationflags=flags
        )
        assert process.stdio is not None
        return process, process.stdio
    # no pipe: before the process has hidden itself, others of the same user could open that in /proc, and read it later
    near, far = socket.socketpair()
    with far:
        try:
            process = await trio.lowlevel.open_process(
                command, stdin=far, stdout=far, stderr=errors, env=environment, process_group=0
            )
        except BaseException:
            near.close()
            raise
    near.setblocking(False)
    return process, trio.SocketStream(trio.socket.from_stdlib_socket(near))


# -- the child --------------------------------------------------------------------------------------------------------


class Parent(Generic[_Message]):
    """The process that has started this one, as `open_parent` opens it."""

    def __init__(self, incoming: trio.MemoryReceiveChannel[_Message], outgoing: trio.MemorySendChannel[bytes]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    def __aiter__(self) -> AsyncIterator[_Message]:
        """Return the messages, until the parent has ended or wants this process to end."""
        return self._incoming

    async def send(self, message: msgspec.Struct) -> None:
        """Send a message; waits while the parent does not read. What is sent to one that has ended is dropped."""
        with suppress(trio.BrokenResourceError):
            await self._outgoing.send(framed(message))

    def send_nowait(self, message: msgspec.Struct) -> None:
        """Send a message without waiting. Raises trio.WouldBlock if the parent has not read MAX_WAITING of them."""
        with suppress(trio.BrokenResourceError):
            self._outgoing.send_nowait(framed(message))


@asynccontextmanager
async def open_parent(decode: Callable[[bytes], _Message]) -> AsyncIterator[Parent[_Message]]:
    """Talk to the parent. `decode` reads a message of it.

    What is printed goes to standard error from now on. Leaving waits until the parent has read what was sent, unless it
    has ended.
    """
    requests = os.fdopen(os.dup(sys.stdin.fileno()), "rb", 0)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", 0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    to_user, incoming = trio.open_memory_channel[_Message](0)
    outgoing, to_write = trio.open_memory_channel[bytes](MAX_WAITING)
    is_written = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_read, requests, decode, to_user)
        nursery.start_soon(_write, answers, to_write, is_written)
        try:
            yield Parent(incoming, outgoing)
        finally:
            outgoing.close()
            with trio.CancelScope(deadline=trio.current_time() + CLOSE_TIMEOUT, shield=True):
                await is_written.wait()
            nursery.cancel_scope.cancel()


async def _read(
    requests: BinaryIO, decode: Callable[[bytes], _Message], to_user: trio.MemorySendChannel[_Message]
) -> None:
    frames = FrameBuffer(decode, MAX_MESSAGE)
    # in a thread, since Windows cannot wait for pipes in an event loop; it ends with the process
    with to_user, suppress(OSError):
        while data := await trio.to_thread.run_sync(requests.read, _READ_SIZE, abandon_on_cancel=True):
            frames.add(data)
            while (message := frames.next_message()) is not None:
                await to_user.send(message)


async def _write(answers: BinaryIO, to_write: trio.MemoryReceiveChannel[bytes], is_written: trio.Event) -> None:
    def write(data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[answers.write(left) :]

    try:
        with to_write, suppress(OSError):  # the parent has ended
            async for data in to_write:
                await trio.to_thread.run_sync(write, data, abandon_on_cancel=True)
    finally:
        is_written.set()


def run_child(main: Callable[[], Any]) -> None:
    """Run `main`, an async function, in a process that was started by `ChildProcess`."""
    hide_this_process()
    for number in stop_signals():  # signals for the whole terminal are the parent's affair
        signal.signal(number, signal.SIG_IGN)
    trio.run(main)
