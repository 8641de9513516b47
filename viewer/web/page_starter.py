"""The starter: a small process that forks the process of the pages, each time that this is to be started; Linux only.

A program that was just started can be looked into by others of the same user until it has hidden itself, and whoever
has opened its memory by then can read what it is told later. What is forked from a hidden process is hidden from its
first instant on. A server can be forked before it has threads only, so it forks the starter then.

The server sends requests over a socket that keeps their bounds: START with the page's end of its socket, or KILL. The
starter answers START with 0 or the number of an error, and with the exit code once the process has ended. It ends with
the server. If somebody ends it, there is nothing left that could start pages without being seen.
"""

from __future__ import annotations

import sys

assert sys.platform == "linux"  # before the imports, which other platforms lack

import errno
import gc
import os
import select
import signal
import socket
import struct
import traceback
from array import array
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Final, NoReturn

import trio

from spielleiter.common.process import stop_signals
from spielleiter.server.errors import StartError
from spielleiter.viewer.web import page_process
from spielleiter.viewer.web.companion import StarterEndedError

_START: Final = b"S"
_KILL: Final = b"K"
_STANDARD_ERROR: Final = 2
_ANSWER: Final = struct.Struct("!i")


class _ForkedPages:
    """The process of the pages: `stream` is its standard input and output."""

    def __init__(self, stream: trio.SocketStream, starter: Starter) -> None:
        self.stream = stream
        self._starter = starter
        self._code: int | None = None

    async def wait(self) -> int:
        """Wait until it has ended, and return the exit code, negative for a signal. Raises StarterEndedError."""
        if self._code is None:
            self._code = await self._starter.answer()
        return self._code

    async def kill(self) -> None:
        """Kill it, unless it has ended."""
        if self._code is None:
            await self._starter.request(_KILL)


class Starter:
    """The server's end of the socket to the starter."""

    def __init__(self, channel: socket.socket) -> None:
        channel.setblocking(False)
        self._channel = channel

    async def start(self) -> _ForkedPages:
        """Start the process of the pages, one at a time. Raises OSError and StarterEndedError."""
        with ExitStack() as stack:
            near, far = map(stack.enter_context, socket.socketpair())
            await self.request(_START, far)
            if number := await self.answer():
                raise OSError(number, os.strerror(number))
            near = near.dup()
        near.setblocking(False)
        return _ForkedPages(trio.SocketStream(trio.socket.from_stdlib_socket(near)), self)

    async def request(self, request: bytes, *sockets: socket.socket) -> None:
        """Send a request, with a socket if it needs one. Raises StarterEndedError."""
        descriptors = array("i", [sock.fileno() for sock in sockets])
        passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)] if sockets else []
        try:
            await trio.lowlevel.wait_writable(self._channel)
            self._channel.sendmsg([request], passed)
        except OSError:
            raise StarterEndedError from None

    async def answer(self) -> int:
        """Return the next answer. Raises StarterEndedError."""
        await trio.lowlevel.wait_readable(self._channel)
        try:
            (number,) = _ANSWER.unpack(self._channel.recv(_ANSWER.size))
        except (OSError, struct.error):
            raise StarterEndedError from None
        return int(number)


@contextmanager
def forked_starter() -> Iterator[Starter]:
    """Fork the starter from this process, which has to be hidden and to have one thread; it ends with the context.

    Raises StartError.
    """
    # whoever started this process may have ignored it, and then nobody can wait for what is forked
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with ours, theirs:
        try:
            pid = os.fork()
        except OSError as error:
            raise StartError(f"no process can be started for the pages ({error.strerror})") from None
        if not pid:
            ours.close()
            _run_and_exit(partial(_serve, theirs))
        theirs.close()
        try:
            yield Starter(ours)
        finally:
            os.kill(pid, signal.SIGKILL)  # somebody may have stopped it
            os.waitpid(pid, 0)


def _serve(channel: socket.socket) -> None:
    """Start and kill the pages until the server has ended."""
    os.setpgid(0, 0)  # Ctrl-C is for the server
    for number in stop_signals():
        signal.signal(number, signal.SIG_IGN)
    # what the server had opened before, such as the lock of a match's folder, is not for the pages
    kept = channel.fileno()
    os.closerange(_STANDARD_ERROR + 1, kept)
    os.closerange(max(_STANDARD_ERROR, kept) + 1, os.sysconf("SC_OPEN_MAX"))
    while os.open(os.devnull, os.O_RDWR) <= _STANDARD_ERROR:  # the server was started without some of these
        pass
    while True:
        try:
            request, descriptors, _, _ = socket.recv_fds(channel, len(_START), 1)
        except ConnectionResetError:  # the server has ended without having read all answers
            return
        if not request:
            return
        if request != _START:  # to kill what has ended already
            continue
        (control,) = descriptors
        ending, alive = os.pipe()
        failure = pid = 0
        try:
            pid = os.fork()
        except OSError as error:
            failure = error.errno or errno.EAGAIN
        else:
            if not pid:
                channel.close()
                _run_and_exit(partial(_become_pages, control))
        os.close(control)
        os.close(alive)  # from now on, only the pages keep it open
        with suppress(OSError):  # the server has ended
            channel.send(_ANSWER.pack(failure))
        if not failure:
            code = _code_at_end(pid, ending, channel)
            with suppress(OSError):
                channel.send(_ANSWER.pack(code))
        os.close(ending)


def _code_at_end(pid: int, ending: int, channel: socket.socket) -> int:
    """Wait for the end of the pages, and return their exit code; a request, or the server's end, kills them."""
    poll = select.poll()
    poll.register(ending, select.POLLIN)
    poll.register(channel, select.POLLIN)
    if ending not in {descriptor for descriptor, _ in poll.poll()}:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _become_pages(control: int) -> None:
    """Serve the pages in this process."""
    gc.freeze()  # memory that is never written to is shared with the server
    os.dup2(control, 0)
    os.dup2(control, 1)
    os.close(control)
    page_process.main()


def _run_and_exit(act: Callable[[], None]) -> NoReturn:
    """Do what this process, which was just forked, is for; then end it without what the server does at its end."""
    code = 1
    try:
        act()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except KeyboardInterrupt:  # before signals are ignored
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
