"""The venue of a match on a cluster: hands its pairs to Dask, and keeps what comes back.

Invariants: this process alone writes the folder of the match. What a machine sends back is compared with the plan
before it is written, and a pair is written once. However this ends, the pairs under way are called off, and the sites
that can still be reached are closed.
"""

from __future__ import annotations

import itertools
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import trio

from spielleiter.cluster import worker
from spielleiter.cluster.address import ClusterAddress
from spielleiter.cluster.allocation import Allocation, Attempt, Machine, Standing
from spielleiter.cluster.engine import Engine, require_distributed
from spielleiter.cluster.game_files import read_opening
from spielleiter.cluster.messages import PairPlayed, PairRefused, PlayPair, Ready, decode_from_site, encode
from spielleiter.cluster.played_pair import checked_records, write_pair
from spielleiter.cluster.shipment import Shipped, read_shipment, setup_to_send
from spielleiter.cluster.site import SiteGoneError
from spielleiter.cluster.sites import Sites, machine_name
from spielleiter.common.errors import ClusterError, SetupError
from spielleiter.match.plan import MatchSetup, PlannedGame
from spielleiter.match.records import GameRecord
from spielleiter.match.runner import Conditions, MatchProgress
from spielleiter.match.stopping import was_played
from spielleiter.match.verdict import Verdict

POLL_INTERVAL: Final = 1.0
"""Seconds between two looks at which workers there are."""
ABSENCE_TIMEOUT: Final = 120.0
"""Seconds without any worker, or without the scheduler, after which the match is interrupted."""
CLOSE_TIMEOUT: Final = 20.0
"""Seconds for the sites to be closed at the end."""
MAX_LOSSES: Final = 5
"""The match is interrupted if this many attempts of one pair end by an error of its worker."""

MAX_REOPENINGS: Final = 3
"""A machine whose site was lost more often than this, without a pair played in between, gets no more pairs."""

_LOST: Final = frozenset(
    {"CancelledError", "ClosedClientError", "CommClosedError", "FutureCancelledError", "FutureLostError"}
)
"""Errors that mean that the scheduler or the connection is gone, which is nobody's fault."""


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """What the user says about the cluster."""

    address: ClusterAddress
    ship: tuple[Path, ...] = ()
    """Files and folders that are sent to the machines."""
    max_slowdown: float | None = None
    """Machines that are slower than the fastest one by more than this factor get no pairs."""
    may_be_unencrypted: bool = False
    """Whether a scheduler that is not on this machine may be without TLS. Otherwise it raises SetupError."""

    def __post_init__(self) -> None:
        if self.address.is_open and not self.may_be_unencrypted:
            raise SetupError(
                f"cluster {self.address.text!r}: not encrypted, and everybody in its network can run programs on the "
                "workers; use tls:// (docs/cluster.md), or add --unencrypted"
            )


@contextmanager
def open_cluster(
    settings: ClusterSettings, cwd: Path, tell: Callable[[str], object] = lambda _text: None
) -> Iterator[ClusterVenue]:
    """Connect to a cluster, or start one on this machine; leaving the context closes the connection. Blocks.

    `cwd` is the directory that the paths to be shipped start from. `tell` is called with a line of text for people when
    a machine gets no pairs, and for other events, in some thread. Raises SetupError and ClusterError.
    """
    require_distributed()
    shipment = read_shipment(settings.ship, cwd)
    engine = Engine(settings.address, tell)
    try:
        engine.open()
        yield ClusterVenue(engine, settings, shipment, tell)
    finally:
        engine.close()


