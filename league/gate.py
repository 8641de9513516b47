"""The process through which helpers' PCs take part: it knows them by their codes, and relays what their programs send.

The league starts it as ``python -m spielleiter.league.gate``, and only if PCs may help (gate_client.py). It listens
for PCs with TLS, and on this machine for the processes that stand for programs (remote_seat.py). It decides nothing
about games.

Invariants: nobody is told anything, or kept longer than HELLO_TIMEOUT, who has not sent the secret of a PC that may
help. A PC gets only the packages of its leases. What it sends is checked here: a message that is not expected ends the
connection, and the game of that program does not count. Nobody waits for a PC that does not read.
"""

from __future__ import annotations

import itertools
import math
import ssl
import sys
import traceback
from collections import Counter, defaultdict, deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import trio

from spielleiter.league.certificate import Certificate
from spielleiter.league.child_process import open_parent, run_child
from spielleiter.league.frames import FrameError, FrameStream, framed
from spielleiter.league.gate_messages import (
    MAX_CHUNK,
    MAX_CONNECTIONS_PER_RUN,
    MAX_HELLO,
    MAX_RUN_MESSAGE,
    MAX_STALL,
    PROTOCOL,
    Allow,
    AllowedHelper,
    BeginRun,
    Bytes,
    Closed,
    CloseLease,
    Connected,
    EndLease,
    Exited,
    FetchPackage,
    FromGate,
    FromRun,
    GameSettled,
    GateFailed,
    GateOpened,
    Hello,
    HelperCame,
    HelperDelay,
    HelperGone,
    JoinLeague,
    LeasedProgram,
    LeaseOpened,
    LeasePrepared,
    NotStarted,
    OfferedProgram,
    OpenGate,
    OpenLease,
    PackageData,
    Ping,
    Pong,
    PrepareLease,
    Refused,
    SettleGame,
    StartRun,
    TakeSeat,
    ToGate,
    ToHelper,
    Welcome,
    decode_from_helper,
    decode_from_run,
    decode_hello,
    decode_seat,
    decode_to_gate,
)
from spielleiter.league.helper_code import secret_hash
from spielleiter.server.errors import StartError
from spielleiter.server.net.sockets import connections_possible, listen, notice_vanished

HELLO_TIMEOUT: Final = 10.0
"""Seconds for a peer to say who it is."""
MAX_STRANGERS: Final = 64
"""The most connections at a time of peers that are not known yet; further ones are closed."""
MAX_STRANGERS_PER_ADDRESS: Final = 8
FAILURE_PAUSE: Final = 2.0
"""Seconds for which a peer that is not served keeps its place among them, so handshakes without end cost little."""
JOIN_PAUSE: Final = 1.0
"""Seconds between two times that PCs with one code join."""
PING_INTERVAL: Final = 0.25
"""Seconds between two questions to a PC whether it is still there."""
SILENCE_TIMEOUT: Final = 10.0
"""Seconds after which a PC that answers nothing is gone."""
CONNECT_TIMEOUT: Final = 10.0
"""Seconds for a PC to connect for a program that it was told to start."""
SETTLE_TIMEOUT: Final = 20.0
"""Seconds for everything of a game to end."""
GOODBYE_TIMEOUT: Final = 2.0
"""Seconds for a peer to read what it is told last."""
STALLED_TRANSFER: Final = 60.0
"""Seconds for a PC to take the next bytes of a package."""
MAX_FETCHES: Final = 2
"""The most packages that a PC fetches at a time."""
MAX_TOLD: Final = 256
"""The most messages that wait for a PC to read them."""
RATE: Final = 1024 * 1024
"""Bytes for each second that a program on a PC may send: much more than a game and its outputs take."""
BURST: Final = 16 * 1024 * 1024
"""Bytes that it may send faster."""
MESSAGE_COST: Final = 4096
"""Bytes for which a message counts beside its own ones, and a piece of it at least: each is work, however small it is.

A program sends some hundreds of messages in a game.
"""
MAX_CONNECTIONS: Final = 4096
"""The connections for which the system is asked."""

_READ_SIZE: Final = 64 * 1024
_PINGS_PER_REPORT: Final = 20
_NOTICEABLE: Final = 0.005
"""Seconds by which a PC's delay has to change to be reported."""

