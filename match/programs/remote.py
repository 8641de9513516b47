"""Programs that run elsewhere, in another container or on another machine: lent there, borrowed here.

Invariants: one connection is one process. A lender starts nothing but the one command it was given, and of what comes
over the connection only host, port, reservation, seed and gameType get into it, each checked; no shell reads them. When
either end of the connection is gone, so is the process with everything it has started, which a keeper sees to as in a
match (match/programs/kept_process.py).

Both sides speak lines of JSON. The borrower sends one, with the values for the places of the command. The lender
answers with what the process writes, ``{"stdout": BASE64}`` or ``{"stderr": BASE64}``, and at last with
``{"exit": CODE}`` (negative for a signal, as in subprocess) or ``{"refused": WHY}``.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
import re
from collections.abc import Callable, Mapping
from typing import IO, Any, Final

import trio

from spielleiter.match.errors import KeeperError, MatchError
from spielleiter.match.programs.kept_process import KeptProcess, Start
from spielleiter.match.programs.program import Command, open_pipe, start_process
from spielleiter.match.programs.unkept_process import UnkeptProcess

DEFAULT_LENDER_PORT: Final = 13051

PLACE_FORMS: Final = {
    "host": re.compile(r"[A-Za-z0-9:][A-Za-z0-9.:_-]{0,254}"),
    "port": re.compile(r"[0-9]{1,5}"),
    "reservation": re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,254}"),
    "seed": re.compile(r"[0-9]{1,20}"),
    "game": re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}"),
}
"""What each value must look like: nothing that could be taken for an option or a second word."""

_REQUEST_LIMIT: Final = 4096  # bytes
_REQUEST_TIMEOUT: Final = 10.0
_ANSWER_LIMIT: Final = 1024 * 1024  # bytes of a line, far more than a chunk takes
_CHUNK: Final = 64 * 1024
_FAREWELL: Final = 0.5  # seconds for what is still in the pipes
_RETRY: Final = 0.1


class LendingError(MatchError):
    """The lender cannot be reached, is none or has broken off; the text says which."""


class RefusedError(LendingError):
    """The lender cannot start its program, or not with these values; the text says why."""


# -- lending ----------------------------------------------------------------------------------------------------


async def lend(
    command: Command,
    host: str,
    port: int,
    *,
    task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Start `command` for everybody who connects, for ever. Reports the port. Raises OSError if it cannot listen."""
    listeners = await trio.open_tcp_listeners(port, host=host)

    async def serve(stream: trio.SocketStream) -> None:
        async with stream:
            with contextlib.suppress(trio.BrokenResourceError):
                await _lend_once(stream, command)
                await _see_off(stream)

    await trio.serve_listeners(
        serve, listeners, task_status=_PortStatus(task_status, listeners[0].socket.getsockname()[1])
    )


class _PortStatus(trio.TaskStatus[Any]):
    """Reports a port where the listeners would be."""

    def __init__(self, status: trio.TaskStatus[int], port: int) -> None:
        self._status = status
        self._port = port

    def started(self, _value: Any = None) -> None:
        self._status.started(self._port)


async def _lend_once(stream: trio.SocketStream, command: Command) -> None:
    places: Mapping[str, str] | None = None
    with trio.move_on_after(_REQUEST_TIMEOUT):
        line = await _Lines(stream, _REQUEST_LIMIT).next()
        if line is None:  # a health check, most often
            return
        places = _read_places(line)
    if places is None:
        await _send(stream, {"refused": f"expected one line of JSON with {', '.join(PLACE_FORMS)}"})
        return
    start = Start(command.arguments(places), None, dict(os.environ))
    try:
        process = await trio.to_thread.run_sync(start_process, start)
    except OSError as error:
        await _send(stream, {"refused": f"{command.text}: {error.strerror or error}"})
        return
    except (KeeperError, ValueError) as error:
        await _send(stream, {"refused": f"{command.text}: {error}"})
        return
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_cancel_when_gone, stream, nursery.cancel_scope)
            nursery.start_soon(process.watch_keeper)
            await _follow(stream, process)
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            await process.end()


async def _see_off(stream: trio.SocketStream) -> None:
    """Let the other side read the answer: closing with unread input would break the connection and the answer with it.

    It has some time to close; what it still sends is dropped.
    """
    await stream.send_eof()
    with trio.move_on_after(_REQUEST_TIMEOUT):
        while await stream.receive_some(_CHUNK):
            pass


