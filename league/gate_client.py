"""The league's side of the gate: which PCs help, and pairs of games whose programs run there.

`GateClient.run` keeps the process of the gate running. A pair of games is a lease: one PC runs both programs in both
games, in place of which the match starts a process of ours (remote_seat.py). Whether a game counts is known once
`Lease.settle` has returned. If anything fails that is not the fault of a program, the pair is played again elsewhere.
"""

from __future__ import annotations

import itertools
import secrets
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
import trio

from spielleiter.common.errors import MatchError
from spielleiter.league.certificate import Certificate
from spielleiter.league.child_process import ChildProcess, own_module
from spielleiter.league.gate_messages import (
    MAX_STALL,
    SEAT_VARIABLE,
    Allow,
    AllowedHelper,
    CloseLease,
    FromGate,
    GameSettled,
    GateFailed,
    GateOpened,
    HelperCame,
    HelperDelay,
    HelperGone,
    LeasedProgram,
    LeaseOpened,
    OpenGate,
    OpenLease,
    SettleGame,
    decode_from_gate,
)
from spielleiter.league.package_needs import Machine, PackageNeeds, run_problem
from spielleiter.match.plan import Entrant
from spielleiter.programs.command import join_command
from spielleiter.programs.sandbox.sandbox import NONE

PREPARE_TIMEOUT: Final = 120.0
"""Seconds for a PC to fetch the programs of a pair."""
SETTLE_TIMEOUT: Final = 60.0
"""Seconds for the gate to say whether a game counts; more than it takes."""
MAX_DELAY: Final = 0.1
"""Seconds that a PC may take to answer; the time counts for its programs."""
FIRST_HOLD: Final = 10.0
"""Seconds for which a PC on which a pair was lost gets no other one; each further time in a row twice as long."""
LONGEST_HOLD: Final = 1800.0
RETRY_PAUSE: Final = 10.0
"""Seconds after which the gate tries again to listen at a port that was taken."""


class PairLostError(MatchError):
    """The PC could not play a pair of games, through no fault of the programs; the text says why."""


class ConnectedHelper(msgspec.Struct, frozen=True):
    """A PC that is connected."""

    id: int
    name: str
    machine: Machine
    places: int
    """How many pairs it can play at a time."""
    playing: int
    """How many it plays."""
    delay: float
    """The seconds that it takes to answer, about."""
    problem: str
    """Why it gets no pairs now; empty if it gets some."""
    is_proven: bool = True
    """Whether a game there has counted since the last one that was lost; if not, it gets one pair at a time."""

    @property
    def most(self) -> int:
        """How many pairs it may play at a time now."""
        if self.problem:
            return 0
        return self.places if self.is_proven else 1

    @property
    def free(self) -> int:
        """How many further pairs it can be given now."""
        return max(0, self.most - self.playing)


class RemoteProgram(msgspec.Struct, frozen=True):
    """A package that a PC is to run: the ZIP file `package` on this machine, and how it is started."""

    name: str
    sha256: str
    package: Path
    main: str = ""
    parameters: tuple[str, ...] = ()
    needs: PackageNeeds = PackageNeeds()


class _Connected:
    """What is known about a PC that is connected."""

    def __init__(self, message: HelperCame) -> None:
        self.message = message
        self.delay = 0.0
        self.leases: set[int] = set()


class _Trust:
    """Whether a PC can be relied on, and for how long it gets no pairs; kept when it leaves."""

    def __init__(self) -> None:
        self.is_proven = False
        self.in_a_row = 0
        self.held_until = -1.0
        self.reason = ""
        self.unable: set[str] = set()
        """The SHA-256 of packages that it could not start."""


