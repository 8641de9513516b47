"""A dedicated port lets one player play, and refuses everything else without an effect on the room."""

from __future__ import annotations

import pytest
import trio

from spielleiter.protocol.messages import Slot
from spielleiter.server import events
from spielleiter.server.core.clock import TokenBucket
from spielleiter.server.core.room import DedicatedPort, Phase, Room
from spielleiter.server.errors import Fault
from tests.server.harness import GAME_TYPE, NOWHERE, PATIENT, ServerHarness, legal_move, open_harness, refusals


def open_room(harness: ServerHarness) -> tuple[Room, tuple[DedicatedPort, DedicatedPort]]:
    edition = harness.server.lobby.default_edition
    room = harness.server.lobby.open_prepared(edition, (Slot("Eins"), Slot("Zwei")))
    return room, (DedicatedPort(room, 0), DedicatedPort(room, 1))


@pytest.mark.parametrize(
    "request_", ['<joinPrepared reservationCode="{code}"/>', "<join/>", f'<join gameType="{GAME_TYPE}"/>']
)
async def test_its_player_takes_the_seat_with_or_without_the_code(request_: str, autojump_clock: object) -> None:
    async with open_harness(**PATIENT) as harness:
        room, ports = open_room(harness)
        caller = await harness.call(port=ports[1])
        await caller.send("<protocol>" + request_.replace("{code}", str(room.player_slots[1].reservation)))
        assert [player_slot.peer is not None for player_slot in room.player_slots] == [False, True]
        assert list(harness.server.lobby.reservations) == [room.player_slots[0].reservation]
        other = await harness.call(port=ports[0])
        await other.send("<protocol><join/>")
        assert room.phase is Phase.RUNNING
        await (other, caller)[room.state.seat_on_turn].send(legal_move(room))
        assert room.ply == 1
        plain = [each.connection for each in harness.happened(events.SeatTakenPlainly)]
        assert plain == [other.label] if "joinPrepared" in request_ else [caller.label, other.label]


@pytest.mark.parametrize(
    ("attempt", "fault"),
    [
        ('<authenticate password="examplepassword"/>', Fault.FORBIDDEN_HERE),
        ('<authenticate passphrase="examplepassword"/>', Fault.FORBIDDEN_HERE),
        (
            f'<prepare gameType="{GAME_TYPE}"><slot displayName="a"/><slot displayName="b"/></prepare>',
            Fault.FORBIDDEN_HERE,
        ),
        ('<observe roomId="{room}"/>', Fault.FORBIDDEN_HERE),
        ('<pause roomId="{room}" pause="true"/>', Fault.FORBIDDEN_HERE),
        ('<step roomId="{room}"/>', Fault.FORBIDDEN_HERE),
        ('<cancel roomId="{room}"/>', Fault.FORBIDDEN_HERE),
        ('<timeout roomId="{room}" slot="0" activate="false"/>', Fault.FORBIDDEN_HERE),
        ("<status/>", Fault.FORBIDDEN_HERE),
        ("<feed/>", Fault.FORBIDDEN_HERE),
        ("<metrics/>", Fault.FORBIDDEN_HERE),
        ('<joinRoom roomId="{room}"/>', Fault.FOREIGN_SEAT),
        (f'<joinRoom roomId="{NOWHERE}"/>', Fault.FOREIGN_SEAT),
        ('<joinPrepared reservationCode="{other}"/>', Fault.FOREIGN_SEAT),
        (f'<joinPrepared reservationCode="{NOWHERE}"/>', Fault.FOREIGN_SEAT),
        # mistakes are those of the main port
        ("<joinPrepared/>", Fault.UNKNOWN_RESERVATION),
        ('<joinPrepared reservationCode=""/>', Fault.UNKNOWN_RESERVATION),
        ("<joinRoom/>", Fault.UNKNOWN_ROOM),
        ('<join gameType="swc_1999_schach"/>', Fault.OTHER_GAME),
    ],
)
async def test_a_dedicated_port_offers_neither_administration_nor_the_other_seat(
    attempt: str, fault: Fault, autojump_clock: object
) -> None:
    # only one edition has the first packet
    edition = "hase-und-igel-2018" if attempt.startswith("<timeout") else "blokus-2021-r3"
    async with open_harness(edition, start_piece=None) as harness:
        room, ports = open_room(harness)
        before = [(each.peer, each.reservation, each.limits) for each in room.player_slots]
        caller = await harness.call(port=ports[1])
        other = str(room.player_slots[0].reservation)
        await caller.send("<protocol>" + attempt.replace("{room}", room.id).replace("{other}", other))
        ((kind, text),) = refusals(harness, caller)
        assert kind == fault.value
        assert fault is not Fault.OTHER_GAME or f"{GAME_TYPE} is played here, not swc_1999_schach" in text
        assert [(each.peer, each.reservation, each.limits) for each in room.player_slots] == before
        assert (room.phase, room.is_paused, len(room.observers)) == (Phase.OPEN, False, 0)
        assert not harness.server.lobby.admins
        assert len(harness.server.lobby.rooms) == 1
        received = await caller.receive()
        assert b"<errorpacket" in received or b"<error " in received


