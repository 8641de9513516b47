"""Live data: computed once for all pages, at most ten times a second, always the newest, and bounded in its cost."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.game.api import State
from spielleiter.protocol.messages import Memento, RoomData
from spielleiter.server import events
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.positions.describe import describe_position
from spielleiter.viewer.web import watched_game
from spielleiter.viewer.web.errors import WebError
from spielleiter.viewer.web.hub import BUSY_MOVES, IDLE, MOST_STREAMS, SHORTEST_INTERVAL, GameSource, Hub, ListSource
from spielleiter.viewer.web.live_games import LiveGames
from tests.viewer.web.pages import open_pages

EDITION = EDITIONS["blokus-2027"]
HERE, ELSEWHERE = "127.0.0.1", "192.0.2.1"


class Games(LiveGames):
    """One game, to which a test adds plies."""

    def __init__(self) -> None:
        super().__init__({}, events.EventStream())
        self.one = Game()
        self.lists = 0

    def find(self, room_id: str) -> Any:
        return self.one if room_id == self.one.id else None

    def listed(self) -> list[dict[str, Any]]:
        self.lists += 1
        return [{"id": self.one.id, "ply": self.one.ply}]


@dataclass
class Game:
    """A game of legal moves, without players and without a room."""

    id: str = "one"
    edition: Edition = EDITION
    names: tuple[str, str] = ("A", "B")
    is_paused: bool = False
    phase_name: str = "running"
    free_seats: int = 0
    is_prepared: bool = True
    soft_limit: float | None = 2.0
    record: list[RoomData] = field(default_factory=list)
    state: State = field(default_factory=lambda: EDITION.game.new_state(random.Random(1)))

    def __post_init__(self) -> None:
        self.record.append(Memento(self.state))

    @property
    def ply(self) -> int:
        return len(self.record) - 1

    def think_times(self, _seat: int) -> list[float]:
        return [0.5] * 50

    def to_move(self, _now: float) -> dict[str, Any] | None:
        return None

    def play(self, plies: int = 1) -> None:
        for _ in range(plies):
            self.state = self.state.play(next(iter(self.state.generate_legal_moves())))
            self.record.append(Memento(self.state))


@dataclass
class Watch:
    """A hub over one game, with a processor clock that each described position advances by `cost` seconds."""

    hub: Hub = field(init=False)
    games: Games = field(default_factory=Games)
    cost: float = 0.0
    processor: float = 0.0
    moves: int = 0
    described: list[int] = field(default_factory=list)


@pytest.fixture
async def watch(nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch()
    watch.hub = Hub(watch.games, lambda: watch.moves, lambda: watch.processor)

    def describe_and_count(state: State, ply: int, previous: State | None) -> Any:
        watch.described.append(ply)
        watch.processor += watch.cost
        return describe_position(state, ply, previous, counts_moves=False)

    monkeypatch.setattr(watched_game, "describe_position", describe_and_count)
    nursery.start_soon(watch.hub.run)
    return watch


def numbers(frame: bytes | None) -> tuple[int, list[int]]:
    """The first ply and the plies of an event with positions."""
    assert frame is not None
    head, _, data = frame.decode().partition("\n")
    assert head == "event: position"
    found = json.loads(data.removeprefix("data: "))
    assert [each["ply"] for each in found["plies"]] == [each["ply"] for each in found["positions"] if each["ply"]]
    return found["from"], [each["ply"] for each in found["positions"]]


async def test_nothing_is_computed_without_a_page(watch: Watch, autojump_clock: MockClock) -> None:
    watch.games.one.play(3)
    await trio.sleep(10)
    assert watch.games.lists == 0
    assert watch.described == []


async def test_the_list_is_sent_when_it_has_changed_and_at_most_ten_times_a_second(
    watch: Watch, autojump_clock: MockClock
) -> None:
    source = watch.hub.watch_list(HERE)
    instants = []
    for _ in range(5):
        await source.next_frame()
        instants.append(trio.current_time())
        watch.games.one.play()
    assert all(later - earlier >= SHORTEST_INTERVAL - 1e-9 for earlier, later in itertools.pairwise(instants[1:]))
    lists = watch.games.lists
    with trio.move_on_after(5) as scope:
        while True:
            await source.next_frame()
    assert scope.cancelled_caught
    assert watch.games.lists > lists + 40  # it was looked at, but nothing had changed
    source.close()
    await trio.sleep(1)
    lists = watch.games.lists
    await trio.sleep(10)
    assert watch.games.lists == lists


async def test_a_page_gets_everything_first_and_then_what_is_new(watch: Watch, autojump_clock: MockClock) -> None:
    watch.games.one.play(2)
    source = watch.hub.watch_game("one", HERE)
    assert numbers(await source.next_frame()) == (0, [0, 1, 2])
    watch.games.one.play(2)
    assert numbers(await source.next_frame()) == (3, [3, 4])
    watch.games.one.is_paused = True
    assert numbers(await source.next_frame()) == (5, [])


async def test_a_position_is_described_once_for_all_pages(watch: Watch, autojump_clock: MockClock) -> None:
    sources = [watch.hub.watch_game("one", HERE) for _ in range(20)]
    for plies in range(1, 4):
        frames = [await source.next_frame() for source in sources]
        assert len(set(frames)) == 1
        assert sorted(watch.described) == list(range(plies))
        watch.games.one.play()


async def test_a_page_that_did_not_read_gets_the_newest_data_in_one_piece(
    watch: Watch, autojump_clock: MockClock
) -> None:
    slow, quick = watch.hub.watch_game("one", HERE), watch.hub.watch_game("one", HERE)
    await slow.next_frame()
    await quick.next_frame()
    for ply in range(1, 6):
        watch.games.one.play()
        assert numbers(await quick.next_frame()) == (ply, [ply])
    assert numbers(await slow.next_frame()) == (1, [1, 2, 3, 4, 5])


async def test_after_many_plies_at_once_only_the_newest_is_described(watch: Watch, autojump_clock: MockClock) -> None:
    source = watch.hub.watch_game("one", HERE)
    await source.next_frame()
    watch.games.one.play(20)
    assert numbers(await source.next_frame()) == (20, [20])
    assert watch.described == [0, 20]
    whole = await watch.hub.whole_game("one")
    assert [len(whole["positions"]), len(whole["plies"])] == [21, 20]
    assert sorted(watch.described) == list(range(21))


async def test_describing_takes_a_bounded_share_of_the_processor(watch: Watch, autojump_clock: MockClock) -> None:
    watch.cost = 0.05
    source = watch.hub.watch_game("one", HERE)
    await source.next_frame()
    before, start = watch.processor, trio.current_time()
    for _ in range(10):
        watch.games.one.play()
        await source.next_frame()
    share = (watch.processor - before) / (trio.current_time() - start)
    assert share <= IDLE.share * 1.2


async def test_pages_get_fewer_updates_while_many_moves_are_played(watch: Watch, autojump_clock: MockClock) -> None:
    async def updates(seconds: float, moves_per_second: float) -> int:
        count = 0
        deadline = trio.current_time() + seconds
        while trio.current_time() < deadline:
            watch.games.one.play()
            before = trio.current_time()
            await sources[0].next_frame()
            watch.moves += round((trio.current_time() - before) * moves_per_second)
            count += 1
        return count

    sources = [watch.hub.watch_list(HERE) for _ in range(40)]
    await sources[0].next_frame()
    idle = await updates(2, 1.0)
    busy = await updates(20, BUSY_MOVES * 10)
    assert idle >= 18  # ten a second
    assert busy / 20 < idle / 2 / 4  # a quarter of the updates per second, although the load is noticed late


async def test_no_address_can_take_all_streams(watch: Watch, autojump_clock: MockClock) -> None:
    share = MOST_STREAMS // 2
    sources: list[ListSource | GameSource] = [watch.hub.watch_list(HERE) for _ in range(share - 1)]
    sources.append(watch.hub.watch_game("one", HERE))
    for watch_one in (watch.hub.watch_list, partial(watch.hub.watch_game, "one")):
        with pytest.raises(WebError) as raised:
            watch_one(HERE)
        assert raised.value.status == 429
    others = [watch.hub.watch_list(ELSEWHERE) for _ in range(share // 2)]
    for source in [*others, sources[-1]]:
        source.close()
    watch.hub.watch_game("one", HERE).close()
    for source in sources[:-1]:
        source.close()
    assert watch.hub.stream_count == 0


async def test_the_number_of_streams_is_bounded(watch: Watch, autojump_clock: MockClock) -> None:
    for number in range(MOST_STREAMS):
        watch.hub.watch_list(f"192.0.2.{number}")
    with pytest.raises(WebError):
        watch.hub.watch_list(HERE)


async def test_a_game_that_nobody_watches_is_forgotten(watch: Watch, autojump_clock: MockClock) -> None:
    first, second = watch.hub.watch_game("one", HERE), watch.hub.watch_game("one", HERE)
    await first.next_frame()
    first.close()
    assert watch.hub.game("one") is watch.hub.game("one")
    second.close()
    assert watch.hub.game("one") is not watch.hub.game("one")


async def test_a_room_that_is_closed_before_its_game_is_gone(autojump_clock: MockClock) -> None:
    async with open_pages() as pages:
        room = pages.open_room("A", "B")
        stream = await pages.open(f"/api/rooms/{room.id}/events")
        assert (await stream.until("position"))["state"] == "waiting"
        room.cancel()
        assert await stream.until("gone") == {}
        with pytest.raises(trio.EndOfChannel):
            await stream.next()
        again = await pages.open(f"/api/rooms/{room.id}/events")
        assert await again.until("gone") == {}
        await wait_all_tasks_blocked()
        assert pages.site.hub.stream_count == 0


async def test_a_page_that_leaves_is_forgotten(autojump_clock: MockClock) -> None:
    async with open_pages() as pages:
        stream = await pages.open("/api/events")
        assert await stream.until("rooms") == []
        assert pages.site.hub.stream_count == 1
        stream.leave()
        await wait_all_tasks_blocked()
        assert pages.site.hub.stream_count == 0


async def test_too_many_pages_are_told_so(autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spielleiter.viewer.web.hub.MOST_STREAMS", 2)
    async with open_pages() as pages:
        await pages.open("/api/events")
        refused = await pages.get("/api/events")
        assert refused.status == 429
        assert "There are 1 pages open already, 1 of them from your address" in refused.json["error"]["en"]