class GateClient:
    """The gate of a league.

    It listens at `host` and `port` with `certificate`. `on_change` is called when PCs come or go, or can do something
    else than before. `max_stall` is for how many seconds a PC may let a question wait in a game that counts.
    """

    def __init__(
        self,
        host: str,
        port: int,
        certificate: Certificate,
        on_change: Callable[[], object] = lambda: None,
        *,
        max_stall: float = MAX_STALL,
    ) -> None:
        self.port = port
        """The port for PCs; once it is listening, the true one."""
        self.problem = "it has not started yet"
        """Why the gate cannot be used; empty if it can."""
        self.restarts = -1
        """How often the process was started again."""
        self._open = OpenGate(host, port, str(certificate.path), max_stall)
        self._on_change = on_change
        self._allowed: tuple[AllowedHelper, ...] = ()
        self._connected: dict[int, _Connected] = {}
        self._trust: defaultdict[int, _Trust] = defaultdict(_Trust)
        self._leases: dict[int, Lease] = {}
        self._numbers = itertools.count(1)
        self._seat_port = 0
        self._retries, self._to_retry = trio.open_memory_channel[None](1)
        self._child: ChildProcess[FromGate] = ChildProcess(
            own_module("spielleiter.league.gate"),
            decode=decode_from_gate,
            on_message=self._handle,
            on_start=self._note_start,
            on_end=self._note_end,
        )

    async def run(self) -> None:
        """Keep the gate running until cancelled."""

        async def retry() -> None:
            async for _ in self._to_retry:
                await trio.sleep(RETRY_PAUSE)
                self._child.send_nowait(self._open)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(retry)
            await self._child.run()

    # -- the PCs ----------------------------------------------------------------------------------------------------

    def allow(self, helpers: Sequence[AllowedHelper]) -> None:
        """Let these PCs help from now on, and nobody else: what runs on others is ended at once."""
        for changed in set(helpers).difference(self._allowed):  # what it failed at may be possible now
            self._trust.pop(changed.id, None)
        self._allowed = tuple(helpers)
        self._child.send_nowait(Allow(self._allowed))

    def helpers(self) -> list[ConnectedHelper]:
        """The PCs that are connected, in the order of their names."""
        names = {each.id: each for each in self._allowed}
        found = [
            ConnectedHelper(
                key,
                names[key].name,
                each.message.machine,
                each.message.places,
                len(each.leases),
                each.delay,
                self._problem_of(names[key], each),
                self._trust[key].is_proven,
            )
            for key, each in self._connected.items()
            if key in names
        ]
        return sorted(found, key=lambda each: each.name)

    def _problem_of(self, allowed: AllowedHelper, connected: _Connected) -> str:
        machine = connected.message.machine
        trust = self._trust[allowed.id]
        if machine.sandbox == NONE and not allowed.may_run_unconfined:
            return (
                f"it has no sandbox, and the teacher has not allowed it to run programs without: {machine.sandbox_gap}"
            )
        if connected.delay > MAX_DELAY:
            return f"it takes {connected.delay:.2f} s to answer, {MAX_DELAY:g} s at most are fair"
        if trust.held_until > trio.current_time():
            return f"it pauses, since a pair was lost there: {trust.reason}"
        return ""

    def run_problem(self, helper_id: int, program: RemoteProgram) -> str:
        """Return why a PC cannot run a program; empty if it can, as far as is known."""
        connected = self._connected.get(helper_id)
        if connected is None:
            return "it is not there"
        if program.sha256 in self._trust[helper_id].unable:
            return "it could not start this program"
        return run_problem(program.needs, connected.message.machine)

    # -- pairs of games ---------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def lease(self, helper_id: int, programs: Sequence[RemoteProgram | None]) -> AsyncIterator[Lease]:
        """Have a PC run the programs of a pair of games; None for one that is played here.

        Entering waits until the PC has the programs; leaving ends them there. Raises PairLostError.
        """
        connected = self._connected.get(helper_id)
        if connected is None:
            raise PairLostError("the PC is not there any more")
        trust = self._trust[helper_id]
        lease = Lease(next(self._numbers), self._child, programs, self._seat_port, lambda: _note_counted(trust))
        self._leases[lease.key] = lease
        connected.leases.add(lease.key)
        self._on_change()
        try:
            if not self._child.send_nowait(lease.message(helper_id)):
                raise PairLostError("the gate is being started again")
            with trio.move_on_after(PREPARE_TIMEOUT):
                await lease.is_opened.wait()
            if not lease.is_opened.is_set():
                lease.fail(f"the PC has not fetched the programs within {PREPARE_TIMEOUT:g} s")
            if lease.problem:
                raise PairLostError(lease.problem)
            yield lease
        finally:
            del self._leases[lease.key]
            connected.leases.discard(lease.key)
            self._child.send_nowait(CloseLease(lease.key))
            if lease.unable is not None:
                trust.unable.add(lease.unable.sha256)
            elif lease.problem and lease.is_pcs_fault:
                hold = min(LONGEST_HOLD, FIRST_HOLD * 2**trust.in_a_row)
                trust.in_a_row, trust.is_proven = min(trust.in_a_row + 1, 16), False
                trust.held_until, trust.reason = trio.current_time() + hold, lease.problem
            self._on_change()

    # -- what the gate says -----------------------------------------------------------------------------------------

    def _note_start(self) -> None:
        self.restarts += 1
        self._child.send_nowait(self._open)
        self._child.send_nowait(Allow(self._allowed))

    def _note_end(self, reason: str, _pause: float) -> None:
        self.problem = f"its process has ended: {reason}"
        self._connected.clear()
        for lease in self._leases.values():
            lease.fail("the gate was started again", is_pcs_fault=False)
        self._on_change()

    def _note_gone(self, helper_id: int, reason: str) -> None:
        """Note that a PC, or the one that had its code before, plays no pairs any more."""
        gone = self._connected.pop(helper_id, None)
        for key in () if gone is None else gone.leases:
            self._leases[key].fail(f"the PC is not there any more: {reason}")

    def _handle(self, message: FromGate) -> None:
        match message:
            case GateOpened(port, seat_port):
                self.port, self._seat_port, self.problem = port, seat_port, ""
            case GateFailed(reason):
                self.problem = reason
                with suppress(trio.WouldBlock):
                    self._retries.send_nowait(None)
            case HelperCame(helper):
                self._note_gone(helper, "another PC has joined with the same code")
                self._connected[helper] = _Connected(message)
            case HelperGone(helper, reason):
                self._note_gone(helper, reason)
            case HelperDelay(helper, seconds):
                if (connected := self._connected.get(helper)) is not None:
                    connected.delay = seconds
            case LeaseOpened(key, problem, program):
                if (lease := self._leases.get(key)) is not None:
                    lease.note_opened(problem, program)
            case GameSettled(key, problem, program):
                if (lease := self._leases.get(key)) is not None:
                    lease.note_settled(problem, program)
        self._on_change()


