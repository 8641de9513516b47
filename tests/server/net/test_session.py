"""A connection: its end, what it is refused, and what a bug costs; and peers that do not read."""

from __future__ import annotations

import gc
import math
import weakref

import pytest
import trio
from trio.testing import memory_stream_pair, wait_all_tasks_blocked

from spielleiter.protocol.connection import Connection
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import JoinRequest
from spielleiter.server import events
from spielleiter.server.core import dispatch
from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.lobby import Lobby
from spielleiter.server.core.room import Peer, Phase, PlayerSlot
from spielleiter.server.errors import Fault
from spielleiter.server.net.session import DISCARDED_AT_ONCE, BugsContained
from spielleiter.server.net.wire import RECEIVE_BYTES
from tests.protocol.streams import LATEST
from tests.server.harness import (
    END,
    GAME_TYPE,
    GOODBYE,
    PATIENT,
    START,
    Bystanders,
    Caller,
    ServerHarness,
    answered,
    left,
    legal_move,
    open_harness,
    refusals,
    sample,
    set_move_packet,
)
from tests.server.wires import StreamWire, ThrottledWire

# -- the end of a connection ------------------------------------------------------------------------------------------

GOODBYES = {
    "the documents' goodbye": (b"<sc.protocol.CloseConnection/>", "goodbye"),
    "the older goodbye": (b"<sc.protocol.responses.CloseConnection/>", "goodbye"),
    "close": (b"<close/>", "goodbye"),
    "goodbye and end tag": (b"<sc.protocol.CloseConnection/></protocol>", "goodbye"),
    "end tag": (b"</protocol>", "end tag"),
    "end of input": (b"", "end of input"),
    "end of input in a packet": (b"<room", "end of input"),
}


@pytest.mark.parametrize(("data", "reason"), GOODBYES.values(), ids=GOODBYES)
async def test_a_player_that_ends_its_stream_has_left_at_once(data: bytes, reason: str, autojump_clock: object) -> None:
    async with open_harness() as harness:
        bystanders = await Bystanders.open(harness)
        game = await harness.game()
        before = trio.current_time()
        await game.one.send(data)
        if reason == "end of input":
            await game.one.end_input()
        assert await game.one.receive() == END
        assert await game.two.receive() == left(game, 0) + END
        assert await game.admin.receive() == left(game, 0)
        assert trio.current_time() == before
        assert refusals(harness, game.one) == []
        await game.one.close()
        (closed,) = harness.happened(events.ConnectionClosed, game.one.label)
        assert closed.reason == reason
        await bystanders.are_unaffected()