async def _follow(stream: trio.SocketStream, process: KeptProcess | UnkeptProcess) -> None:
    """Hand on what the process writes, and at last how it ended."""
    lock = trio.Lock()
    async with trio.open_nursery() as copying:
        copying.start_soon(_copy, process.stdout, stream, "stdout", lock)
        copying.start_soon(_copy, process.stderr, stream, "stderr", lock)
        await process.wait()
        await process.see_off()
        copying.cancel_scope.deadline = trio.current_time() + _FAREWELL
    if left := process.leftovers:
        names = ", ".join(each.name for each in left)
        await _send(stream, _written("stderr", f"spielleiter lend: outlived the program: {names}\n".encode()))
    await _send(stream, {"exit": process.returncode})


async def _copy(pipe: IO[bytes], stream: trio.SocketStream, name: str, lock: trio.Lock) -> None:
    async with open_pipe(pipe) as opened:
        while chunk := await opened.receive_some(_CHUNK):
            async with lock:
                await _send(stream, _written(name, bytes(chunk)))


async def _cancel_when_gone(stream: trio.SocketStream, scope: trio.CancelScope) -> None:
    """The borrower has nothing more to say: whatever comes is its end."""
    with contextlib.suppress(trio.BrokenResourceError):
        await stream.receive_some(1)
    scope.cancel()


def _read_places(line: bytes) -> Mapping[str, str] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    if not isinstance(value, dict) or set(value) != set(PLACE_FORMS):
        return None
    if all(isinstance(text, str) and PLACE_FORMS[name].fullmatch(text) for name, text in value.items()):
        return value
    return None


# -- borrowing --------------------------------------------------------------------------------------------------


async def borrow(
    host: str, port: int, places: Mapping[str, str], write: Callable[[str, bytes], None], wait_timeout: float = 0.0
) -> int:
    """Have the lender's program play, and return its exit code, negative for a signal.

    `places` has a value for each of PLACE_FORMS; `write` is given ``"stdout"`` or ``"stderr"`` and the bytes. A lender
    that is not there yet is waited for as long as `wait_timeout`. Raises LendingError.
    """
    async with await _connect(host, port, wait_timeout) as stream:
        try:
            await stream.send_all(_encode(dict(places)))
            lines = _Lines(stream, _ANSWER_LIMIT)
            while (line := await lines.next()) is not None:
                code = _read_answer(line, write)
                if code is not None:
                    return code
        except trio.BrokenResourceError:
            pass
    raise LendingError(f"the lender at {host}:{port} has broken off")


async def _connect(host: str, port: int, wait_timeout: float) -> trio.SocketStream:
    deadline = trio.current_time() + wait_timeout
    while True:
        try:
            return await trio.open_tcp_stream(host, port)
        except OSError:
            if trio.current_time() + _RETRY > deadline:
                raise LendingError(
                    f"there is no lender at {host}:{port}; start one there with `spielleiter lend`"
                ) from None
        await trio.sleep(_RETRY)


def _read_answer(line: bytes, write: Callable[[str, bytes], None]) -> int | None:
    try:
        [(name, value)] = json.loads(line).items()
        if name in {"stdout", "stderr"}:
            write(name, base64.b64decode(value, validate=True))
            return None
        if name == "exit" and isinstance(value, int):
            return value
    except (ValueError, TypeError, AttributeError, binascii.Error):
        name, value = "", None
    if name == "refused":
        raise RefusedError(f"refused: {value}")
    raise LendingError("this is no lender, or one of another version")


# -- lines ------------------------------------------------------------------------------------------------------


class _Lines:
    """Whole lines without their ends; a line of more than `limit` bytes is cut, and is the last."""

    def __init__(self, stream: trio.SocketStream, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._rest = bytearray()
        self._is_over = False

    async def next(self) -> bytes | None:
        """None after the last whole one."""
        while (end := self._rest.find(b"\n")) < 0:
            chunk = b"" if self._is_over else await self._stream.receive_some(_CHUNK)
            self._rest += chunk
            if not chunk or len(self._rest) > self._limit:
                self._is_over = True
                return bytes(self._rest[: self._limit]) if chunk else None
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        return line


def _written(name: str, data: bytes) -> dict[str, str]:
    return {name: base64.b64encode(data).decode("ascii")}


async def _send(stream: trio.SocketStream, value: Mapping[str, object]) -> None:
    """Nothing is sent to a borrower that is gone; whoever waits for what it says will notice."""
    with contextlib.suppress(trio.BrokenResourceError):
        await stream.send_all(_encode(value))


def _encode(value: Mapping[str, object]) -> bytes:
    return json.dumps(value).encode() + b"\n"
