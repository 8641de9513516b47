"""Remote programs: a program runs in another container or on another machine and plays in a match on this one.

`spielleiter lend` runs the server: it starts the program for every client that connects. `spielleiter borrow` runs the
client, which the match starts in place of the program.

One connection is one process. The server starts nothing but the one command that it was given. Only host, port,
reservation, seed and gameType from the connection are inserted into it, each of them is validated, and no shell reads
them. The program is sent to no other host than the client itself, unless the operator of the server has named it. If
either end of the connection is gone, the process is ended with everything that it has started.

Both sides send lines of JSON. The client sends one line with the values for the placeholders of the command. The server
answers with what the process writes, ``{"stdout": BASE64}`` or ``{"stderr": BASE64}``, and finally with
``{"exit": CODE}`` (negative for a signal, as in subprocess) or ``{"refused": REASON}``.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import ipaddress
import json
import re
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, Final

import trio

from spielleiter.common.errors import MatchError, SupervisorError
from spielleiter.programs.command import Command
from spielleiter.programs.environment import inherited_variables, open_home, own_variables
from spielleiter.programs.platform_api import ProcessSpec
from spielleiter.programs.this_platform import PLATFORM

DEFAULT_REMOTE_PROGRAM_PORT: Final = 13051

PLACEHOLDER_PATTERNS: Final = {
    "host": re.compile(r"[A-Za-z0-9:][A-Za-z0-9.:_-]{0,254}"),
    "port": re.compile(r"[0-9]{1,5}"),
    "reservation": re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,254}"),
    "seed": re.compile(r"[0-9]{1,20}"),
    "game": re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}"),
}
"""The valid values of each placeholder: nothing that could be taken for an option or for two words."""

MAX_PROGRAMS: Final = 16
"""How often the program runs at a time, unless the operator of the server says otherwise."""

_CONNECTION_RESERVE: Final = 64  # connections at a time beyond those with a program, such as health checks
_REQUEST_LIMIT: Final = 4096  # bytes
_REQUEST_TIMEOUT: Final = 10.0
_ANSWER_LIMIT: Final = 1024 * 1024  # bytes of a line, much more than a chunk of output takes
_READ_SIZE: Final = 64 * 1024
_PIPE_TIMEOUT: Final = 0.5  # seconds to read what is left in the pipes
_CLOSE_TIMEOUT: Final = 10.0
_RETRY_INTERVAL: Final = 0.1


class RemoteProgramError(MatchError):
    """The server cannot be reached, is not such a server, or has closed the connection; the text says which."""


class RemoteStartError(RemoteProgramError):
    """The server cannot start its program, or refuses the values for it; the text says why."""


# -- the server -------------------------------------------------------------------------------------------------


async def serve_remote_program(
    command: Command,
    host: str,
    port: int,
    *,
    environment: Mapping[str, str] = MappingProxyType({}),
    server_hosts: Collection[str] = (),
    max_programs: int = MAX_PROGRAMS,
    warn: Callable[[str], None] = lambda _text: None,
    task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Start `command` for every client that connects, until cancelled.

    `environment` are the program's variables beside those that every program gets. `server_hosts` are the hosts that
    the program may be told to connect to; if there are none, only the host of the client. `max_programs` is how often
    it may run at a time. Reports the port that it listens on to `task_status`. `warn` is called with a line of text for
    the operator of the server. Raises OSError if it cannot listen.
    """
    lender = _Lender(command, environment, frozenset(map(str.lower, server_hosts)), max_programs, warn)
    listeners = await trio.open_tcp_listeners(port, host=host)
    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, lender.serve, listeners)
        task_status.started(listeners[0].socket.getsockname()[1])


