"""A PC that helps a league: it runs the programs that the league names, in its sandbox, and plays no games itself.

Every connection goes from the PC to the league, over TLS, and is used only if the league shows the certificate whose
fingerprint is in the PC's code. One connection stays; each package that is fetched and each program that runs has a
further one. Server, clock and record of every game stay with the league.

Invariants: a program is started only if the league has sent its SHA-256, and a package with that SHA-256. If the
connection of a program ends, it is ended with everything that it has started. If this process ends, all of them are.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import trio

from spielleiter.common.errors import (
    MatchError,
    NotStartedError,
    SandboxError,
    SetupError,
    SupervisorError,
    first_error,
    os_error_text,
)
from spielleiter.contest.calibration import measure_speed
from spielleiter.league.certificate import client_context, fingerprint_of
from spielleiter.league.frames import FrameError, FrameStream
from spielleiter.league.gate_messages import (
    MAX_CHUNK,
    MAX_CONNECTIONS,
    MAX_CONNECTIONS_PER_RUN,
    MAX_RUN_MESSAGE,
    PROTOCOL,
    BeginRun,
    Bytes,
    Closed,
    Connected,
    EndLease,
    Exited,
    FetchPackage,
    JoinLeague,
    LeasePrepared,
    NotStarted,
    OfferedProgram,
    PackageData,
    Ping,
    Pong,
    PrepareLease,
    Refused,
    StartRun,
    ToHelper,
    ToRun,
    Welcome,
    Written,
    decode_to_fetcher,
    decode_to_helper,
    decode_to_run,
)
from spielleiter.league.helper_code import HelperCode
from spielleiter.league.package_needs import JAVA, PYTHON, Machine
from spielleiter.programs.command import Command, join_command
from spielleiter.programs.contest_conditions import Condition
from spielleiter.programs.outputs import read_tail
from spielleiter.programs.packages.package import Package, unpack_package
from spielleiter.programs.program import Program
from spielleiter.programs.sandbox.choice import choose_sandbox
from spielleiter.programs.sandbox.containers import limit_options
from spielleiter.programs.sandbox.sandbox import NONE, Sandbox
from spielleiter.programs.sandbox.sandbox_run import SandboxRun, open_run
from spielleiter.programs.socket_owners import far_socket, has_socket
from spielleiter.programs.startable import require_startable
from spielleiter.programs.temporary_folders import new_folder, remove_folder, remove_stale_folders
from spielleiter.programs.this_platform import PLATFORM
from spielleiter.programs.windows_command import python_launcher
from spielleiter.protocol.defaults import DEFAULT_HELPERS_PORT
from spielleiter.server.net.sockets import accept, notice_vanished

CONNECT_TIMEOUT: Final = 20.0
"""Seconds for the league to answer."""
SILENCE_TIMEOUT: Final = 30.0
"""Seconds after which a silent league is gone; it says something each second."""
FIRST_PAUSE: Final = 1.0
"""Seconds until the next attempt to connect; each further time twice as long."""
LONGEST_PAUSE: Final = 30.0
MAX_PACKAGE: Final = 256 * 1024 * 1024
"""Bytes of a package; more than a league takes."""
MAX_KEPT: Final = 4 * 1024 * 1024 * 1024
"""Bytes of unpacked packages that are kept; of more, those not needed for the longest time are removed first."""
LEAST_SIZE: Final = 64 * 1024 * 1024
"""Bytes for which a package counts at least, so that there are not too many."""
MAX_RUNS_PER_LEASE: Final = 4
"""The most programs of a pair: those of a game, and those of the game before that are still being ended."""
MAX_TASKS_PER_PLACE: Final = 16
"""The most programs and leases for each place that are being prepared, are running or being ended."""
MAX_BUFFERED: Final = 1024
"""The most messages for a connection of a program that it has not read; then that connection is closed."""

_READ_SIZE: Final = 64 * 1024
_PROBE_TIMEOUT: Final = 20.0
_NEW_CONNECTION: Final = (OSError, trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError)
_MAX_VERSION: Final = 80
_MAX_REASON: Final = 1000
_MAX_WORDS: Final = 300
_NOT_EXECUTED: Final = (126, 127)
"""The exit codes of shells for a command that is not there, or cannot be executed."""
_numbers: Final = itertools.count()


class NotWantedError(MatchError):
    """The league does not want this PC, or is another one than that of the code; the text says what to do."""


class _LostError(Exception):
    """The connection to the league was lost or could not be made; the text says why."""


# -- this machine -----------------------------------------------------------------------------------------------------


def describe_machine(sandbox: Sandbox, image: str | None = None) -> Machine:
    """What the league needs to know about this machine. Takes some tenths of a second, a container some seconds.

    `image` is the container image that the sandbox uses; None for none.
    """
    system, python = sys.platform, "python3"
    words: tuple[str, ...] = ()
    if image is not None:
        system = "linux"
        options = ["run", "--rm", "--network", "none", "--pull", "never", *limit_options()]
        words = (sandbox.name, *options, "--entrypoint", "env", image)
    elif sys.platform == "win32":
        python = python_launcher()
    found = {PYTHON: _version_of((*words, python, "--version")), JAVA: _version_of((*words, "java", "-version"))}
    if image is None and sandbox.has_helper:  # programs find the one that was chosen for them
        found[PYTHON] = "" if sandbox.python_description == "no Python" else sandbox.python_description
    return Machine(
        host=socket.gethostname(),
        system=system,
        processor=platform.machine(),
        cores=len(PLATFORM.usable_cores()),
        speed=round(measure_speed().factor, 3),
        sandbox=sandbox.name,
        sandbox_gap=sandbox.gaps.get(Condition.NETWORK, "") if sandbox.name == NONE else "",
        interpreters={name: text for name, text in found.items() if text},
        version=version("spielleiter"),
    )


def _version_of(command: Sequence[str]) -> str:
    """Return the first line that a command says about its version; empty if it cannot be run."""
    try:
        done = subprocess.run(  # noqa: S603
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    text = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return "" if done.returncode else text.partition("\n")[0][:_MAX_VERSION]


# -- the league -------------------------------------------------------------------------------------------------------


def parse_url(text: str) -> tuple[str, int]:
    """Return host and port in ``https://HOST:PORT``, ``HOST:PORT`` or ``HOST``. Raises SetupError."""
    try:
        parts = urlsplit(text if "//" in text else f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if not host or parts.scheme not in {"", "https"} or parts.path.strip("/") or parts.query or port == 0:
        raise SetupError(f"{text!r} is not the address of a league, expected HOST:PORT as its page shows it")
    return host, port or DEFAULT_HELPERS_PORT


class LeagueAddress:
    """Where a league is, and the code of this PC there."""

    def __init__(self, host: str, port: int, code: HelperCode) -> None:
        self.host = host
        self.port = port
        self.code = code

    async def connect(self) -> trio.SSLStream[trio.SocketStream]:
        """Return a new connection. Raises NotWantedError, OSError, trio.BrokenResourceError and trio.TooSlowError."""
        with trio.fail_after(CONNECT_TIMEOUT):
            raw = await trio.open_tcp_stream(self.host, self.port)
            notice_vanished(raw.socket)
            stream = trio.SSLStream(raw, client_context(), server_hostname=None, https_compatible=True)
            try:
                await stream.do_handshake()
                self._check(stream.getpeercert(binary_form=True))
            except BaseException:
                await trio.aclose_forcefully(raw)
                raise
        return stream

    def _check(self, shown: bytes | None) -> None:
        """Raise NotWantedError if this is not the certificate of the league."""
        if shown is None or not hmac.compare_digest(fingerprint_of(shown), self.code.fingerprint):
            raise NotWantedError(
                f"{self.host}:{self.port} is not the league that the code is for: its certificate is another one. "
                "Compare the address and the code with the page of the league; tell the teacher if both are right"
            )


class Helper:
    """Helps the league at `address`, with programs in `sandbox`, in `places` pairs of games at a time at most.

    `tell` is called with a line for the person at this PC when something changes, `note_count` with the programs that
    run and those that have run.
    """

    def __init__(
        self,
        address: LeagueAddress,
        sandbox: Sandbox,
        machine: Machine,
        places: int,
        tell: Callable[[str], object] = lambda _text: None,
        note_count: Callable[[int, int], object] = lambda _running, _finished: None,
        *,
        image: str | None = None,
    ) -> None:
        self._address = address
        self._sandboxes = {"": sandbox}
        """By the version of Python that a package was built for; empty for any."""
        self._machine = machine
        self._places = places
        self._tell = tell
        self._note_count = note_count
        self._image = image
        self._may_run = False
        self._packages: dict[tuple[str, str], _Unpacked] = {}
        """By SHA-256 and main file; the one that was needed last is the last one."""
        self._fetching = trio.Lock()
        self._leases: dict[int, _Lease] = {}
        self._used_cores = dict.fromkeys(PLATFORM.usable_cores() if PLATFORM.can_bind_cores else (), 0)
        self._folder = Path()
        self._running = self._finished = 0

    async def run(self) -> None:
        """Help until cancelled. If the connection is lost, it is made again. Raises NotWantedError and OSError."""
        await trio.to_thread.run_sync(remove_stale_folders)
        self._folder = await trio.to_thread.run_sync(new_folder)
        try:
            pause = FIRST_PAUSE
            while True:
                since, reason = trio.current_time(), ""
                try:
                    await self._serve()
                except* _LostError as group:
                    reason = str(first_error(group))
                if trio.current_time() - since > LONGEST_PAUSE:
                    pause = FIRST_PAUSE
                self._tell(f"{reason}; trying again in {pause:g} s")
                await trio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(remove_folder, self._folder)

    async def _serve(self) -> None:
        """Help until the connection is lost. Raises _LostError and NotWantedError."""
        where = f"{self._address.host}:{self._address.port}"
        try:
            stream = await self._address.connect()
        except _NEW_CONNECTION as error:
            text = os_error_text(error) if isinstance(error, OSError) else "no TLS connection can be made"
            raise _LostError(f"the league at {where} cannot be reached ({text})") from None
        try:
            frames = FrameStream(stream, decode_to_helper, MAX_RUN_MESSAGE)
            with suppress(trio.BrokenResourceError):
                await frames.send(JoinLeague(PROTOCOL, self._address.code.secret, self._machine, self._places))
            async with trio.open_nursery() as nursery:
                while True:
                    message: ToHelper | None = None
                    with trio.move_on_after(SILENCE_TIMEOUT), suppress(FrameError):
                        message = await frames.receive()
                    if message is None:
                        raise _LostError(f"the connection to the league at {where} was lost")
                    if len(nursery.child_tasks) > MAX_TASKS_PER_PLACE * self._places:
                        raise _LostError("the league wants too much at a time")
                    await self._handle(message, frames, nursery)
        finally:
            self._leases.clear()
            await trio.aclose_forcefully(stream)

    async def _handle(self, message: ToHelper, frames: FrameStream[ToHelper], nursery: trio.Nursery) -> None:
        match message:
            case Ping(number):
                with suppress(trio.BrokenResourceError):
                    await frames.send(Pong(number))
            case Welcome(name, may_run_unconfined):
                self._may_run = may_run_unconfined or self._machine.sandbox != NONE
                self._tell(_greeting(name, self._machine, self._places, may_run=self._may_run))
            case Refused(reason, is_final):
                raise NotWantedError(reason) if is_final else _LostError(reason)
            case PrepareLease(key, programs):
                if len(self._leases) >= self._places or key in self._leases:
                    raise _LostError(f"the league wants more than {self._places} pairs at a time")
                self._leases[key] = _Lease(programs)
                nursery.start_soon(self._prepare, key, self._leases[key], frames)
            case StartRun():
                nursery.start_soon(self._run, message)
            case EndLease(key):
                if (lease := self._leases.pop(key, None)) is not None:
                    for scope in (lease.preparing, *lease.scopes):
                        scope.cancel()

    # -- packages ---------------------------------------------------------------------------------------------------

    async def _prepare(self, key: int, lease: _Lease, frames: FrameStream[ToHelper]) -> None:
        """Fetch the programs of a lease, and say whether they can be started."""
        problem = "" if self._may_run else "it has no sandbox, and runs nothing without"
        unable: int | None = None
        with lease.preparing:
            for number, program in enumerate(lease.programs if self._may_run else ()):
                try:
                    await self._package(program)
                except SetupError as error:
                    problem, unable = str(error), number
                except (*_NEW_CONNECTION, FrameError, MatchError) as error:
                    text = os_error_text(error) if isinstance(error, OSError) else str(error) or type(error).__name__
                    problem = f"a package could not be fetched: {text}"
                if problem:
                    break
        if lease.preparing.cancelled_caught:
            problem = "the lease has ended"
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await frames.send(LeasePrepared(key, problem[:_MAX_REASON], unable))

    async def _package(self, program: OfferedProgram) -> _Unpacked:
        """Return the unpacked package, fetched if need be, which this PC can start. Raises SetupError and others."""
        key = program.sha256, program.main
        async with self._fetching:
            found = self._packages.pop(key, None)
            if found is None:
                found = await self._fetch(program)
            self._packages[key] = found
            needed = {(each.sha256, each.main) for lease in self._leases.values() for each in lease.programs}
            for old in [each for each in self._packages if each not in needed]:
                if sum(each.size for each in self._packages.values()) <= MAX_KEPT:
                    break
                await trio.to_thread.run_sync(remove_folder, self._packages.pop(old).root)
        require_startable(_command_of(found, program), str(found.package.folder))
        return found

    async def _fetch(self, program: OfferedProgram) -> _Unpacked:
        if program.size > MAX_PACKAGE:
            raise SetupError(f"a package of {program.size} bytes, {MAX_PACKAGE} at most are taken")
        content = bytearray()
        stream = await self._address.connect()
        try:
            frames = FrameStream(stream, decode_to_fetcher, MAX_RUN_MESSAGE)
            await frames.send(FetchPackage(self._address.code.secret, program.sha256))
            while True:
                with trio.fail_after(SILENCE_TIMEOUT):
                    message = await frames.receive()
                if not isinstance(message, PackageData) or len(content) > program.size:
                    break
                content += message.data
        finally:
            await trio.aclose_forcefully(stream)
        if isinstance(message, Refused):
            raise FrameError(message.reason)
        if hashlib.sha256(content).hexdigest() != program.sha256:
            raise FrameError("not the whole package was received")
        return await trio.to_thread.run_sync(self._unpack, bytes(content), program)

    def _unpack(self, content: bytes, program: OfferedProgram) -> _Unpacked:
        root = self._folder / f"package{next(_numbers)}"
        root.mkdir()
        try:
            path = root / "package.zip"
            path.write_bytes(content)
            package = unpack_package(path, root / "program", program.main or None)
            path.unlink()
        except BaseException:
            remove_folder(root)
            raise
        return _Unpacked(root, package, sum(each.stat().st_size for each in package.folder.rglob("*")))

    # -- programs ---------------------------------------------------------------------------------------------------

    async def _run(self, message: StartRun) -> None:
        """Run a program until it or its connection has ended."""
        lease = self._leases.get(message.lease)
        if lease is None or not self._may_run or not 0 <= message.program < len(lease.programs):
            return
        if len(lease.scopes) >= MAX_RUNS_PER_LEASE:
            return
        offered, scope = lease.programs[message.program], trio.CancelScope()
        lease.scopes.add(scope)
        core = min(self._used_cores, key=lambda each: self._used_cores[each], default=None)
        if core is not None:
            self._used_cores[core] += 1
        self._running += 1
        self._note_count(self._running, self._finished)
        try:
            with scope, suppress(*_NEW_CONNECTION, NotWantedError):
                stream = await self._address.connect()
                try:
                    frames = FrameStream(stream, decode_to_run, MAX_RUN_MESSAGE)
                    await frames.send(BeginRun(self._address.code.secret, message.run))
                    await self._play(frames, message, offered, core)
                    with suppress(FrameError):  # it may be slow to read, but closes when the game is over
                        while await frames.receive() is not None:
                            pass
                finally:
                    await trio.aclose_forcefully(stream)
        finally:
            lease.scopes.discard(scope)
            if core is not None:
                self._used_cores[core] -= 1
            self._running -= 1
            self._finished += 1
            self._note_count(self._running, self._finished)

    async def _play(
        self, frames: FrameStream[ToRun], message: StartRun, offered: OfferedProgram, core: int | None
    ) -> None:
        try:
            unpacked = await self._package(offered)
            sandbox = await self._sandbox_for(unpacked.package.python_version)
            async with open_run(sandbox, unpacked.package.folder) as run:
                await _RemoteRun(frames, run, self._folder).play(
                    _command_of(unpacked, offered), unpacked.package.folder, message, core
                )
        except* NotStartedError as group:
            await _say(frames, NotStarted(str(first_error(group))[:_MAX_REASON], is_unable=True))
        except* (MatchError, SandboxError, SupervisorError, FrameError) as group:
            await _say(frames, NotStarted(str(first_error(group))[:_MAX_REASON], is_unable=False))
        except* (OSError, trio.TooSlowError) as group:
            error = first_error(group)
            text = os_error_text(error) if isinstance(error, OSError) else "it is too slow"
            await _say(frames, NotStarted(text[:_MAX_REASON], is_unable=False))

    async def _sandbox_for(self, python_version: str) -> Sandbox:
        if self._image is not None or self._machine.sandbox == NONE:
            return self._sandboxes[""]
        if python_version not in self._sandboxes:
            self._sandboxes[python_version] = await trio.to_thread.run_sync(
                choose_sandbox, None, self._machine.sandbox, python_version
            )
        return self._sandboxes[python_version]


class _Lease:
    """Programs for a pair of games."""

    def __init__(self, programs: Sequence[OfferedProgram]) -> None:
        self.programs = programs
        self.preparing = trio.CancelScope()
        self.scopes: set[trio.CancelScope] = set()
        """Those of the programs that run."""


class _Unpacked:
    """A package in the folder `root`."""

    def __init__(self, root: Path, package: Package, size: int) -> None:
        self.root = root
        self.package = package
        self.size = max(size, LEAST_SIZE)


def _command_of(unpacked: _Unpacked, program: OfferedProgram) -> Command:
    """Return how to start a package here. Raises SetupError."""
    folder = unpacked.package.folder
    words = [*unpacked.package.words, *program.parameters]
    if sys.platform == "win32" and program.words:  # there is no shell
        first, *others = program.words
        words = [python_launcher() if first == PYTHON else first, *others, *program.parameters]
    return Command.parse(join_command(words), str(folder))


def _greeting(name: str, machine: Machine, places: int, *, may_run: bool) -> str:
    if not may_run:
        return (
            f"this PC belongs to the league as {name}, but gets no games: it has no sandbox ({machine.sandbox_gap}), "
            "and the teacher has not allowed it to run programs without one"
        )
    how = "WITHOUT A SANDBOX, as the teacher has allowed" if machine.sandbox == NONE else f"in {machine.sandbox}"
    return f"this PC helps the league as {name}: up to {places} at a time, programs run {how}"


async def _say(frames: FrameStream[ToRun], message: NotStarted) -> None:
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        await frames.send(message)


# -- a program --------------------------------------------------------------------------------------------------------


class _RemoteRun:
    """A program that runs here, and its connections, which are relayed to the league."""

    def __init__(self, frames: FrameStream[ToRun], run: SandboxRun, folder: Path) -> None:
        self._frames = frames
        self._run = run
        self._outputs = folder / f"{next(_numbers)}.stdout", folder / f"{next(_numbers)}.stderr"
        self._program: Program | None = None
        self._to_program: dict[int, trio.MemorySendChannel[bytes]] = {}
        self._closed = trio.lowlevel.ParkingLot()
        self._errors = bytearray()
        self._has_errors = trio.Event()
        self._last_words = b""
        self._has_connected = False

    async def play(self, command: Command, folder: Path, message: StartRun, core: int | None) -> None:
        """Run the program to its end, or until the league ends it. Raises what `Program.run` raises."""
        host, port = self._run.address
        values = {
            "host": host,
            "port": str(port),
            "reservation": message.reservation,
            "seed": message.seed,
            "game": message.game,
        }
        program = self._program = Program(
            command.arguments(values),
            f"league-helper-{os.getpid()}/{next(_numbers)}",
            *self._outputs,
            None if core is None else (core,),
            str(folder),
            confinement=self._run,
            has_lazy_outputs=True,
        )
        program.listen_to_errors(self._note_error)
        try:
            async with trio.open_nursery() as nursery:
                await nursery.start(program.run)
                async with trio.open_nursery() as relaying:
                    relaying.start_soon(self._receive, nursery.cancel_scope)
                    relaying.start_soon(self._accept, relaying)
                    relaying.start_soon(self._send_errors)
                    await program.gone.wait()
                    await self._flush_errors()
                    await self._end_connections()
                    relaying.cancel_scope.cancel()  # while nothing is sent, since that would break the connection
                await self._say_end(program)
        finally:
            for path in self._outputs:
                with suppress(OSError):
                    path.unlink(missing_ok=True)

    async def _say_end(self, program: Program) -> None:
        """Send what is left of its outputs, and how it has ended."""
        if program.exceeded:
            why = f"it was ended, since it exceeded the limit for {program.exceeded}"
            self._errors += f"\nspielleiter: {why}\n".encode()
        if program.leftovers:
            names = ", ".join(each.name for each in program.leftovers)
            self._errors += f"\nspielleiter: outlived the program: {names}\n".encode()
        await self._flush_errors()
        lines = await trio.to_thread.run_sync(read_tail, self._outputs[0])
        text = "\n".join(lines).encode()
        with suppress(trio.BrokenResourceError):
            for start in range(0, len(text), MAX_CHUNK):
                await self._frames.send(Written(text[start : start + MAX_CHUNK], is_error=False))
            await self._frames.send(self._end_of(program.returncode))

    def _end_of(self, code: int | None) -> NotStarted | Exited:
        if code is None:
            return NotStarted("a program could not be ended", is_unable=False)
        if code in _NOT_EXECUTED and not self._has_connected:
            text = self._last_words.decode("utf-8", "replace").strip()
            return NotStarted(f"something that a program needs is missing: {text}"[:_MAX_REASON], is_unable=True)
        return Exited(code)

    # -- what it writes ---------------------------------------------------------------------------------------------

    def _note_error(self, data: bytes) -> None:
        self._errors += data  # bounded, since only what is kept is reported (outputs.py)
        self._has_errors.set()

    async def _send_errors(self) -> None:
        while True:
            await self._has_errors.wait()
            self._has_errors = trio.Event()
            await self._flush_errors()

    async def _flush_errors(self) -> None:
        with suppress(trio.BrokenResourceError):
            while self._errors:
                data = bytes(self._errors[:MAX_CHUNK])
                self._last_words = (self._last_words + data)[-_MAX_WORDS:]  # a line may be written in pieces
                del self._errors[:MAX_CHUNK]
                await self._frames.send(Written(data, is_error=True))

    # -- its connections --------------------------------------------------------------------------------------------

    async def _accept(self, nursery: trio.Nursery) -> None:
        """Relay the connections of the program, within the limits."""
        listener = await self._run.listener()
        assert self._program is not None
        for number in range(MAX_CONNECTIONS_PER_RUN):
            while True:
                sock = (await accept(listener)).socket
                if len(self._to_program) < MAX_CONNECTIONS and self._is_own(sock):
                    break
                sock.close()
            sock.setblocking(False)
            stream = trio.SocketStream(trio.socket.from_stdlib_socket(sock))
            to_program, data = trio.open_memory_channel[bytes](MAX_BUFFERED)
            if self._program.gone.is_set():
                to_program.close()
            self._to_program[number] = to_program
            self._has_connected = True
            try:
                await self._frames.send(Connected(number))
            except BaseException:  # the gate is gone, or the game is over
                sock.close()
                raise
            nursery.start_soon(self._relay, number, stream, data)

    def _is_own(self, sock: socket.socket) -> bool:
        """Whether the program has made a connection; without a sandbox, another one may."""
        if self._run.sandbox.has_own_name_spaces or self._run.sandbox.name != NONE:
            return True
        assert self._program is not None
        far = far_socket(sock)
        return far is not None and has_socket(self._program.find_all(), far)

    async def _relay(self, number: int, stream: trio.SocketStream, data: trio.MemoryReceiveChannel[bytes]) -> None:
        async def write() -> None:
            with suppress(trio.BrokenResourceError):
                async for chunk in data:
                    await stream.send_all(chunk)
                await stream.send_eof()

        async with stream, trio.open_nursery() as nursery:
            nursery.start_soon(write)
            with suppress(trio.BrokenResourceError):
                while chunk := await stream.receive_some(MAX_CHUNK):
                    await self._frames.send(Bytes(number, bytes(chunk)))
            with suppress(trio.BrokenResourceError):
                await self._frames.send(Closed(number))
        del self._to_program[number]
        self._closed.unpark_all()

    async def _end_connections(self) -> None:
        """Wait until everything that the program had sent before its end is relayed."""
        for to_program in self._to_program.values():
            to_program.close()
        while self._to_program:  # it takes limited time: the league closes the connection when the game is over
            await self._closed.park()

    async def _receive(self, program: trio.CancelScope) -> None:
        """Pass on what the league sends; when it closes the connection, end the program."""
        with suppress(FrameError):
            while (message := await self._frames.receive()) is not None:
                match message:
                    case Bytes(number, data):
                        self._pass_on(number, data)
                    case Closed(number):
                        if (to_program := self._to_program.get(number)) is not None:
                            to_program.close()
        program.cancel()

    def _pass_on(self, number: int, data: bytes) -> None:
        to_program = self._to_program.get(number)
        if to_program is None:  # the program has closed it
            return
        try:
            to_program.send_nowait(data)
        except trio.WouldBlock:  # it does not read
            to_program.close()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
