"""Live data: computed once for all pages, at most ten times a second, always the newest, and bounded in its cost."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
import pytest
import trio
import trio.testing
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.client.strategies import make_responder
from spielleiter.game.api import State
from spielleiter.protocol.messages import Memento, Result, RoomData
from spielleiter.server import events
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS
from spielleiter.server.events import ThinkStats
from spielleiter.viewer.game_json import LONGEST_HINT
from spielleiter.viewer.positions.describe import describe_position
from spielleiter.viewer.web.answers import WebError
from spielleiter.viewer.web.live_games import (
    BUSY_MOVES,
    IDLE,
    MOST_STREAMS,
    SHORTEST_INTERVAL,
    GameSource,
    Hub,
    ListSource,
    LiveGames,
    WatchedGame,
)
from tests.viewer.replay_files import played, record_of, refused_record
from tests.viewer.web.pages import GAME_TYPE, Pages, call, open_pages


def ended(room: str, *, has_fault: bool = False) -> events.GameEnded:
    """The end of a game of five plies, by the rules or by an illegal move of the second player."""
    edition = EDITIONS["blokus-2027"]
    states = played(edition, plies=5)
    record = record_of(edition, states, ("A", "B"))
    if has_fault:
        record = refused_record(edition, states, next(iter(states[0].generate_legal_moves())))
    result = record[-1]
    assert isinstance(result, Result)
    none = ThinkStats(0, 0.0, 0.0, 0.0)
    return events.GameEnded(
        room, edition.name, ("A", "B"), ("REGULAR",) * 2, ("",) * 2, ((0, 0),) * 2, (), 5, (none, none),
        ((0.5,), (0.25,)), result, record,
    )  # fmt: skip


def live_games(pages: Pages) -> LiveGames:
    return LiveGames(pages.server.lobby.rooms, pages.server.stream)


async def test_a_waiting_room_is_listed_without_a_move() -> None:
    async with open_pages() as pages:
        games = live_games(pages)
        assert games.listed() == []
        room = pages.open_room("Ann", "Ben", is_paused=True)
        (line,) = games.listed()
        assert (line["id"], line["players"], line["state"]) == (room.id, ["Ann", "Ben"], "waiting")
        assert (line["ply"], line["points"], line["isPaused"], line["isPrepared"]) == (0, [0, 0], True, True)
        assert line["freeSeats"] == 0  # both are reserved
        game = games.find(room.id)
        assert game is not None
        assert game.soft_limit == 2.0
        assert game.to_move(0.0) is None
        assert list(game.think_times[0]) == []
        assert games.find("unknown") is None


async def test_without_time_limits_there_is_no_lower_one() -> None:
    async with open_pages(has_timeouts=False) as pages:
        game = live_games(pages).find(pages.open_room("A", "B").id)
        assert game is not None
        assert game.soft_limit is None


async def test_games_that_have_ended_are_kept_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spielleiter.viewer.web.live_games.ENDED_GAMES", 2)
    async with open_pages() as pages:
        games = live_games(pages)
        rooms = [pages.open_room(f"{number}", "B") for number in range(3)]
        for room in rooms:
            pages.server.stream.publish(ended(room.id))
            del pages.server.lobby.rooms[room.id]
        assert games.find(rooms[0].id) is None
        assert [line["id"] for line in games.listed()] == [rooms[2].id, rooms[1].id]  # the newest first
        kept = games.find(rooms[2].id)
        assert kept is not None
        assert (kept.phase, kept.ply, kept.free_seats, kept.to_move(1.0)) == ("over", 5, 0, None)
        assert kept.think_times[1] == (0.25,)


async def test_an_ended_game_is_listed_with_the_points_of_its_result() -> None:
    async with open_pages() as pages:
        games = live_games(pages)
        for has_fault in (False, True):
            room = pages.open_room("A", "B")
            game = ended(room.id, has_fault=has_fault)
            pages.server.stream.publish(game)
            del pages.server.lobby.rooms[room.id]
            assert games.listed()[0]["points"] == [score.parts[1] for score in game.result.scores]
        assert 0 in games.listed()[0]["points"]


async def test_the_list_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spielleiter.viewer.web.live_games.MOST_LISTED", 2)
    async with open_pages() as pages:
        games = live_games(pages)
        over = pages.open_room("A", "B")
        pages.server.stream.publish(ended(over.id))
        del pages.server.lobby.rooms[over.id]
        rooms = [pages.open_room("A", "B")]
        assert [line["id"] for line in games.listed()] == [rooms[0].id, over.id]
        rooms += [pages.open_room("A", "B") for _ in range(2)]
        assert [line["id"] for line in games.listed()] == [room.id for room in rooms[:2]]


async def test_the_end_of_an_unknown_game_is_ignored() -> None:
    stream = events.EventStream()
    games = LiveGames({}, stream)
    stream.publish(ended("unknown"))
    assert games.listed() == []


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
    phase: str = "running"
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

    @property
    def think_times(self) -> tuple[list[float], list[float]]:
        return [0.5] * 50, [0.5] * 50

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
        return describe_position(state, ply, previous)

    monkeypatch.setattr("spielleiter.viewer.web.live_games.describe_position", describe_and_count)
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
    monkeypatch.setattr("spielleiter.viewer.web.live_games.MOST_STREAMS", 2)
    async with open_pages() as pages:
        await pages.open("/api/events")
        refused = await pages.get("/api/events")
        assert refused.status == 429
        assert "There are 1 pages open already, 1 of them from your address" in refused.json["error"]["en"]


def watched(game: Game) -> WatchedGame:
    found: Any = game
    return WatchedGame(found, lambda: found)


async def updated(watched_game: WatchedGame) -> None:
    assert watched_game.refresh(0.0)
    await watched_game.describe_new(trio.lowlevel.checkpoint)
    watched_game.publish()


def as_json(looked_at: WatchedGame) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(msgspec.json.encode(looked_at.as_replay()))
    return found


async def test_hints_and_think_times_belong_to_the_ply_of_their_move() -> None:
    game = Game()
    game.play(2)
    last = game.record[-1]
    assert isinstance(last, Memento)
    game.record[-1] = Memento(last.state, last.names, ("x" * 5000, "b"))
    looked_at = watched(game)
    await updated(looked_at)
    first, second = as_json(looked_at)["plies"]
    assert (first["ply"], first["player"], first["thinkSeconds"], first["hints"]) == (1, 0, 0.5, [])
    assert [hint["content"] for hint in second["hints"]] == ["x" * LONGEST_HINT, "b"]
    assert looked_at.position(2) == game.state
    for ply in (3, -1):
        with pytest.raises(WebError):
            looked_at.position(ply)


def test_a_game_whose_room_was_closed_before_it_began_is_gone() -> None:
    game: Any = Game()
    games: list[Any] = [game]
    looked_at = WatchedGame(game, lambda: games[-1])
    looked_at.refresh(0.0)
    before = looked_at.is_gone
    content = looked_at.content()
    games.append(None)
    assert looked_at.refresh(0.0)
    assert (before, looked_at.is_gone) == (False, True)
    assert looked_at.content() != content


HOSTILE = "<script>alert(1)</script>\u202e&amp;"


async def play(pages: Pages, code: str | None, strategy: str) -> None:
    edition = pages.server.editions[GAME_TYPE]
    async with pages.site.loopback.connect(edition.dialect, "program") as player:
        await player.join_prepared(code or "")
        await player.play_with(make_responder(strategy, seed=1))


async def play_game(
    pages: Pages, first: str = "first", second: str = "first", names: tuple[str, str] = ("A", "B")
) -> str:
    """Play a game to its end; return the id of its room."""
    room = pages.open_room(*names)
    async with trio.open_nursery() as nursery:
        for slot, strategy in zip(room.player_slots, (first, second), strict=True):
            nursery.start_soon(play, pages, slot.reservation, strategy)
    return room.id


async def test_the_list_has_waiting_running_and_ended_games() -> None:
    async with open_pages() as pages:
        ended = await play_game(pages)
        waiting = pages.open_room("C", "D")
        paused = pages.open_room("E", "F", is_paused=True)
        for slot in paused.player_slots:
            pages.nursery.start_soon(play, pages, slot.reservation, "first")
        while len(paused.players) < 2:
            await trio.lowlevel.checkpoint()
        rooms = (await pages.get("/api/rooms")).json["rooms"]
        assert [(room["id"], room["state"]) for room in rooms] == [
            (paused.id, "paused"),
            (waiting.id, "waiting"),
            (ended, "over"),
        ]
        assert rooms[1]["players"] == ["C", "D"]
        assert rooms[1]["freeSeats"] == 0  # both are reserved
        assert rooms[2]["game"] == "blokus"
        assert rooms[2]["ply"] > 20


async def test_a_finished_game_can_still_be_shown() -> None:
    async with open_pages() as pages:
        room_id = await play_game(pages)
        game = (await pages.get(f"/api/rooms/{room_id}")).json
        (ended,) = pages.logged("game_ended")
        assert game["end"]["cause"] == "REGULAR"
        assert game["end"]["winner"] == (ended["winners"][0] if len(ended["winners"]) == 1 else None)
        assert [position["ply"] for position in game["positions"]] == list(range(ended["plies"] + 1))
        assert all(each["thinkSeconds"] is not None for each in game["plies"])
        assert game["pieces"]["MONO"] == [[0, 0]]
        assert game["softLimitSeconds"] == pages.server.config.soft_timeout


async def test_an_illegal_move_is_shown_with_the_cells_that_break_the_rule() -> None:
    async with open_pages() as pages:
        room_id = await play_game(pages, "first", "illegal")
        end = (await pages.get(f"/api/rooms/{room_id}")).json["end"]
        assert end["cause"] == "RULE_VIOLATION"
        assert end["offender"] == 1
        assert end["illegal"]["offendingCells"]
        assert set(end["illegal"]["words"]) == {"de", "en"}


async def test_legal_moves_of_any_ply() -> None:
    async with open_pages() as pages:
        room_id = await play_game(pages)
        game = (await pages.get(f"/api/rooms/{room_id}")).json
        legal = (await pages.get(f"/api/rooms/{room_id}/legal?ply=4")).json
        assert legal["ply"] == 4
        assert legal["canSkip"]
        assert len(legal["moves"]) >= 1
        last = len(game["positions"]) - 1
        assert (await pages.get(f"/api/rooms/{room_id}/legal?ply={last}")).json["moves"] == []
        for query, status in (("", 400), ("?ply=-1", 400), ("?ply=x", 400), ("?ply=²", 400), (f"?ply={last + 1}", 404)):
            assert (await pages.get(f"/api/rooms/{room_id}/legal{query}")).status == status
        assert (await pages.get("/api/rooms/nowhere/legal?ply=0")).status == 404


async def test_texts_of_strangers_are_data() -> None:
    async with open_pages() as pages:
        room_id = await play_game(pages, names=(HOSTILE, "B"))
        listed = await pages.get("/api/rooms")
        game = await pages.get(f"/api/rooms/{room_id}")
        for answer in (listed, game):
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["x-content-type-options"] == "nosniff"
        assert listed.json["rooms"][0]["players"][0] == HOSTILE
        assert game.json["players"][0]["name"] == HOSTILE
        stream = await pages.open(f"/api/rooms/{room_id}/events")
        assert (await stream.until("position"))["players"][0]["name"] == HOSTILE


async def test_an_unknown_room_is_one_sentence_in_both_languages() -> None:
    async with open_pages() as pages:
        answer = await pages.get("/api/rooms/" + "x" * 500)
        assert answer.status == 404
        assert len(answer.json["error"]["en"]) < 200


async def test_the_list_keeps_itself_up_to_date(autojump_clock: MockClock) -> None:
    async with open_pages() as pages:
        stream = await pages.open("/api/events")
        assert await stream.until("rooms") == []
        room = pages.open_room("A", "B")
        (line,) = await stream.until("rooms")
        assert (line["id"], line["state"]) == (room.id, "waiting")
        room.is_paused = True
        assert (await stream.until("rooms"))[0]["isPaused"]
        room.cancel()
        assert await stream.until("rooms") == []


@pytest.mark.parametrize("strategy", ["crash", "garbage"])
async def test_games_that_end_by_a_fault_have_words_for_it(strategy: str) -> None:
    async with open_pages() as pages:
        room_id = await play_game(pages, strategy, "first", names=("Alice", "Bob"))
        end = (await pages.get(f"/api/rooms/{room_id}")).json["end"]
        assert end["winner"] == 1
        assert "Alice" in end["words"]["de"]
        assert "Bob wins" in end["words"]["en"]


@pytest.mark.parametrize("path", ["/api/events", "/api/rooms/nothing/events"])
async def test_the_head_of_an_event_stream_ends_at_once(path: str) -> None:
    async with open_pages() as pages:
        answer = await call(pages.site.app, "HEAD", path)
        assert (answer.status, answer.body) == (200, b"")
        assert pages.site.hub.stream_count == 0
