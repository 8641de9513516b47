"""The venue of a match on a cluster: hands its pairs to Dask, and keeps what comes back.

Invariants: this process alone writes the folder of the match. What a machine sends back is compared with the plan
before it is written, and a pair is written once. However this ends, the pairs under way are called off, and the sites
that can still be reached are closed. Dask is called in threads only, and every wait for it can be cancelled.
"""

from __future__ import annotations

import contextlib
import itertools
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import trio

from spielleiter.cluster import worker
from spielleiter.cluster.allocation import Allocation, Machine, PairAttempt, Standing
from spielleiter.cluster.dask_engine import ClusterAddress, DaskEngine, require_distributed
from spielleiter.cluster.pair_files import checked_records, read_opening, write_pair
from spielleiter.cluster.shipment import Shipped, read_shipment, setup_to_send
from spielleiter.cluster.site_messages import (
    PROTOCOL,
    Item,
    PairPlayed,
    PairRefused,
    PlayPair,
    Prepare,
    Ready,
    Unable,
    decode_from_site,
    encode,
)
from spielleiter.cluster.worker import SiteGoneError
from spielleiter.common.errors import ClusterError, SetupError
from spielleiter.match.plan import MatchSetup, PlannedGame
from spielleiter.match.records import GameRecord
from spielleiter.match.runner import Conditions, MatchRun
from spielleiter.match.stopping import was_played
from spielleiter.match.verdict import Verdict

if TYPE_CHECKING:
    from distributed import Future

CHUNK: Final = 8 * 1024 * 1024
"""Bytes of a shipped file that are sent at once."""
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


class Call:
    """A Dask task and the event that is set when it has ended in any way."""

    def __init__(self) -> None:
        self.has_ended = trio.Event()
        self.future: Future[Any] | None = None


