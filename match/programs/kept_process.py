"""Programs that a keeper (match/programs/keeper.py) has started, and the process that all keepers come from.

Invariants: that process is started with the first program, once for this process, and ends with it; if it is gone, the
next program gets a new one. Only the task that runs a program reads what its keeper says. Every wait for a keeper, or
for the process that keepers come from, has an end: what does not answer in time is killed, which works on stopped
processes as well, and what a keeper keeps is killed before it. A keeper that its program stops is woken; if it is
stopped again, the program is ended. Where there are no keepers (no Linux), `start_kept_process` returns None.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, TypeVar

import trio

from spielleiter.match.errors import KeeperError
from spielleiter.match.programs import keeper
from spielleiter.match.programs.processes import (
    ProcessInfo,
    birth_of,
    children_of,
    kill_processes,
    living,
    seconds_spent,
    session_members,
    wake,
)

_T = TypeVar("_T")

_SIGKILL: Final = 9
_READ: Final = 4096
_WOKEN_AFTER: Final = 1.0  # seconds after which a keeper that says nothing may have been stopped
_WAKINGS: Final = 5
_LOOK: Final = 0.5  # seconds between looks at a keeper, whether it was stopped
_ANSWERED: Final = 60.0  # seconds after which what says nothing is taken for something that cannot
TOLD: Final = 30.0
"""Seconds after which a keeper that has not told of an end is taken for one that cannot."""
STOPS_ALLOWED: Final = 1
"""A keeper that is stopped more often than this is being kept from its work."""
_POLL: Final = 0.02  # seconds between looks at processes that nobody tells us about


@dataclass(frozen=True, slots=True)
class Start:
    """How a program is started. `cores` are those it may use, None: any; `memory` is in bytes, None: not limited.

    `stdin` is a descriptor for its standard input, which stays the caller's to close; None: there is nothing to read.
    """

    arguments: Sequence[str]
    cwd: str | None
    environment: Mapping[str, str]
    cores: tuple[int, ...] | None = None
    memory: int | None = None
    stdin: int | None = None


class KeptProcess:
    """A process and all it has started, with a keeper; use it from one task, but for `terminate` and `kill`."""

    def __init__(self, control: socket.socket, stdout: IO[bytes], stderr: IO[bytes], pid: int, keeper_pid: int) -> None:
        self.pid = pid
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None
        """As in subprocess, once the process has ended."""
        self.cpu_seconds = 0.0
        """Of the process and all it has started, as far as they have ended."""
        self.peak_memory = 0
        """Bytes that the process, or one that it waited for, had in memory at most."""
        self.leftovers: tuple[ProcessInfo, ...] = ()
        self.is_gone = False
        self.keeper_stops = 0
        """How often the keeper was found stopped, and woken."""
        self._keeper = keeper_pid
        self._birth = birth_of(keeper_pid)
        self._is_reusable = True
        """Whether the keeper may have another program after this one."""
        self._seconds_before = seconds_spent((), keeper_pid)
        """Processor time of the programs that the keeper had before."""
        control.setblocking(False)
        self._control = control
        self._buffer = b""

    @property
    def pids(self) -> tuple[int, ...]:
        """The process and all that it has started, in any session."""
        if self.is_gone:
            return ()
        found = children_of(self._keeper)
        return session_members(self.pid) if found is None else found

    def find_all(self) -> tuple[int, ...]:
        """The same, found without fail: reads a file of every process of this machine."""
        return () if self.is_gone else tuple(keeper.descendants(self._keeper))

    @property
    def seconds_so_far(self) -> float:
        """Processor time of the process and all that it has started, up to now."""
        return max(0.0, seconds_spent(self.pids, self._keeper) - self._seconds_before)

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended by itself, noticed or not."""
        return self.returncode is not None or not living([self.pid])

    def terminate(self) -> None:
        """Ask the process and its group to end."""
        self._ask(keeper.TERMINATE)

    async def kill(self) -> None:
        """Have everything ended at once."""
        self._ask(keeper.KILL)
        self.wake_keeper()
        await trio.lowlevel.checkpoint()

    async def watch_keeper(self) -> None:
        """Wake the keeper whenever it was stopped; end everything once that has happened too often."""
        while not self.is_gone and not self.has_stopped_keeper:
            await trio.sleep(_LOOK)
            self.wake_keeper()
        if not self.is_gone:
            await self.end_keeper()

    @property
    def has_stopped_keeper(self) -> bool:
        """Whether the program has stopped its keeper again after it was woken."""
        return self.keeper_stops > STOPS_ALLOWED

    def wake_keeper(self) -> None:
        """Let the keeper go on if the program has stopped it, and count that."""
        if not self.is_gone and birth_of(self._keeper) == self._birth and wake(self._keeper):
            self._is_reusable = False
            self.keeper_stops += 1

    async def end_keeper(self) -> None:
        """End everything and the keeper, without its help; it need not be able to do anything."""
        self._is_reusable = False
        if not self.is_gone:
            await trio.to_thread.run_sync(self._end_without_its_help)

    def _end_without_its_help(self) -> None:
        # as long as the keeper exists, whatever the program has started descends from it
        if birth_of(self._keeper) == self._birth:
            _kill_by_descent(self._keeper)

    def _ask(self, what: bytes) -> None:
        with contextlib.suppress(OSError):  # it is gone
            self._control.send(what)

    async def wait(self) -> None:
        """Until the process has ended."""
        while self.returncode is None:
            await self._hear()

    async def see_off(self) -> None:
        """Until what the process has started has ended, too, or is known to outlive it."""
        with trio.move_on_after(TOLD):
            while not self.is_gone and not self.leftovers:
                await self._hear()
            return
        await self.end_keeper()

    async def end(self) -> None:
        """End everything that is left, and the keeper."""
        await self.kill()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.watch_keeper)
            await self._hear_out(2 * keeper.KILLED)
            nursery.cancel_scope.cancel()
        if not self.is_gone:
            await self.end_keeper()
            await self._hear_out(keeper.KILLED)
        self.is_gone = True  # or not even a kill has ended it
        if self.returncode is None:
            self.returncode = -_SIGKILL
        if self._is_reusable:
            self._ask(keeper.REUSE)
        self._control.close()

    async def _hear_out(self, seconds: float) -> None:
        """Hear what the keeper has to say until it is gone, but no longer than so many seconds."""
        with trio.move_on_after(seconds):
            while not self.is_gone:
                await self._hear()

    async def _hear(self) -> None:
        while b"\n" not in self._buffer:
            await trio.lowlevel.wait_readable(self._control)
            try:
                data = self._control.recv(_READ)
            except BlockingIOError:
                continue
            except ConnectionResetError:
                data = b""
            if not data:
                await self._end_without_keeper()
                return
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        self._learn(json.loads(line))

    def _learn(self, facts: dict[str, Any]) -> None:
        self.cpu_seconds = facts.get("cpu", self.cpu_seconds)
        self.peak_memory = facts.get("peak", self.peak_memory)
        self.returncode = facts.get("exit", self.returncode)
        self.leftovers = tuple(ProcessInfo(pid, name) for pid, name in facts.get("left", ()))
        self.is_gone = "gone" in facts

    async def _end_without_keeper(self) -> None:
        """The keeper was killed. The process that keepers come from ends what it kept; here, the session is ended."""
        await trio.to_thread.run_sync(_HOUSE.wake)
        deadline = trio.current_time() + keeper.KILLED
        while (alive := living(session_members(self.pid))) and trio.current_time() < deadline:
            kill_processes(alive)
            await trio.sleep(_POLL)
        if self.returncode is None:
            self.returncode = -_SIGKILL
        self.is_gone = True


