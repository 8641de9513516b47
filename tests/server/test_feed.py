"""Followers know of all rooms what the server knows, for a bounded price."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from spielleiter.protocol import feed
from spielleiter.protocol.messages import (
    CancelRequest,
    JoinPreparedRequest,
    JoinRequest,
    MoveData,
    PauseRequest,
    Prepared,
    PrepareRequest,
    RoomData,
    RoomMessage,
    Slot,
    StepRequest,
    TimeoutRequest,
    UnreadableData,
)
from spielleiter.protocol.thinking import Thinking
from spielleiter.server import events
from spielleiter.server.core.room import Phase, Room
from spielleiter.server.editions import EDITIONS
from spielleiter.server.errors import Fault, RequestError
from spielleiter.server.feed import FLUSH_INTERVAL, MOST_AT_ONCE, MOST_FOLLOWERS, MOST_QUEUED, PACKET_BYTES, Feed
from spielleiter.server.replay import encode_replay
from tests.example_counts import examples
from tests.seen import as_seen
from tests.server.feeds import FollowingPeer, MirroredRoom
from tests.server.room_harness import FakePeer, RoomHarness, first_move

SERVER = feed.ServerDescribed("1", "2026-01-01", (), {}, "swc_2021_blokus", True, "127.0.0.1", 13050, False)


class FeedHarness:
    """A lobby with a feed; its players and administrators do what a test or chance says."""

    def __init__(self, edition: str = "blokus-2021-r3", seed: int = 0) -> None:
        self.rooms = RoomHarness(edition, seed, rooms_waiting=100)
        self.lobby = self.rooms.lobby
        self.chance = random.Random(seed)
        self.stream = events.EventStream()
        self.lobby.publish = self.stream.publish
        self.ended: dict[str, events.GameEnded] = {}
        self.stream.on(events.GameEnded, lambda game: self.ended.update({game.room: game}))
        self.feed = Feed(self.lobby, self.stream, lambda: SERVER, lambda: self.rooms.now)
        self.lobby.unfollow = self.feed.drop
        self.followers: list[FollowingPeer] = []
        self.admin = self.rooms.fake_peer("admin", is_admin=True)
        self._count = 0

    def follow(self) -> FollowingPeer:
        follower = FollowingPeer(f"follower {len(self.followers)}", self.rooms.edition)
        self.feed.add(follower.peer, lambda: follower.queued)
        self.followers.append(follower)
        return follower

    def stranger(self) -> FakePeer:
        self._count += 1
        return self.rooms.fake_peer(f"p{self._count}")

    def start(self, *, is_paused: bool = False) -> Room:
        """Start a prepared game."""
        room = self.prepare(is_paused=is_paused)
        for player_slot in room.player_slots:
            self.stranger().send(JoinPreparedRequest(player_slot.reservation))
        return room

    def prepare(self, *, is_paused: bool = False) -> Room:
        slots = (Slot("Ärger & <Co>"), Slot("Zwei", can_timeout=False))
        self.admin.send(PrepareRequest(self.rooms.edition.game_type, slots, is_paused))
        prepared = self.admin.last_message
        assert isinstance(prepared, Prepared)
        return self.lobby.rooms[prepared.room_id or ""]

    def answer(self, room: Room, data: RoomData) -> None:
        """Let the player that is asked for a move send `data`."""
        assert room.pending is not None
        peer = room.pending.player_slot.peer
        assert peer is not None
        assert isinstance(peer.sink, FakePeer)
        peer.sink.send(RoomMessage(room.id, data))

    def move(self, room: Room) -> None:
        hints = tuple(self.chance.choices(["<hint> ]]>", "Zug"], k=self.chance.choice([0, 0, 2])))
        self.answer(room, MoveData(self.chance.choice(list(room.state.generate_legal_moves())), hints))

    # -- chance -----------------------------------------------------------------------------------------------------

    def act(self) -> None:
        """Let something happen."""
        rooms = list(self.lobby.rooms.values())
        waiting = [room for room in rooms if room.pending is not None]
        running = [room for room in rooms if room.phase is Phase.RUNNING]
        match self.chance.randrange(40):
            case 0:
                self.prepare(is_paused=self.chance.random() < 0.3)
            case 1 | 2:
                self.stranger().send(JoinRequest(self.rooms.edition.game_type))
            case 3 | 4 | 5 if self.lobby.reservations:
                self.stranger().send(JoinPreparedRequest(self.chance.choice(list(self.lobby.reservations))))
            case 6 | 7 if rooms:
                room = self.chance.choice(rooms)
                self.admin.send(PauseRequest(room.id, is_paused=not room.is_paused))
            case 8 | 9 | 10 if running:
                self.admin.send(StepRequest(self.chance.choice(running).id))
            case 11 if rooms and self.chance.random() < 0.2:
                self.admin.send(CancelRequest(self.chance.choice(rooms).id))
            case 12 if waiting:
                self.answer(self.chance.choice(waiting), UnreadableData("foo.Bar", "kaputt <&>"))
            case 13 if running and self.chance.random() < 0.2:
                self.lobby.drop(self.chance.choice(running).players[0])
            case 14:
                self.rooms.advance(self.chance.choice([0.01, 0.06, 1.0]))
            case 15 if self.chance.random() < 0.3:
                self.rooms.advance(3.0)
            case 16 if len(self.followers) < MOST_FOLLOWERS:
                self.follow().queued = self.chance.choice([0, MOST_QUEUED + 1])
            case 17:
                for follower in self.followers:
                    follower.queued = 0
            case 18 if len(self.followers) > 1 and self.chance.random() < 0.2:
                self.lobby.drop(self.followers.pop().peer)
            case 19 if rooms:
                room, seat = self.chance.choice(rooms), self.chance.randrange(2)
                self.admin.send(TimeoutRequest(room.id, seat, self.chance.random() < 0.5))
            case _ if waiting:
                self.rooms.advance(0.001)
                self.move(self.chance.choice(waiting))

    def check(self) -> None:
        """Check that everything was told, and that all followers know all that the server knows."""
        for follower in self.followers:
            follower.queued = 0
        self.rooms.advance(1.0)
        for follower in self.followers:
            mirror = follower.mirror
            assert mirror.is_current
            assert set(mirror.rooms) == set(self.lobby.rooms)
            for room_id, room in self.lobby.rooms.items():
                self.compare(mirror.rooms[room_id], room)
            for room_id, mirrored in mirror.closed.items():
                assert mirrored.requested is None
                if (game := self.ended.get(room_id)) is not None:
                    assert replay(mirrored, mirrored.record) == replay(mirrored, game.record)
                    assert mirrored.think_times == tuple(list(each) for each in game.think_times)

    def compare(self, mirrored: MirroredRoom, room: Room) -> None:
        assert mirrored.edition is room.edition
        assert mirrored.is_prepared == room.is_prepared
        assert mirrored.names == room.names
        assert mirrored.is_paused == room.is_paused
        assert mirrored.free_seats == sum(slot.peer is None and slot.reservation is None for slot in room.player_slots)
        assert mirrored.soft_timeouts == tuple(slot.limits.soft_timeout for slot in room.player_slots)
        assert mirrored.think_times == tuple(slot.think_times for slot in room.player_slots)
        assert mirrored.requested == (None if room.pending is None else room.pending.player_slot.seat)
        assert replay(mirrored, mirrored.record) == replay(mirrored, room.record)
        if room.record:
            assert mirrored.state is not None
            assert as_seen(mirrored.state) == as_seen(room.state)
        else:
            assert mirrored.state is None


def replay(mirrored: MirroredRoom, record: object) -> bytes:
    return encode_replay(mirrored.edition.dialect, "room", record)  # type: ignore[arg-type]


# -- what followers know ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(examples(1)))
@pytest.mark.parametrize("edition", EDITIONS)
def test_every_follower_knows_what_the_server_knows(edition: str, seed: int) -> None:
    """Whenever it began to follow: before a room was opened, in the middle of a game, and beside others."""
    harness = FeedHarness(edition, seed)
    for number in range(200):
        harness.act()
        if number % 50 == 49:
            harness.check()


def test_the_events_of_a_game_are_told_in_order() -> None:
    harness = FeedHarness()
    follower = harness.follow()
    harness.rooms.advance(1.0)
    room = harness.start()
    harness.rooms.advance(0.5)
    harness.move(room)
    harness.rooms.advance(0.5)
    harness.answer(room, UnreadableData("foo.Bar", "kaputt"))
    harness.rooms.advance(1.0)
    assert [type(each).__name__ for each in follower.events] == [
        "ServerDescribed", "Current",
        "RoomOpened", "SeatsChanged", "SeatsChanged", "GameStarted", "RequestChanged",
        "MovePlayed", "ErrorSent", "GameEnded", "RoomClosed",
    ]  # fmt: skip
    opened, first, second, started, requested, played, error = follower.events[2:9]
    assert opened == feed.RoomOpened(room.id, "blokus-2021-r3", True, ("Ärger & <Co>", "Zwei"), 0, (2.0, None))
    assert first == second == feed.SeatsChanged(room.id, room.names, 0)
    assert isinstance(started, feed.GameStarted)
    assert (started.is_paused, started.soft_timeouts) == (False, (2.0, None))
    assert requested == feed.RequestChanged(room.id, 0, FLUSH_INTERVAL)
    assert isinstance(played, feed.MovePlayed)
    assert (played.ply, played.seat, played.think_time) == (0, 0, 0.5)
    assert played.move.startswith('<data class="sc.plugin2021.SetMove">')
    assert isinstance(error, feed.ErrorSent)
    assert (error.seat, error.original) == (1, '<data class="foo.Bar"/>')


def test_a_paused_game_says_when_a_move_is_requested() -> None:
    harness = FeedHarness()
    room = harness.start(is_paused=True)
    follower = harness.follow()
    harness.rooms.advance(1.0)
    started, nobody = follower.events[2:4]
    assert isinstance(started, feed.GameStarted)
    assert started.is_paused
    assert nobody == feed.RequestChanged(room.id, None, None)
    del follower.events[:]
    harness.admin.send(StepRequest(room.id))
    harness.rooms.advance(1.0)
    harness.move(room)
    harness.rooms.advance(1.0)
    harness.admin.send(PauseRequest(room.id, is_paused=False))
    harness.rooms.advance(1.0)
    stepped, first, played, none, resumed, second = follower.events
    assert (stepped, resumed) == (feed.GameStepped(room.id), feed.PauseChanged(room.id, is_paused=False))
    assert (first, second) == (
        feed.RequestChanged(room.id, 0, FLUSH_INTERVAL),
        feed.RequestChanged(room.id, 1, FLUSH_INTERVAL),
    )
    assert isinstance(played, feed.MovePlayed)
    assert none == feed.RequestChanged(room.id, None, None)


def test_a_request_that_was_not_taken_has_no_clock() -> None:
    harness = FeedHarness()
    room = harness.prepare()
    for player_slot in room.player_slots:
        player = harness.stranger()
        player.is_deaf = True
        player.send(JoinPreparedRequest(player_slot.reservation))
    follower = harness.follow()
    harness.rooms.advance(0.1)
    assert feed.RequestChanged(room.id, 0, None) in follower.events


def test_a_waiting_room_may_be_paused_and_have_free_seats() -> None:
    harness = FeedHarness()
    early = harness.follow()
    room = harness.prepare(is_paused=True)
    harness.stranger().send(JoinRequest(harness.rooms.edition.game_type))
    late = harness.follow()
    harness.rooms.advance(1.0)
    for follower in (early, late):
        rooms = follower.mirror.rooms
        assert rooms[room.id].is_paused
        assert sorted(each.free_seats for each in rooms.values()) == [0, 1]


def test_the_stop_of_the_server_is_told() -> None:
    harness = FeedHarness()
    harness.feed.note_stopping()  # nobody wants to know
    follower = harness.follow()
    harness.feed.note_stopping()
    harness.feed.flush()
    assert follower.mirror.is_stopping


def test_long_names_are_shortened() -> None:
    harness = FeedHarness()
    follower = harness.follow()
    slots = Slot("x" * 1000), Slot("Zwei")
    harness.admin.send(PrepareRequest(harness.rooms.edition.game_type, slots))
    harness.rooms.advance(1.0)
    (room,) = follower.mirror.rooms.values()
    assert room.names == (f"{'x' * 79}…", "Zwei")


# -- what it costs ----------------------------------------------------------------------------------------------------


def test_without_followers_nothing_is_noted_or_sent() -> None:
    harness = FeedHarness()
    harness.start()
    timers = harness.rooms.pending_timers
    follower = harness.follow()
    assert harness.rooms.pending_timers == timers + 1
    harness.rooms.advance(1.0)
    harness.lobby.drop(follower.peer)
    told = len(follower.events)
    timers = harness.rooms.pending_timers
    harness.prepare()
    assert harness.rooms.pending_timers == timers + 1  # that of the reservations
    harness.rooms.advance(1.0)
    assert len(follower.events) == told


@pytest.mark.slow
def test_events_are_sent_at_most_twenty_times_a_second_and_encoded_once_for_all() -> None:
    harness = FeedHarness()
    followers = [harness.follow() for _ in range(3)]
    rooms = [harness.start() for _ in range(10)]
    harness.rooms.advance(1.0)
    for follower in followers:
        del follower.packets[:]
    for _ in range(16):
        for room in rooms:
            harness.answer(room, MoveData(first_move(room)))
        harness.rooms.advance(0.01)
    harness.rooms.advance(0.1)
    packets = followers[0].packets
    assert len(packets) == 4
    for follower in followers[1:]:
        assert all(one is other for one, other in zip(packets, follower.packets, strict=True))


@pytest.mark.slow
def test_the_present_state_comes_in_parts_of_a_bounded_length() -> None:
    harness = FeedHarness()
    for room in [harness.start() for _ in range(20)]:
        for _ in range(4):
            harness.move(room)
    follower = harness.follow()
    harness.rooms.advance(1.0)
    harness.check()
    largest = max(len(feed.encode_event(event)) for event in follower.events)
    assert max(map(len, follower.packets)) < 2 * (PACKET_BYTES + largest)
    assert len(follower.packets) > 3


def test_a_follower_that_does_not_read_is_told_no_more_of_the_present_state() -> None:
    harness = FeedHarness()
    for _ in range(20):
        harness.start()
    follower = harness.follow()
    follower.queued = MOST_QUEUED + 1
    harness.rooms.advance(1.0)
    assert len(follower.packets) == 1
    follower.queued = 0
    harness.check()


def test_what_programs_think_is_told_to_those_who_follow_later_as_well() -> None:
    harness = FeedHarness()
    room, other = harness.start(), harness.start()

    def think(ply: int, *texts: str) -> None:
        room.thinking[ply] = ply % 2, Thinking(texts=texts, numbers={"<&>": 1.5})
        harness.feed.note_thinking(room, ply)

    think(0, "nobody follows")
    follower = harness.follow()
    harness.rooms.advance(1.0)
    del follower.events[:]
    think(0, "one")
    think(1, "\ufffe\0]]>")
    think(0, "one", "two")
    harness.rooms.advance(1.0)
    thoughts = [event for event in follower.events if isinstance(event, feed.ThinkingChanged)]
    assert [(event.ply, len(event.thinking.texts)) for event in thoughts] == [(1, 1), (0, 2)]  # each once
    late = harness.follow()
    harness.check()
    for each in (follower, late):
        known = each.mirror.rooms[room.id].thinking
        assert known[0] == room.thinking[0]
        assert known[1][1].texts == ("\ufffd\0]]>",)  # a character that XML does not have
        assert each.mirror.rooms[other.id].thinking == {}


@pytest.mark.slow
def test_very_many_events_are_sent_in_parts() -> None:
    harness = FeedHarness()
    follower = harness.follow()
    harness.rooms.advance(1.0)
    del follower.packets[:]
    rooms = [harness.prepare() for _ in range(90)]
    for room in rooms:
        harness.admin.send(PauseRequest(room.id, is_paused=True))
        harness.admin.send(PauseRequest(room.id, is_paused=False))
        harness.admin.send(CancelRequest(room.id))
    assert 4 * len(rooms) > MOST_AT_ONCE
    harness.rooms.advance(FLUSH_INTERVAL)
    assert [len(feed.decode_events(text)) for text in texts(follower)] == [MOST_AT_ONCE, 4 * len(rooms) - MOST_AT_ONCE]
    harness.check()


def texts(follower: FollowingPeer) -> Iterator[str]:
    return (each.decode().removeprefix("\n  <feed>").removesuffix("\n  </feed>") for each in follower.packets)


# -- limits and bugs --------------------------------------------------------------------------------------------------


def test_a_connection_follows_once_and_not_too_many_follow() -> None:
    harness = FeedHarness()
    followers = [harness.follow() for _ in range(MOST_FOLLOWERS)]
    with pytest.raises(RequestError, match="follows the games already") as refused:
        harness.feed.add(followers[0].peer, lambda: 0)
    assert refused.value.fault is Fault.FOLLOWS_ALREADY
    with pytest.raises(RequestError, match="8 connections follow") as refused:
        harness.follow()
    assert refused.value.fault is Fault.FOLLOWERS
    harness.lobby.drop(followers[0].peer)
    harness.follow()


def test_after_a_bug_followers_are_disconnected() -> None:
    harness = FeedHarness()
    follower = harness.follow()
    room = harness.start()
    room.record.clear()  # which no room does
    with pytest.raises(IndexError):
        harness.rooms.advance(1.0)
    assert follower.is_ended
    follower = harness.follow()  # others can follow again
    assert follower.mirror.server == SERVER
