"""Reports show the present state, and fit into one packet."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.limits import REPORT_FROM_SERVER
from spielleiter.protocol.messages import PauseRequest, Slot, Status
from spielleiter.server import events
from spielleiter.server.config import Config
from spielleiter.server.core.room import Peer
from spielleiter.server.status import CLOSED, LISTED, TEXT, Snapshot, StatusBoard
from tests.server.harness import PATIENT, open_harness
from tests.server.room_harness import RoomHarness

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class FakeConnection:
    """A connection with the given attributes."""

    label: str
    peer: Peer
    queued_bytes: int = 0
    address: str = "host:1"


class BoardHarness:
    """A board for the lobby of a RoomHarness; its clock advances by a second with every reading."""

    def __init__(self) -> None:
        self.rooms = RoomHarness()
        self.connections: list[FakeConnection] = []
        self.stream = events.EventStream()
        self._readings = 0
        self.board = StatusBoard(self.rooms.lobby.rooms, self.connections, self.stream, self._now)  # type: ignore[arg-type]

    def _now(self) -> datetime:
        self._readings += 1
        return START + timedelta(seconds=self._readings - 1)

    def connect(self, label: str, address: str = "host:1") -> None:
        self.stream.publish(events.ConnectionOpened(label, address))

    def close(self, label: str, reason: str = "goodbye") -> None:
        self.stream.publish(events.ConnectionClosed(label, reason))


def test_a_snapshot_counts_rooms_by_phase_and_unread_bytes() -> None:
    harness = BoardHarness()
    assert harness.board.snapshot() == Snapshot({"open": 0, "running": 0, "paused": 0}, 0, 0, 0, 0)
    room, admin, one, _ = harness.rooms.game()
    harness.rooms.prepare(admin)
    harness.connections += [FakeConnection("c1", admin.peer, 700), FakeConnection("c2", one.peer, 20)]
    assert harness.board.snapshot() == Snapshot({"open": 1, "running": 1, "paused": 0}, 2, 1, 720, 700)
    admin.send(PauseRequest(room.id, is_paused=True))
    assert harness.board.snapshot().rooms == {"open": 1, "running": 0, "paused": 1}


def test_the_last_connections_are_remembered_with_their_reasons() -> None:
    harness = BoardHarness()
    harness.connect("c1", "host:1")
    harness.connect("c2", "host:2")
    harness.close("c1", "packet_timeout")
    harness.stream.publish(events.ConnectionRefused("host:3", "connections", "no more than 2"))
    assert harness.board.report()["closed"] == [
        {
            "connection": "c1",
            "address": "host:1",
            "openedAt": "2026-01-01T00:00:01.000+00:00",
            "closedAt": "2026-01-01T00:00:03.000+00:00",
            "reason": "packet_timeout",
        },
        {
            "connection": "",
            "address": "host:3",
            "openedAt": "",
            "closedAt": "2026-01-01T00:00:04.000+00:00",
            "reason": "no more than 2",
        },
    ]


def test_the_memory_of_connections_is_bounded() -> None:
    harness = BoardHarness()
    for number in range(CLOSED + 5):
        harness.connect(f"c{number}")
        harness.close(f"c{number}", "x" * 100_000)
    closed = harness.board.report()["closed"]
    assert [closed[0]["connection"], closed[-1]["connection"], len(closed)] == ["c5", f"c{CLOSED + 4}", CLOSED]
    assert {len(each["reason"]) for each in closed} == {TEXT}
    assert harness.board.opened == {}


async def test_an_administrator_receives_a_report_of_rooms_and_connections(autojump_clock: object) -> None:
    async with open_harness(**PATIENT) as harness:
        game = await harness.game()
        fake_peer = await harness.call()
        await game.play(1)
        game.room.player_slots[1].name = "Zwölf"
        await game.admin.receive()
        await game.admin.send("<status/>")
        packet = (await game.admin.receive()).decode()
        assert "Zwölf" in packet
        report = json.loads(packet.removeprefix("\n  <status>").removesuffix("\n  </status>"))
        assert report["rooms"] == [
            {
                "roomId": game.id,
                "edition": "blokus-2021-r3",
                "phase": "running",
                "isPrepared": True,
                "turn": 1,
                "names": ["Eins", "Zwölf"],
                "players": [game.one.label, game.two.label],
                "observers": 1,
            }
        ]
        connections = {each["connection"]: each for each in report["connections"]}
        assert set(connections) == {each.label for each in (*game.callers, fake_peer)}
        admin, one, stranger = (connections[each.label] for each in (game.admin, game.one, fake_peer))
        assert (admin["isAdmin"], admin["seats"], admin["observes"], admin["packets"]) == (True, 0, 1, 4)
        assert (one["isAdmin"], one["seats"], one["observes"], one["packets"]) == (False, 1, 0, 2)
        assert (one["edition"], stranger["edition"]) == ("blokus-2021-r3", None)
        assert (one["address"], one["queuedBytes"]) == ("host:2", 0)
        assert one["openedAt"] >= report["startedAt"]
        await fake_peer.send("<protocol><foo/>")
        await fake_peer.close()
        report = harness.server.board.report()
        assert report["refusals"] == [["ProtocolBroken", "unknown_packet", 1]]
        assert [(each["connection"], each["reason"]) for each in report["closed"]] == [
            (fake_peer.label, "unknown_packet")
        ]


# -- over the wire ----------------------------------------------------------------------------------------------------


async def test_the_largest_report_fits_into_one_packet() -> None:
    """The maximum of everything that is listed, with the longest names that are shown."""
    harness = BoardHarness()
    admin = harness.rooms.fake_peer("admin", is_admin=True)
    for number in range(1024):
        harness.rooms.prepare(admin, *[Slot("&" * 100, is_reserved=False)] * 2)
        harness.connect(f"c{number}")
        harness.close(f"c{number}", "\N{EM DASH}" * 100)
    harness.connections += [FakeConnection(f"c{number}", admin.peer) for number in range(LISTED + 1)]
    report = harness.board.report()
    assert (len(report["connections"]), report["connectionCount"]) == (LISTED, LISTED + 1)
    text = json.dumps(report, ensure_ascii=False, separators=(",", ":"))
    packet = BLOKUS_2021_R3.encode(Status(text))
    assert len(packet) < min(Config().outbox_bytes, REPORT_FROM_SERVER.packet_bytes)
    client = Connection(Role.CLIENT, BLOKUS_2021_R3, REPORT_FROM_SERVER)
    client.receive_data(b"<protocol>" + packet)
    assert isinstance(client.next_event(), Status)
