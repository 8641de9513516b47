"""A connection: its end, what it is refused, and what a bug costs; and peers that do not read."""

from __future__ import annotations

import gc
import math
import weakref

import pytest
import trio
from trio.testing import memory_stream_pair, wait_all_tasks_blocked

from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import JoinRequest
from spielleiter.server import events
from spielleiter.server.core import dispatch
from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.lobby import Lobby
from spielleiter.server.core.room import Phase
from spielleiter.server.net.session import DISCARDED_AT_ONCE, BugsContained
from spielleiter.server.net.wire import RECEIVE_BYTES
from tests.protocol.streams import LATEST
from tests.server.harness import (
    END,
    GAME_TYPE,
    GOODBYE,
    START,
    ServerHarness,
    answered,
    expect_unaffected,
    left,
    open_harness,
    refusals,
    set_move_packet,
)
from tests.server.wires import StreamWire

# -- the end of a connection ------------------------------------------------------------------------------------------

GOODBYES = {
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
        others = await harness.game()
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
        await expect_unaffected(others)


async def test_the_release_does_not_answer_an_end_tag(autojump_clock: object) -> None:
    async with open_harness("blokus-2021-21.4.0") as harness:
        game = await harness.game()
        await game.one.send("</protocol>")
        assert (await game.one.receive(), game.one.is_ended) == (b"", True)
        assert not game.two.is_ended


@pytest.mark.parametrize(("data", "is_logged"), [("", False), ("<", True)])
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
        others = await harness.game()
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
        await expect_unaffected(others)


async def test_a_bug_in_a_reader_affects_nobody_else(autojump_clock: object, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_harness() as harness:
        others = await harness.game()
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
        await expect_unaffected(others)


async def test_a_bug_while_leaving_affects_nobody_else(autojump_clock: object, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_harness() as harness:
        others = await harness.game()
        caller = await harness.call()
        with monkeypatch.context() as patch:
            patch.setattr(Lobby, "drop", fail)
            await caller.send("<protocol><close/>")
        assert caller.is_ended
        assert (
            len(harness.happened(events.InternalError, caller.label)) == 2
        )  # before the end of the stream, and when it closes
        assert len(harness.happened(events.ConnectionClosed, caller.label)) == 1
        await expect_unaffected(others)


async def test_a_bug_in_a_timer_affects_nobody_else(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        game.room.record = None  # type: ignore[assignment]
        await trio.sleep(10.1)
        assert len(harness.happened(events.InternalError)) == 1
        await expect_unaffected(await harness.game())
        await trio.sleep(10.1)  # timers are still called
        assert len(harness.happened(events.TimeVerdict)) == 2


# -- stopping ---------------------------------------------------------------------------------------------------------


async def test_a_session_that_is_ended_waits_for_its_peer(autojump_clock: object) -> None:
    async with open_harness() as harness:
        caller = await harness.call()
        (session,) = harness.server.sessions
        session.end("enough")
        session.end("more than enough")
        assert (await caller.receive(), caller.is_ended) == (b"<protocol/>", True)
        await caller.close()
        (closed,) = harness.happened(events.ConnectionClosed)
        assert (closed.was_silent, closed.reason) == (False, "enough")


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


async def test_a_server_that_is_cancelled_leaves_nothing(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        harness.nursery.cancel_scope.cancel()
    assert len(harness.happened(events.ConnectionClosed)) == 3
    assert harness.server.lobby.rooms == {}
    assert game.room.phase is Phase.OVER


# -- receivers that do not read ---------------------------------------------------------------------------------------


def observing(harness: ServerHarness, room_id: str) -> str:
    return f'<authenticate password="{harness.config.password}"/><observe roomId="{room_id}"/>'


async def test_an_observer_that_never_reads_is_dropped_at_the_bound_and_nobody_waits(autojump_clock: object) -> None:
    async with open_harness(outbox_bytes=65536) as harness:
        game = await harness.game()
        observer, wire = await harness.call_throttled(0, observing(harness, game.id))
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


async def test_a_peer_that_does_not_take_the_end_of_the_stream_is_closed_all_the_same(autojump_clock: object) -> None:
    async with open_harness(outbox_timeout=3.0, close_timeout=1.0) as harness:
        caller, wire = await harness.call_throttled(0, "<jion/>")
        await trio.sleep(2.9)
        assert not wire.has_closed()
        await trio.sleep(0.2)
        assert wire.has_closed()
        (closed,) = harness.happened(events.ConnectionClosed, caller.label)
        assert closed.reason == "unknown_packet"  # the reason of the end, even though the answer was not taken


async def test_a_connection_that_breaks_during_a_write_is_lost_and_not_slow(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        observer, wire = await harness.call_throttled(math.inf, observing(harness, game.id))
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