_Tell: TypeAlias = Callable[[FromGate], object]
_LOST: Final = (trio.BrokenResourceError, trio.ClosedResourceError, FrameError)
"""How a connection ends that the peer has ended, or would have to end."""


class _Allowance:
    """What a PC may send on a connection; it waits while it has sent too much, since nothing is read meanwhile."""

    def __init__(self, frames: FrameStream[Any]) -> None:
        self._frames = frames
        self._reads = frames.reads
        self._left, self._since = float(BURST), trio.current_time()

    async def spend(self, size: int) -> None:
        """Count a message of this size that was received; wait if that is too much."""
        pieces, self._reads = self._frames.reads - self._reads, self._frames.reads
        now = trio.current_time()
        cost = MESSAGE_COST + max(size, MESSAGE_COST * pieces)
        self._left = min(BURST, self._left + RATE * (now - self._since)) - cost
        self._since = now
        if self._left < 0:
            await trio.sleep(-self._left / RATE)


class _Helper:
    """A PC that is connected."""

    def __init__(self, allowed: AllowedHelper, address: str, places: int, tell: _Tell) -> None:
        self.id = allowed.id
        self.allowed = allowed
        self.address = address
        self.places = places
        self.scope = trio.CancelScope()
        self.leases: dict[int, _Lease] = {}
        self.unanswered: set[int] = set()
        """The leases that it was told to prepare, and has not spoken of yet."""
        self.reason = "the connection was lost"
        """Why it is gone, once it is."""
        self.is_gone = False
        self.told, self.to_tell = trio.open_memory_channel[ToHelper](MAX_TOLD)
        self._tell = tell
        self._pings: deque[tuple[int, float]] = deque()
        """The number and the time of each one that was not answered yet."""
        self._numbers = itertools.count()
        self._answered = trio.lowlevel.ParkingLot()
        self._delays: list[float] = []
        self._reported = -1.0

    def tell(self, message: ToHelper) -> None:
        """Send a message. A PC that reads nothing is cut off."""
        if self.is_gone:
            return
        try:
            self.told.send_nowait(message)
        except trio.WouldBlock:
            self.leave("it does not read what it is told")

    def leave(self, reason: str, *, is_final: bool | None = None) -> None:
        """Let it take no further part, and end what runs there.

        `is_final` says whether the PC is told not to try again; None: it is told nothing.
        """
        if self.is_gone:
            return
        self.is_gone, self.reason = True, reason
        for lease in tuple(self.leases.values()):
            lease.fail(f"{self.allowed.name}: {reason}")
        if is_final is None:
            self.scope.cancel()
            return
        with suppress(trio.WouldBlock):
            self.told.send_nowait(Refused(reason, is_final))
        self.told.close()
        self.scope.deadline = trio.current_time() + GOODBYE_TIMEOUT

    # -- is it still there? -----------------------------------------------------------------------------------------

    def ping(self) -> int:
        """Ask for an answer; return the number of the question."""
        number = next(self._numbers)
        self._pings.append((number, trio.current_time()))
        self.tell(Ping(number))
        return number

    async def ping_forever(self) -> None:
        """Notice that it is gone, and how long it takes to answer."""
        while True:
            self.ping()
            await trio.sleep(PING_INTERVAL)
            silence = self.silence()
            for lease in self.leases.values():
                lease.note_silence(silence)
            if silence > SILENCE_TIMEOUT:
                self.leave(f"it has not answered for {silence:.0f} s")

    def silence(self) -> float:
        """The seconds that the oldest question has waited for an answer."""
        return trio.current_time() - self._pings[0][1] if self._pings else 0.0

    def note_pong(self, number: int) -> None:
        """Note an answer. Raises FrameError if there was no such question, or an older one is still open."""
        if not self._pings or self._pings[0][0] != number:
            raise FrameError("an answer to no question")
        _, since = self._pings.popleft()
        delay = trio.current_time() - since
        for lease in self.leases.values():
            lease.note_silence(delay)
        self._delays.append(delay)
        if len(self._delays) >= _PINGS_PER_REPORT:
            median = sorted(self._delays)[len(self._delays) // 2]
            self._delays.clear()
            if abs(median - self._reported) > _NOTICEABLE:
                self._reported = median
                self._tell(HelperDelay(self.id, median))
        self._answered.unpark_all()

    async def wait_for_answer(self, lease: _Lease) -> None:
        """Return once it has answered a question that is asked now, or the lease has failed."""
        number = self.ping()
        while not lease.problem and self._pings and self._pings[0][0] <= number:
            await self._answered.park()

    def note_failed(self) -> None:
        """Note that a lease has failed, which happens to all of them if it is gone."""
        self._answered.unpark_all()


class _Lease:
    """The programs that a PC runs for a pair of games."""

    def __init__(self, message: OpenLease, helper: _Helper, max_stall: float) -> None:
        self.key = message.lease
        self.programs = message.programs
        self.helper = helper
        self.to_fetch = [each.sha256 for each in message.programs]
        self._max_stall = max_stall
        self.fetches: set[trio.CancelScope] = set()
        """Those of the packages that are being sent."""
        self.runs: dict[int, _Run] = {}
        self.changed = trio.lowlevel.ParkingLot()
        self.begun: set[int] = set()
        """The programs that the PC has connected for in this game."""
        self.problem = ""
        self.program: int | None = None

    def fail(self, problem: str, program: int | None = None) -> None:
        """Note why the game does not count, and end its programs."""
        if not self.problem:
            self.problem, self.program = problem, program
            self.helper.note_failed()
        for scope in (*self.fetches, *(run.scope for run in self.runs.values())):
            scope.cancel()

    def note_silence(self, seconds: float) -> None:
        """Note for how long the PC has not answered; a game that is being played may not count then."""
        if seconds > self._max_stall and (self.runs or self.begun):
            self.fail(f"{self.helper.allowed.name}: the connection was interrupted for {seconds:.1f} s")


class _Run:
    """A program that runs on a PC."""

    def __init__(self, number: int, lease: _Lease, program: int) -> None:
        self.number = number
        self.lease = lease
        self.program = program
        self.scope = trio.CancelScope()
        self.remote: FrameStream[FromRun] | None = None
        """The connection of the PC for it, once it has connected."""
        self.is_connected = trio.Event()
        self.is_over = trio.Event()
        self._open: set[int] = set()
        self._connections = 0

    def begin(self, frames: FrameStream[Hello]) -> None:
        """Note that the PC has connected for it."""
        self.remote = frames.followed_by(decode_from_run, MAX_RUN_MESSAGE)
        self.lease.begun.add(self.program)
        self.is_connected.set()

    def check(self, message: FromRun) -> None:
        """Raise FrameError if the PC may not send this message now."""
        match message:
            case Connected(number):
                if number != self._connections or number >= MAX_CONNECTIONS_PER_RUN:
                    raise FrameError("a connection with a wrong number")
                self._connections += 1
                self._open.add(number)
            case Bytes(number) | Closed(number) if number not in self._open:
                raise FrameError("bytes of a connection that is not open")
            case Closed(number):
                self._open.remove(number)
            case _:
                pass


class Gate:
    """Serves PCs and seats in `nursery`; `tell` is called with what the league has to know."""

    def __init__(self, nursery: trio.Nursery, tell: _Tell) -> None:
        self._nursery = nursery
        self._tell = tell
        self._allowed: dict[str, AllowedHelper] = {}
        """By the hash of the secret."""
        self._helpers: dict[int, _Helper] = {}
        self._leases: dict[int, _Lease] = {}
        self._tickets: dict[str, tuple[_Lease, int]] = {}
        self._runs: dict[int, _Run] = {}
        self._numbers = itertools.count(1)
        self._strangers: Counter[str] = Counter()
        self._next_joins: defaultdict[int, float] = defaultdict(lambda: -math.inf)
        self._max_stall = MAX_STALL

    # -- what the league says ---------------------------------------------------------------------------------------

    def handle(self, message: ToGate) -> None:
        """Do what the league wants."""
        match message:
            case OpenGate():
                self._open(message)
            case Allow(helpers):
                self._allow(helpers)
            case OpenLease():
                self._open_lease(message)
            case SettleGame(lease):
                self._nursery.start_soon(self._settle, lease)
            case CloseLease(lease):
                self._close_lease(lease)

    def _open(self, message: OpenGate) -> None:
        self._max_stall = message.max_stall
        try:
            context = Certificate(Path(message.certificate), b"").server_context()
            sockets = listen(message.host, message.port, option="--helpers")
            seats = listen("127.0.0.1", 0)
        except (StartError, OSError) as error:  # ssl.SSLError is an OSError
            self._tell(GateFailed(str(error)))
            return

        async def meet(stream: trio.SocketStream) -> None:
            await _contained(self._meet, stream, context)

        async def seat(stream: trio.SocketStream) -> None:
            await _contained(self._serve_seat, stream)

        for handler, listening in ((meet, sockets), (seat, seats)):
            listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(sock)) for sock in listening]
            self._nursery.start_soon(trio.serve_listeners, handler, listeners)
        self._tell(GateOpened(sockets[0].getsockname()[1], seats[0].getsockname()[1]))

    def _allow(self, helpers: tuple[AllowedHelper, ...]) -> None:
        self._allowed = {each.secret_hash: each for each in helpers}
        allowed = {each.id: each for each in helpers}
        for helper in tuple(self._helpers.values()):
            now = allowed.get(helper.id)
            if now is None or now.secret_hash != helper.allowed.secret_hash:
                helper.leave("its code was revoked", is_final=True)
            elif now != helper.allowed:
                helper.leave("what it may do has changed", is_final=False)

    def _open_lease(self, message: OpenLease) -> None:
        helper = self._helpers.get(message.helper)
        if helper is None or helper.is_gone:
            self._tell(LeaseOpened(message.lease, "the PC is not there any more"))
            return
        lease = _Lease(message, helper, self._max_stall)
        self._leases[lease.key] = helper.leases[lease.key] = lease
        helper.unanswered.add(lease.key)
        self._tickets |= {each.ticket: (lease, number) for number, each in enumerate(lease.programs)}
        offered = tuple(
            OfferedProgram(each.sha256, each.size, each.main, each.parameters, each.words) for each in lease.programs
        )
        helper.tell(PrepareLease(lease.key, offered))

    def _close_lease(self, key: int) -> None:
        lease = self._leases.pop(key, None)
        if lease is None:
            return
        for each in lease.programs:
            self._tickets.pop(each.ticket, None)
        lease.helper.leases.pop(key, None)
        lease.fail("the lease was closed")
        lease.helper.tell(EndLease(key))

    async def _settle(self, key: int) -> None:
        lease = self._leases.get(key)
        if lease is None:
            self._tell(GameSettled(key, "the league has closed the lease"))
            return
        with trio.move_on_after(SETTLE_TIMEOUT) as waiting:
            while lease.runs:
                await lease.changed.park()
            await lease.helper.wait_for_answer(lease)
        if waiting.cancelled_caught:
            lease.fail(f"{lease.helper.allowed.name}: its programs have not ended in time")
        if len(lease.begun) < len(lease.programs):  # this machine is too busy
            lease.fail(f"{lease.helper.allowed.name}: a program was not asked for in time")
        lease.begun.clear()
        self._tell(GameSettled(key, lease.problem, lease.program))

    # -- peers ------------------------------------------------------------------------------------------------------

    async def _meet(self, raw: trio.SocketStream, context: ssl.SSLContext) -> None:
        """Find out who has connected, and serve it if it is a PC that may help."""
        address = str(raw.socket.getpeername()[0])
        # a PC that has leases connects for all of their programs at once, however many strangers there are
        leases = sum(len(helper.leases) for helper in self._helpers.values() if helper.address == address)
        is_full = self._strangers.total() >= MAX_STRANGERS and not leases
        if is_full or self._strangers[address] >= MAX_STRANGERS_PER_ADDRESS + 2 * leases:
            return
        notice_vanished(raw.socket)
        frames = FrameStream(
            trio.SSLStream(raw, context, server_side=True, https_compatible=True), decode_hello, MAX_HELLO
        )
        serve: Callable[[], Awaitable[None]] | None = None
        self._strangers[address] += 1
        try:
            with suppress(*_LOST):
                serve = await self._recognise(frames, address)
            if serve is None:
                await trio.aclose_forcefully(raw)
                await trio.sleep(FAILURE_PAUSE)
                return
        finally:
            self._strangers[address] -= 1
            if not self._strangers[address]:
                del self._strangers[address]
        await serve()

    async def _recognise(self, frames: FrameStream[Hello], address: str) -> Callable[[], Awaitable[None]] | None:
        """Return what serves a PC that may help, as it has asked first; None for somebody else, who is told why."""
        hello: Hello | None = None
        with trio.move_on_after(HELLO_TIMEOUT):
            hello = await frames.receive()
        if hello is None:
            return None
        code_hash, problem = secret_hash(hello.secret), ""
        if isinstance(hello, JoinLeague) and (known := self._allowed.get(code_hash)) is not None:
            turn = self._next_joins[known.id] = max(trio.current_time(), self._next_joins[known.id] + JOIN_PAUSE)
            await trio.sleep_until(turn)
        allowed = self._allowed.get(code_hash)
        if allowed is None:
            problem = "this code is unknown or was revoked; ask the teacher for another one"
        else:
            match hello:
                case JoinLeague(protocol) if protocol == PROTOCOL:
                    return partial(self._serve_helper, frames, allowed, hello, address)
                case JoinLeague():
                    problem = (
                        "this PC and the league have different versions of spielleiter; install that of the league on "
                        "this PC"
                    )
                case FetchPackage(_, sha256):
                    found = self._take_package(allowed.id, sha256)
                    if found is not None:
                        return partial(_send_package, frames, *found)
                    problem = "this PC is not to run that package now"
                case BeginRun(_, number):
                    run = self._runs.get(number)
                    if run is None or run.remote or run.lease.helper.is_gone or run.lease.helper.id != allowed.id:
                        return None
                    run.begin(frames)
                    return run.is_over.wait
        await _refuse(frames, Refused(problem))
        return None

    async def _serve_helper(
        self, frames: FrameStream[Hello], allowed: AllowedHelper, hello: JoinLeague, address: str
    ) -> None:
        if (former := self._helpers.get(allowed.id)) is not None:
            former.leave("another PC has joined with the same code", is_final=True)
        helper = _Helper(allowed, address, hello.places, self._tell)
        self._helpers[helper.id] = helper
        helper.tell(Welcome(allowed.name, allowed.may_run_unconfined))
        self._tell(HelperCame(helper.id, hello.machine, hello.places))
        incoming = frames.followed_by(decode_from_helper, MAX_HELLO)
        allowance = _Allowance(incoming)
        try:
            with helper.scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_write_all, helper, incoming)
                    nursery.start_soon(helper.ping_forever)
                    with suppress(*_LOST):
                        while (message := await incoming.receive()) is not None:
                            match message:
                                case Pong(number):
                                    helper.note_pong(number)
                                case LeasePrepared():
                                    self._note_prepared(helper, message)
                            await allowance.spend(0)
                    nursery.cancel_scope.cancel()
        finally:
            helper.leave(helper.reason)
            if self._helpers.get(helper.id) is helper:
                del self._helpers[helper.id]
                self._tell(HelperGone(helper.id, helper.reason))

    def _note_prepared(self, helper: _Helper, message: LeasePrepared) -> None:
        if message.lease not in helper.unanswered:
            raise FrameError("an answer about no lease")
        helper.unanswered.remove(message.lease)
        lease = helper.leases.get(message.lease)
        if lease is None:  # it was closed meanwhile
            return
        problem = f"{helper.allowed.name}: {message.problem}" if message.problem else ""
        self._tell(LeaseOpened(lease.key, problem, message.program))

    def _take_package(self, helper_id: int, sha256: str) -> tuple[_Lease, LeasedProgram] | None:
        """Return the package of a lease that a PC has not fetched yet, as being fetched; None if there is none."""
        helper = self._helpers.get(helper_id)
        if helper is None or sum(len(lease.fetches) for lease in helper.leases.values()) >= MAX_FETCHES:
            return None
        for lease in helper.leases.values():
            if sha256 in lease.to_fetch and not lease.problem:
                lease.to_fetch.remove(sha256)
                return lease, next(each for each in lease.programs if each.sha256 == sha256)
        return None

    # -- the seats on this machine ----------------------------------------------------------------------------------

    async def _serve_seat(self, seat: trio.SocketStream) -> None:
        """Have the program run that a process stands for, and relay what they send each other."""
        take: TakeSeat | None = None
        with trio.move_on_after(HELLO_TIMEOUT):
            take = await FrameStream(seat, decode_seat, MAX_HELLO).receive()
        found = None if take is None else self._tickets.get(take.ticket)
        if take is None or found is None:
            return
        lease, program = found
        if lease.problem or any(each.program == program for each in lease.runs.values()):
            return
        run = _Run(next(self._numbers), lease, program)
        self._runs[run.number] = lease.runs[run.number] = run
        try:
            with run.scope:
                lease.helper.tell(StartRun(run.number, lease.key, program, take.reservation, take.seed, take.game))
                with trio.move_on_after(CONNECT_TIMEOUT):
                    await run.is_connected.wait()
                if run.remote is None:
                    lease.fail(f"{lease.helper.allowed.name}: it has not connected for a program")
                else:
                    await _relay(run, run.remote, seat)
        finally:
            run.is_over.set()
            del self._runs[run.number], lease.runs[run.number]
            lease.changed.unpark_all()