async def test_a_seat_can_be_taken_once_and_only_the_own_code_is_no_attempt_to_take_another(
    autojump_clock: object,
) -> None:
    """Also when both seats are taken, and the server has forgotten their codes."""
    async with open_harness() as harness:
        room, ports = open_room(harness)
        codes = [str(player_slot.reservation) for player_slot in room.player_slots]
        for port, code in zip(ports, codes, strict=True):
            caller = await harness.call(port=port)
            await caller.send(f'<protocol><joinPrepared reservationCode="{code}"/>')
            assert refusals(harness, caller) == []
        assert room.phase is Phase.RUNNING
        for request, fault in (
            ("<join/>", Fault.ROOM_FULL),
            (f'<joinPrepared reservationCode="{codes[0]}"/>', Fault.UNKNOWN_RESERVATION),
            (f'<joinPrepared reservationCode="{codes[1]}"/>', Fault.FOREIGN_SEAT),
        ):
            caller = await harness.call(port=ports[0])
            await caller.send(f"<protocol>{request}")
            assert [kind for kind, _ in refusals(harness, caller)] == [fault.value]


# -- rate limits ------------------------------------------------------------------------------------------------------


async def test_a_sender_that_exceeds_the_rate_is_delayed(autojump_clock: object) -> None:
    async with open_harness("blokus-2027") as harness:
        room, _ = open_room(harness)
        port = DedicatedPort(room, 0, packets=TokenBucket(10, 5), received=TokenBucket(1000, 500))
        caller = await harness.call(port=port)
        await caller.near.send_all(b"<protocol>" + b"<step />" * 25)
        await trio.sleep(1)
        assert 14 <= len(refusals(harness, caller)) <= 16
        await trio.sleep(1.5)
        assert len(refusals(harness, caller)) == 25
        await caller.near.send_all(b" " * 2500)
        await caller.near.send_all(b"<step />")
        await trio.sleep(0.9)
        assert len(refusals(harness, caller)) == 25
        await trio.sleep(2)
        assert len(refusals(harness, caller)) == 26


@pytest.mark.slow
@pytest.mark.parametrize(("is_hard", "wait", "flood", "latest"), [(False, 3.0, 1200, 60.0), (True, 3.9, 2000, 5.1)])
async def test_a_flood_before_a_late_move_gains_no_time_and_does_not_count_as_loop_lag(
    is_hard: bool, wait: float, flood: int, latest: float, autojump_clock: object
) -> None:
    async with open_harness("blokus-2027", soft_timeout=2.0, hard_timeout=4.0 if is_hard else 1000.0) as harness:
        room, ports = open_room(harness)
        callers = [await harness.call(port=port) for port in ports]
        for caller in callers:
            await caller.send("<protocol><join/>")
        await trio.sleep(wait)
        # exceeds the burst that a port accepts, and delays the sender for longer than the verdict takes
        await callers[room.state.seat_on_turn].send(b'<step roomId="r"/>' * flood + legal_move(room))
        await trio.sleep(60.0)
        (verdict,) = harness.happened(events.TimeVerdict)
        assert verdict.is_hard is is_hard
        assert (4.0 if is_hard else 3.0) <= verdict.think_time < latest
        assert verdict.loop_lag < 0.1
