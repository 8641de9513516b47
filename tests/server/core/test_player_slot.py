"""A player slot is free until somebody sits on it; a reservation says for whom it is kept."""

from __future__ import annotations

from spielleiter.protocol.messages import JoinRequest, Slot
from spielleiter.server.core.clock import UNLIMITED, MoveClock
from spielleiter.server.core.player_slot import PlayerSlot
from tests.server.room_harness import GAME_TYPE, RoomHarness


def test_a_new_chair_is_empty() -> None:
    player_slot = PlayerSlot(1, "Zwei", "code", MoveClock(UNLIMITED))
    assert (player_slot.seat, player_slot.name, player_slot.reservation, player_slot.peer) == (1, "Zwei", "code", None)
    assert not player_slot.clock.is_running


def test_each_chair_has_a_clock_of_its_own() -> None:
    harness = RoomHarness()
    admin = harness.fake_peer("admin", is_admin=True)
    room_id, codes = harness.prepare(admin, Slot("Eins", can_timeout=False), Slot("Zwei", is_reserved=False))
    one, two = harness.lobby.rooms[room_id].player_slots
    assert one.clock is not two.clock
    assert one.clock.limits == UNLIMITED
    assert two.clock.limits == harness.lobby.settings.limits
    assert (one.reservation, two.reservation) == (codes[0], None)


def test_a_chair_that_is_taken_is_kept_for_nobody_else() -> None:
    harness = RoomHarness()
    fake_peer = harness.fake_peer("one")
    fake_peer.says(JoinRequest(GAME_TYPE))
    (room,) = fake_peer.peer.rooms.values()
    assert room.player_slots[0].peer is fake_peer.peer
    assert room.free_slot() is room.player_slots[1]