async def _send_package(frames: FrameStream[Hello], lease: _Lease, program: LeasedProgram) -> None:
    """Send a package to a PC that is to run it."""
    scope = trio.CancelScope()
    lease.fetches.add(scope)
    try:
        with scope:
            async with await trio.open_file(program.path, "rb") as file:
                while chunk := await file.read(MAX_CHUNK):
                    with trio.fail_after(STALLED_TRANSFER):
                        await frames.send(PackageData(chunk))
            with trio.move_on_after(GOODBYE_TIMEOUT):
                await frames.stream.aclose()
    except (OSError, trio.TooSlowError):
        pass
    finally:
        lease.fetches.remove(scope)


async def _relay(run: _Run, remote: FrameStream[FromRun], seat: trio.SocketStream) -> None:
    """Relay until the seat has closed its connection; whatever else ends it first is noted as a problem."""
    lease, name = run.lease, run.lease.helper.allowed.name
    is_seat_closed = trio.Event()
    has_exited = False

    async def relay_to_remote() -> None:
        with suppress(trio.BrokenResourceError):
            while data := await seat.receive_some(_READ_SIZE):
                if not has_exited:
                    with suppress(*_LOST):  # noticed below
                        await remote.stream.send_all(data)
        is_seat_closed.set()
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(relay_to_remote)
        allowance = _Allowance(remote)
        while not has_exited:
            try:
                message = await remote.receive()
                if message is None:
                    lease.fail(f"{name}: the connection of a program was lost")
                    break
                run.check(message)
            except FrameError as error:
                lease.fail(f"{name}: it has sent {error}")
                break
            if isinstance(message, NotStarted):
                lease.fail(f"{name}: {message.reason}", run.program if message.is_unable else None)
                break
            data = framed(message)
            await allowance.spend(len(data))
            with suppress(trio.BrokenResourceError):  # the seat has been ended
                await seat.send_all(data)
            has_exited = isinstance(message, Exited)
        with trio.move_on_after(GOODBYE_TIMEOUT):
            await is_seat_closed.wait()
        nursery.cancel_scope.cancel()


