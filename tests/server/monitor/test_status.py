"""What is reported is what there is, and no more than fits."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.limits import REPORT_FROM_SERVER
from spielleiter.protocol.messages import PauseRequest, Slot, Status
from spielleiter.server import events
from spielleiter.server.config.config import Config
from spielleiter.server.core.member import Member
from spielleiter.server.errors import Fault
from spielleiter.server.monitor import status
from spielleiter.server.monitor.status import CLOSED, TEXT, Snapshot, StatusBoard
from tests.documents import rows
from tests.server.harness import PATIENT, open_harness
from tests.server.room_harness import RoomHarness

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Line:
    """A connection that shows what it is told to."""

    label: str
    member: Member
    queued_bytes: int = 0
    address: str = "host:1"


class Desk:
    """A board at a harness, and what it looks at; the clock goes on by a second at each look."""

    def __init__(self) -> None:
        self.harness = RoomHarness()
        self.lines: list[Line] = []
        self.stream = events.EventStream()
        self._looks = 0
        self.board = StatusBoard(self.harness.lobby.rooms, self.lines, self.stream, self._now)

    def _now(self) -> datetime:
        self._looks += 1
        return START + timedelta(seconds=self._looks - 1)

    def connect(self, label: str, address: str = "host:1") -> None:
        self.stream.publish(events.ConnectionOpened(label, address))

    def close(self, label: str, reason: str = "goodbye") -> None:
        self.stream.publish(events.ConnectionClosed(label, reason))


def test_rooms_are_counted_by_phase_and_connections_by_what_they_have_not_taken() -> None:
    desk = Desk()
    assert desk.board.snapshot() == Snapshot({"open": 0, "running": 0, "paused": 0}, 0, 0, 0, 0)
    room, admin, one, _ = desk.harness.game()
    desk.harness.prepare(admin)
    desk.lines += [Line("c1", admin.member, 700), Line("c2", one.member, 20)]
    assert desk.board.snapshot() == Snapshot({"open": 1, "running": 1, "paused": 0}, 2, 1, 720, 700)
    admin.says(PauseRequest(room.id, is_paused=True))
    assert desk.board.snapshot().rooms == {"open": 1, "running": 0, "paused": 1}


def test_the_last_connections_and_why_they_ended_are_remembered() -> None:
    desk = Desk()
    desk.connect("c1", "host:1")
    desk.connect("c2", "host:2")
    desk.close("c1", "packet_timeout")
    desk.stream.publish(events.ConnectionRefused("host:3", "connections", "no more than 2"))
    assert desk.board.report()["closed"] == [
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


def test_what_is_remembered_is_bounded() -> None:
    desk = Desk()
    for number in range(CLOSED + 5):
        desk.connect(f"c{number}")
        desk.close(f"c{number}", "x" * 100_000)
    closed = desk.board.report()["closed"]
    assert [closed[0]["connection"], closed[-1]["connection"], len(closed)] == ["c5", f"c{CLOSED + 4}", CLOSED]
    assert {len(each["reason"]) for each in closed} == {TEXT}
    assert desk.board._open == {}


def test_long_lists_have_an_end_and_the_numbers_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "LISTED", 1)
    desk = Desk()
    admin = desk.harness.fake_peer("admin", is_admin=True)
    for _ in range(2):
        desk.harness.prepare(admin)
    desk.lines += [Line("c1", admin.member), Line("c2", admin.member)]
    report = desk.board.report()
    assert (len(report["rooms"]), report["roomCounts"]["open"]) == (1, 2)
    assert (len(report["connections"]), report["connectionCount"]) == (1, 2)


async def test_rooms_and_connections_are_shown_as_they_are(autojump_clock: object) -> None:
    async with open_harness(**PATIENT) as harness:
        game = await harness.game()
        fake_peer = await harness.call()
        await game.play(1)
        report = harness.server.board.report()
        assert report["rooms"] == [
            {
                "roomId": game.id,
                "edition": "blokus-2021-r3",
                "phase": "running",
                "isPrepared": True,
                "turn": 1,
                "names": ["Eins", "Zwei"],
                "players": [game.one.label, game.two.label],
                "observers": 1,
            }
        ]
        shown = {each["connection"]: each for each in report["connections"]}
        assert set(shown) == {each.label for each in (*game.callers, fake_peer)}
        admin, one, stranger = (shown[each.label] for each in (game.admin, game.one, fake_peer))
        assert (admin["isAdmin"], admin["seats"], admin["observes"], admin["packets"]) == (True, 0, 1, 3)
        assert (one["isAdmin"], one["seats"], one["observes"], one["packets"]) == (False, 1, 0, 2)
        assert (one["edition"], stranger["edition"]) == ("blokus-2021-r3", None)
        assert (one["address"], one["queuedBytes"]) == ("host:2", 0)
        assert one["openedAt"] >= report["startedAt"]
        await fake_peer.says("<protocol><foo/>")
        await fake_peer.hangs_up()
        report = harness.server.board.report()
        assert report["refusals"] == [["ProtocolBroken", "unknown_packet", 1]]
        assert [(each["connection"], each["reason"]) for each in report["closed"]] == [
            (fake_peer.label, "unknown_packet")
        ]


# -- over the wire ----------------------------------------------------------------------------------------------------


async def test_an_administrator_is_told_when_it_asks(autojump_clock: object) -> None:
    async with open_harness(**PATIENT) as harness:
        game = await harness.game()
        await game.admin.says("<status/>")
        told = (await game.admin.hears()).decode()
        report = json.loads(told.removeprefix("\n  <status>").removesuffix("\n  </status>"))
        assert [each["roomId"] for each in report["rooms"]] == [game.id]
        assert {each["connection"] for each in report["connections"]} == {each.label for each in game.callers}
        assert report["connections"][0]["packets"] == 4


async def test_nobody_else_is_told(autojump_clock: object) -> None:
    async with open_harness() as harness:
        caller = await harness.call()
        await caller.says("<protocol><status/>")
        heard = await caller.hears()
        assert b"UnauthenticatedException: Request StatusRequest() requires authentication" in heard
        assert b'<originalRequest class="status"/>' in heard
        assert harness.happened(events.RequestRefused)[0].fault is Fault.UNAUTHENTICATED


async def test_a_full_house_fits_into_one_packet() -> None:
    """As many of everything as are listed by default, with names as long as they are shown."""
    desk = Desk()
    admin = desk.harness.fake_peer("admin", is_admin=True)
    for number in range(1024):
        desk.harness.prepare(admin, *[Slot("&" * 100, is_reserved=False)] * 2)
        desk.connect(f"c{number}")
        desk.close(f"c{number}", "\N{EM DASH}" * 100)
    desk.lines += [Line(f"c{number}", admin.member) for number in range(4096)]
    packet = BLOKUS_2021_R3.encode(Status(json.dumps(desk.board.report(), ensure_ascii=False, separators=(",", ":"))))
    assert len(packet) < min(Config().outbox_bytes, REPORT_FROM_SERVER.packet_bytes)
    client = Connection(Role.CLIENT, BLOKUS_2021_R3, REPORT_FROM_SERVER)
    client.receive_data(b"<protocol>" + packet)
    assert isinstance(client.next_event(), Status)


def test_every_field_is_in_the_readme() -> None:
    desk = Desk()
    _, admin, *_ = desk.harness.game()
    desk.lines.append(Line("c1", admin.member))
    desk.connect("c2")
    desk.close("c2")
    report = desk.board.report()
    inner = {field for part in ("rooms", "connections", "closed") for field in report[part][0]}
    told = {word for row in rows("README.md", "field") for cell in row for word in re.findall(r"`([^`]+)`", cell)}
    assert told - {"null"} == set(report) | inner
