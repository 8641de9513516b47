"""Which machines of a cluster play which pairs, and which answers count. Workers and their time are simulated.

After each match every game was finished once.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from spielleiter.cluster import worker
from spielleiter.cluster.allocation import HOLD, MAX_FAILURES, MAX_HOLD, machine_name
from spielleiter.cluster.dask_engine import ClusterAddress, TaskLostError
from spielleiter.cluster.shipment import Shipped
from spielleiter.cluster.site_messages import (
    PROTOCOL,
    FromSite,
    PairPlayed,
    PairRefused,
    PlayPair,
    Prepare,
    Ready,
    SitePrepared,
    Unable,
    decode_to_site,
    encode,
)
from spielleiter.cluster.venue import (
    ABSENCE_TIMEOUT,
    CHUNK,
    MAX_LOSSES,
    MAX_REOPENINGS,
    ClusterSettings,
    ClusterVenue,
)
from spielleiter.cluster.worker import SiteGoneError
from spielleiter.common.errors import ClusterError, SetupError, first_error
from spielleiter.match import Conditions, GameRecord, prepare_match
from spielleiter.match.plan import PlannedGame
from spielleiter.match.verdict import Verdict
from tests.idle_clock import jump_when_idle
from tests.match.sample_records import absence, game

FAST, SLOW = "tcp://fast:1", "tcp://slow:2"
OVERLOADED = PairRefused("", "it is busy", is_overloaded=True)
FAILED = PairRefused("", "disk full")
GONE = PairRefused("", "it has ended", is_site_gone=True)


def answer_to(request: PlayPair, **changes: Any) -> PairPlayed:
    """What a machine sends that has played a pair."""
    make = absence if changes.get("verdict") == Verdict.NO_START else game
    options = {"names": ("first", "random"), "folder": "", "seed": request.seed, **changes}
    if make is absence:
        options = {**options, "offender": 0}
    records = [make(number, seats=seats, pair=request.pair, **options) for number, seats in request.games]
    return PairPlayed(request.key, tuple(each.to_json() for each in records), ())


class Cluster:
    """A scheduler whose workers do what `play`, `open` and `prepare` say; it takes the place of a `DaskEngine`."""

    def __init__(self, *addresses: str, slots: int = 1) -> None:
        self.workers_now = {each: each.removeprefix("tcp://").partition(":")[0] for each in addresses}
        self.slots = slots
        self.speeds: dict[str, float] = {}
        self.version = version("spielleiter")
        self.lost: set[str] = set()
        """The workers whose leases are lost."""
        self.unable: dict[str, str] = {}
        self.prepared: list[tuple[str, Prepare]] = []
        self.received: list[tuple[int, bytes]] = []
        self.played: list[tuple[str, int, float]] = []
        """Address, pair and time of each attempt."""
        self.running: Counter[str] = Counter()
        self.told: list[str] = []
        self.finished: list[GameRecord] = []
        self.workers: Callable[[], Awaitable[dict[str, str]]] = self._workers
        self.open: Callable[[str], Awaitable[object]] = self._open
        """What happens when a site is opened."""
        self.play: Callable[[str, PlayPair], Awaitable[FromSite]] = self._play
        """How a worker plays."""

    async def _workers(self) -> dict[str, str]:
        await trio.lowlevel.checkpoint()
        return dict(self.workers_now)

    async def call(self, address: str, function: Callable[..., Any], *arguments: Any) -> bytes | None:
        await trio.lowlevel.checkpoint()
        if function is worker.receive:
            self.received.append((arguments[1], arguments[2]))
        if function is worker.prepare:
            request = decode_to_site(arguments[1])
            assert isinstance(request, Prepare)
            self.prepared.append((address, request))
            return encode(Unable(self.unable[address]) if address in self.unable else SitePrepared())
        return None

    @asynccontextmanager
    async def task(
        self, address: str, _key: str, function: Callable[..., Any], *arguments: Any, cores: float = 0
    ) -> AsyncIterator[object]:
        await trio.lowlevel.checkpoint()
        if function is worker.open_site:
            self.lost.discard(address)
            await self.open(address)
            host = self.workers_now[address]
            ready = Ready(self.version, PROTOCOL, host, self.slots, self.speeds.get(address, 1.0))
            yield Lease(self.lost, address, (host, float(self.slots), encode(ready)))
            return
        request = decode_to_site(arguments[2])
        assert isinstance(request, PlayPair)
        self.played.append((address, request.pair, trio.current_time()))
        self.running[address] += 1
        assert self.running[address] * cores <= self.slots
        try:
            answer = await self.play(address, request)
        finally:
            self.running[address] -= 1
        yield SimpleNamespace(result=encode(answer))

    async def _open(self, _address: str) -> None:
        await trio.lowlevel.checkpoint()

    async def _play(self, _address: str, request: PlayPair) -> FromSite:
        await trio.sleep(2)
        return answer_to(request)

    async def match(self, folder: Path, pairs: int = 4, **settings: Any) -> list[GameRecord]:
        """Play a match; afterwards nothing is under way. Returns the records in the order in which they were kept."""
        setup = prepare_match("builtin:first", "builtin:random", games=2 * pairs, seed=7, is_played_elsewhere=True)
        games = [
            PlannedGame(2 * pair + side - 1, pair, pair, (side, 1 - side))
            for pair in range(1, pairs + 1)
            for side in (0, 1)
        ]
        progress = SimpleNamespace(start=lambda _: None, finish=self.finished.extend, is_ending=False)
        conditions = Conditions(settings.pop("concurrency", 0))
        shipment = settings.pop("shipment", ())
        cluster = ClusterSettings(ClusterAddress("tcp://127.0.0.1:1"), **settings)
        engine: Any = self
        some: Any = progress
        with trio.fail_after(10_000):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(jump_when_idle)
                venue = ClusterVenue(engine, cluster, shipment, self.told.append)
                await venue.play(setup, games, folder, conditions, some)
                nursery.cancel_scope.cancel()
        assert not any(self.running.values())
        assert sorted(each.game for each in self.finished) == list(range(1, 2 * pairs + 1))
        return self.finished


class Lease:
    def __init__(self, lost: set[str], address: str, result: object) -> None:
        self._lost = lost
        self._address = address
        self.result = result

    @property
    def is_lost(self) -> bool:
        return self._address in self._lost


def playing(play: Callable[[str, PlayPair], FromSite | None], *addresses: str, **options: Any) -> Cluster:
    """Workers that answer with what `play` returns; None means that they play."""
    cluster = Cluster(*(addresses or (FAST,)), **options)
    usual = cluster.play

    async def answer(address: str, request: PlayPair) -> FromSite:
        answer = play(address, request)
        return await usual(address, request) if answer is None else answer

    cluster.play = answer
    return cluster


async def test_each_machine_plays_as_many_pairs_as_it_has_slots(mock_clock: object, tmp_path: Path) -> None:
    cluster = Cluster(FAST, SLOW, slots=2)
    records = await cluster.match(tmp_path, 8)
    assert {each.machine for each in records} == {"fast", "slow"}
    assert [request.slots for _, request in cluster.prepared] == [2, 2]
    assert Counter(address for address, _, _ in cluster.played) == {FAST: 4, SLOW: 4}


async def test_no_more_pairs_are_played_than_the_user_allows(mock_clock: object, tmp_path: Path) -> None:
    cluster = Cluster(FAST, SLOW, slots=2)
    await cluster.match(tmp_path, 4, concurrency=1)
    times = [at for _, _, at in cluster.played]
    assert all(after - before >= 2 for before, after in itertools.pairwise(times))


async def test_workers_on_one_host_use_cores_of_their_own(mock_clock: object, tmp_path: Path) -> None:
    cluster = Cluster("tcp://pc:1", "tcp://pc:2", slots=3)
    await cluster.match(tmp_path)
    assert [request.first_core for _, request in cluster.prepared] == [0, 3]


async def test_what_is_shipped_arrives_in_pieces(mock_clock: object, tmp_path: Path) -> None:
    cluster = Cluster(FAST)
    content = bytes(CHUNK + 1)
    shipment = (Shipped("/bot", "bot", content, is_folder=False), Shipped("/empty", "empty", b"", is_folder=False))
    await cluster.match(tmp_path, shipment=shipment)
    assert [(number, len(chunk)) for number, chunk in cluster.received] == [(0, CHUNK), (0, 1), (1, 0)]
    assert [item.target for item in cluster.prepared[0][1].items] == ["bot", "empty"]


async def no_space(address: str) -> None:
    await trio.lowlevel.checkpoint()
    if address == SLOW:
        raise OSError("no space\nleft")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"speeds": {FAST: 2.0, SLOW: 0.6}}, "slow gets no pairs: its cores are 0.6 times as fast as the contest's"),
        ({"unable": {SLOW: "there is no command bot"}}, "slow gets no pairs: there is no command bot"),
        ({"open": no_space}, f"{SLOW} gets no pairs: OSError: no space left"),
    ],
    ids=["slow", "unable", "failing"],
)
async def test_a_machine_that_gets_no_pairs_is_named(
    changes: dict[str, Any], told: str, mock_clock: object, tmp_path: Path
) -> None:
    cluster = Cluster(FAST, SLOW)
    for name, value in changes.items():
        setattr(cluster, name, value)
    await cluster.match(tmp_path, max_slowdown=3.0)
    assert {address for address, _, _ in cluster.played} == {FAST}
    assert cluster.told == [told]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"unable": {FAST: "no command bot"}}, "fast: no command bot"),
        ({"version": "0.0"}, "another version of spielleiter"),
        ({"slots": 0}, "fast: it offers 0 cores, and a game needs 1"),
    ],
    ids=["unable", "version", "cores"],
)
async def test_if_no_machine_can_play_the_reasons_are_given(
    changes: Any, problem: str, mock_clock: object, tmp_path: Path
) -> None:
    cluster = Cluster(FAST)
    for name, value in changes.items():
        setattr(cluster, name, value)
    with pytest.raises(BaseExceptionGroup) as caught:
        await cluster.match(tmp_path)
    error = first_error(caught.value)
    assert isinstance(error, ClusterError)
    assert str(error).startswith("no machine of the cluster can play (")
    assert problem in str(error)


async def test_a_program_that_does_not_start_on_one_machine_loses_nothing_there(
    mock_clock: object, tmp_path: Path
) -> None:
    cluster = playing(
        lambda address, request: answer_to(request, verdict=Verdict.NO_START) if address == SLOW else None, FAST, SLOW
    )
    records = await cluster.match(tmp_path)
    assert {(each.machine, each.verdict) for each in records} == {("fast", Verdict.REGULAR)}
    [text] = cluster.told
    assert text.startswith("slow gets no pairs: first does not start (")


async def test_a_lost_connection_makes_no_match_hopeless(mock_clock: object, tmp_path: Path) -> None:
    """The program does not start on the only machine whose connection is not lost."""

    def play(address: str, request: PlayPair) -> FromSite | None:
        if address == SLOW:
            return answer_to(request, verdict=Verdict.NO_START)
        if sum(each == FAST for each, _, _ in cluster.played) == 1:
            cluster.lost.add(FAST)
        return None

    cluster = playing(play, FAST, SLOW)
    records = await cluster.match(tmp_path)
    assert {(each.machine, each.verdict) for each in records} == {("fast", Verdict.REGULAR)}


async def test_a_program_that_starts_nowhere_loses_the_first_pair(mock_clock: object, tmp_path: Path) -> None:
    cluster = playing(lambda _, request: answer_to(request, verdict=Verdict.NO_START), FAST, SLOW)
    records = await cluster.match(tmp_path, 1)
    assert [each.verdict for each in records] == [Verdict.NO_START] * 2


async def test_a_program_that_has_started_on_a_machine_may_fail_there_later(mock_clock: object, tmp_path: Path) -> None:
    cluster = playing(lambda _, request: answer_to(request, verdict=Verdict.NO_START) if request.pair == 3 else None)
    records = await cluster.match(tmp_path)
    assert [each.pair for each in records if each.verdict == Verdict.NO_START] == [3, 3]
    assert cluster.told == []


async def test_a_busy_machine_gets_no_pairs_for_a_growing_while(mock_clock: object, tmp_path: Path) -> None:
    cluster = playing(lambda _, __: OVERLOADED if len(cluster.played) <= 6 else None)
    await cluster.match(tmp_path, 1)
    times = [at for _, _, at in cluster.played]
    waits = [after - before for before, after in itertools.pairwise(times)]
    assert all(wait >= min(MAX_HOLD, HOLD * 2**number) for number, wait in enumerate(waits))
    assert max(waits) < MAX_HOLD + 3
    assert cluster.told == []


@pytest.mark.parametrize(
    "answer",
    [FAILED, PairPlayed("", (), ()), SitePrepared()],
    ids=["refused", "records of other games", "no answer"],
)
async def test_a_machine_that_fails_repeatedly_gets_no_more_pairs(
    answer: FromSite, mock_clock: object, tmp_path: Path
) -> None:
    cluster = playing(lambda address, _: answer if address == SLOW else None, FAST, SLOW)
    records = await cluster.match(tmp_path, 12)
    assert {each.machine for each in records} == {"fast"}
    assert sum(address == SLOW for address, _, _ in cluster.played) == MAX_FAILURES
    [text] = cluster.told
    assert text.startswith("slow gets no more pairs: ")


async def test_a_lost_site_is_opened_again_but_not_for_ever(mock_clock: object, tmp_path: Path) -> None:
    cluster = playing(lambda address, _: GONE if address == SLOW else None, FAST, SLOW)
    await cluster.match(tmp_path, 20)
    assert Counter(address for address, _ in cluster.prepared) == {FAST: 1, SLOW: 1 + MAX_REOPENINGS}
    assert cluster.told == [
        *["slow is prepared again: it has ended"] * MAX_REOPENINGS,
        "slow gets no pairs: it has ended",
    ]


async def test_a_site_that_ends_while_it_is_prepared_is_opened_again(mock_clock: object, tmp_path: Path) -> None:
    cluster = Cluster(FAST)
    opened = []

    async def fail_once(address: str) -> None:
        await trio.lowlevel.checkpoint()
        opened.append(address)
        if len(opened) == 1:
            raise SiteGoneError("it has ended")
        if len(opened) == 2:
            raise TaskLostError

    cluster.open = fail_once
    await cluster.match(tmp_path)
    assert len(opened) == 3
    assert cluster.told == [f"{FAST} is prepared again: it has ended"]


async def test_after_a_lost_connection_the_machines_are_prepared_again(mock_clock: object, tmp_path: Path) -> None:
    cluster = Cluster(FAST)
    usual = cluster.play

    async def lose(address: str, request: PlayPair) -> FromSite:
        if len(cluster.played) == 2:
            cluster.lost.add(address)
            raise TaskLostError
        return await usual(address, request)

    cluster.play = lose
    await cluster.match(tmp_path)
    assert len(cluster.prepared) == 2
    assert cluster.told == []


async def test_a_pair_is_kept_if_its_machine_leaves_as_the_answer_arrives(mock_clock: object, tmp_path: Path) -> None:
    cluster = Cluster(FAST)

    async def leave(_address: str, request: PlayPair) -> FromSite:
        cluster.workers_now = {}
        with trio.CancelScope(shield=True):
            await trio.sleep(5)
        return answer_to(request)

    cluster.play = leave
    await cluster.match(tmp_path, 1)
    assert len(cluster.played) == 1


@pytest.mark.parametrize("error", [ClusterError("there is no connection"), OSError(), TaskLostError()], ids=repr)
async def test_a_scheduler_that_is_gone_is_no_fault_of_a_pair(
    error: Exception, mock_clock: object, tmp_path: Path
) -> None:
    errors = iter([error] * (MAX_LOSSES + 1))

    def fail(_address: str, _request: PlayPair) -> None:
        if (each := next(errors, None)) is not None:
            raise each

    await playing(fail).match(tmp_path, 1)


async def test_a_pair_that_no_worker_survives_ends_the_match(mock_clock: object, tmp_path: Path) -> None:
    def fail(_address: str, _request: PlayPair) -> FromSite:
        raise ValueError("a worker fails")

    cluster = playing(fail)
    with pytest.raises(BaseExceptionGroup) as caught:
        await cluster.match(tmp_path)
    assert str(first_error(caught.value)) == "pair 1 cannot be played on the cluster: ValueError: a worker fails"
    assert len(cluster.played) == MAX_LOSSES


@pytest.mark.parametrize("is_reached", [True, False])
async def test_without_workers_the_match_is_interrupted(is_reached: bool, mock_clock: object, tmp_path: Path) -> None:
    cluster = Cluster()

    async def fail() -> dict[str, str]:
        await trio.lowlevel.checkpoint()
        raise ClusterError("the scheduler does not answer")

    if not is_reached:
        cluster.workers = fail
    with pytest.raises(BaseExceptionGroup) as caught:
        await cluster.match(tmp_path)
    assert trio.current_time() > ABSENCE_TIMEOUT
    problem = "no worker has joined the cluster" if is_reached else "the scheduler does not answer"
    assert str(first_error(caught.value)).startswith(f"{problem} for 120 s; start `dask worker`")


async def test_a_match_at_another_server_is_refused(mock_clock: object, tmp_path: Path) -> None:
    setup: Any = SimpleNamespace(server="localhost:13050")
    venue: Any = ClusterVenue(Any, Any, (), print)  # type: ignore[arg-type]
    with pytest.raises(SetupError, match="expected no other server"):
        await venue.play(setup, (), tmp_path, Conditions(0), None)


@pytest.mark.parametrize("seed", range(8))
async def test_every_pair_is_kept_once_whatever_happens(seed: int, mock_clock: object, tmp_path: Path) -> None:
    rng = random.Random(seed)
    cluster = Cluster(*(f"tcp://pc{number}:1" for number in range(3)), slots=2)

    async def anything(address: str, request: PlayPair) -> FromSite:
        await trio.sleep(rng.choice((0.5, 1, 3)))
        event = rng.random()
        if event < 0.15:
            new = f"tcp://pc{len(cluster.played)}:1"
            cluster.workers_now = {**cluster.workers_now, new: new[6:-2]}
            del cluster.workers_now[rng.choice(list(cluster.workers_now))]
        elif event < 0.2:
            cluster.lost.add(address)
        elif event < 0.25:
            raise TaskLostError
        elif event < 0.35:
            return rng.choice((OVERLOADED, FAILED, GONE))
        elif event < 0.4:
            with trio.CancelScope(shield=True):  # an answer that is late
                await trio.sleep(3)
        return answer_to(request)

    cluster.play = anything
    await cluster.match(tmp_path, 20)


def test_machines_are_named_after_their_workers_or_hosts() -> None:
    assert machine_name("pc07", "host", ()) == "pc07"
    assert machine_name("tcp://10.0.0.7:4711", "pc07", ()) == "pc07"
    assert machine_name("1", "pc07", {"pc07", "pc07-2"}) == "pc07-3"
