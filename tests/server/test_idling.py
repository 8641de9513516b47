from __future__ import annotations

import pytest

from server.idling import IdlePeers
from tests.server.playbook import Guest, Table


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def idle(table: Table) -> IdlePeers:
    return IdlePeers(table)


@pytest.fixture
def guest(table: Table) -> Guest:
    return table.guest("one")


def test_who_says_nothing_is_sent_away(table: Table, idle: IdlePeers, guest: Guest) -> None:
    idle.watch(guest.peer, 60.0)
    table.advance(59.9)
    assert not guest.is_ended
    table.advance(0.2)
    assert guest.is_ended


def test_who_says_something_stays(table: Table, idle: IdlePeers, guest: Guest) -> None:
    idle.watch(guest.peer, 60.0)
    guest.peer.heard += 1
    table.advance(61.0)
    assert not guest.is_ended


def test_who_plays_again_stays(table: Table, idle: IdlePeers, guest: Guest) -> None:
    room, _, _ = table.joined_game()
    idle.watch(guest.peer, 60.0)
    guest.peer.rooms[room.id] = room
    table.advance(61.0)
    assert not guest.is_ended


def test_who_is_watched_anew_has_the_whole_time_again(table: Table, idle: IdlePeers, guest: Guest) -> None:
    idle.watch(guest.peer, 60.0)
    table.advance(59.0)
    idle.watch(guest.peer, 60.0)
    assert table.pending_alarms == 1
    table.advance(59.0)
    assert not guest.is_ended
    table.advance(2.0)
    assert guest.is_ended


def test_who_is_forgotten_leaves_no_alarm(table: Table, idle: IdlePeers, guest: Guest) -> None:
    idle.watch(guest.peer, 60.0)
    idle.forget(guest.peer)
    idle.forget(guest.peer)
    assert table.pending_alarms == 0