class ClusterVenue:
    """The machines of a cluster, for one match after the other; see `Venue` in match/runner.py."""

    def __init__(
        self, engine: Engine, settings: ClusterSettings, shipment: Sequence[Shipped], tell: Callable[[str], object]
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._shipment = shipment
        self._tell = tell

    async def play(
        self,
        setup: MatchSetup,
        games: Sequence[PlannedGame],
        folder: Path,
        conditions: Conditions,
        progress: MatchProgress,
    ) -> None:
        """Play `games` on the machines of the cluster. Raises MatchError."""
        if setup.server is not None:
            raise SetupError("a match on a cluster has servers of its own on each machine, expected no other server")
        name = f"spielleiter-{setup.run_id}-{secrets.token_hex(4)}"
        sites = Sites(self._engine, name, setup_to_send(setup, self._shipment), self._shipment, conditions)
        by_pair = {pair: tuple(each) for pair, each in itertools.groupby(games, key=lambda game: game.pair)}
        allocation = Allocation.of(by_pair, conditions.concurrency or None, self._settings.max_slowdown)
        await _ClusterMatch(self._engine, sites, allocation, by_pair, setup, folder, progress, self._tell).run()


class _ClusterMatch:
    """One match on a cluster. All decisions are made in this process's event loop."""

    def __init__(
        self,
        engine: Engine,
        sites: Sites,
        allocation: Allocation,
        games: Mapping[int, Sequence[PlannedGame]],
        setup: MatchSetup,
        folder: Path,
        progress: MatchProgress,
        tell: Callable[[str], object],
    ) -> None:
        self._engine = engine
        self._sites = sites
        self._allocation = allocation
        self._games = games
        self._setup = setup
        self._folder = folder
        self._progress = progress
        self._tell = tell
        self._hosts: dict[str, str] = {}
        """By address of a worker: its host."""
        self._offsets: dict[str, int] = {}
        """By address: its number among the workers on the same host, from 0."""
        self._machine_names: dict[str, str] = {}
        """By address: the name of the machine, also of one that has left."""
        self._reopenings: Counter[str] = Counter()
        """By address: how often its site was lost since a pair was played there."""
        self._scopes: dict[str, trio.CancelScope] = {}
        """By address: the scope in which its site is opened."""
        self._attempts: dict[int, trio.CancelScope] = {}
        """By number of an attempt: the scope in which its answer is awaited."""
        self._announced: set[int] = set()
        """The pairs whose games were reported as started."""
        self._losses: Counter[int] = Counter()
        self._starters: dict[str, set[int]] = {}
        """By address: the programs that have played there."""
        self._held: list[tuple[Attempt, list[GameRecord], PairPlayed]] = []
        """Pairs in which a program did not start on a machine; they count if no machine can start it."""
        self._told: set[str] = set()
        self._changed = trio.Event()

    async def run(self) -> None:
        """Play all pairs, or until the match is ending."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._watch_workers, nursery)
                while not self._is_over:
                    changed = self._changed = trio.Event()
                    if not self._progress.is_ending:
                        for attempt in self._allocation.next_attempts(trio.current_time()):
                            self._attempts[attempt.number] = trio.CancelScope()
                            nursery.start_soon(self._play, attempt)
                    if self._allocation.is_hopeless and not self._allocation.running:
                        await self._give_up()
                        continue
                    with trio.move_on_after(POLL_INTERVAL):
                        await changed.wait()
                nursery.cancel_scope.cancel()
        finally:
            with trio.move_on_after(CLOSE_TIMEOUT, shield=True):
                await trio.to_thread.run_sync(self._sites.close_all, abandon_on_cancel=True)

    @property
    def _is_over(self) -> bool:
        return self._allocation.is_done or (self._progress.is_ending and not self._allocation.running)

    # -- machines ---------------------------------------------------------------------------------------------------

    async def _watch_workers(self, nursery: trio.Nursery) -> None:
        """Notice which workers have joined or left. Raises ClusterError if there have been none for too long."""
        deadline = trio.current_time() + ABSENCE_TIMEOUT
        while True:
            problem = "no worker has joined the cluster"
            try:
                if not self._engine.is_connected and await trio.to_thread.run_sync(self._engine.reconnect):
                    self._tell("connected to the scheduler again")
                found = await trio.to_thread.run_sync(self._engine.workers, abandon_on_cancel=True)
            except ClusterError as error:
                problem = str(error)
            else:
                self._compare_workers(found, nursery)
                if found:
                    deadline = trio.current_time() + ABSENCE_TIMEOUT
            if trio.current_time() > deadline:
                raise ClusterError(
                    f"{problem} for {ABSENCE_TIMEOUT:.0f} s; start `dask worker` on the machines, then use --resume"
                )
            await trio.sleep(POLL_INTERVAL)

    def _compare_workers(self, found: Mapping[str, str], nursery: trio.Nursery) -> None:
        allocation = self._allocation
        for address in [each for each in allocation.machines if each not in found or self._sites.is_lost(each)]:
            self._remove(address)
        for address in [each for each in found if each not in allocation.machines]:
            self._hosts[address] = found[address]
            others = {self._offsets[each] for each in allocation.machines if self._hosts[each] == found[address]}
            self._offsets[address] = next(number for number in itertools.count() if number not in others)
            scope = self._scopes[address] = trio.CancelScope()
            nursery.start_soon(self._open_site, allocation.join(address), self._offsets[address], scope)

    def _remove(self, address: str) -> None:
        """Remove a machine whose worker has left, or whose site is lost; if the worker is there, it joins again."""
        if scope := self._scopes.pop(address, None):
            scope.cancel()
        self._sites.forget(address)
        for attempt in self._allocation.leave(address):
            self._attempts[attempt.number].cancel()
        self._changed.set()

    def _lose_site(self, machine: Machine, reason: str) -> None:
        """Let a machine join again whose site is lost, unless that has happened too often."""
        self._reopenings[machine.address] += 1
        if self._reopenings[machine.address] > MAX_REOPENINGS:
            self._exclude(machine, reason)
        else:
            self._tell(f"{machine.name or machine.address} is prepared again: {reason}")
            self._remove(machine.address)

    async def _open_site(self, machine: Machine, offset: int, scope: trio.CancelScope) -> None:
        """Let the machine play, or note why it cannot. `scope` is cancelled if it leaves before."""

        def describe(label: str, ready: Ready) -> None:
            if machine.address not in self._machine_names:
                self._machine_names[machine.address] = machine_name(label, ready.host, self._names)
            machine.name, machine.speed = self._machine_names[machine.address], ready.speed

        with scope:
            try:
                slots = await self._sites.open(machine.address, offset, describe)
            except SiteGoneError as error:
                self._lose_site(machine, str(error))
            except Exception as error:  # whatever a function raises on another machine
                if not self._sites.is_lost(machine.address):  # otherwise it is prepared again
                    self._exclude(machine, _text_of(error))
            else:
                if self._is_present(machine):
                    self._allocation.make_ready(machine.address, machine.name, slots, machine.speed)
                    self._tell_slow_machines()
        if self._is_present(machine):
            del self._scopes[machine.address]
        self._changed.set()

    def _is_present(self, machine: Machine) -> bool:
        """Whether the machine has not left, nor joined again, in the meantime."""
        return self._allocation.machines.get(machine.address) is machine

    @property
    def _names(self) -> set[str]:
        return {each.name for each in self._allocation.machines.values()}

    def _tell_slow_machines(self) -> None:
        for each in self._allocation.machines.values():
            if each.standing is Standing.READY and self._allocation.too_slow(each) and each.address not in self._told:
                self._told.add(each.address)
                self._tell(f"{each.name} gets no pairs: its cores are {each.speed:.2g} times as fast as the contest's")

    def _exclude(self, machine: Machine, reason: str) -> None:
        if self._is_present(machine) and machine.standing is not Standing.UNABLE:
            self._allocation.make_unable(machine.address, reason)
            self._tell(f"{machine.name or machine.address} gets no pairs: {reason}")

    async def _give_up(self) -> None:
        """Keep the pairs in which programs did not start, since no machine can start them. Raises ClusterError."""
        held, self._held = self._held, []
        for attempt, records, played in held:
            await self._keep(attempt, records, played)
        if not held and not self._progress.is_ending:
            machines = self._allocation.machines.values()
            reasons = "; ".join(f"{each.name or each.address}: {each.reason}" for each in machines)
            raise ClusterError(f"no machine of the cluster can play ({reasons})")

    # -- pairs ------------------------------------------------------------------------------------------------------

    async def _play(self, attempt: Attempt) -> None:
        """Let the cluster play a pair, and keep the result."""
        self._announce(attempt.pair)
        answer = None
        try:
            with self._attempts[attempt.number]:
                answer = await self._play_there(attempt)
            if answer is not None:  # outside the scope, since an accepted pair must be kept
                await self._take(attempt, *answer)
        finally:
            self._allocation.lose(attempt)  # does nothing if it has an answer
            del self._attempts[attempt.number]
            self._changed.set()

    async def _play_there(self, attempt: Attempt) -> tuple[str, bytes] | None:
        """The name of the machine's site, and its answer; None if the attempt was lost."""
        games, sites = self._games[attempt.pair], self._sites
        key = f"{sites.name}-pair-{attempt.pair}-{attempt.number}"
        opening = await trio.to_thread.run_sync(read_opening, games[0])
        seats = tuple((each.game, each.seats) for each in games)
        request = encode(PlayPair(key, attempt.pair, games[0].seed, seats, opening))
        name = sites.by_address.get(attempt.address, "")
        resources = {worker.CORES: float(sites.cores)}
        call = None
        try:
            call = await sites.submit(
                worker.play_pair, name, key, request, key=key, workers=[attempt.address], resources=resources
            )
            data: bytes = await sites.result(call)
        except Exception as error:  # whatever Dask raises if the worker, the scheduler or the connection is gone
            self._count_loss(attempt.pair, error)
            await trio.sleep(POLL_INTERVAL)
            return None
        finally:
            if call is not None:
                sites.release(call)
        return name, data

    def _count_loss(self, pair: int, error: Exception) -> None:
        """Raise ClusterError if the workers that played this pair have failed too often."""
        if type(error).__name__ in _LOST or isinstance(error, (OSError, ClusterError)):
            return  # ABSENCE_TIMEOUT limits how long the scheduler may be gone
        self._losses[pair] += 1
        if self._losses[pair] >= MAX_LOSSES:
            raise ClusterError(f"pair {pair} cannot be played on the cluster: {_text_of(error)}")

    async def _take(self, attempt: Attempt, site: str, data: bytes) -> None:
        """Take the answer of a site."""
        address = attempt.address
        name = self._machine_names.get(address, address)
        machine = self._allocation.machines.get(address) or Machine(address, name=name)
        try:
            answer = decode_from_site(data)
            if isinstance(answer, PairPlayed):
                records = checked_records(answer, self._games[attempt.pair], self._setup.names, name)
                await self._take_played(attempt, machine, records, answer)
                return
        except (msgspec.DecodeError, ClusterError) as error:
            answer = PairRefused("", str(error))
        if isinstance(answer, PairRefused) and answer.is_site_gone:
            self._allocation.lose(attempt)
            if self._sites.by_address.get(address) == site and self._is_present(machine):
                self._lose_site(machine, answer.reason)
            return
        reason = answer.reason if isinstance(answer, PairRefused) else "it has sent another answer than expected"
        is_overloaded = isinstance(answer, PairRefused) and answer.is_overloaded
        standing = machine.standing
        self._allocation.refuse(attempt, reason, trio.current_time(), is_overloaded=is_overloaded)
        if machine.standing is not standing:
            self._tell(f"{machine.name} gets no more pairs: {reason}")

    async def _take_played(
        self, attempt: Attempt, machine: Machine, records: list[GameRecord], played: PairPlayed
    ) -> None:
        """Keep a played pair, unless a program has not started on this machine and may start on others."""
        started = self._starters.setdefault(machine.address, set())
        started.update(program for program in (0, 1) if any(was_played(record, program) for record in records))
        failed = [each for each in records if each.verdict == Verdict.NO_START and each.offender not in started]
        if failed:
            self._held.append((attempt, records, played))
            self._allocation.lose(attempt)
            self._exclude(machine, f"{failed[0].names[failed[0].offender or 0]} does not start ({failed[0].reason})")
            return
        await self._keep(attempt, records, played)

    async def _keep(self, attempt: Attempt, records: list[GameRecord], played: PairPlayed) -> None:
        """Write a played pair into the folder and the journal, unless that was done before."""
        if not self._allocation.accept(attempt):
            return
        self._reopenings.pop(attempt.address, None)
        await trio.to_thread.run_sync(write_pair, self._folder, records, played)
        for game, name in played.omitted:
            self._tell(f"game {game}: {name} was left out, since its files are too large or too many")
        self._progress.finish(records)

    def _announce(self, pair: int) -> None:
        """Report the games of a pair as started, unless that was done for an earlier attempt."""
        if pair not in self._announced:
            self._announced.add(pair)
            for planned in self._games[pair]:
                self._progress.start(planned)


def _text_of(error: Exception) -> str:
    """An exception of another machine in one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, ClusterError) else f"{type(error).__name__}: {text}"