class Sites:
    """The sites of one match; `name` is the beginning of their names."""

    def __init__(
        self, engine: DaskEngine, name: str, setup: MatchSetup, shipment: Sequence[Shipped], conditions: Conditions
    ) -> None:
        self.name = name
        self.cores = conditions.cores_per_game or (2 if conditions.is_pinned else 1)
        """The number of cores that a pair takes."""
        self.by_address: dict[str, str] = {}
        """By address of a worker: the name of its site, once that can play."""
        self._opened: dict[str, str] = {}
        self._engine = engine
        self._setup = setup
        self._shipment = shipment
        self._conditions = conditions
        self._leases: dict[str, Call] = {}
        self._numbers = itertools.count()

    async def open(self, address: str) -> tuple[str, float, Ready]:
        """Open the site of a worker. Returns the worker's label, its cores, and the description of its machine.

        Raises ClusterError, and whatever a function raises on that machine.
        """
        name = f"{self.name}-{next(self._numbers)}"
        lease = self._leases[address] = await self.submit(address, name, worker.open_site, name, name)
        label, cores, data = await self.result(lease)
        ready = decode_from_site(data)
        if not isinstance(ready, Ready) or ready.protocol != PROTOCOL or ready.version != version("spielleiter"):
            raise ClusterError(f"it has another version of spielleiter, expected {version('spielleiter')} as here")
        self._opened[address] = name
        return label, cores, ready

    async def prepare(self, address: str, cores: float, offset: int) -> int:
        """Prepare an open site, and return the number of pairs that it plays at a time. Raises what `open` raises.

        `offset` is the number of workers on the same host that come before it.
        """
        pairs = int(cores // self.cores)
        if pairs < 1:
            raise ClusterError(f"it offers {cores:g} cores, and a game needs {self.cores}")
        name, items = self._opened[address], []
        for number, each in enumerate(self._shipment):
            path = ""
            for start in range(0, max(1, len(each.content)), CHUNK):
                chunk = each.content[start : start + CHUNK]
                path = await self._call(address, worker.receive, name, str(number), chunk)
            items.append(Item(path, each.target, each.digest, each.is_folder))
        request = Prepare(
            self._setup.to_json(),
            pairs,
            self._conditions.cores_per_game,
            self._conditions.is_pinned,
            offset * int(cores),
            self._conditions.keep.value,
            self._conditions.is_restarting,
            tuple(items),
        )
        answer = decode_from_site(await self._call(address, worker.prepare, name, encode(request)))
        if isinstance(answer, Unable):
            raise ClusterError(answer.reason)
        self.by_address[address] = name
        return pairs

    def forget(self, address: str) -> None:
        """Forget the site of a worker that has left."""
        self.by_address.pop(address, None)
        if lease := self._leases.pop(address, None):
            self.release(lease)

    def is_lost(self, address: str) -> bool:
        """Whether the lease of a site has ended, since the connection to the scheduler was lost in between."""
        lease = self._leases.get(address)
        return lease is not None and lease.future is not None and lease.future.status in {"cancelled", "lost"}

    def close_all(self) -> None:
        """Close all sites that can be reached. Blocks."""
        for lease in self._leases.values():
            self.release(lease)
        with contextlib.suppress(Exception):  # the workers close them as well when the leases have ended
            self._engine.call(tuple(self._leases), worker.close_sites, self.name)

    async def _call(self, address: str, function: Callable[..., Any], *arguments: Any) -> Any:
        call = self._engine.call
        [answer] = await trio.to_thread.run_sync(call, [address], function, *arguments, abandon_on_cancel=True)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def submit(
        self, address: str, key: str, function: Callable[..., Any], *arguments: Any, cores: float = 0.0
    ) -> Call:
        """Let Dask call a function on the worker at `address`. Raises ClusterError and whatever Dask raises."""
        call, token = Call(), trio.lowlevel.current_trio_token()

        def end(_future: object) -> None:  # in a thread of Dask
            with contextlib.suppress(trio.RunFinishedError):
                token.run_sync_soon(call.has_ended.set)

        def submit() -> None:
            call.future = self._engine.client.submit(
                function,
                *arguments,
                key=key,
                workers=[address],
                allow_other_workers=False,
                resources={worker.CORES: cores} if cores else None,
                pure=False,
            )
            call.future.add_done_callback(end)

        await trio.to_thread.run_sync(submit)
        return call

    async def result(self, call: Call) -> Any:
        """Wait for the result of a task. Raises what it has raised, or CancelledError if it was lost."""
        await call.has_ended.wait()
        assert call.future is not None
        return await trio.to_thread.run_sync(call.future.result, abandon_on_cancel=True)

    def release(self, call: Call) -> None:
        """Let the scheduler forget a task, whether it has ended or not."""
        if call.future is not None:
            with contextlib.suppress(Exception):  # without a connection it is forgotten anyway
                call.future.release()


def machine_name(label: str, host: str, taken: Collection[str]) -> str:
    """The name of a machine: that of its Dask worker, or its host's if the worker is only numbered or has none.

    Further workers on the same host are numbered.
    """
    if not (label.isdecimal() or "://" in label):
        return label
    if host not in taken:
        return host
    return next(name for number in itertools.count(2) if (name := f"{host}-{number}") not in taken)


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
    engine = DaskEngine(settings.address, tell)
    try:
        engine.open()
        yield ClusterVenue(engine, settings, shipment, tell)
    finally:
        engine.close()


class ClusterVenue:
    """The machines of a cluster, for one match after the other; see `Venue` in match/runner.py."""

    def __init__(
        self, engine: DaskEngine, settings: ClusterSettings, shipment: Sequence[Shipped], tell: Callable[[str], object]
    ) -> None:
        self.engine = engine
        self.settings = settings
        self.shipment = shipment
        self.tell = tell

    async def play(
        self,
        setup: MatchSetup,
        games: Sequence[PlannedGame],
        folder: Path,
        conditions: Conditions,
        progress: MatchRun,
    ) -> None:
        """Play `games` on the machines of the cluster. Raises MatchError."""
        if setup.server is not None:
            raise SetupError("a match on a cluster has servers of its own on each machine, expected no other server")
        name = f"spielleiter-{setup.run_id}-{secrets.token_hex(4)}"
        sites = Sites(self.engine, name, setup_to_send(setup, self.shipment), self.shipment, conditions)
        await ClusterMatch(self, sites, setup, games, folder, conditions, progress).run()


class ClusterMatch:
    """One match on a cluster. All decisions are made in this process's event loop."""

    def __init__(
        self,
        venue: ClusterVenue,
        sites: Sites,
        setup: MatchSetup,
        games: Sequence[PlannedGame],
        folder: Path,
        conditions: Conditions,
        progress: MatchRun,
    ) -> None:
        self._engine = venue.engine
        self._tell = venue.tell
        self._sites = sites
        self._games = {pair: tuple(each) for pair, each in itertools.groupby(games, key=lambda game: game.pair)}
        self._allocation = Allocation(self._games, conditions.concurrency or None, venue.settings.max_slowdown)
        self._setup = setup
        self._folder = folder
        self._progress = progress
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
        self._held: list[tuple[PairAttempt, list[GameRecord], PairPlayed]] = []
        """Pairs in which a program did not start on a machine; they count if no machine can start it."""
        self._told: set[str] = set()
        self._changed = trio.Event()

    async def run(self) -> None:
        """Play all pairs, or until the match is ending. Raises ClusterError if no machine can play."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._watch_workers, nursery)
                while not (self._allocation.is_done or (self._progress.is_ending and not self._allocation.running)):
                    changed = self._changed = trio.Event()
                    if not self._progress.is_ending:
                        for attempt in self._allocation.next_attempts(trio.current_time()):
                            self._attempts[attempt.number] = trio.CancelScope()
                            nursery.start_soon(self._play, attempt)
                    if self._allocation.is_hopeless and not self._allocation.running:
                        # no machine can start the programs that have not started, so these pairs count
                        held, self._held = self._held, []
                        for each in held:
                            await self._keep(*each)
                        if not held and not self._progress.is_ending:
                            machines = self._allocation.machines.values()
                            reasons = "; ".join(f"{each.name or each.address}: {each.reason}" for each in machines)
                            raise ClusterError(f"no machine of the cluster can play ({reasons})")
                        continue
                    with trio.move_on_after(POLL_INTERVAL):
                        await changed.wait()
                nursery.cancel_scope.cancel()
        finally:
            with trio.move_on_after(CLOSE_TIMEOUT, shield=True):
                await trio.to_thread.run_sync(self._sites.close_all, abandon_on_cancel=True)

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
                machines = self._allocation.machines
                for address in [each for each in machines if each not in found or self._sites.is_lost(each)]:
                    self.remove(address)
                for address in [each for each in found if each not in machines]:
                    scope = self._scopes[address] = trio.CancelScope()
                    nursery.start_soon(self._open_site, self._allocation.join(address, found[address]), scope)
                if found:
                    deadline = trio.current_time() + ABSENCE_TIMEOUT
            if trio.current_time() > deadline:
                raise ClusterError(
                    f"{problem} for {ABSENCE_TIMEOUT:.0f} s; start `dask worker` on the machines, then use --resume"
                )
            await trio.sleep(POLL_INTERVAL)

    def remove(self, address: str) -> None:
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
            self.remove(machine.address)

    async def _open_site(self, machine: Machine, scope: trio.CancelScope) -> None:
        """Let the machine play, or note why it cannot. `scope` is cancelled if it leaves before."""
        address = machine.address
        with scope:
            try:
                label, cores, ready = await self._sites.open(address)
                if address not in self._machine_names:
                    names = {each.name for each in self._allocation.machines.values()}
                    self._machine_names[address] = machine_name(label, ready.host, names)
                machine.name, machine.speed = self._machine_names[address], ready.speed
                slots = await self._sites.prepare(address, cores, machine.offset)
            except SiteGoneError as error:
                self._lose_site(machine, str(error))
            except Exception as error:  # whatever a function raises on another machine
                if not self._sites.is_lost(machine.address):  # otherwise it is prepared again
                    self._exclude(machine, _text_of(error))
            else:
                if self._is_present(machine):
                    self._allocation.make_ready(machine.address, machine.name, slots, machine.speed)
                    for each in self._allocation.machines.values():
                        is_ready = each.standing is Standing.READY
                        if is_ready and each.address not in self._told and self._allocation.too_slow(each):
                            self._told.add(each.address)
                            self._tell(
                                f"{each.name} gets no pairs: its cores are {each.speed:.2g} times as fast as the "
                                "contest's"
                            )
        if self._is_present(machine):
            del self._scopes[machine.address]
        self._changed.set()

    def _is_present(self, machine: Machine) -> bool:
        """Whether the machine has not left, nor joined again, in the meantime."""
        return self._allocation.machines.get(machine.address) is machine

    def _exclude(self, machine: Machine, reason: str) -> None:
        if self._is_present(machine) and machine.standing is not Standing.UNABLE:
            self._allocation.make_unable(machine.address, reason)
            self._tell(f"{machine.name or machine.address} gets no pairs: {reason}")

    # -- pairs ------------------------------------------------------------------------------------------------------

    async def _play(self, attempt: PairAttempt) -> None:
        """Let the cluster play a pair, and keep the result."""
        if attempt.pair not in self._announced:
            self._announced.add(attempt.pair)
            for planned in self._games[attempt.pair]:
                self._progress.start(planned)
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

    async def _play_there(self, attempt: PairAttempt) -> tuple[str, bytes] | None:
        """The name of the machine's site, and its answer; None if the attempt was lost.

        Raises ClusterError if the workers that played this pair have failed too often.
        """
        games, sites = self._games[attempt.pair], self._sites
        key = f"{sites.name}-pair-{attempt.pair}-{attempt.number}"
        opening = await trio.to_thread.run_sync(read_opening, games[0])
        seats = tuple((each.game, each.seats) for each in games)
        request = encode(PlayPair(key, attempt.pair, games[0].seed, seats, opening))
        name = sites.by_address.get(attempt.address, "")
        call = None
        try:
            call = await sites.submit(attempt.address, key, worker.play_pair, name, key, request, cores=sites.cores)
            data: bytes = await sites.result(call)
        except Exception as error:  # whatever Dask raises if the worker, the scheduler or the connection is gone
            # ABSENCE_TIMEOUT limits how long the scheduler may be gone
            if type(error).__name__ not in _LOST and not isinstance(error, (OSError, ClusterError)):
                self._losses[attempt.pair] += 1
                if self._losses[attempt.pair] >= MAX_LOSSES:
                    raise ClusterError(
                        f"pair {attempt.pair} cannot be played on the cluster: {_text_of(error)}"
                    ) from error
            await trio.sleep(POLL_INTERVAL)
            return None
        finally:
            if call is not None:
                sites.release(call)
        return name, data

    async def _take(self, attempt: PairAttempt, site: str, data: bytes) -> None:
        """Take the answer of a site; keep a played pair, unless a program has not started and may start elsewhere."""
        address = attempt.address
        name = self._machine_names.get(address, address)
        machine = self._allocation.machines.get(address) or Machine(address, name=name)
        records: list[GameRecord] = []
        try:
            answer = decode_from_site(data)
            if isinstance(answer, PairPlayed):
                records = checked_records(answer, self._games[attempt.pair], self._setup.names, name)
        except (msgspec.DecodeError, ClusterError) as error:
            answer = PairRefused("", str(error))
        if isinstance(answer, PairPlayed):
            started = self._starters.setdefault(address, set())
            started.update(program for program in (0, 1) if any(was_played(record, program) for record in records))
            failed = [each for each in records if each.verdict == Verdict.NO_START and each.offender not in started]
            if not failed:
                await self._keep(attempt, records, answer)
                return
            self._held.append((attempt, records, answer))
            self._allocation.lose(attempt)
            self._exclude(machine, f"{failed[0].names[failed[0].offender or 0]} does not start ({failed[0].reason})")
            return
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

    async def _keep(self, attempt: PairAttempt, records: list[GameRecord], played: PairPlayed) -> None:
        """Write a played pair into the folder and the journal, unless that was done before."""
        if not self._allocation.accept(attempt):
            return
        self._reopenings.pop(attempt.address, None)
        await trio.to_thread.run_sync(write_pair, self._folder, records, played)
        for game, name in played.omitted:
            self._tell(f"game {game}: {name} was left out, since its files are too large or too many")
        self._progress.finish(records)


def _text_of(error: Exception) -> str:
    """An exception of another machine in one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, ClusterError) else f"{type(error).__name__}: {text}"
