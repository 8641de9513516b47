"""The lobby knows the rights and the rooms of each connected peer, and forgets them when the peer leaves."""

from __future__ import annotations

from spielleiter.protocol.messages import AuthenticateRequest, JoinRequest, ObserveRequest
from tests.server.room_harness import GAME_TYPE, RoomHarness


def test_a_new_member_has_no_rights_and_no_rooms() -> None:
    harness = RoomHarness()
    member = harness.fake_peer("one").member
    assert harness.lobby.members == {member.peer: member}
    assert not member.is_admin
    assert not member.is_edition_chosen
    assert member.dedicated_port is None
    assert (member.rooms, member.observed, member.packets_received) == ({}, {}, 0)
    assert repr(member) == "<Member one>"


def test_a_member_knows_the_rooms_in_which_it_plays_and_those_that_it_observes() -> None:
    harness = RoomHarness()
    room, admin, one, _ = harness.game()
    assert (one.member.rooms, one.member.observed) == ({room.id: room}, {})
    assert (admin.member.rooms, admin.member.observed) == ({}, {room.id: room})
    room.cancel()
    assert (one.member.rooms, admin.member.observed) == ({}, {})


def test_a_dropped_member_is_forgotten() -> None:
    harness = RoomHarness()
    fake_peer = harness.fake_peer("one")
    assert fake_peer.send(AuthenticateRequest("secret")) is None
    assert fake_peer.send(JoinRequest(GAME_TYPE)) is None
    (room_id,) = fake_peer.member.rooms
    assert fake_peer.send(ObserveRequest(room_id)) is None
    for _ in range(2):
        harness.lobby.drop(fake_peer.member)
        assert (harness.lobby.members, harness.lobby.admins, harness.lobby.rooms) == ({}, {}, {})
        assert (fake_peer.member.rooms, fake_peer.member.observed) == ({}, {})
