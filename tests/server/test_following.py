"""Administrators follow a whole server, ask for its figures and prepare games from positions; others attack by that."""

from __future__ import annotations

import random

import pytest
import trio
from trio.testing import MockClock

from spielleiter.game.api import State
from spielleiter.protocol import feed
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.limits import REPORT_FROM_SERVER
from spielleiter.protocol.messages import ErrorPacket, FeedUpdate, Memento, PrepareRequest, Slot
from spielleiter.protocol.positions import write_position
from spielleiter.server import events
from spielleiter.server.core.policy import Edition
from spielleiter.server.core.room import DedicatedPort
from spielleiter.server.editions import EDITIONS
from spielleiter.server.feed import FLUSH_INTERVAL, MOST_FOLLOWERS
from tests.seen import as_seen
from tests.server.feeds import Mirror
from tests.server.harness import (
    GAME_TYPE,
    PASSWORD,
    PATIENT,
    Caller,
    Game,
    ServerHarness,
    open_harness,
    refusals,
)

R3 = EDITIONS["blokus-2021-r3"]
AUTHENTICATE = f'<authenticate password="{PASSWORD}"/>'


class Follower:
    """An administrator that follows over a connection, and what it knows."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.mirror = Mirror()
        self._connection = Connection(Role.CLIENT, R3.dialect, REPORT_FROM_SERVER)

    async def read(self) -> None:
        await trio.sleep(2 * FLUSH_INTERVAL)
        self._connection.receive_data(await self.caller.receive())
        while (message := self._connection.next_event()) is not None:
            if isinstance(message, FeedUpdate):
                for event in feed.decode_events(message.text):
                    self.mirror.apply(event)


async def follow(harness: ServerHarness) -> Follower:
    caller = await harness.admin()
    await caller.send("<feed/>")
    return Follower(caller)


async def games(harness: ServerHarness, count: int) -> list[Game]:
    return [await harness.game() for _ in range(count)]


# -- the feed ---------------------------------------------------------------------------------------------------------


async def test_a_follower_is_told_of_the_server_and_its_games(autojump_clock: MockClock) -> None:
    async with open_harness(**PATIENT) as harness:
        first = await harness.game()
        await first.play(3)
        follower = await follow(harness)
        await follower.read()
        mirror = follower.mirror
        assert mirror.is_current
        assert mirror.server is not None
        assert mirror.server.editions == (feed.OfferedEdition("blokus-2021-r3", GAME_TYPE),)
        assert (mirror.server.default_game, mirror.server.game_options) == (GAME_TYPE, {"startPiece": "PENTO_U"})
        assert mirror.server.started_at == harness.server.board.started_at
        assert (mirror.server.has_admins, mirror.server.is_stopping) == (True, False)
        second = await harness.game()
        await first.play(2)
        await second.play(1)
        await follower.read()
        assert mirror.rooms[first.id].state == first.room.state
        assert mirror.rooms[second.id].state == second.room.state
        await second.one.close()
        await follower.read()
        assert second.id in mirror.closed


@pytest.mark.parametrize("edition", EDITIONS)
async def test_every_edition_has_the_feed(edition: str, autojump_clock: MockClock) -> None:
    async with open_harness(edition, start_piece=None) as harness:
        follower = await follow(harness)
        await follower.read()
        assert follower.mirror.is_current
        assert not follower.caller.is_ended


async def test_the_end_of_all_games_is_told_when_the_server_stops(autojump_clock: MockClock) -> None:
    async with open_harness(grace=5.0) as harness:
        stop = trio.Event()
        harness.nursery.start_soon(harness.server.run, [], stop)
        game = await harness.game()
        follower = await follow(harness)
        await follower.read()
        stop.set()
        await follower.read()
        assert follower.mirror.is_stopping
        assert list(follower.mirror.rooms) == [game.id]
        await trio.sleep(5.0)
        await follower.read()
        assert list(follower.mirror.closed) == [game.id]
        assert follower.caller.is_ended


async def test_who_leaves_makes_room_for_another_follower(autojump_clock: MockClock) -> None:
    async with open_harness() as harness:
        followers = [await follow(harness) for _ in range(MOST_FOLLOWERS)]
        refused = await follow(harness)
        assert b"8 connections follow the games" in await refused.caller.receive()
        await followers[0].caller.close()
        another = await follow(harness)
        await another.read()
        assert another.mirror.is_current


# -- attacks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("request_", ["<feed/>", "<metrics/>"])
async def test_only_administrators_are_told(request_: str, autojump_clock: MockClock) -> None:
    async with open_harness() as harness:
        await harness.game()
        for data in ("", '<authenticate password="wrong"/>', f'<join gameType="{GAME_TYPE}"/>'):
            stranger = await harness.call()
            await stranger.send(f"<protocol>{data}{request_}")
            await trio.sleep(1.0)
            received = await stranger.receive()
            assert b"<feed" not in received.replace(b'class="feed"', b"")
            assert b"spielleiter_" not in received
            assert refusals(harness, stranger)
        assert "prometheus" not in harness.log.getvalue()


async def test_the_secret_is_valid_on_a_server_without_administrators_and_is_not_logged(
    autojump_clock: MockClock,
) -> None:
    async with open_harness(host="0.0.0.0") as harness:
        harness.server.lobby.viewer_secret = "geheim-123"
        assert harness.server.lobby.password is None
        stranger = await harness.admin()
        assert stranger.is_ended
        caller = await harness.call()
        await caller.send('<protocol><authenticate password="geheim-123"/><feed/>')
        follower = Follower(caller)
        await follower.read()
        assert follower.mirror.is_current
        assert follower.mirror.server is not None
        assert not follower.mirror.server.has_admins
        assert "geheim" not in harness.log.getvalue()


async def test_the_secret_is_refused_at_a_dedicated_port(autojump_clock: MockClock) -> None:
    async with open_harness() as harness:
        harness.server.lobby.viewer_secret = "geheim-123"
        room = harness.server.lobby.open_prepared(R3, (Slot("Eins"), Slot("Zwei")))
        caller = await harness.call(port=DedicatedPort(room, 0))
        await caller.send('<protocol><authenticate password="geheim-123"/>')
        assert refusals(harness, caller)[0][0] == "forbidden_here"


async def test_a_thousand_requests_on_one_connection_are_answered_once(autojump_clock: MockClock) -> None:
    async with open_harness(**PATIENT) as harness:
        game = await harness.game()
        caller = await harness.admin()
        await caller.send("<feed/>" * 1000)
        await trio.sleep(1.0)
        received = await caller.receive()
        assert received.count(b'"event":"server"') == 1
        assert received.count(b"gameStarted") <= 1
        assert [kind for kind, _ in refusals(harness, caller)] == ["follows_already"]
        assert caller.is_ended  # as after every refusal in this edition
        await game.play(1)


@pytest.mark.slow
async def test_a_follower_that_never_reads_is_dropped_and_holds_up_nobody(autojump_clock: MockClock) -> None:
    async with open_harness(**PATIENT, outbox_bytes=400_000, outbox_timeout=30.0) as harness:
        running = await games(harness, 50)
        deaf, wire = await harness.call_throttled(1000, f"{AUTHENTICATE}<feed/>")
        healthy = await follow(harness)
        await healthy.read()
        assert healthy.mirror.is_current
        for _ in range(3):
            for game in running:
                await game.play(1)
            await healthy.read()
        assert all(healthy.mirror.rooms[game.id].state == game.room.state for game in running)
        (session,) = (each for each in harness.server.sessions if each.label == deaf.label)
        assert session.queued_bytes < 600_000
        await trio.sleep(31.0)
        assert [each.connection for each in harness.happened(events.PeerTooSlow)] == [deaf.label]
        assert len(wire.taken) <= 1000
        assert len(harness.server.lobby.rooms) == 50


# -- the figures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edition", ["blokus-2021-r3", "blokus-2027"])
async def test_administrators_get_the_figures(edition: str, autojump_clock: MockClock) -> None:
    async with open_harness(edition, **PATIENT, start_piece=None) as harness:
        caller = await harness.admin()
        await caller.send("<metrics/>")
        received = await caller.receive()
        assert b"\nspielleiter_connections 1.0\n" in received
        assert b"\nspielleiter_think_seconds_count 0.0\n" in received
        assert received.endswith(b"\n  </metrics>")


# -- games from a position --------------------------------------------------------------------------------------------


def played(edition: Edition, plies: int) -> State:
    state = edition.game.new_state(random.Random(3))
    chance = random.Random(3)
    for _ in range(plies):
        if state.outcome() is None:
            state = state.play(chance.choice(list(state.generate_legal_moves())))
    return state


def prepare_from(edition: Edition, position: str) -> bytes:
    slots = tuple(edition.dialect.with_defaults(PrepareRequest(edition.game_type, (Slot("Eins"), Slot("Zwei")))).slots)
    return edition.dialect.encode(PrepareRequest(edition.game_type, slots, position=position))


@pytest.mark.parametrize("edition", EDITIONS.values(), ids=lambda edition: edition.name)
async def test_a_game_starts_from_a_position(edition: Edition, autojump_clock: MockClock) -> None:
    async with open_harness(edition.name, start_piece=None) as harness:
        state = played(edition, 7)
        admin = await harness.admin()
        await admin.send(prepare_from(edition, write_position(edition.dialect, "", Memento(state))))
        (room,) = harness.server.lobby.rooms.values()
        assert room.state == harness.server.editions[edition.game_type].game.resume(as_seen(state))
        assert room.id.encode() in await admin.receive()


OVER = write_position(R3.dialect, "", Memento(played(R3, 200)))
START = write_position(R3.dialect, "", Memento(played(R3, 0)))
FOREIGN = EDITIONS["hase-und-igel-2018"]
STUCK = START.replace("<shape>MONO</shape>", "", 1)  # blue has played a piece that is not on the board


@pytest.mark.parametrize(
    ("position", "text"),
    [
        ("", "The position cannot be read: there is no position in it"),
        ("Zug", "The position cannot be read: "),
        ("<a>" * 5000, "The position cannot be read: "),
        ("<protocol>" + '<room roomId="r"/>' * 1000, "there is more in it than one position"),
        (write_position(FOREIGN.dialect, "", Memento(played(FOREIGN, 0))), "The position cannot be read: "),
        (START.replace('turn="0"', 'turn="999999999999"'), "The position cannot be read: "),
        (OVER, "The game is over in this position"),
        (STUCK, "No move is possible in this position"),
    ],
)
async def test_no_game_starts_from_anything_else(position: str, text: str, autojump_clock: MockClock) -> None:
    async with open_harness() as harness:
        admin = await harness.admin()
        await admin.send(prepare_from(R3, position))
        ((kind, told),) = refusals(harness, admin)
        assert kind == "bad_position"
        assert text in told
        assert not harness.server.lobby.rooms
        connection = Connection(Role.CLIENT, R3.dialect)
        connection.receive_data(await admin.receive())
        refusal = connection.next_event()
        assert isinstance(refusal, ErrorPacket)
        assert isinstance(refusal.original_request, PrepareRequest)


async def test_a_huge_position_is_refused_unread(autojump_clock: MockClock) -> None:
    async with open_harness() as harness:
        admin = await harness.admin()
        await admin.send(prepare_from(R3, " " * 70_000 + START))
        assert [kind for kind, _ in refusals(harness, admin)] == ["packet_size"]
        assert not harness.server.lobby.rooms


async def test_strangers_cannot_prepare_from_a_position(autojump_clock: MockClock) -> None:
    async with open_harness() as harness:
        stranger = await harness.call()
        await stranger.send(b"<protocol>" + prepare_from(R3, "Zug"))
        assert [kind for kind, _ in refusals(harness, stranger)] == ["unauthenticated"]
