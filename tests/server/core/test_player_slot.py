"""A player slot is free until a peer occupies it; a reservation keeps it for the peer that has the code."""

from __future__ import annotations

from spielleiter.protocol.messages import JoinRequest, Slot
from spielleiter.server.core.clock import UNLIMITED, MoveClock
from spielleiter.server.core.room import PlayerSlot
from tests.server.room_harness import GAME_TYPE, RoomHarness


def test_a_new_slot_is_free() -> None:
    player_slot = PlayerSlot(1, "Zwei", "code", MoveClock(UNLIMITED))
    assert (player_slot.seat, player_slot.name, player_slot.reservation, player_slot.peer) == (1, "Zwei", "code", None)
    assert not player_slot.clock.is_running


def test_each_slot_has_its_own_clock() -> None:
    harness = RoomHarness()
    admin = harness.fake_peer("admin", is_admin=True)
    room_id, codes = harness.prepare(admin, Slot("Eins", can_timeout=False), Slot("Zwei", is_reserved=False))
    one, two = harness.lobby.rooms[room_id].player_slots
    assert one.clock is not two.clock
    assert one.clock.limits == UNLIMITED
    assert two.clock.limits == harness.lobby.settings.limits
    assert (one.reservation, two.reservation) == (codes[0], None)


def test_an_occupied_slot_is_not_free() -> None:
    harness = RoomHarness()
    fake_peer = harness.fake_peer("one")
    fake_peer.send(JoinRequest(GAME_TYPE))
    (room,) = fake_peer.member.rooms.values()
    assert room.player_slots[0].peer is fake_peer.peer
    assert room.free_slot() is room.player_slots[1]
