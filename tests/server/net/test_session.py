"""A connection that ends is reported to its rooms at once, affects no other connection, and is freed completely."""

from __future__ import annotations

import gc
import weakref

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from spielleiter.protocol.connection import Connection
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import JoinRequest
from spielleiter.server import events
from spielleiter.server.core import dispatch
from spielleiter.server.core.lobby import Lobby
from spielleiter.server.core.room import Peer, Phase, PlayerSlot
from spielleiter.server.errors import Fault
from tests.protocol.streams import LATEST
from tests.server.answers import Bystanders, answered, left, refusals
from tests.server.harness import END, GAME_TYPE, GOODBYE, START, legal_move, open_harness, sample, set_move_packet

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


@pytest.mark.parametrize(("data", "is_logged"), [("", False), ("<protocol>", True)])
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
        (session,) = harness.server._sessions
        session.end("enough")
        session.end("more than enough")
        assert (await caller.receive(), caller.is_ended) == (b"<protocol/>", True)
        await caller.close()
        assert harness.happened(events.ConnectionClosed, caller.label)[0].reason == "enough"


async def test_a_closed_connection_is_freed(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        rest = [weakref.ref(each) for each in (*harness.server._sessions, game.room)]
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
