from __future__ import annotations

import pytest

from spielleiter.server.core.idle_peers import IdlePeers
from tests.server.room_harness import FakePeer, RoomHarness


@pytest.fixture
def harness() -> RoomHarness:
    return RoomHarness()


@pytest.fixture
def idle(harness: RoomHarness) -> IdlePeers:
    return IdlePeers(harness)


@pytest.fixture
def fake_peer(harness: RoomHarness) -> FakePeer:
    return harness.fake_peer("one")


def test_who_says_nothing_is_sent_away(harness: RoomHarness, idle: IdlePeers, fake_peer: FakePeer) -> None:
    idle.watch(fake_peer.peer, 60.0)
    harness.advance(59.9)
    assert not fake_peer.is_ended
    harness.advance(0.2)
    assert fake_peer.is_ended


def test_who_says_something_stays(harness: RoomHarness, idle: IdlePeers, fake_peer: FakePeer) -> None:
    idle.watch(fake_peer.peer, 60.0)
    fake_peer.peer.heard += 1
    harness.advance(61.0)
    assert not fake_peer.is_ended


def test_who_plays_again_stays(harness: RoomHarness, idle: IdlePeers, fake_peer: FakePeer) -> None:
    room, _, _ = harness.joined_game()
    idle.watch(fake_peer.peer, 60.0)
    fake_peer.peer.rooms[room.id] = room
    harness.advance(61.0)
    assert not fake_peer.is_ended


def test_who_is_watched_anew_has_the_whole_time_again(
    harness: RoomHarness, idle: IdlePeers, fake_peer: FakePeer
) -> None:
    idle.watch(fake_peer.peer, 60.0)
    harness.advance(59.0)
    idle.watch(fake_peer.peer, 60.0)
    assert harness.pending_alarms == 1
    harness.advance(59.0)
    assert not fake_peer.is_ended
    harness.advance(2.0)
    assert fake_peer.is_ended


def test_who_is_forgotten_leaves_no_alarm(harness: RoomHarness, idle: IdlePeers, fake_peer: FakePeer) -> None:
    idle.watch(fake_peer.peer, 60.0)
    idle.forget(fake_peer.peer)
    idle.forget(fake_peer.peer)
    assert harness.pending_alarms == 0
