"""Each request has one handler, in the table of those who may send it; a refused one has no effect."""

from __future__ import annotations

from typing import get_args

import pytest

from spielleiter.protocol.messages import (
    CancelRequest,
    Joined,
    JoinPreparedRequest,
    JoinRequest,
    Message,
    PrepareRequest,
    Request,
    Slot,
)
from spielleiter.server.core.clock import UNLIMITED
from spielleiter.server.core.dispatch import FOR_ADMINS, FOR_ANYONE
from spielleiter.server.editions import EDITIONS
from spielleiter.server.errors import Fault
from tests.server.room_harness import GAME_TYPE, LIMITS, RoomHarness

# -- who may send what ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "fault", "text"),
    [
        (Joined("x"), Fault.SERVER_PACKET, "Unhandled Packet of type"),
        (CancelRequest(None), Fault.NO_ROOM_ID, "Couldn't find a room with id null"),
        (
            PrepareRequest(GAME_TYPE, (Slot("x", given=frozenset({"unknown", "reserved"})),) * 1000),
            Fault.BAD_SLOTS,
            "this request has 1000",
        ),
    ],
)
def test_what_is_refused_even_from_administrators(message: Message, fault: Fault, text: str) -> None:
    harness = RoomHarness()
    refused = harness.fake_peer("admin", is_admin=True).send(message)
    assert refused is not None
    assert refused.fault is fault
    assert text in str(refused)
    assert (harness.lobby.rooms, harness.lobby.reservations, harness.pending_timers) == ({}, {}, 0)


def test_every_request_of_an_edition_has_exactly_one_handler() -> None:
    known = {kind for edition in EDITIONS.values() for kind in edition.dialect.writers} & set(get_args(Request))
    assert set(FOR_ANYONE) | set(FOR_ADMINS) == known
    assert set(FOR_ANYONE) & set(FOR_ADMINS) == set()


def test_the_release_opens_the_second_seat_of_a_single_slot_game_to_anyone() -> None:
    harness = RoomHarness("blokus-2021-21.4.0")
    admin, one, two = harness.peers()
    room_id, codes = harness.prepare(admin, Slot("Eins"))
    one.send(JoinPreparedRequest(codes[0]))
    two.send(JoinRequest(GAME_TYPE))
    assert two.peer.rooms.keys() == {room_id}


def test_a_prepared_slot_has_the_name_the_limits_and_the_code_of_the_request() -> None:
    harness = RoomHarness()
    admin, _, _ = harness.peers()
    room_id, codes = harness.prepare(admin, Slot("Eins", can_timeout=False), Slot("Zwei", is_reserved=False))
    one, two = harness.lobby.rooms[room_id].player_slots
    assert (one.name, two.name, one.reservation, two.reservation) == ("Eins", "Zwei", codes[0], None)
    assert (one.limits, two.limits) == (UNLIMITED, LIMITS)
