"""The venue of a match on a cluster: hands its pairs to Dask, and keeps what comes back.

Invariants: this process alone writes the folder of the match. What a machine sends back is compared with the plan
before it is written, and a pair is written once: it is either waiting, or under way on one machine, or written. However
this ends, the pairs under way are called off, and the sites that can still be reached are closed.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import secrets
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec
import trio

from spielleiter.cluster import worker
from spielleiter.cluster.allocation import Machine, Standing, choose_machine, is_hopeless, machine_name, too_slow
from spielleiter.cluster.dask_engine import ClusterAddress, DaskEngine, TaskLostError, require_distributed
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
    decode_pair_answer,
    encode,
)
from spielleiter.cluster.worker import SiteGoneError
from spielleiter.common.errors import ClusterError, SetupError
from spielleiter.match.plan import MatchSetup, PlannedGame
from spielleiter.match.records import GameRecord
from spielleiter.match.runner import Conditions, MatchRun
from spielleiter.match.stopping import was_played
from spielleiter.match.verdict import Verdict

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


@dataclass(frozen=True, slots=True)
class ClusterVenue:
    """The machines of a cluster, for one match after the other; see `Venue` in match/runner.py."""

    engine: DaskEngine
    settings: ClusterSettings
    shipment: Sequence[Shipped]
    tell: Callable[[str], object]

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
        await _ClusterMatch(self, setup, games, folder, conditions, progress).run()


class _ClusterMatch:
    """One match on a cluster. All decisions are made in this process's event loop."""

    def __init__(
        self,
        venue: ClusterVenue,
        setup: MatchSetup,
        games: Sequence[PlannedGame],
        folder: Path,
        conditions: Conditions,
        progress: MatchRun,
    ) -> None:
        self._engine = venue.engine
        self._tell = venue.tell
        self._max_slowdown = venue.settings.max_slowdown
        self._shipment = venue.shipment
        self._setup = setup
        self._folder = folder
        self._progress = progress
        self._name = f"spielleiter-{setup.run_id}-{secrets.token_hex(4)}"
        """The beginning of the names of the sites."""
        self._numbers = itertools.count()
        """Makes the names of sites and attempts unique."""
        self._cores = conditions.cores_per_game or (2 if conditions.is_pinned else 1)
        """The number of cores that a pair takes."""
        self._limit = conditions.concurrency or math.inf
        self._preparation = Prepare(
            setup_to_send(setup, self._shipment).to_json(),
            0,
            conditions.cores_per_game,
            conditions.is_pinned,
            0,
            conditions.keep.value,
            conditions.is_restarting,
            tuple(Item(each.target, each.digest, each.is_folder) for each in self._shipment),
        )
        self._games = {pair: tuple(each) for pair, each in itertools.groupby(games, key=lambda game: game.pair)}
        self._pairs = deque(self._games)
        """The pairs that are waiting."""
        self._announced: set[int] = set()
        """The pairs whose games were reported as started."""
        self._losses: Counter[int] = Counter()
        self._held: dict[int, tuple[Machine, list[GameRecord], PairPlayed]] = {}
        """Pairs in which a program did not start on a machine; they count if no machine can start it."""
        self._machines: dict[str, Machine] = {}
        """By address, also those that have left."""
        self._nurseries: dict[Machine, trio.Nursery] = {}
        """Everything that concerns a machine that has joined; it is cancelled when the machine leaves."""
        self._told: set[Machine] = set()
        self._changed = trio.Event()

    async def run(self) -> None:
        """Play all pairs, or until the match is ending. Raises ClusterError if no machine can play."""
        machines = self._machines.values()
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._watch_workers, nursery)
                while True:
                    changed = self._changed = trio.Event()
                    if not self._progress.is_ending:
                        self._hand_out()
                    if not any(each.pairs for each in machines):
                        if not self._pairs or self._progress.is_ending:
                            break
                        if is_hopeless(machines):
                            await self._keep_held()
                            continue
                    with trio.move_on_after(POLL_INTERVAL):
                        await changed.wait()
                nursery.cancel_scope.cancel()
        finally:
            with trio.move_on_after(CLOSE_TIMEOUT, shield=True):
                async with trio.open_nursery() as nursery:
                    for machine in machines:
                        if machine.standing is not Standing.ABSENT:  # Dask waits long for a worker that is gone
                            nursery.start_soon(self._close_sites, machine)

    async def _close_sites(self, machine: Machine) -> None:
        with contextlib.suppress(Exception):  # the workers close them as well when their leases have ended
            await self._engine.call(machine.address, worker.close_sites, self._name)

    def _hand_out(self) -> None:
        """Start the pairs that can be played now."""
        machines = [each for each, nursery in self._nurseries.items() if not nursery.cancel_scope.cancel_called]
        while self._pairs and sum(len(each.pairs) for each in self._machines.values()) < self._limit:
            machine = choose_machine(machines, trio.current_time(), self._max_slowdown)
            if machine is None:
                return
            pair = self._pairs.popleft()
            machine.pairs.add(pair)
            self._nurseries[machine].start_soon(self._play, machine, pair)

    async def _keep_held(self) -> None:
        """Keep the pairs whose programs no machine can start. Raises ClusterError if there are none."""
        if not self._held:
            present = (each for each in self._machines.values() if each.standing is not Standing.ABSENT)
            reasons = "; ".join(f"{each.name or each.address}: {each.reason}" for each in present)
            raise ClusterError(f"no machine of the cluster can play ({reasons})")
        for pair, (machine, records, played) in tuple(self._held.items()):
            self._pairs.remove(pair)
            await self._keep(machine, pair, records, played)

    # -- machines ---------------------------------------------------------------------------------------------------

    async def _watch_workers(self, nursery: trio.Nursery) -> None:
        """Notice which workers have joined or left. Raises ClusterError if there have been none for too long."""
        deadline = trio.current_time() + ABSENCE_TIMEOUT
        while True:
            problem = "no worker has joined the cluster"
            try:
                found = await self._engine.workers()
            except ClusterError as error:
                problem = str(error)
            else:
                for machine in self._machines.values():
                    if machine.address not in found:
                        machine.standing = Standing.ABSENT
                        if machine in self._nurseries:
                            self._nurseries[machine].cancel_scope.cancel()
                for address, host in found.items():
                    machine = self._machines.setdefault(address, Machine(address, host))
                    if machine not in self._nurseries:
                        machine.join(self._machines.values())
                        await nursery.start(self._run_machine, machine)
                if found:
                    deadline = trio.current_time() + ABSENCE_TIMEOUT
            if trio.current_time() > deadline:
                raise ClusterError(
                    f"{problem} for {ABSENCE_TIMEOUT:.0f} s; start `dask worker` on the machines, then use --resume"
                )
            await trio.sleep(POLL_INTERVAL)

    async def _run_machine(self, machine: Machine, task_status: trio.TaskStatus[None]) -> None:
        """Open a site on a worker and let it play, until the worker leaves or the site is lost.

        If the worker is still there then, it joins again.
        """
        try:
            async with trio.open_nursery() as nursery:
                self._nurseries[machine] = nursery
                task_status.started()
                machine.site = name = f"{self._name}-{next(self._numbers)}"
                try:
                    async with self._engine.task(machine.address, name, worker.open_site, name, name) as lease:
                        await self._prepare(machine, *lease.result)
                        self._changed.set()
                        while not lease.is_lost:  # noqa: ASYNC110 - Dask tells nobody
                            await trio.sleep(POLL_INTERVAL)
                except TaskLostError:
                    pass
                except SiteGoneError as error:
                    self._lose_site(machine, str(error))
                except Exception as error:  # whatever a function raises on another machine
                    self._exclude(machine, _text_of(error))
                if machine.standing is Standing.UNABLE:
                    self._changed.set()
                    await trio.sleep_forever()
                nursery.cancel_scope.cancel()
        finally:
            del self._nurseries[machine]
            if machine.standing is not Standing.ABSENT:
                # It joins again at the next look if its worker is there; until then the match is not hopeless.
                machine.standing = Standing.PREPARING
            self._changed.set()

    async def _prepare(self, machine: Machine, label: str, cores: float, answer: bytes) -> None:
        """Make a machine ready whose site is open: `label` is its worker's name, `cores` what it offers.

        Raises ClusterError, and whatever a function raises on that machine.
        """
        ready = decode_from_site(answer)
        if not isinstance(ready, Ready) or ready.protocol != PROTOCOL or ready.version != version("spielleiter"):
            raise ClusterError(f"it has another version of spielleiter, expected {version('spielleiter')} as here")
        machine.name = machine.name or machine_name(label, ready.host, {each.name for each in self._nurseries})
        machine.speed = ready.speed
        machine.slots = int(cores // self._cores)
        if machine.slots < 1:
            raise ClusterError(f"it offers {cores:g} cores, and a game needs {self._cores}")
        for number, each in enumerate(self._shipment):
            for start in range(0, max(1, len(each.content)), CHUNK):
                chunk = each.content[start : start + CHUNK]
                await self._engine.call(machine.address, worker.receive, machine.site, number, chunk)
        request = msgspec.structs.replace(
            self._preparation, slots=machine.slots, first_core=machine.offset * int(cores)
        )
        answer = await self._engine.call(machine.address, worker.prepare, machine.site, encode(request))
        prepared = decode_from_site(answer)
        if isinstance(prepared, Unable):
            raise ClusterError(prepared.reason)
        machine.standing = Standing.READY
        for slow in too_slow(self._machines.values(), self._max_slowdown) - self._told:
            self._told.add(slow)
            self._tell(f"{slow.name} gets no pairs: its cores are {slow.speed:.2g} times as fast as the contest's")

    def _lose_site(self, machine: Machine, reason: str) -> None:
        """Let a machine join again whose site is lost, unless that has happened too often."""
        machine.reopenings += 1
        if machine.reopenings > MAX_REOPENINGS:
            self._exclude(machine, reason)
        else:
            self._tell(f"{machine.name or machine.address} is prepared again: {reason}")
            self._nurseries[machine].cancel_scope.cancel()

    def _exclude(self, machine: Machine, reason: str) -> None:
        if machine.exclude(reason):
            self._tell(f"{machine.name or machine.address} gets no pairs: {reason}")

    # -- pairs ------------------------------------------------------------------------------------------------------

    async def _play(self, machine: Machine, pair: int) -> None:
        """Let a machine play a pair, and keep the result; otherwise the pair is played again, before all others."""
        is_kept = False
        try:
            data = await self._answer_of(machine, pair)
            if data is not None:
                with trio.CancelScope(shield=True):  # a pair that was played is kept, even if its machine has left
                    is_kept = await self._take(machine, pair, data)
        finally:
            machine.pairs.remove(pair)
            if not is_kept:
                self._pairs.appendleft(pair)
            self._changed.set()

    async def _answer_of(self, machine: Machine, pair: int) -> bytes | None:
        """The answer of a machine that was asked to play a pair; None if it was lost.

        Raises ClusterError if the workers that played this pair have failed too often.
        """
        games = self._games[pair]
        if pair not in self._announced:
            self._announced.add(pair)
            for planned in games:
                self._progress.start(planned)
        key = f"{self._name}-pair-{pair}-{next(self._numbers)}"
        opening = await trio.to_thread.run_sync(read_opening, games[0])
        seats = tuple((each.game, each.seats) for each in games)
        request = encode(PlayPair(key, pair, games[0].seed, seats, opening))
        task = self._engine.task(machine.address, key, worker.play_pair, machine.site, key, request, cores=self._cores)
        try:
            async with task as played:
                data: bytes = played.result
                return data
        except (TaskLostError, OSError, ClusterError):  # ABSENCE_TIMEOUT limits how long the scheduler may be gone
            pass
        except Exception as error:  # whatever Dask raises if the worker fails
            self._losses[pair] += 1
            if self._losses[pair] >= MAX_LOSSES:
                raise ClusterError(f"pair {pair} cannot be played on the cluster: {_text_of(error)}") from error
        await trio.sleep(POLL_INTERVAL)
        return None

    async def _take(self, machine: Machine, pair: int, data: bytes) -> bool:
        """Take the answer of a machine; return whether the pair is written.

        It is not if a program has not started there, and may start elsewhere.
        """
        records: list[GameRecord] = []
        try:
            answer = decode_pair_answer(data)
            if isinstance(answer, PairPlayed):
                records = checked_records(answer, self._games[pair], self._setup.names, machine.name)
        except (msgspec.DecodeError, ClusterError) as error:
            answer = PairRefused("", str(error))
        if isinstance(answer, PairRefused):
            if answer.is_site_gone:
                self._lose_site(machine, answer.reason)
            elif machine.refuse(answer.reason, trio.current_time(), is_overloaded=answer.is_overloaded):
                self._tell(f"{machine.name} gets no more pairs: {answer.reason}")
            return False
        machine.started.update(program for program in (0, 1) if any(was_played(each, program) for each in records))
        for each in records:
            if each.verdict == Verdict.NO_START and each.offender not in machine.started:
                self._held.setdefault(pair, (machine, records, answer))
                self._exclude(machine, f"{each.names[each.offender or 0]} does not start ({each.reason})")
                return False
        await self._keep(machine, pair, records, answer)
        return True

    async def _keep(self, machine: Machine, pair: int, records: list[GameRecord], played: PairPlayed) -> None:
        """Write a played pair into the folder and the journal."""
        self._held.pop(pair, None)
        machine.accept()
        await trio.to_thread.run_sync(write_pair, self._folder, records, played)
        for game, name in played.omitted:
            self._tell(f"game {game}: {name} was left out, since its files are too large or too many")
        self._progress.finish(records)


def _text_of(error: Exception) -> str:
    """An exception of another machine in one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, ClusterError) else f"{type(error).__name__}: {text}"
