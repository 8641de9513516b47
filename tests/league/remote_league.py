"""A league with a gate and PCs that help it, for tests: real processes, real connections, real games."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec
import trio

from spielleiter.common.errors import first_error
from spielleiter.league.certificate import client_context, open_certificate
from spielleiter.league.frames import FrameStream, framed
from spielleiter.league.gate_client import GateClient, Lease, PairLostError, RemoteProgram
from spielleiter.league.gate_messages import (
    MAX_RUN_MESSAGE,
    PROTOCOL,
    AllowedHelper,
    JoinLeague,
    PackageData,
    Ping,
    Pong,
    Refused,
    ToHelper,
    decode_to_fetcher,
    decode_to_helper,
)
from spielleiter.league.helper import Helper, LeagueAddress, NotWantedError
from spielleiter.league.helper_code import HelperCode, new_secret, secret_hash
from spielleiter.league.package_needs import PYTHON, Machine, package_needs
from spielleiter.match.match_server import open_match_server
from spielleiter.match.plan import Entrant, MatchSetup
from spielleiter.match.records import GameRecord
from spielleiter.match.referee import play_game
from spielleiter.programs.sandbox.plain import PlainSandbox
from spielleiter.programs.sandbox.sandbox import BUBBLEWRAP, Sandbox
from tests.contest.packages import SOUND, Planted, make_package
from tests.match.refereed import setup_of
from tests.timeouts import HANG_TIMEOUT

LOOPBACK: Final = "127.0.0.1"


def machine_with(sandbox: Sandbox) -> Machine:
    """What such a PC says about itself, without measuring anything."""
    return Machine("pc", sys.platform, "x86_64", 4, 1.0, sandbox.name, "no reason", {PYTHON: "3.12"}, "0")


class RemoteLeague:
    """A league in `folder` whose gate runs."""

    def __init__(self, folder: Path, gate: GateClient, nursery: trio.Nursery, fingerprint: bytes) -> None:
        self.folder = folder
        self.gate = gate
        self.nursery = nursery
        self.fingerprint = fingerprint
        self.port: int | None = None
        """Where PCs find it; None: at the gate itself."""
        self.allowed: list[AllowedHelper] = []
        self.told: list[str] = []
        """What the PCs of this process have told their people."""
        self.running = 0
        """How many programs run on the PC of this process that has said so last."""
        self.changed = trio.lowlevel.ParkingLot()

    def add_code(self, name: str = "pc", *, may_run_unconfined: bool = True) -> HelperCode:
        """Allow one more PC, and return its code."""
        secret = new_secret()
        self.allowed.append(
            AllowedHelper(len(self.allowed) + 1, name, secret_hash(secret), may_run_unconfined=may_run_unconfined)
        )
        self.gate.allow(self.allowed)
        return HelperCode(secret, self.fingerprint)

    def address(self, code: HelperCode) -> LeagueAddress:
        """Where a PC with this code finds the league."""
        return LeagueAddress(LOOPBACK, self.port or self.gate.port, code)

    def new_helper(self, code: HelperCode, sandbox: Sandbox | None = None, places: int = 2) -> Helper:
        """Return a PC that runs in this process."""
        used = PlainSandbox() if sandbox is None else sandbox
        return Helper(self.address(code), used, machine_with(used), places, self.told.append, self._note_count)

    def _note_count(self, running: int, _finished: int) -> None:
        self.running = running
        self.changed.unpark_all()

    async def wait_until(self, condition: Callable[[], object]) -> None:
        """Wait for something that the gate has to say."""
        with trio.fail_after(HANG_TIMEOUT):
            while not condition():
                await self.changed.park()

    async def start_helper(
        self, sandbox: Sandbox | None = None, *, may_run_unconfined: bool = True, code: HelperCode | None = None
    ) -> trio.CancelScope:
        """Start a PC in this process, and wait until it is connected; return what ends it."""
        helper = self.new_helper(code or self.add_code(may_run_unconfined=may_run_unconfined), sandbox)
        scope = trio.CancelScope()
        expected = len(self.gate.helpers()) + 1

        has_come = False

        async def run() -> None:
            with scope:
                is_wanted = True
                while is_wanted:
                    try:
                        await helper.run()
                    except* NotWantedError as group:
                        self.told.append(str(first_error(group)))
                        self.changed.unpark_all()
                        is_wanted = not has_come  # the gate may not have heard of the code yet

        self.nursery.start_soon(run)
        await self.wait_until(lambda: len(self.gate.helpers()) == expected)
        has_come = True
        return scope

    def program(self, name: str, planted: Planted = SOUND) -> RemoteProgram:
        """Return a program that PCs can run."""
        path = make_package(self.folder / f"{name}.zip", planted)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return RemoteProgram(name, digest, path, needs=package_needs(path))


@asynccontextmanager
async def open_remote_league(folder: Path, *, max_stall: float = HANG_TIMEOUT) -> AsyncIterator[RemoteLeague]:
    """Open a league in this folder, whose gate listens; the PCs of this process may be late, as it may be busy."""
    certificate = open_certificate(folder)
    changed = trio.lowlevel.ParkingLot()
    gate = GateClient(LOOPBACK, 0, certificate, changed.unpark_all, max_stall=max_stall)
    async with trio.open_nursery() as nursery:
        league = RemoteLeague(folder, gate, nursery, certificate.fingerprint)
        league.changed = changed
        nursery.start_soon(gate.run)
        await league.wait_until(lambda: not gate.problem)
        yield league
        nursery.cancel_scope.cancel()


async def play_pair(lease: Lease, folder: Path, local: str = "builtin:random", *, games: int = 2) -> list[GameRecord]:
    """Play games of a lease; a program that no PC runs is `local`. Raises PairLostError."""
    entrants = [each or Entrant("local", local) for each in lease.entrants]
    setup: MatchSetup = setup_of(entrants[0], entrants[1], run_id=str(folder))
    records = []
    lost: PairLostError | None = None
    async with open_match_server(setup) as server:
        for planned in setup.plan()[:games]:
            with trio.fail_after(HANG_TIMEOUT):
                records.append(await play_game(setup, planned, folder, match_server=server))
            try:
                await lease.settle()
            except PairLostError as error:  # it would leave the server in a group
                lost = error
                break
    if lost is not None:
        raise lost
    return records


class Cable:
    """Forwards connections to `port` of this machine, up to 64 KiB each `pause` seconds.

    While it is cut, it forwards nothing and closes nothing.
    """

    def __init__(self, port: int, pause: float = 0.0) -> None:
        self.port = 0
        self._to = port
        self._pause = pause
        self._connections = trio.CancelScope()
        self._is_cut = False

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Forward until cancelled."""
        [listener] = await trio.open_tcp_listeners(0, host=LOOPBACK)
        self.port = listener.socket.getsockname()[1]
        task_status.started()
        async with listener:
            while True:
                with trio.CancelScope() as self._connections:
                    async with trio.open_nursery() as nursery:
                        while True:
                            nursery.start_soon(self._forward, await listener.accept())

    def cut(self) -> None:
        """Pull the plug."""
        self._is_cut = True

    def plug(self) -> None:
        """Put it in again; the connections of before are closed."""
        self._is_cut = False
        self._connections.cancel()

    async def _forward(self, near: trio.SocketStream) -> None:
        async def pump(source: trio.SocketStream, target: trio.SocketStream) -> None:
            try:
                while data := await source.receive_some(64 * 1024):
                    await trio.sleep(self._pause)
                    if self._is_cut:
                        await trio.sleep_forever()
                    await target.send_all(data)
                await target.send_eof()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                nursery.cancel_scope.cancel()

        async with near, await trio.open_tcp_stream(LOOPBACK, self._to) as far, trio.open_nursery() as nursery:
            nursery.start_soon(pump, near, far)
            nursery.start_soon(pump, far, near)