async def _write_all(helper: _Helper, frames: FrameStream[Any]) -> None:
    """Send what a PC is told; after the last message, close the connection."""
    with suppress(*_LOST):
        async for message in helper.to_tell:
            await frames.send(message)
        await frames.stream.aclose()
    helper.scope.cancel()


async def _refuse(frames: FrameStream[Hello], message: Refused) -> None:
    """Tell a peer why it is not served, and give it some time to read that."""
    with trio.move_on_after(GOODBYE_TIMEOUT):
        await frames.send(message)
        while await frames.stream.receive_some(_READ_SIZE):  # closing with unread input would reset the connection
            pass


async def _contained(serve: Callable[..., Awaitable[None]], stream: trio.SocketStream, *arguments: object) -> None:
    """Serve a connection; whatever happens ends this connection only."""
    try:
        await serve(stream, *arguments)
    except* (*_LOST, OSError):  # a connection may be reset before anything is read, and ssl.SSLError is an OSError
        pass
    except* Exception:  # a bug, which must not end the others' games
        traceback.print_exc(file=sys.stderr)
    finally:
        await trio.aclose_forcefully(stream)


async def main() -> None:
    """Serve until the league has ended."""
    connections_possible(MAX_CONNECTIONS)
    async with open_parent(decode_to_gate) as parent, trio.open_nursery() as nursery:
        gate = Gate(nursery, parent.send_nowait)
        async for message in parent:
            gate.handle(message)
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    run_child(main)