async def test_a_player_whose_connection_breaks_has_left(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        await game.one.close()
        assert await game.two.receive() == left(game, 0) + END
        assert len(harness.happened(events.PlayerLeft)) == 1
        assert len(harness.happened(events.ConnectionClosed, game.one.label)) == 1
        assert harness.happened(events.PeerTooSlow) == []


async def test_a_silent_peer_gets_an_empty_stream(autojump_clock: object) -> None:
    async with open_harness() as harness:
        caller = await harness.call()
        await caller.end_input()
        assert (await caller.receive(), caller.is_ended) == (b"<protocol/>", True)


async def test_the_release_does_not_answer_an_end_tag(autojump_clock: object) -> None:
    async with open_harness("blokus-2021-21.4.0") as harness:
        game = await harness.game()
        await game.one.send("</protocol>")
        assert (await game.one.receive(), game.one.is_ended) == (b"", True)
        assert not game.two.is_ended


async def test_a_player_that_leaves_alone_closes_the_room(autojump_clock: object) -> None:
    async with open_harness() as harness:
        admin = await harness.admin()
        room_id, codes = await harness.prepare(admin)
        await admin.send(f'<observe roomId="{room_id}"/>')
        await admin.receive()
        one = await harness.take_seat(codes[0])
        await one.close()
        received = await admin.receive()
        assert b'\n      <score cause="LEFT" reason="Der Spieler hat das Spiel verlassen">' in received
        assert received.endswith(b"\n    </data>\n  </room>" + sample("left", room_id))
        late = await harness.take_seat(codes[1])
        assert [kind for kind, _ in refusals(harness, late)] == [Fault.UNKNOWN_RESERVATION.value]
        assert harness.server.lobby.rooms == {}


@pytest.mark.parametrize(("data", "is_logged"), [("", False), ("<", True), ("<protocol><join/>", True)])
async def test_a_health_check_is_not_logged(data: str, is_logged: bool, autojump_clock: object) -> None:
    """A health check connects and closes without sending anything."""
    async with open_harness(log_level="info") as harness:
        caller = await harness.call()
        if data:
            await caller.send(data)
        await caller.close()
        await wait_all_tasks_blocked()
        (closed,) = harness.happened(events.ConnectionClosed)
        assert closed.was_silent != is_logged
        assert bool(harness.logged("connection_closed")) == is_logged


async def test_a_late_first_packet_is_logged(autojump_clock: object) -> None:
    async with open_harness(log_level="info", first_packet_timeout=1.0) as harness:
        caller = await harness.call()
        await trio.sleep(2)
        await caller.close()
        await trio.sleep(10)
        assert [each["reason"] for each in harness.logged("connection_closed")] == ["first_packet"]


async def test_a_cancelled_game(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        await game.one.send(legal_move(game.room))
        for caller in game.callers:
            await caller.receive()
        await game.admin.send(f'<cancel roomId="{game.id}"/>')
        recorded = sample("result_cancel", game.id)
        result = recorded[: recorded.index(b"\n      <winner")] + b"\n    </data>\n  </room>"
        result = result.replace(b"<part>10</part>", b"<part>5</part>", 1).replace(b"<part>10</part>", b"<part>0</part>")
        over = result + sample("left", game.id)
        assert await game.one.receive() == over + END
        assert await game.two.receive() == over + END
        assert await game.admin.receive() == over
        await game.admin.send(f'<cancel roomId="{game.id}"/>')
        assert b"find a room with id " + game.id.encode() in await game.admin.receive()


async def test_cancelling_before_the_start(autojump_clock: object) -> None:
    async with open_harness() as harness:
        admin = await harness.admin()
        room_id, codes = await harness.prepare(admin)
        one = await harness.take_seat(codes[0])
        await one.receive()
        await admin.send(f'<cancel roomId="{room_id}"/>')
        result = sample("result_cancel", room_id).replace(b"<part>10</part>", b"<part>0</part>")
        result = result[: result.index(b"\n      <winner")] + b"\n    </data>\n  </room>"
        assert await one.receive() == result + sample("left", room_id) + END
        late = await harness.take_seat(codes[1])
        assert [kind for kind, _ in refusals(harness, late)] == [Fault.UNKNOWN_RESERVATION.value]


async def test_after_the_end_of_our_stream_the_peer_has_five_seconds_to_close(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        await game.two.send("<close/>")
        before = trio.current_time()
        await game.one.send(set_move_packet(game.id, "BLUE", "PENTO_U", 0, 0))  # the server no longer reads it
        assert await game.one.receive() == left(game, 1) + END
        assert harness.happened(events.ConnectionClosed, game.one.label) == []
        await trio.sleep(4.9)
        assert harness.happened(events.ConnectionClosed, game.one.label) == []
        await trio.sleep(0.2)
        (closed,) = harness.happened(events.ConnectionClosed, game.one.label)
        assert closed.reason == "the server ended the stream"
        assert trio.current_time() - before == pytest.approx(5.1)
        assert refusals(harness, game.one) == []


async def test_an_administrator_stays_after_its_own_game(autojump_clock: object) -> None:
    async with open_harness() as harness:
        admin = await harness.admin()
        await admin.send(f'<join gameType="{GAME_TYPE}"/>')
        other = await harness.call()
        await other.send(f'<protocol><join gameType="{GAME_TYPE}"/>')
        await admin.receive()
        await other.close()
        assert (await admin.receive()).endswith(b'"/>')
        assert not admin.is_ended
        await admin.send('<testMode testMode="true"/>')
        assert await admin.receive() == LATEST["testing"]


# -- bugs of this server ----------------------------------------------------------------------------------------------

INTERNAL_ERROR = answered("The server failed to answer this request; this is not your fault")


def fail(*_: object, **_named: object) -> None:
    raise RuntimeError("a bug")


async def test_a_bug_in_a_handler_affects_nobody_else(autojump_clock: object, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_harness() as harness:
        bystanders = await Bystanders.open(harness)
        game = await harness.game()
        monkeypatch.setitem(dispatch.FOR_ANYONE, JoinRequest, fail)
        await game.one.send("<join/>")
        assert await game.one.receive() == INTERNAL_ERROR + GOODBYE
        assert await game.two.receive() == left(game, 0) + END
        (bug,) = harness.happened(events.InternalError)
        assert bug.connection == game.one.label
        assert bug.error.endswith("RuntimeError: a bug\n")
        (line,) = harness.logged("internal_error")
        assert line["level"] == "error"
        await game.one.close()
        assert harness.happened(events.ConnectionClosed, game.one.label)[0].reason == "bug"
        await bystanders.are_unaffected()


async def test_a_bug_in_a_reader_affects_nobody_else(autojump_clock: object, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_harness() as harness:
        bystanders = await Bystanders.open(harness)
        caller = await harness.call()
        with monkeypatch.context() as patch:
            patch.setattr(Dialect, "decode", fail)
            await caller.send("<protocol><join/>")
        error = answered("This packet could not be read because of a bug in the program that reads it")
        assert await caller.receive() == START + error + GOODBYE
        (bug,) = harness.happened(events.InternalError, caller.label)
        assert bug.error.endswith("RuntimeError: a bug\nwhile reading b'<protocol><join/>'\n")
        (refusal,) = harness.happened(events.ProtocolBroken, caller.label)
        assert refusal.refusal == "bug"
        await bystanders.are_unaffected()


async def test_a_bug_while_leaving_affects_nobody_else(autojump_clock: object, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_harness() as harness:
        bystanders = await Bystanders.open(harness)
        caller = await harness.call()
        with monkeypatch.context() as patch:
            patch.setattr(Lobby, "drop", fail)
            await caller.send("<protocol><close/>")
        assert caller.is_ended
        assert (
            len(harness.happened(events.InternalError, caller.label)) == 2
        )  # before the end of the stream, and when it closes
        assert len(harness.happened(events.ConnectionClosed, caller.label)) == 1
        await bystanders.are_unaffected()


async def test_a_bug_in_a_timer_affects_nobody_else(autojump_clock: object, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        monkeypatch.setattr(type(game.room), "_end", fail)
        await trio.sleep(10.1)
        monkeypatch.undo()
        assert len(harness.happened(events.InternalError)) == 1
        await Bystanders(await harness.game()).are_unaffected()
        await trio.sleep(10.1)  # timers are still called
        assert len(harness.happened(events.TimeVerdict)) == 2


# -- stopping ---------------------------------------------------------------------------------------------------------


async def test_a_session_that_is_ended_waits_for_its_peer(autojump_clock: object) -> None:
    async with open_harness() as harness:
        caller = await harness.admin()
        (session,) = harness.server.sessions
        session.end("enough")
        session.end("more than enough")
        assert (await caller.receive(), caller.is_ended) == (b"<protocol/>", True)
        await caller.close()
        assert harness.happened(events.ConnectionClosed, caller.label)[0].reason == "enough"


async def test_a_peer_whose_stream_the_server_ends_first_was_not_silent(autojump_clock: object) -> None:
    async with open_harness(first_packet_timeout=5.0) as harness:
        caller = await harness.call()
        (session,) = harness.server.sessions
        session.end("the server stops")
        await caller.close()
        (closed,) = harness.happened(events.ConnectionClosed)
        assert (closed.was_silent, closed.reason) == (False, "the server stops")


def test_a_contained_bug_leaves_nothing_but_the_end_of_the_program_is_propagated() -> None:
    class Local:
        """A local variable of the function that fails."""

    def fail() -> weakref.ref[Local]:
        local = Local()
        with BugsContained(lambda _: None):
            raise LookupError
        return weakref.ref(local)

    gc.disable()
    try:
        assert fail()() is None
    finally:
        gc.enable()
    with pytest.raises(KeyboardInterrupt), BugsContained(lambda _: None):
        raise KeyboardInterrupt


async def test_a_closed_connection_is_freed(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        rest = [weakref.ref(each) for each in (*harness.server.sessions, game.room)]
        await game.play(3)
        await game.one.send("<close/>")
        for caller in game.callers:
            await caller.close()
        harness.server_events.clear()
        del game
        gc.collect()
        assert [each() for each in rest if each() is not None] == []
        assert [each for each in gc.get_objects() if type(each) in (Peer, PlayerSlot, Connection)] == []
        assert len(harness.nursery.child_tasks) == 1  # the task of the timers


async def test_a_server_that_is_cancelled_leaves_nothing(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        harness.nursery.cancel_scope.cancel()
    assert len(harness.happened(events.ConnectionClosed)) == 3
    assert harness.server.lobby.rooms == {}
    assert game.room.phase is Phase.OVER


# -- receivers that do not read ---------------------------------------------------------------------------------------


async def watch(harness: ServerHarness, room_id: str, capacity: float) -> tuple[Caller, ThrottledWire]:
    """Connect an observer that takes `capacity` bytes altogether."""
    wire = ThrottledWire(capacity)
    near, _ = memory_stream_pair()
    caller = await harness.call_over(near, wire)
    password = harness.config.password
    await wire.feed.send_all(f'<protocol><authenticate password="{password}"/><observe roomId="{room_id}"/>'.encode())
    await wait_all_tasks_blocked()
    return caller, wire


async def test_an_observer_that_never_reads_is_dropped_at_the_bound_and_nobody_waits(autojump_clock: object) -> None:
    async with open_harness(outbox_bytes=65536) as harness:
        game = await harness.game()
        observer, wire = await watch(harness, game.id, 0)
        before = trio.current_time()
        await game.play(20)
        assert trio.current_time() == before
        (slow,) = harness.happened(events.PeerTooSlow)
        assert (slow.connection, slow.why) == (observer.label, "more than 65536 bytes not taken")
        assert 65536 < slow.queued_bytes < 65536 + 8192
        assert wire.has_closed()
        assert list(game.room.observers) == [peer for peer in game.room.observers if peer.label == game.admin.label]
        assert harness.logged("peer_too_slow")[0]["level"] == "warning"
        assert harness.logged("connection_closed")[0]["reason"] == slow.why
        for caller in game.callers:
            assert (await caller.receive()).count(b'class="memento"') == 20


async def test_an_observer_that_takes_nothing_for_a_while_is_dropped(autojump_clock: object) -> None:
    async with open_harness(**PATIENT) as harness:
        game = await harness.game()
        _, wire = await watch(harness, game.id, 100)
        await trio.sleep(9.9)
        assert not wire.has_closed()
        await trio.sleep(0.2)
        assert wire.has_closed()
        (slow,) = harness.happened(events.PeerTooSlow)
        assert slow.why == "nothing taken for 10 s"
        await Bystanders(game).are_unaffected()


async def test_an_observer_that_takes_a_little_now_and_then_stays(autojump_clock: object) -> None:
    async with open_harness(**PATIENT) as harness:
        game = await harness.game()
        _, wire = await watch(harness, game.id, 0)
        for _ in range(30):
            await trio.sleep(9.0)
            wire.take(100)
        assert not wire.has_closed()
        wire.take(math.inf)
        await wait_all_tasks_blocked()
        assert b'class="memento"' in wire.taken
        assert harness.happened(events.PeerTooSlow) == []


async def test_a_player_that_does_not_read_has_left(autojump_clock: object) -> None:
    async with open_harness(**PATIENT) as harness:
        admin = await harness.admin()
        room_id, codes = await harness.prepare(admin)
        wire = ThrottledWire(0)
        near, _ = memory_stream_pair()
        one = await harness.call_over(near, wire)
        await wire.feed.send_all(f'<protocol><joinPrepared reservationCode="{codes[0]}"/>'.encode())
        two = await harness.take_seat(codes[1])
        room = harness.server.lobby.rooms[room_id]
        await trio.sleep(10.1)
        assert room.phase is Phase.OVER
        assert b'cause="LEFT"' in await two.receive()
        assert harness.happened(events.PeerTooSlow)[0].connection == one.label


async def test_a_peer_that_does_not_take_the_end_of_the_stream_is_closed_all_the_same(autojump_clock: object) -> None:
    async with open_harness(outbox_timeout=3.0, close_timeout=1.0) as harness:
        wire = ThrottledWire(0)
        near, _ = memory_stream_pair()
        caller = await harness.call_over(near, wire)
        await wire.feed.send_all(b"<protocol><jion/>")
        await trio.sleep(2.9)
        assert not wire.has_closed()
        await trio.sleep(0.2)
        assert wire.has_closed()
        (closed,) = harness.happened(events.ConnectionClosed, caller.label)
        assert closed.reason == "unknown_packet"  # the reason of the end, even though the answer was not taken


async def test_a_connection_that_breaks_during_a_write_is_lost_and_not_slow(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        observer, wire = await watch(harness, game.id, math.inf)
        wire.break_off()
        await game.play(1)
        assert wire.has_closed()
        assert harness.happened(events.PeerTooSlow) == []
        (closed,) = harness.happened(events.ConnectionClosed, observer.label)
        assert closed.reason == "connection lost: broken off"


class CountingWire(StreamWire):
    """A wire that counts its reads."""

    count = 0

    async def receive(self) -> tuple[bytes, Arrival]:
        data = await super().receive()
        self.count += 1
        return data


@pytest.mark.parametrize(("size", "taken"), [(DISCARDED_AT_ONCE, 1.0), (1_000_000, 0.05)])
async def test_input_after_a_refusal_is_discarded_slowly_if_it_is_a_flood(
    size: int, taken: float, autojump_clock: object
) -> None:
    async with open_harness(close_timeout=5.0) as harness:
        near, far = memory_stream_pair()
        wire = CountingWire(far)
        caller = await harness.call_over(near, wire)
        await caller.send("<protocol><jion/>")
        before = wire.count
        await near.send_all(b"x" * size)
        await trio.sleep(4.9)
        assert len(harness.happened(events.ConnectionClosed)) == 0
        assert (wire.count - before) * RECEIVE_BYTES == pytest.approx(taken * size, abs=4 * RECEIVE_BYTES)
        await trio.sleep(0.2)
        assert len(harness.happened(events.ConnectionClosed)) == 1
