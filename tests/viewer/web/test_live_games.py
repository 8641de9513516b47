"""Live data: computed once for all pages, at most ten times a second, always the newest, and bounded in its cost."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.client.responders import make_responder
from spielleiter.game.api import State
from spielleiter.protocol.feed import ThinkingChanged
from spielleiter.protocol.messages import Memento, RoomData
from spielleiter.protocol.thinking import Thinking
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.game_json import LONGEST_HINT
from spielleiter.viewer.positions.describe import describe_position
from spielleiter.viewer.web.answers import Checkpoint, EventStreamResponse, WebError
from spielleiter.viewer.web.live_games import (
    BUSY_MOVES,
    IDLE_LIMITS,
    MOST_STREAMS,
    MOST_WAITING,
    NO_NOTICE,
    SHORTEST_INTERVAL,
    Hub,
)
from tests.viewer.web.pages import GAME_TYPE, Pages, never, open_pages

EDITION = EDITIONS["blokus-2027"]
HERE = "127.0.0.1"


# -- games of a server -----------------------------------------------------------------------------------------------


async def play(pages: Pages, code: str | None, strategy: str) -> None:
    async with pages.player() as player:
        await player.join_prepared(code or "")
        await player.play_with(make_responder(strategy, seed=1))


async def play_game(
    pages: Pages,
    first: str = "first",
    second: str = "first",
    names: tuple[str, str] = ("A", "B"),
    state: State | None = None,
) -> str:
    """Play a game, from `state` if it is given, to its end; return the id of its room."""
    room = pages.open_room(*names, state=state)
    async with trio.open_nursery() as nursery:
        for slot, strategy in zip(room.player_slots, (first, second), strict=True):
            nursery.start_soon(play, pages, slot.reservation, strategy)
    await pages.caught_up()
    return room.id


async def test_the_list_has_running_waiting_and_ended_games(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spielleiter.viewer.web.followed_games.ENDED_GAMES", 2)
    async with open_pages() as pages:
        ended = [await play_game(pages, "first", "illegal") for _ in range(3)]
        waiting = pages.open_room("C", "D")
        paused = pages.open_room("E", "F", is_paused=True)
        for slot in paused.player_slots:
            pages.nursery.start_soon(play, pages, slot.reservation, "first")
        while len(paused.players) < 2:
            await trio.lowlevel.checkpoint()
        await pages.caught_up()
        rooms = (await pages.get("/api/rooms")).json["rooms"]
        assert [(room["id"], room["state"]) for room in rooms] == [
            (paused.id, "paused"),
            (waiting.id, "waiting"),
            (ended[2], "over"),  # the newest first
            (ended[1], "over"),
        ]
        assert rooms[1] == {
            "id": waiting.id, "gameType": GAME_TYPE, "game": "blokus", "players": ["C", "D"], "ply": 0,
            "points": [0, 0], "state": "waiting", "isPaused": False, "freeSeats": 0, "isPrepared": True,
            "turn": 0, "title": "Blokus 2027", "started": None, "ended": None, "outcome": None,
        }  # fmt: skip
        assert datetime.fromisoformat(rooms[0]["started"]) <= datetime.now().astimezone()
        first, second = rooms[2]["players"]
        assert rooms[2]["outcome"] == {
            "winner": 0,
            "isDraw": False,
            "words": {
                "de": f"{second} hat gegen eine Regel verstoßen; {first} gewinnt",
                "en": f"{second} broke a rule; {first} wins",
            },
        }
        assert rooms[2]["started"] <= rooms[2]["ended"]
        assert (rooms[2]["ply"], rooms[2]["points"][1]) == (1, 0)  # the points of the result: none for an illegal move
        assert (await pages.get(f"/api/rooms/{ended[0]}")).status == 404
        monkeypatch.setattr("spielleiter.viewer.web.live_games.MOST_LISTED", 3)
        assert [room["id"] for room in (await pages.get("/api/rooms")).json["rooms"]] == [
            room["id"] for room in rooms[:3]
        ]
        monkeypatch.setattr("spielleiter.viewer.web.live_games.MOST_LISTED", 1)
        assert [room["id"] for room in (await pages.get("/api/rooms")).json["rooms"]] == [paused.id]


async def test_a_finished_game_can_still_be_shown_and_its_legal_moves() -> None:
    async with open_pages() as pages:
        room_id = await play_game(pages)
        game = (await pages.get(f"/api/rooms/{room_id}")).json
        (ended,) = pages.logged("game_ended")
        last = ended["plies"]
        assert game["end"]["cause"] == "REGULAR"
        assert game["end"]["winner"] == (ended["winners"][0] if len(ended["winners"]) == 1 else None)
        assert [position["ply"] for position in game["positions"]] == list(range(last + 1))
        assert all(each["thinkSeconds"] is not None for each in game["plies"])
        assert game["pieces"]["MONO"] == [[0, 0]]
        assert game["softLimitSeconds"] == pages.server.config.soft_timeout
        legal = (await pages.get(f"/api/rooms/{room_id}/legal?ply=4")).json
        assert (legal["ply"], legal["canSkip"], bool(legal["moves"])) == (4, True, True)
        assert (await pages.get(f"/api/rooms/{room_id}/legal?ply={last}")).json["moves"] == []
        rows = [("", 400), ("?ply=-1", 400), ("?ply=x", 400), ("?ply=1.5", 400), ("?ply=%D9%A3", 400)]
        for query, status in (*rows, ("?ply=1234567890123456", 400), (f"?ply={last + 1}", 404)):
            assert (await pages.get(f"/api/rooms/{room_id}/legal{query}")).status == status
        assert (await pages.get("/api/rooms/nowhere/legal?ply=0")).status == 404


@pytest.mark.parametrize(("strategy", "cause"), [("crash", "LEFT"), ("garbage", "LEFT"), ("illegal", "RULE_VIOLATION")])
async def test_games_that_end_by_a_fault_have_words_for_it(strategy: str, cause: str) -> None:
    async with open_pages(has_timeouts=False) as pages:
        game = (await pages.get(f"/api/rooms/{await play_game(pages, strategy, names=('Alice', 'Bob'))}")).json
        end = game["end"]
        assert (end["winner"], end["offender"], end["cause"]) == (1, 0, cause)
        assert ("Alice" in end["words"]["de"], "Bob wins" in end["words"]["en"]) == (True, True)
        assert (end["illegal"] is not None) == (strategy == "illegal")
        assert game["softLimitSeconds"] is None


async def test_texts_of_strangers_are_data() -> None:
    hostile = "<script>alert(1)</script>\u202e&amp;\n\nevent: x"
    async with open_pages() as pages:
        room = pages.open_room(hostile, "B")
        await pages.caught_up()
        listed, game = await pages.get("/api/rooms"), await pages.get(f"/api/rooms/{room.id}")
        for answer in (listed, game):
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["x-content-type-options"] == "nosniff"
        stream = await pages.open(f"/api/rooms/{room.id}/events")
        shown = await stream.until("position")
        assert listed.json["rooms"][0]["players"][0] == hostile
        assert game.json["players"][0]["name"] == shown["players"][0]["name"] == hostile


async def test_the_list_keeps_itself_up_to_date_and_a_room_that_closes_before_its_game_is_gone(
    autojump_clock: MockClock,
) -> None:
    async with open_pages() as pages:
        rooms = await pages.open("/api/events")
        assert await rooms.until("rooms") == []
        room = pages.open_room("A", "B")
        (line,) = await rooms.until("rooms")
        assert (line["id"], line["state"]) == (room.id, "waiting")
        stream = await pages.open(f"/api/rooms/{room.id}/events")
        assert (await stream.until("position"))["state"] == "waiting"
        token = await pages.log_in()
        assert (await pages.post("/api/admin/pause", {"room": room.id}, token)).json == {}
        assert (await rooms.until("rooms"))[0]["isPaused"]
        room.cancel()
        assert await rooms.until("rooms") == []
        assert await stream.until("gone") == {}
        with pytest.raises(trio.EndOfChannel):
            await stream.next()
        again = await pages.open(f"/api/rooms/{room.id}/events")
        assert await again.until("gone") == {}
        await wait_all_tasks_blocked()
        assert pages.site.hub.stream_count == 1


async def test_no_address_can_take_all_streams() -> None:
    """This machine can choose among many addresses, and so can one in a network of IPv6."""
    async with open_pages() as pages:

        async def open_streams(*clients: str) -> int:
            """Open streams until one is refused; return how many there were."""
            for number, client in enumerate(itertools.cycle(clients)):
                stream = await pages.open("/api/events", client)
                if stream.status == 429:
                    refused = await pages.get("/api/rooms/x/events" if number % 2 else "/api/events", client=client)
                    assert refused.status in {200, 429}
                    return number
            raise AssertionError

        assert await open_streams("127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1") == MOST_STREAMS // 2
        assert await open_streams("2001:db8::1", "2001:db8::2") == MOST_STREAMS // 4
        assert await open_streams("192.0.2.1") == MOST_STREAMS // 8
        refused = await pages.get("/api/events")
        assert f"There are {MOST_STREAMS * 7 // 8} pages open already, 192 of them" in refused.json["error"]["en"]


# -- the cost of pages -----------------------------------------------------------------------------------------------


@dataclass
class Game:
    """A game of legal moves, without players and without a room."""

    id: str = "one"
    edition: Edition = EDITION
    names: tuple[str, str] = ("A", "B")
    shown_names: tuple[str, str] = ("A", "B")
    addresses: tuple[str, str] = ("", "")
    is_paused: bool = False
    phase: str = "running"
    free_seats: int = 0
    is_prepared: bool = True
    soft_limit: float | None = 2.0
    record: list[RoomData] = field(default_factory=list)
    state: State = field(default_factory=lambda: EDITION.game.new_state(random.Random(1)))
    think_times: tuple[list[float], list[float]] = ([0.5] * 50, [0.5] * 50)
    thinking: dict[int, ThinkingChanged] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.record.append(Memento(self.state))

    @property
    def ply(self) -> int:
        return len(self.record) - 1

    def summary(self) -> dict[str, Any]:
        return {"id": self.id, "ply": self.ply}

    def to_move(self, _now: float) -> dict[str, Any] | None:
        return None

    def think(self, ply: int, text: str) -> None:
        """Let the program say something about the move number `ply`, from 0."""
        self.thinking[ply] = ThinkingChanged(self.id, ply, ply % 2, Thinking(texts=(text,)))

    def play(self, plies: int = 1, hints: tuple[str, ...] = ()) -> None:
        for _ in range(plies):
            self.state = self.state.play(next(iter(self.state.generate_legal_moves())))
            self.record.append(Memento(self.state, self.names, hints))


class Watch:
    """A hub over one game, with a processor clock that each described position advances by `cost` seconds."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.nursery = nursery
        self.game = Game()
        self.cost = 0.0
        self.processor = 0.0
        self.moves_played = 0
        self.notice = NO_NOTICE
        self.lists = 0
        self.described: list[int] = []
        games: Any = self
        self.hub = Hub(games, lambda: self.processor)

    def list_page(self) -> Page:
        return Page(self.hub.watch_list(HERE), self.nursery)

    def game_page(self) -> Page:
        return Page(self.hub.watch_game("one", HERE), self.nursery)

    def find(self, room_id: str) -> Game | None:
        return self.game if room_id == "one" else None

    def listed(self, _most: int) -> list[Game]:
        self.lists += 1
        return [self.game]

    async def catch_up(self, _checkpoint: Checkpoint) -> None:
        """Do nothing: the game has its newest position."""

    def describe(self, state: State, ply: int, previous: State | None) -> Any:
        self.described.append(ply)
        self.processor += self.cost
        return describe_position(state, ply, previous)


