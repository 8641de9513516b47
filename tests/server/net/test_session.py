"""However a connection ends, those whom it concerns are told at once, the others nothing, and nothing is left of it."""

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
from spielleiter.server.core.peer import Peer
from spielleiter.server.core.player_slot import PlayerSlot
from spielleiter.server.core.room import Phase
from spielleiter.server.errors import Fault
from tests.protocol.streams import LATEST
from tests.server.answers import Bystanders, answered, left, refusals
from tests.server.harness import END, GAME_TYPE, GOODBYE, START, lay, legal_move, open_harness, sample

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
async def test_whoever_says_goodbye_in_a_game_has_left_it_at_once(
    data: bytes, reason: str, autojump_clock: object
) -> None:
    async with open_harness() as harness:
        bystanders = await Bystanders.in_house(harness)
        game = await harness.game()
        before = trio.current_time()
        await game.one.says(data)
        if reason == "end of input":
            await game.one.ends_input()
        assert await game.one.hears() == END
        assert await game.two.hears() == left(game, 0) + END
        assert await game.admin.hears() == left(game, 0)
        assert trio.current_time() == before
        assert refusals(harness, game.one) == []
        await game.one.hangs_up()
        (closed,) = harness.happened(events.ConnectionClosed, game.one.label)
        assert closed.reason == reason
        await bystanders.have_noticed_nothing()


