"""A port for one seat lets its owner play, and refuses everything else without telling the room."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import trio
from trio.testing import memory_stream_pair, wait_all_tasks_blocked

from spielleiter.protocol.messages import Slot
from spielleiter.server import events
from spielleiter.server.core.dedicated_port import DedicatedPort
from spielleiter.server.core.room import Phase, Room
from spielleiter.server.core.token_bucket import TokenBucket
from spielleiter.server.errors import Fault
from tests.server.answers import text_of
from tests.server.harness import GAME_TYPE, NOWHERE, PATIENT, Caller, ServerHarness, legal_move, open_harness
from tests.server.wires import StreamWire


@dataclass
class Arena:
    harness: ServerHarness
    room: Room
    calls: int = 0

    async def call(self, seat: int) -> Caller:
        """Somebody connects to the port of `seat`."""
        near, far = memory_stream_pair()
        self.calls += 1
        caller = Caller(f"call {self.calls}", near)
        port = DedicatedPort(self.room, seat)
        self.harness.nursery.start_soon(caller.listen)
        self.harness.nursery.start_soon(self._serve, StreamWire(far), caller.label, port)
        await wait_all_tasks_blocked()
        return caller

    async def begin(self) -> Caller:
        """Two players join; returns the one on turn."""
        callers = [await self.call(0), await self.call(1)]
        for caller in callers:
            await caller.says("<protocol><join/>")
        return callers[self.room.state.seat_on_turn]

    async def _serve(self, wire: StreamWire, label: str, port: DedicatedPort) -> None:
        await self.harness.server.serve_wire(wire, "host:1", label=label, dedicated_port=port)

    def faults(self, label: str) -> list[Fault]:
        return [each.fault for each in self.harness.happened(events.RequestRefused, label)]


def arena_of(harness: ServerHarness) -> Arena:
    edition = harness.server.editions[harness.server.lobby.default_edition.game_type]
    slots = (Slot("Eins"), Slot("Zwei"))
    return Arena(harness, harness.server.lobby.open_prepared(edition, slots))


@pytest.mark.parametrize(
    "request_of",
    [
        lambda room: f'<joinPrepared reservationCode="{room.player_slots[1].reservation}"/>',
        lambda _: "<join/>",
        lambda _: f'<join gameType="{GAME_TYPE}"/>',
    ],
)
async def test_its_owner_takes_the_seat_with_the_code_or_without(request_of: object, autojump_clock: object) -> None:
    assert callable(request_of)
    async with open_harness(**PATIENT) as harness:
        arena = arena_of(harness)
        caller = await arena.call(1)
        await caller.says(f"<protocol>{request_of(arena.room)}")
        assert arena.room.player_slots[1].peer is not None
        assert arena.room.player_slots[0].peer is None
        assert list(harness.server.lobby.reservations) == [arena.room.player_slots[0].reservation]
        other = await arena.call(0)
        await other.says("<protocol><join/>")
        assert arena.room.phase is Phase.RUNNING
        await (other, caller)[arena.room.state.seat_on_turn].says(legal_move(arena.room))
        assert arena.room.ply == 1
        plain = [each.connection for each in harness.happened(events.SeatTakenPlainly)]
        assert plain == [other.label] if "joinPrepared" in request_of(arena.room) else [caller.label, other.label]


@pytest.mark.parametrize(
    "attempt",
    [
        '<authenticate password="examplepassword"/>',
        '<authenticate passphrase="examplepassword"/>',
        f'<prepare gameType="{GAME_TYPE}"><slot displayName="a"/><slot displayName="b"/></prepare>',
        '<observe roomId="{room}"/>',
        '<pause roomId="{room}" pause="true"/>',
        '<step roomId="{room}"/>',
        '<cancel roomId="{room}"/>',
        '<timeout roomId="{room}" slot="0" activate="false"/>',
        "<status/>",
        '<joinRoom roomId="{room}"/>',
        '<joinPrepared reservationCode="{other}"/>',
    ],
)
async def test_administration_and_the_other_seat_do_not_exist_there(attempt: str, autojump_clock: object) -> None:
    edition = "hase-und-igel-2018" if attempt.startswith("<timeout") else "blokus-2021-r3"  # others have no such packet
    async with open_harness(edition, start_piece=None) as harness:
        arena = arena_of(harness)
        before = [
            (player_slot.peer, player_slot.reservation, player_slot.clock.next_limits)
            for player_slot in arena.room.player_slots
        ]
        caller = await arena.call(1)
        codes = [player_slot.reservation for player_slot in arena.room.player_slots]
        await caller.says("<protocol>" + attempt.replace("{room}", arena.room.id).replace("{other}", str(codes[0])))
        assert arena.faults(caller.label) == [Fault.FORBIDDEN_HERE]
        assert [
            (player_slot.peer, player_slot.reservation, player_slot.clock.next_limits)
            for player_slot in arena.room.player_slots
        ] == before
        assert (arena.room.phase, arena.room.is_paused, len(arena.room.observers)) == (Phase.OPEN, False, 0)
        assert not harness.server.lobby.admins
        assert len(harness.server.lobby.rooms) == 1
        heard = await caller.hears()
        assert b"<errorpacket" in heard or b"<error " in heard


async def test_who_plays_another_game_is_told_which_one_is_played_here(autojump_clock: object) -> None:
    async with open_harness() as harness:
        arena = arena_of(harness)
        caller = await arena.call(0)
        await caller.says('<protocol><join gameType="swc_2018_hase_und_igel"/>')
        assert arena.faults(caller.label) == [Fault.OTHER_GAME]
        assert f"{GAME_TYPE} is played here, not swc_2018_hase_und_igel" in text_of(await caller.hears())


@pytest.mark.parametrize(
    ("attempt", "fault"),
    [
        (f'<joinPrepared reservationCode="{NOWHERE}"/>', Fault.UNKNOWN_RESERVATION),
        ("<joinPrepared/>", Fault.UNKNOWN_RESERVATION),
        (f'<joinRoom roomId="{NOWHERE}"/>', Fault.UNKNOWN_ROOM),
    ],
)
async def test_a_mistake_is_refused_as_everywhere(attempt: str, fault: Fault, autojump_clock: object) -> None:
    async with open_harness() as harness:
        arena = arena_of(harness)
        caller = await arena.call(0)
        await caller.says(f"<protocol>{attempt}")
        assert arena.faults(caller.label) == [fault]


async def test_a_seat_is_taken_once(autojump_clock: object) -> None:
    async with open_harness() as harness:
        arena = arena_of(harness)
        first, second = await arena.call(0), await arena.call(0)
        await first.says("<protocol><join/>")
        await second.says("<protocol><join/>")
        assert arena.faults(second.label) == [Fault.ROOM_FULL]
        assert arena.faults(first.label) == []


def test_an_allowance_lets_a_burst_pass_and_then_so_many_a_second() -> None:
    allowance = TokenBucket(10, 5)
    assert [allowance.take(1, 100.0) for _ in range(5)] == [0.0] * 5
    assert allowance.take(1, 100.0) == pytest.approx(0.1)
    assert allowance.take(1, 100.2) == 0.0
    assert [allowance.take(1, 200.0) for _ in range(6)] == [0.0] * 5 + [pytest.approx(0.1)]


async def test_who_sends_too_much_waits(autojump_clock: object) -> None:
    async with open_harness("blokus-2027") as harness:
        near, far = memory_stream_pair()
        edition = next(iter(harness.server.editions.values()))
        room = harness.server.lobby.open_prepared(edition, (Slot("Eins"), Slot("Zwei")))
        port = DedicatedPort(room, 0, packets=TokenBucket(10, 5), received=TokenBucket(1000, 500))
        started = trio.current_time()
        async with trio.open_nursery() as nursery:
            serving = trio.CancelScope()

            async def serve() -> None:
                with serving:
                    await harness.server.serve_wire(StreamWire(far), "host:1", label="x", dedicated_port=port)

            nursery.start_soon(serve)
            await near.send_all(b"<protocol>" + b"<status/>" * 25)
            await trio.sleep(1)
            assert 14 <= len(harness.happened(events.RequestRefused, "x")) <= 16
            await trio.sleep(1.5)
            assert len(harness.happened(events.RequestRefused, "x")) == 25
            await near.send_all(b" " * 2500)
            await near.send_all(b"<status/>")
            await trio.sleep(0.9)
            assert len(harness.happened(events.RequestRefused, "x")) == 25
            await trio.sleep(2)
            assert len(harness.happened(events.RequestRefused, "x")) == 26
            serving.cancel()
        assert trio.current_time() - started < 6


async def test_a_flood_before_a_late_move_is_no_lateness_of_the_server(autojump_clock: object) -> None:
    async with open_harness("blokus-2027", soft_timeout=2.0, hard_timeout=1000.0) as harness:
        arena = arena_of(harness)
        slow = await arena.begin()
        await trio.sleep(3)
        flood = b'<step roomId="r"/>' * 1200  # more than a port takes at once
        await slow.says(flood + legal_move(arena.room))
        with trio.move_on_after(60):
            while not harness.happened(events.TimeVerdict):  # noqa: ASYNC110 - virtual time
                await trio.sleep(0.1)
        (verdict,) = harness.happened(events.TimeVerdict)
        assert verdict.think_time >= 3.0
        assert verdict.loop_lag < 0.1


async def test_a_flood_at_the_hard_limit_gains_no_time_and_is_no_lateness_of_the_server(autojump_clock: object) -> None:
    async with open_harness("blokus-2027", soft_timeout=2.0, hard_timeout=4.0) as harness:
        arena = arena_of(harness)
        slow = await arena.begin()
        await trio.sleep(3.9)
        flood = b'<step roomId="r"/>' * 2000  # keeps it waiting for longer than the verdict does
        await slow.says(flood + legal_move(arena.room))
        with trio.move_on_after(60):
            while not harness.happened(events.TimeVerdict):  # noqa: ASYNC110 - virtual time
                await trio.sleep(0.01)
        (verdict,) = harness.happened(events.TimeVerdict)
        assert verdict.is_hard
        assert 4.0 <= verdict.think_time < 5.1
        assert verdict.loop_lag < 0.1