class Page:
    """A page that takes a frame of its stream when the test asks for one; one more is on its way to it."""

    def __init__(self, response: EventStreamResponse, nursery: trio.Nursery) -> None:
        self._scope = trio.CancelScope()
        self._frame_sent, self._frames = trio.open_memory_channel[bytes](0)
        nursery.start_soon(self._run, response)

    async def _run(self, response: EventStreamResponse) -> None:
        async def send(message: MutableMapping[str, Any]) -> None:
            if body := message.get("body"):
                await self._frame_sent.send(body)

        with self._scope:
            await response({"type": "http", "method": "GET"}, never, send)

    async def next_frame(self) -> bytes:
        return await self._frames.receive()

    def close(self) -> None:
        self._scope.cancel()


@pytest.fixture
async def watch(nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch(nursery)
    monkeypatch.setattr("spielleiter.viewer.web.live_games.describe_position", watch.describe)
    nursery.start_soon(watch.hub.run)
    return watch


def plies_of(frame: bytes) -> tuple[int, list[int]]:
    """The first ply and the plies of an event with positions."""
    head, _, data = frame.decode().partition("\n")
    assert head == "event: position"
    found = json.loads(data.removeprefix("data: "))
    assert [each["ply"] for each in found["plies"]] == [each["ply"] for each in found["positions"] if each["ply"]]
    return found["from"], [each["ply"] for each in found["positions"]]


async def test_the_list_is_sent_when_it_has_changed_and_at_most_ten_times_a_second(
    watch: Watch, autojump_clock: MockClock
) -> None:
    await trio.sleep(10)
    assert (watch.lists, watch.described) == (0, [])  # nothing is computed without a page
    source = watch.list_page()
    instants = []
    for _ in range(5):
        await source.next_frame()
        instants.append(trio.current_time())
        watch.game.play()
    assert all(later - earlier >= SHORTEST_INTERVAL - 1e-9 for earlier, later in itertools.pairwise(instants[1:]))
    lists = watch.lists
    with trio.move_on_after(5) as scope:
        while True:
            await source.next_frame()
    assert scope.cancelled_caught
    assert watch.lists > lists + 40  # it was looked at, but nothing had changed
    source.close()
    await trio.sleep(1)
    lists = watch.lists
    await trio.sleep(10)
    assert watch.lists == lists


async def test_small_pictures_come_with_the_list_and_once_a_second(watch: Watch, autojump_clock: MockClock) -> None:
    source = watch.list_page()
    pictures = []
    start = trio.current_time()
    while trio.current_time() < start + 3:
        events = (await source.next_frame()).decode().strip().split("\n\n")
        found = [event.partition("\ndata: ")[2] for event in events if event.startswith("event: pictures\n")]
        pictures += [json.loads(data)["one"]["cells"] for data in found]
        watch.game.play()
    assert 3 <= len(pictures) <= 4
    assert [400 - cells.count(".") for cells in pictures] == sorted({400 - cells.count(".") for cells in pictures})


async def test_each_page_gets_everything_first_and_then_what_is_new(watch: Watch, autojump_clock: MockClock) -> None:
    watch.game.play(2)
    slow = watch.game_page()
    assert plies_of(await slow.next_frame()) == (0, [0, 1, 2])
    sources = [watch.game_page() for _ in range(19)]
    for ply in range(3, 8):
        (frame,) = {await source.next_frame() for source in sources}
        assert plies_of(frame) == ((0, [0, 1, 2]) if ply == 3 else (ply - 1, [ply - 1]))
        assert sorted(watch.described) == list(range(ply))  # once for all pages
        watch.game.play()
    # a page that did not read gets the newest data in one piece, after what was on its way
    assert plies_of(await slow.next_frame()) == (3, [3])
    assert plies_of(await slow.next_frame()) == (4, [4, 5, 6])
    assert plies_of(await slow.next_frame()) == (7, [7])
    watch.game.is_paused = True
    assert plies_of(await slow.next_frame()) == (8, [])


async def test_what_programs_think_is_sent_once_before_and_after_the_move(
    watch: Watch, autojump_clock: MockClock
) -> None:
    def thoughts(frame: bytes) -> list[tuple[int, int, list[str]]]:
        found = json.loads(frame.partition(b"data: ")[2])["thinking"]
        return [(each["ply"], each["player"], each["texts"]) for each in found]

    watch.game.think(0, "a")
    first = watch.game_page()
    assert thoughts(await first.next_frame()) == [(1, 0, ["a"])]
    begin = trio.current_time()
    watch.game.think(0, "b")
    assert thoughts(await first.next_frame()) == [(1, 0, ["b"])]
    assert trio.current_time() - begin <= 2 * SHORTEST_INTERVAL
    watch.game.play()
    assert thoughts(await first.next_frame()) == []
    watch.game.think(1, "c")
    assert thoughts(await first.next_frame()) == [(2, 1, ["c"])]
    assert thoughts(await watch.game_page().next_frame()) == [(1, 0, ["b"]), (2, 1, ["c"])]
    watch.game.think(0, "d")
    whole = await watch.hub.whole_game("one")
    assert [json.loads(bytes(each))["texts"] for each in whole["thinking"]] == [["d"], ["c"]]
    assert thoughts(await first.next_frame()) == [(1, 0, ["d"])]


async def test_each_of_many_pages_that_open_at_once_gets_the_newest_position(
    watch: Watch, autojump_clock: MockClock
) -> None:
    watch.game.play(12)
    for page in [watch.game_page() for _ in range(MOST_WAITING + 5)]:
        assert plies_of(await page.next_frame())[1][-1] == 12


async def test_after_many_plies_at_once_only_the_newest_is_described(watch: Watch, autojump_clock: MockClock) -> None:
    source = watch.game_page()
    await source.next_frame()
    watch.game.play(19)
    watch.game.play(hints=("x" * 5000, "b"))
    assert plies_of(await source.next_frame()) == (20, [20])
    assert watch.described == [0, 20]
    whole = json.loads(json.dumps(await watch.hub.whole_game("one"), default=lambda raw: json.loads(bytes(raw))))
    assert [len(whole["positions"]), len(whole["plies"])] == [21, 20]
    assert sorted(watch.described) == list(range(21))
    # hints and think times belong to the ply of their move
    first, last = whole["plies"][0], whole["plies"][-1]
    assert (first["ply"], first["player"], first["thinkSeconds"], first["hints"]) == (1, 0, 0.5, [])
    assert [hint["content"] for hint in last["hints"]] == ["x" * LONGEST_HINT, "b"]


async def test_describing_takes_a_bounded_share_of_the_processor(watch: Watch, autojump_clock: MockClock) -> None:
    watch.cost = 0.05
    source = watch.game_page()
    await source.next_frame()
    before, start = watch.processor, trio.current_time()
    for _ in range(10):
        watch.game.play()
        await source.next_frame()
    assert (watch.processor - before) / (trio.current_time() - start) <= IDLE_LIMITS.processor_share * 1.2


async def test_pages_get_fewer_updates_while_many_moves_are_played(watch: Watch, autojump_clock: MockClock) -> None:
    async def updates(seconds: float, moves_per_second: float) -> int:
        count = 0
        deadline = trio.current_time() + seconds
        while trio.current_time() < deadline:
            watch.game.play()
            before = trio.current_time()
            await sources[0].next_frame()
            watch.moves_played += round((trio.current_time() - before) * moves_per_second)
            count += 1
        return count

    sources = [watch.list_page() for _ in range(40)]
    await sources[0].next_frame()
    idle = await updates(2, 1.0)
    busy = await updates(20, BUSY_MOVES * 10)
    assert idle >= 18  # ten a second
    assert busy / 20 < idle / 2 / 4  # a quarter of the updates per second, although the load is noticed late


async def test_streams_that_are_closed_are_forgotten(watch: Watch, autojump_clock: MockClock) -> None:
    sources = [watch.list_page() for _ in range(MOST_STREAMS // 2 - 2)]
    sources += [watch.game_page() for _ in range(2)]
    for watch_one in (watch.hub.watch_list, partial(watch.hub.watch_game, "one")):
        with pytest.raises(WebError) as raised:
            watch_one(HERE)
        assert raised.value.status == 429
    await sources[-1].next_frame()
    assert watch.hub.game("one") is watch.hub.game("one")
    for source in sources:
        source.close()
    await wait_all_tasks_blocked()
    assert watch.hub.stream_count == 0
    assert watch.hub.game("one") is not watch.hub.game("one")