async def test_a_connection_that_breaks_is_a_player_who_left(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        await game.one.hangs_up()
        assert await game.two.hears() == left(game, 0) + END
        assert len(harness.happened(events.PlayerLeft)) == 1
        assert len(harness.happened(events.ConnectionClosed, game.one.label)) == 1
        assert harness.happened(events.PeerTooSlow) == []


async def test_who_said_nothing_hears_an_empty_stream(autojump_clock: object) -> None:
    async with open_harness() as harness:
        caller = await harness.call()
        await caller.ends_input()
        assert (await caller.hears(), caller.is_ended) == (b"<protocol/>", True)


async def test_the_release_answers_no_end_tag(autojump_clock: object) -> None:
    async with open_harness("blokus-2021-21.4.0") as harness:
        game = await harness.game()
        await game.one.says("</protocol>")
        assert (await game.one.hears(), game.one.is_ended) == (b"", True)
        assert not game.two.is_ended


async def test_who_leaves_before_the_second_comes_takes_the_room_along(autojump_clock: object) -> None:
    async with open_harness() as harness:
        admin = await harness.admin()
        room_id, codes = await harness.prepare(admin)
        await admin.says(f'<observe roomId="{room_id}"/>')
        await admin.hears()
        one = await harness.sit(codes[0])
        await one.hangs_up()
        assert await admin.hears() == sample("left", room_id)
        late = await harness.sit(codes[1])
        assert [kind for kind, _ in refusals(harness, late)] == [Fault.UNKNOWN_RESERVATION.value]
        assert harness.server.lobby.rooms == {}


@pytest.mark.parametrize(("said", "is_logged"), [("", False), ("<protocol>", True)])
async def test_a_health_check_leaves_no_line_in_the_log(said: str, is_logged: bool, autojump_clock: object) -> None:
    """It connects and hangs up; whoever has said anything is no health check."""
    async with open_harness(log_level="info") as harness:
        caller = await harness.call()
        if said:
            await caller.says(said)
        await caller.hangs_up()
        await wait_all_tasks_blocked()
        (closed,) = harness.happened(events.ConnectionClosed)
        assert closed.was_silent != is_logged
        assert bool(harness.logged("connection_closed")) == is_logged


async def test_whoever_waits_too_long_with_its_first_packet_is_logged(autojump_clock: object) -> None:
    async with open_harness(log_level="info", first_packet_timeout=1.0) as harness:
        caller = await harness.call()
        await trio.sleep(2)
        await caller.hangs_up()
        await trio.sleep(10)
        assert [each["reason"] for each in harness.logged("connection_closed")] == ["first_packet"]


async def test_a_cancelled_game(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        await game.one.says(legal_move(game.room))
        for caller in game.callers:
            await caller.hears()
        await game.admin.says(f'<cancel roomId="{game.id}"/>')
        recorded = sample("result_cancel", game.id)
        result = recorded[: recorded.index(b"\n      <winner")] + b"\n    </data>\n  </room>"
        result = result.replace(b"<part>10</part>", b"<part>5</part>", 1).replace(b"<part>10</part>", b"<part>0</part>")
        over = result + sample("left", game.id)
        assert await game.one.hears() == over + END
        assert await game.two.hears() == over + END
        assert await game.admin.hears() == over
        await game.admin.says(f'<cancel roomId="{game.id}"/>')
        assert b"find a room with id " + game.id.encode() in await game.admin.hears()


async def test_cancelling_before_both_are_in(autojump_clock: object) -> None:
    async with open_harness() as harness:
        admin = await harness.admin()
        room_id, codes = await harness.prepare(admin)
        one = await harness.sit(codes[0])
        await one.hears()
        await admin.says(f'<cancel roomId="{room_id}"/>')
        assert await one.hears() == sample("left", room_id) + END
        late = await harness.sit(codes[1])
        assert [kind for kind, _ in refusals(harness, late)] == [Fault.UNKNOWN_RESERVATION.value]


async def test_after_the_end_of_our_stream_the_peer_has_five_seconds_to_close(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        await game.two.says("<close/>")
        before = trio.current_time()
        await game.one.says(lay(game.id, "BLUE", "PENTO_U", 0, 0))  # nobody listens any more, and nobody minds
        assert await game.one.hears() == left(game, 1) + END
        assert harness.happened(events.ConnectionClosed, game.one.label) == []
        await trio.sleep(4.9)
        assert harness.happened(events.ConnectionClosed, game.one.label) == []
        await trio.sleep(0.2)
        (closed,) = harness.happened(events.ConnectionClosed, game.one.label)
        assert closed.reason == "the server ended the stream"
        assert trio.current_time() - before == pytest.approx(5.1)
        assert refusals(harness, game.one) == []


async def test_an_administrator_stays_after_a_game_it_played_itself(autojump_clock: object) -> None:
    async with open_harness() as harness:
        admin = await harness.admin()
        await admin.says(f'<join gameType="{GAME_TYPE}"/>')
        other = await harness.call()
        await other.says(f'<protocol><join gameType="{GAME_TYPE}"/>')
        await admin.hears()
        await other.hangs_up()
        assert (await admin.hears()).endswith(b'"/>')
        assert not admin.is_ended
        await admin.says('<testMode testMode="true"/>')
        assert await admin.hears() == LATEST["testing"]


# -- our own bugs -----------------------------------------------------------------------------------------------------

CONFESSION = answered("The server failed to answer this request; this is not your fault")


def fail(*_: object) -> None:
    raise RuntimeError("a bug")


async def test_a_bug_in_a_handler_hurts_nobody_else(autojump_clock: object, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_harness() as harness:
        bystanders = await Bystanders.in_house(harness)
        game = await harness.game()
        monkeypatch.setitem(dispatch.FOR_ANYONE, JoinRequest, fail)
        await game.one.says("<join/>")
        assert await game.one.hears() == CONFESSION + GOODBYE
        assert await game.two.hears() == left(game, 0) + END
        (bug,) = harness.happened(events.InternalError)
        assert bug.connection == game.one.label
        assert bug.error.endswith("RuntimeError: a bug\n")
        (line,) = harness.logged("internal_error")
        assert line["level"] == "error"
        await game.one.hangs_up()
        assert harness.happened(events.ConnectionClosed, game.one.label)[0].reason == "bug"
        await bystanders.have_noticed_nothing()


async def test_a_bug_in_a_reader_hurts_nobody_else(autojump_clock: object, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_harness() as harness:
        bystanders = await Bystanders.in_house(harness)
        caller = await harness.call()
        with monkeypatch.context() as patch:
            patch.setattr(Dialect, "decode", fail)
            await caller.says("<protocol><join/>")
        told = answered("This packet could not be read because of a bug in the program that reads it")
        assert await caller.hears() == START + told + GOODBYE
        (bug,) = harness.happened(events.InternalError, caller.label)
        assert bug.error.endswith("RuntimeError: a bug\nwhile reading b'<protocol><join/>'\n")
        (refusal,) = harness.happened(events.ProtocolBroken, caller.label)
        assert refusal.refusal == "bug"
        await bystanders.have_noticed_nothing()


async def test_a_bug_on_the_way_out_hurts_nobody_else(autojump_clock: object, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_harness() as harness:
        bystanders = await Bystanders.in_house(harness)
        caller = await harness.call()
        with monkeypatch.context() as patch:
            patch.setattr(Lobby, "drop", fail)
            await caller.says("<protocol><close/>")
        assert caller.is_ended
        assert len(harness.happened(events.InternalError, caller.label)) == 2  # before the goodbye, and when it closes
        assert len(harness.happened(events.ConnectionClosed, caller.label)) == 1
        await bystanders.have_noticed_nothing()


async def test_a_bug_in_an_alarm_hurts_nobody_else(autojump_clock: object, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        monkeypatch.setattr(type(game.room), "_end", fail)
        await trio.sleep(10.1)
        monkeypatch.undo()
        assert len(harness.happened(events.InternalError)) == 1
        await Bystanders(await harness.game()).have_noticed_nothing()
        await trio.sleep(10.1)  # timers are still called
        assert len(harness.happened(events.TimeVerdict)) == 2


# -- stopping, and what is left ---------------------------------------------------------------------------------------


async def test_a_session_that_is_told_to_end_says_so_and_waits_for_its_peer(autojump_clock: object) -> None:
    async with open_harness() as harness:
        caller = await harness.admin()
        (session,) = harness.server._sessions
        session.end("enough")
        session.end("more than enough")
        assert (await caller.hears(), caller.is_ended) == (b"<protocol/>", True)
        await caller.hangs_up()
        assert harness.happened(events.ConnectionClosed, caller.label)[0].reason == "enough"


async def test_nothing_is_kept_of_a_connection_that_is_over(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        rest = [weakref.ref(each) for each in (*harness.server._sessions, game.room)]
        await game.play(3)
        await game.one.says("<close/>")
        for caller in game.callers:
            await caller.hangs_up()
        harness.server_events.clear()
        del game
        gc.collect()
        assert [each() for each in rest if each() is not None] == []
        assert [each for each in gc.get_objects() if type(each) in (Peer, PlayerSlot, Connection)] == []
        assert len(harness.nursery.child_tasks) == 1  # that of the timers


async def test_a_server_that_is_cancelled_leaves_nothing(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        harness.nursery.cancel_scope.cancel()
    assert len(harness.happened(events.ConnectionClosed)) == 3
    assert harness.server.lobby.rooms == {}
    assert game.room.phase is Phase.OVER