class _Lender:
    """Starts a program for clients; the arguments are those of `serve_remote_program`."""

    def __init__(
        self,
        command: Command,
        environment: Mapping[str, str],
        server_hosts: Collection[str],
        max_programs: int,
        warn: Callable[[str], None],
    ) -> None:
        self._command = command
        self._environment = environment
        self._server_hosts = server_hosts
        self._max_programs = max_programs
        self._warn = warn
        self._running = self._connected = 0

    async def serve(self, stream: trio.SocketStream) -> None:
        """Serve one client."""
        async with stream:
            if self._connected >= self._max_programs + _CONNECTION_RESERVE:
                return
            self._connected += 1
            try:
                with contextlib.suppress(trio.BrokenResourceError):
                    await self._serve(stream)
                    # Closing a connection with unread input would reset it, and the answer would be lost. So the client
                    # gets some time to close it first; what it still sends is discarded.
                    await stream.send_eof()
                    with trio.move_on_after(_CLOSE_TIMEOUT):
                        while await stream.receive_some(_READ_SIZE):
                            pass
            finally:
                self._connected -= 1

    async def _serve(self, stream: trio.SocketStream) -> None:
        values: Any = None
        with trio.move_on_after(_REQUEST_TIMEOUT):
            line = await _LineReader(stream, _REQUEST_LIMIT).next_line()
            if line is None:  # usually a health check
                return
            with contextlib.suppress(ValueError, RecursionError):
                values = json.loads(line)
        if (
            not isinstance(values, dict)
            or values.keys() != PLACEHOLDER_PATTERNS.keys()
            or not all(
                isinstance(each, str) and PLACEHOLDER_PATTERNS[name].fullmatch(each) for name, each in values.items()
            )
        ):
            await _send(stream, {"refused": f"expected one line of JSON with {', '.join(PLACEHOLDER_PATTERNS)}"})
            return
        allowed = await self._allowed_host(stream, values["host"])
        if allowed is None:
            problem = f"the program may not be sent to {values['host']}; allow it there with --server-host"
            await _send(stream, {"refused": problem})
            return
        if self._running >= self._max_programs:  # nothing is awaited from here to the next line
            problem = f"the program runs {self._running} times already; allow more there with --max-programs"
            await _send(stream, {"refused": problem})
            return
        self._running += 1
        try:
            await self._run(stream, {**values, "host": allowed})
        finally:
            self._running -= 1

    async def _allowed_host(self, stream: trio.SocketStream, host: str) -> str | None:
        """Return the host to which the program may be sent, as it is told; None if it may not be sent to `host`.

        For the client itself, that is its address and not a name, which may mean something else the next time.
        """
        if self._server_hosts:
            return host if host.lower() in self._server_hosts else None
        client = _plain_address(stream.socket.getpeername()[0])
        with trio.move_on_after(_REQUEST_TIMEOUT), contextlib.suppress(OSError, UnicodeError):
            found = await trio.socket.getaddrinfo(host, None)
            if client in {_plain_address(str(address[0])) for *_, address in found}:
                return client
        return None

    async def _run(self, stream: trio.SocketStream, values: Mapping[str, str]) -> None:
        """Run the program once, to its end."""
        command = self._command
        base = own_variables() if command.is_builtin else inherited_variables()
        async with contextlib.AsyncExitStack() as stack:
            try:
                home = await stack.enter_async_context(open_home())
                spec = ProcessSpec(command.arguments(values), None, {**base, **home, **self._environment})
                process = await PLATFORM.start(spec)
            except OSError as error:
                await _send(stream, {"refused": f"{command.text}: {error.strerror or error}"})
                return
            except (SupervisorError, ValueError) as error:
                await _send(stream, {"refused": f"{command.text}: {error}"})
                return
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_cancel_on_close, stream, nursery.cancel_scope)
                    nursery.start_soon(process.watch_supervisor)
                    lock = trio.Lock()
                    async with trio.open_nursery() as copying:
                        for pipe, name in zip(process.open_outputs(), ("stdout", "stderr"), strict=True):
                            copying.start_soon(_copy, pipe, stream, name, lock)
                        await process.wait()
                        await process.wait_for_children()
                        copying.cancel_scope.deadline = trio.current_time() + _PIPE_TIMEOUT
                    if process.leftovers:
                        names = ", ".join(each.name for each in process.leftovers)
                        text = f"spielleiter lend: outlived the program: {names}\n"
                        await _send(stream, _output_message("stderr", text.encode()))
                    await _send(stream, {"exit": process.returncode})
                    nursery.cancel_scope.cancel()
            finally:
                with trio.CancelScope(shield=True):  # takes limited time: see `survivors`
                    await process.end()
                if process.survivors:
                    names = ", ".join(f"{each.name} ({each.pid})" for each in process.survivors)
                    self._warn(f"{command.text}: cannot be ended, not even by SIGKILL: {names}")