class Stranger:
    """A TLS connection to the gate by somebody who does what he likes."""

    def __init__(self, stream: trio.SSLStream[trio.SocketStream]) -> None:
        self.stream = stream
        self.frames = FrameStream(stream, decode_to_helper, MAX_RUN_MESSAGE)

    async def send(self, message: msgspec.Struct | bytes) -> None:
        """Send a message, or any bytes."""
        await self.stream.send_all(message if isinstance(message, bytes) else framed(message))

    async def join(self, secret: str, sandbox: str = BUBBLEWRAP, places: int = 2) -> None:
        """Do as a PC does at first."""
        machine = Machine("pc", sys.platform, "x86_64", 4, 1.0, sandbox, "", {PYTHON: "3.12"}, "0")
        await self.send(JoinLeague(PROTOCOL, secret, machine, places))

    async def receive(self, *, answers: bool = False) -> ToHelper | None:
        """Return the next message other than a `Ping`; None at the end. With `answers`, those are answered."""
        while True:
            with trio.fail_after(HANG_TIMEOUT):
                message = await self.frames.receive()
            if not isinstance(message, Ping):
                return message
            if answers:
                await self.send(Pong(message.number))

    async def receive_package(self) -> bytes | str:
        """Return a package, or why it is refused."""
        frames = FrameStream(self.stream, decode_to_fetcher, MAX_RUN_MESSAGE)
        content = b""
        with trio.fail_after(HANG_TIMEOUT):
            while (message := await frames.receive()) is not None:
                if isinstance(message, Refused):
                    return message.reason
                assert isinstance(message, PackageData)
                content += message.data
        return content


@asynccontextmanager
async def stranger_at(league: RemoteLeague) -> AsyncIterator[Stranger]:
    """Connect to the gate."""
    raw = await trio.open_tcp_stream(LOOPBACK, league.gate.port)
    stream = trio.SSLStream(raw, client_context(), server_hostname=None, https_compatible=True)
    try:
        yield Stranger(stream)
    finally:
        await trio.aclose_forcefully(stream)


@asynccontextmanager
async def joined_stranger(league: RemoteLeague, places: int = 2) -> AsyncIterator[tuple[Stranger, str]]:
    """Join as a PC that is allowed; yield its first connection and its secret."""
    secret = league.add_code().secret
    expected = len(league.gate.helpers()) + 1
    while True:
        async with stranger_at(league) as stranger:
            await stranger.join(secret, places=places)
            if isinstance(await stranger.receive(), Refused):  # the gate may not have heard of the code yet
                continue
            await league.wait_until(lambda: len(league.gate.helpers()) == expected)
            yield stranger, secret
            return
