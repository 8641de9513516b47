"""The text of `spielleiter admin status`."""

from __future__ import annotations

from typing import Any

from spielleiter.cli.status import LAST, status_lines

NOTHING: dict[str, Any] = {
    "startedAt": "2026-01-01T12:00:00.000+01:00",
    "now": "2026-01-01T12:00:09.000+01:00",
    "roomCounts": {"open": 0, "running": 0, "paused": 0},
    "connectionCount": 0,
    "queuedBytes": 0,
    "refusals": [],
    "rooms": [],
    "connections": [],
    "closed": [],
}


def test_a_server_that_has_just_started() -> None:
    assert list(status_lines(NOTHING)) == [
        "running since 2026-01-01T12:00:00.000+01:00",
        "rooms: 0 open, 0 running, 0 paused",
        "connections: 0, 0 bytes not received yet",
    ]


def test_everything_has_its_line() -> None:
    room = {
        "roomId": "ROOM",
        "edition": "blokus-2027",
        "phase": "running",
        "isPrepared": True,
        "turn": 7,
        "names": ["Alice", ""],
        "players": ["c3", None],
        "observers": 2,
    }
    admin = {
        "connection": "c1",
        "address": "127.0.0.1:5000",
        "openedAt": "12:00:01",
        "edition": None,
        "isAdmin": True,
        "packets": 9,
        "queuedBytes": 700,
        "seats": 0,
        "observes": 1,
    }
    player = {**admin, "connection": "c3", "isAdmin": False, "queuedBytes": 0, "seats": 1}
    newcomer = {**player, "connection": "c5", "packets": 1, "queuedBytes": 1}
    glutton = {**player, "connection": "c4", "seats": 3}
    ended = {
        "connection": "c2",
        "address": "127.0.0.1:5001",
        "openedAt": "12:00:02",
        "closedAt": "12:00:03",
        "reason": "goodbye",
    }
    refused = {**ended, "connection": "", "reason": "connections"}
    report = {
        **NOTHING,
        "roomCounts": {"open": 0, "running": 1, "paused": 0},
        "connectionCount": 3,
        "queuedBytes": 700,
        "refusals": [["ConnectionRefused", "connections", 1]],
        "rooms": [room, {**room, "observers": 0}],
        "connections": [admin, player, glutton, newcomer],
        "closed": [ended] * LAST + [refused],
    }
    assert list(status_lines(report)) == [
        "running since 2026-01-01T12:00:00.000+01:00",
        "rooms: 0 open, 1 running, 0 paused",
        "  ROOM  blokus-2027  running, turn 7  Alice (c3) : unnamed (free), 2 observers",
        "  ROOM  blokus-2027  running, turn 7  Alice (c3) : unnamed (free)",
        "connections: 3, 700 bytes not received yet",
        "  c1     127.0.0.1:5000         since 12:00:01  administrator  9 packets  700 bytes not received yet",
        "  c3     127.0.0.1:5000         since 12:00:01  player  9 packets",
        "  c4     127.0.0.1:5000         since 12:00:01  3 seats  9 packets",
        "  c5     127.0.0.1:5000         since 12:00:01  player  1 packet  1 byte not received yet",
        "refusals since the start:",
        "       1  connections (ConnectionRefused)",
        "the last 11 closed connections:",
        "      10  goodbye",
        "       1  connections",
        "the last 10 of them:",
        *["  12:00:03  c2     127.0.0.1:5001         goodbye"] * (LAST - 1),
        "  12:00:03  -      127.0.0.1:5001         connections",
    ]


def test_a_few_closed_connections_are_all_shown() -> None:
    ended = {
        "connection": "c2",
        "address": "127.0.0.1:5001",
        "openedAt": "12:00:02",
        "closedAt": "12:00:03",
        "reason": "goodbye",
    }
    line = "  12:00:03  c2     127.0.0.1:5001         goodbye"
    one = list(status_lines({**NOTHING, "closed": [ended]}))
    assert one[3:] == ["the last closed connection:", "       1  goodbye", line]
    two = list(status_lines({**NOTHING, "closed": [ended] * 2}))
    assert two[3:] == ["the last 2 closed connections:", "       2  goodbye", "individually:", line, line]