class Lease:
    """A pair of games whose programs run on a PC; `GateClient.lease` makes it."""

    def __init__(
        self,
        key: int,
        child: ChildProcess[FromGate],
        programs: Sequence[RemoteProgram | None],
        seat_port: int,
        on_counted: Callable[[], object],
    ) -> None:
        self.key = key
        self.problem = ""
        """Why the pair cannot be played there."""
        self.is_pcs_fault = False
        """Whether the PC or the way to it is the reason."""
        self.unable: RemoteProgram | None = None
        """The program that the PC could not start, if that is the reason."""
        self.is_opened = trio.Event()
        self._child = child
        self._on_counted = on_counted
        self._remote = [each for each in programs if each is not None]
        self._tickets = [secrets.token_urlsafe(24) for _ in self._remote]
        self._answer = trio.Event()
        tickets = iter(self._tickets)
        self.entrants = tuple(
            None if each is None else _entrant(each, f"{seat_port}:{next(tickets)}") for each in programs
        )
        """What the match starts in place of the programs; None for one that is played here."""

    def message(self, helper_id: int) -> OpenLease:
        """What the gate is told."""
        return OpenLease(
            self.key,
            helper_id,
            tuple(
                LeasedProgram(
                    ticket,
                    each.sha256,
                    each.package.stat().st_size,
                    str(each.package),
                    each.main,
                    each.parameters,
                    each.needs.words,
                )
                for ticket, each in zip(self._tickets, self._remote, strict=True)
            ),
        )

    async def settle(self) -> None:
        """Wait until nothing of the game runs any more; return if it counts.

        To be called after each game, before it is recorded. Raises PairLostError if it does not count, since the PC or
        the connection to it has failed.
        """
        self._answer = trio.Event()
        if not self.problem and not self._child.send_nowait(SettleGame(self.key)):
            self.fail("the gate was started again", is_pcs_fault=False)
        if not self.problem:
            with trio.move_on_after(SETTLE_TIMEOUT) as waiting:
                await self._answer.wait()
            if waiting.cancelled_caught:
                self.fail("the gate does not answer", is_pcs_fault=False)
        if self.problem:
            raise PairLostError(self.problem)
        self._on_counted()

    def fail(self, problem: str, program: int | None = None, *, is_pcs_fault: bool = True) -> None:
        """Note why the pair cannot be played."""
        if problem and not self.problem:
            self.problem, self.is_pcs_fault = problem, is_pcs_fault
            self.unable = None if program is None else self._remote[program]
        self.is_opened.set()
        self._answer.set()

    def note_opened(self, problem: str, program: int | None) -> None:
        """Note that the PC has the programs, or why not."""
        self.fail(problem, program)

    def note_settled(self, problem: str, program: int | None) -> None:
        """Note whether the last game counts."""
        self.fail(problem, program)


def _note_counted(trust: _Trust) -> None:
    trust.is_proven, trust.in_a_row = True, 0


def _entrant(program: RemoteProgram, seat: str) -> Entrant:
    words = own_module("spielleiter.league.remote_seat")
    command = join_command(words, sys.platform) + " {host} {port} {reservation} {seed} {game}"
    return Entrant(program.name, command, environment={SEAT_VARIABLE: seat})