def start_kept_process(start: Start) -> KeptProcess | None:
    """Start a program; None: there are no keepers here. Takes a moment. Raises OSError, ValueError and KeeperError."""
    if sys.platform != "linux":
        return None
    return _HOUSE.start(start)


class _KeeperHost:
    """The process that keepers come from. May be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._is_possible = True

    def start(self, start: Start) -> KeptProcess | None:
        for _ in range(2):
            process = self._open()
            if process is None:
                return None
            kept = self._try(start, process)
            if kept is not None:
                return kept
            self._close_only(process)  # it was ended by somebody; there is another one
        raise KeeperError("the process that starts programs was stopped or ended, also a new one")

    def _open(self) -> subprocess.Popen[bytes] | None:
        """The process, started now if need be; None: there is none on this system. Raises KeeperError."""
        with self._lock:
            if self._socket is None and self._is_possible:
                ours, theirs = socket.socketpair()
                with theirs:
                    self._process = subprocess.Popen(  # noqa: S603 - a file of ours
                        [sys.executable, "-I", "-S", str(Path(keeper.__file__))],
                        stdin=theirs.fileno(),
                        stdout=subprocess.DEVNULL,
                        cwd="/",
                        start_new_session=True,  # a signal from the terminal is for this process
                    )
                self._socket = ours
                answer = _patiently(ours, self._process.pid, lambda: ours.recv(1))
                if answer is None:
                    self._close()
                    raise KeeperError("the process that starts programs does not answer")
                self._is_possible = answer == keeper.READY
                ours.settimeout(_ANSWERED)
            if not self._is_possible:
                self._close()
            return self._process

    def wake(self) -> None:
        """Let the process go on if it was stopped."""
        with self._lock:
            if self._process is not None:
                wake(self._process.pid)

    def close(self) -> None:
        """End the process; keepers stay with their programs."""
        with self._lock:
            self._close()

    def _close_only(self, process: subprocess.Popen[bytes]) -> None:
        """End this process, unless somebody else has done so and there is another one."""
        with self._lock:
            if self._process is process:
                self._close()

    def _close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            wake(self._process.pid)
            try:
                self._process.wait(keeper.KILLED)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _try(self, start: Start, process: subprocess.Popen[bytes]) -> KeptProcess | None:
        """None: nobody has answered. Raises OSError and ValueError."""
        described = {
            "arguments": list(start.arguments),
            "cwd": str(Path.cwd()) if start.cwd is None else str(Path(start.cwd).absolute()),
            "environment": dict(start.environment),
            "cores": start.cores,
            "memory": start.memory,
        }
        data = json.dumps(described).encode()
        ours, theirs = socket.socketpair()
        read_out, write_out = os.pipe()
        read_error, write_error = os.pipe()
        with theirs, ours, open(read_out, "rb", 0) as out, open(read_error, "rb", 0) as error:  # noqa: PTH123
            try:
                with self._lock:
                    if self._socket is None or self._process is not process:
                        return None
                    descriptors = [theirs.fileno(), write_out, write_error]
                    if start.stdin is not None:
                        descriptors.append(start.stdin)
                    socket.send_fds(self._socket, [keeper.HEAD.pack(len(data))], descriptors)
                    self._socket.sendall(data)
            except OSError:
                return None
            finally:
                os.close(write_out)
                os.close(write_error)
            theirs.close()
            answer = _answer(ours, process.pid)
            if answer is None:
                return None
            if "failed" in answer:
                number = answer["errno"]
                raise ValueError(answer["failed"]) if number is None else OSError(number, os.strerror(number))
            # from here on they are the program's
            return KeptProcess(
                socket.socket(fileno=ours.detach()),
                open(os.dup(out.fileno()), "rb", 0),  # noqa: PTH123
                open(os.dup(error.fileno()), "rb", 0),  # noqa: PTH123
                answer["pid"],
                answer["keeper"],
            )


def _answer(control: socket.socket, keeper_host: int) -> dict[str, Any] | None:
    """What is said of a program's start, with its keeper's id; None: nothing. Raises ValueError."""
    begun = _patiently(control, keeper_host, lambda: _line(control))
    if begun is None:
        return None
    pid = begun["keeper"]
    started = _patiently(control, pid, lambda: _line(control) or {})
    if started is None:
        _kill_by_descent(pid)
        raise ValueError("it stopped the process that watches over it, and was ended")
    return {**begun, **started} if started else None


def _patiently(sock: socket.socket, pid: int, receive: Callable[[], _T]) -> _T | None:
    """What `receive` gets from this process by `sock`; None if it answers nothing. It is woken if it was stopped."""
    deadline, wakings = time.monotonic() + _ANSWERED, 0
    sock.settimeout(_WOKEN_AFTER)
    try:
        while wakings < _WAKINGS and time.monotonic() < deadline:
            try:
                return receive()
            except TimeoutError:  # stopped, or this machine is busy
                wakings += wake(pid)
            except ConnectionResetError:
                break
        return None
    finally:
        sock.settimeout(None)


def _line(control: socket.socket) -> dict[str, Any] | None:
    """Raises TimeoutError, before anything was read: a line is sent at once."""
    data = b""
    while not data.endswith(b"\n"):
        more = control.recv(1)
        if not more:
            return None
        data += more
    answer: dict[str, Any] = json.loads(data)
    return answer


def _kill_by_descent(pid: int) -> None:
    """End a keeper with everything below it, without its help. Takes a moment."""
    keeper.end_processes(lambda: keeper.descendants(pid), lambda: True)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


_HOUSE: Final = _KeeperHost()
atexit.register(_HOUSE.close)