def _plain_address(text: str) -> str:
    """Return an IP address as it is usually written: without a zone, and IPv4 not as a part of IPv6."""
    address = ipaddress.ip_address(text.partition("%")[0])
    return str(getattr(address, "ipv4_mapped", None) or address)


async def _copy(pipe: trio.abc.ReceiveStream, stream: trio.SocketStream, name: str, lock: trio.Lock) -> None:
    async with pipe:
        while chunk := await pipe.receive_some(_READ_SIZE):
            async with lock:
                await _send(stream, _output_message(name, bytes(chunk)))


async def _cancel_on_close(stream: trio.SocketStream, scope: trio.CancelScope) -> None:
    """Cancel `scope` when the client closes the connection; it has nothing more to send."""
    with contextlib.suppress(trio.BrokenResourceError):
        await stream.receive_some(1)
    scope.cancel()


# -- the client -------------------------------------------------------------------------------------------------


async def run_remote_program(
    host: str, port: int, values: Mapping[str, str], write: Callable[[str, bytes], None], wait_timeout: float = 0.0
) -> int:
    """Have the server at `host` and `port` run its program once; return the exit code, negative for a signal.

    `values` has one value for each of PLACEHOLDER_PATTERNS. `write` is called with ``"stdout"`` or ``"stderr"`` and the
    bytes that the program writes there. If there is no server yet, connecting is retried for `wait_timeout` seconds.
    Raises RemoteProgramError.
    """
    deadline = trio.current_time() + wait_timeout
    stream: trio.SocketStream | None = None
    while stream is None:
        try:
            stream = await trio.open_tcp_stream(host, port)
        except OSError:
            if trio.current_time() + _RETRY_INTERVAL > deadline:
                raise RemoteProgramError(
                    f"there is no lender at {host}:{port}; start one there with `spielleiter lend`"
                ) from None
            await trio.sleep(_RETRY_INTERVAL)
    async with stream:
        try:
            await stream.send_all(_encode(dict(values)))
            reader = _LineReader(stream, _ANSWER_LIMIT)
            while (line := await reader.next_line()) is not None:
                code = _handle_answer(line, write)
                if code is not None:
                    return code
        except trio.BrokenResourceError:
            pass
    raise RemoteProgramError(f"the lender at {host}:{port} has closed the connection")


def _handle_answer(line: bytes, write: Callable[[str, bytes], None]) -> int | None:
    """Write the output that a line contains, or return the exit code that it contains."""
    try:
        [(name, value)] = json.loads(line).items()
        if name in {"stdout", "stderr"}:
            write(name, base64.b64decode(value, validate=True))
            return None
        if name == "exit" and isinstance(value, int):
            return value
    except (ValueError, TypeError, AttributeError, RecursionError, binascii.Error):
        name, value = "", None
    if name == "refused":
        raise RemoteStartError(f"refused: {value}")
    raise RemoteProgramError("this is not a lender, or one of another version")


# -- lines ------------------------------------------------------------------------------------------------------


class _LineReader:
    """Reads lines without their newlines. A line of more than `limit` bytes is cut, and is the last one."""

    def __init__(self, stream: trio.SocketStream, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._buffer = bytearray()
        self._is_over = False

    async def next_line(self) -> bytes | None:
        """Return the next complete line; None at the end of the stream."""
        while (end := self._buffer.find(b"\n")) < 0:
            chunk = b"" if self._is_over else await self._stream.receive_some(_READ_SIZE)
            self._buffer += chunk
            if not chunk or len(self._buffer) > self._limit:
                self._is_over = True
                return bytes(self._buffer[: self._limit]) if chunk else None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line


def _output_message(name: str, data: bytes) -> dict[str, str]:
    return {name: base64.b64encode(data).decode("ascii")}


async def _send(stream: trio.SocketStream, value: Mapping[str, object]) -> None:
    """Send a message; do nothing if the client is gone, since `_cancel_on_close` notices that."""
    with contextlib.suppress(trio.BrokenResourceError):
        await stream.send_all(_encode(value))


def _encode(value: Mapping[str, object]) -> bytes:
    return json.dumps(value).encode() + b"\n"
