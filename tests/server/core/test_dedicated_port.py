"""A dedicated port lets one player play, and refuses everything else without an effect on the room."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import trio
from trio.testing import memory_stream_pair, wait_all_tasks_blocked

from spielleiter.protocol.messages import Slot
from spielleiter.server import events
from spielleiter.server.core.clock import TokenBucket
from spielleiter.server.core.lobby import DedicatedPort
from spielleiter.server.core.room import Phase, Room
from spielleiter.server.errors import Fault
from tests.server.harness import GAME_TYPE, NOWHERE, PATIENT, Caller, ServerHarness, legal_move, open_harness, text_of
from tests.server.wires import StreamWire


@dataclass
class DedicatedRoom:
    harness: ServerHarness
    room: Room
    ports: tuple[DedicatedPort, DedicatedPort]
    calls: int = 0

    async def call(self, seat: int) -> Caller:
        """Connect a caller to the port of `seat`."""
        near, far = memory_stream_pair()
        self.calls += 1
        caller = Caller(f"call {self.calls}", near)
        self.harness.nursery.start_soon(caller.listen)
        self.harness.nursery.start_soon(self._serve, StreamWire(far), caller.label, self.ports[seat])
        await wait_all_tasks_blocked()
        return caller

    async def begin(self) -> Caller:
        """Let both players join; return the side to move."""
        callers = [await self.call(0), await self.call(1)]
        for caller in callers:
            await caller.send("<protocol><join/>")
        return callers[self.room.state.seat_on_turn]

    async def _serve(self, wire: StreamWire, label: str, port: DedicatedPort) -> None:
        await self.harness.server.serve_wire(wire, "host:1", label=label, dedicated_port=port)

    def faults(self, label: str) -> list[Fault]:
        return [each.fault for each in self.harness.happened(events.RequestRefused, label)]


def open_room(harness: ServerHarness) -> DedicatedRoom:
    edition = harness.server.editions[harness.server.lobby.default_edition.game_type]
    slots = (Slot("Eins"), Slot("Zwei"))
    room = harness.server.lobby.open_prepared(edition, slots)
    return DedicatedRoom(harness, room, (DedicatedPort(room, 0), DedicatedPort(room, 1)))


@pytest.mark.parametrize(
    "request_of",
    [
        lambda room: f'<joinPrepared reservationCode="{room.player_slots[1].reservation}"/>',
        lambda _: "<join/>",
        lambda _: f'<join gameType="{GAME_TYPE}"/>',
    ],
)
async def test_its_player_takes_the_seat_with_or_without_the_code(request_of: object, autojump_clock: object) -> None:
    assert callable(request_of)
    async with open_harness(**PATIENT) as harness:
        dedicated = open_room(harness)
        caller = await dedicated.call(1)
        await caller.send(f"<protocol>{request_of(dedicated.room)}")
        assert dedicated.room.player_slots[1].peer is not None
        assert dedicated.room.player_slots[0].peer is None
        assert list(harness.server.lobby.reservations) == [dedicated.room.player_slots[0].reservation]
        other = await dedicated.call(0)
        await other.send("<protocol><join/>")
        assert dedicated.room.phase is Phase.RUNNING
        await (other, caller)[dedicated.room.state.seat_on_turn].send(legal_move(dedicated.room))
        assert dedicated.room.ply == 1
        plain = [each.connection for each in harness.happened(events.SeatTakenPlainly)]
        assert plain == [other.label] if "joinPrepared" in request_of(dedicated.room) else [caller.label, other.label]


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
        f'<joinRoom roomId="{NOWHERE}"/>',
        '<joinPrepared reservationCode="{other}"/>',
        f'<joinPrepared reservationCode="{NOWHERE}"/>',
    ],
)
async def test_a_dedicated_port_offers_neither_administration_nor_the_other_seat(
    attempt: str, autojump_clock: object
) -> None:
    edition = (
        "hase-und-igel-2018" if attempt.startswith("<timeout") else "blokus-2021-r3"
    )  # the other editions have no such packet
    async with open_harness(edition, start_piece=None) as harness:
        dedicated = open_room(harness)
        before = [
            (player_slot.peer, player_slot.reservation, player_slot.clock.next_limits)
            for player_slot in dedicated.room.player_slots
        ]
        caller = await dedicated.call(1)
        codes = [player_slot.reservation for player_slot in dedicated.room.player_slots]
        await caller.send("<protocol>" + attempt.replace("{room}", dedicated.room.id).replace("{other}", str(codes[0])))
        is_for_seat = attempt.startswith("<join")
        assert dedicated.faults(caller.label) == [Fault.FOREIGN_SEAT if is_for_seat else Fault.FORBIDDEN_HERE]
        assert [
            (player_slot.peer, player_slot.reservation, player_slot.clock.next_limits)
            for player_slot in dedicated.room.player_slots
        ] == before
        assert (dedicated.room.phase, dedicated.room.is_paused, len(dedicated.room.observers)) == (Phase.OPEN, False, 0)
        assert not harness.server.lobby.admins
        assert len(harness.server.lobby.rooms) == 1
        received = await caller.receive()
        assert b"<errorpacket" in received or b"<error " in received


async def test_a_player_of_another_game_is_told_which_game_is_played(autojump_clock: object) -> None:
    async with open_harness() as harness:
        dedicated = open_room(harness)
        caller = await dedicated.call(0)
        await caller.send('<protocol><join gameType="swc_2018_hase_und_igel"/>')
        assert dedicated.faults(caller.label) == [Fault.OTHER_GAME]
        assert f"{GAME_TYPE} is played here, not swc_2018_hase_und_igel" in text_of(await caller.receive())


@pytest.mark.parametrize(
    ("attempt", "fault"),
    [
        ("<joinPrepared/>", Fault.UNKNOWN_RESERVATION),
        ('<joinPrepared reservationCode=""/>', Fault.UNKNOWN_RESERVATION),
        ("<joinRoom/>", Fault.UNKNOWN_ROOM),
    ],
)
async def test_mistakes_are_refused_as_on_the_main_port(attempt: str, fault: Fault, autojump_clock: object) -> None:
    async with open_harness() as harness:
        dedicated = open_room(harness)
        caller = await dedicated.call(0)
        await caller.send(f"<protocol>{attempt}")
        assert dedicated.faults(caller.label) == [fault]


async def test_only_the_own_code_is_no_attempt_to_take_another_seat(autojump_clock: object) -> None:
    """Also when both seats are taken, and the server has forgotten their codes."""
    async with open_harness() as harness:
        dedicated = open_room(harness)
        codes = [str(player_slot.reservation) for player_slot in dedicated.room.player_slots]
        callers = [await dedicated.call(seat) for seat in (0, 1)]
        for caller, code in zip(callers, codes, strict=True):
            await caller.send(f'<protocol><joinPrepared reservationCode="{code}"/>')
        assert dedicated.room.phase is Phase.RUNNING
        for code, fault in zip(codes, (Fault.UNKNOWN_RESERVATION, Fault.FOREIGN_SEAT), strict=True):
            caller = await dedicated.call(0)
            await caller.send(f'<protocol><joinPrepared reservationCode="{code}"/>')
            assert dedicated.faults(caller.label) == [fault]


async def test_a_seat_can_be_taken_once(autojump_clock: object) -> None:
    async with open_harness() as harness:
        dedicated = open_room(harness)
        first, second = await dedicated.call(0), await dedicated.call(0)
        await first.send("<protocol><join/>")
        await second.send("<protocol><join/>")
        assert dedicated.faults(second.label) == [Fault.ROOM_FULL]
        assert dedicated.faults(first.label) == []


# -- rate limits ------------------------------------------------------------------------------------------------------


async def test_a_sender_that_exceeds_the_rate_is_delayed(autojump_clock: object) -> None:
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
            await near.send_all(b"<protocol>" + b"<step />" * 25)
            await trio.sleep(1)
            assert 14 <= len(harness.happened(events.RequestRefused, "x")) <= 16
            await trio.sleep(1.5)
            assert len(harness.happened(events.RequestRefused, "x")) == 25
            await near.send_all(b" " * 2500)
            await near.send_all(b"<step />")
            await trio.sleep(0.9)
            assert len(harness.happened(events.RequestRefused, "x")) == 25
            await trio.sleep(2)
            assert len(harness.happened(events.RequestRefused, "x")) == 26
            serving.cancel()
        assert trio.current_time() - started < 6


async def test_a_flood_before_a_late_move_does_not_count_as_lateness_of_the_server(autojump_clock: object) -> None:
    async with open_harness("blokus-2027", soft_timeout=2.0, hard_timeout=1000.0) as harness:
        dedicated = open_room(harness)
        slow = await dedicated.begin()
        await trio.sleep(3)
        flood = b'<step roomId="r"/>' * 1200  # exceeds the burst that a port accepts
        await slow.send(flood + legal_move(dedicated.room))
        with trio.move_on_after(60):
            while not harness.happened(events.TimeVerdict):  # noqa: ASYNC110 - virtual time
                await trio.sleep(0.1)
        (verdict,) = harness.happened(events.TimeVerdict)
        assert verdict.think_time >= 3.0
        assert verdict.loop_lag < 0.1


async def test_a_flood_at_the_hard_limit_gains_no_time_and_does_not_count_as_lateness(autojump_clock: object) -> None:
    async with open_harness("blokus-2027", soft_timeout=2.0, hard_timeout=4.0) as harness:
        dedicated = open_room(harness)
        slow = await dedicated.begin()
        await trio.sleep(3.9)
        flood = b'<step roomId="r"/>' * 2000  # delays the sender for longer than the verdict takes
        await slow.send(flood + legal_move(dedicated.room))
        with trio.move_on_after(60):
            while not harness.happened(events.TimeVerdict):  # noqa: ASYNC110 - virtual time
                await trio.sleep(0.01)
        (verdict,) = harness.happened(events.TimeVerdict)
        assert verdict.is_hard
        assert 4.0 <= verdict.think_time < 5.1
        assert verdict.loop_lag < 0.1
