"""An idle timeout ends a peer that neither sends a packet nor plays again."""

from __future__ import annotations

import pytest

from spielleiter.server.core.lobby import IdleTimeouts
from tests.server.room_harness import FakePeer, RoomHarness


@pytest.fixture
def harness() -> RoomHarness:
    return RoomHarness()


@pytest.fixture
def idle_timeouts(harness: RoomHarness) -> IdleTimeouts:
    return IdleTimeouts(harness)


@pytest.fixture
def fake_peer(harness: RoomHarness) -> FakePeer:
    return harness.fake_peer("one")


def test_a_silent_peer_is_disconnected(harness: RoomHarness, idle_timeouts: IdleTimeouts, fake_peer: FakePeer) -> None:
    idle_timeouts.start(fake_peer.member, 60.0)
    harness.advance(59.9)
    assert not fake_peer.is_ended
    harness.advance(0.2)
    assert fake_peer.is_ended


def test_a_peer_that_sends_a_packet_stays(
    harness: RoomHarness, idle_timeouts: IdleTimeouts, fake_peer: FakePeer
) -> None:
    idle_timeouts.start(fake_peer.member, 60.0)
    fake_peer.member.packets_received += 1
    harness.advance(61.0)
    assert not fake_peer.is_ended


def test_a_peer_that_plays_again_stays(harness: RoomHarness, idle_timeouts: IdleTimeouts, fake_peer: FakePeer) -> None:
    room, _, _ = harness.joined_game()
    idle_timeouts.start(fake_peer.member, 60.0)
    fake_peer.member.rooms[room.id] = room
    harness.advance(61.0)
    assert not fake_peer.is_ended


def test_starting_again_replaces_the_running_timeout(
    harness: RoomHarness, idle_timeouts: IdleTimeouts, fake_peer: FakePeer
) -> None:
    idle_timeouts.start(fake_peer.member, 60.0)
    harness.advance(59.0)
    idle_timeouts.start(fake_peer.member, 60.0)
    assert harness.pending_timers == 1
    harness.advance(59.0)
    assert not fake_peer.is_ended
    harness.advance(2.0)
    assert fake_peer.is_ended


def test_a_cancelled_timeout_leaves_no_timer(
    harness: RoomHarness, idle_timeouts: IdleTimeouts, fake_peer: FakePeer
) -> None:
    idle_timeouts.start(fake_peer.member, 60.0)
    idle_timeouts.cancel(fake_peer.member)
    idle_timeouts.cancel(fake_peer.member)
    assert harness.pending_timers == 0
