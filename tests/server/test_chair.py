"""A chair is free until somebody sits on it; a reservation says for whom it is kept."""

from __future__ import annotations

from protocol.messages import JoinRequest, Slot
from server.chair import Chair
from server.clock import UNLIMITED, MoveClock
from tests.server.playbook import GAME_TYPE, Table


def test_a_new_chair_is_empty() -> None:
    chair = Chair(1, "Zwei", "code", MoveClock(UNLIMITED))
    assert (chair.seat, chair.name, chair.reservation, chair.peer) == (1, "Zwei", "code", None)
    assert not chair.clock.is_running


def test_each_chair_has_a_clock_of_its_own() -> None:
    table = Table()
    admin = table.guest("admin", is_admin=True)
    room_id, codes = table.prepare(admin, Slot("Eins", can_timeout=False), Slot("Zwei", is_reserved=False))
    one, two = table.lobby.rooms[room_id].chairs
    assert one.clock is not two.clock
    assert one.clock.limits == UNLIMITED
    assert two.clock.limits == table.lobby.settings.limits
    assert (one.reservation, two.reservation) == (codes[0], None)


def test_a_chair_that_is_taken_is_kept_for_nobody_else() -> None:
    table = Table()
    guest = table.guest("one")
    guest.says(JoinRequest(GAME_TYPE))
    (room,) = guest.peer.rooms.values()
    assert room.chairs[0].peer is guest.peer
    assert room.free_chair() is room.chairs[1]
