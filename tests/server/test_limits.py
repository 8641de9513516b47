"""The table of limits, row by row: its property, its default, and what happens beyond the limit.

With real bytes. Each refusal is sent if the peer can read it, and is one event and one count under the property's
reason.
"""

from __future__ import annotations

import io
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from spielleiter.protocol.defaults import DEFAULT_PASSWORD
from spielleiter.server.app import Server
from spielleiter.server.config import Config
from spielleiter.server.events import REFUSALS
from tests.server.harness import GAME_TYPE, PASSWORD, Caller, ServerHarness, open_harness

JOIN = f'<join gameType="{GAME_TYPE}"/>'
SLOTS = '<slot displayName="" canTimeout="true" reserved="true"/>' * 2
PREPARE = f'<prepare gameType="{GAME_TYPE}">{SLOTS}</prepare>'

Beyond = Callable[[ServerHarness], Awaitable[Caller]]


async def connect_and_send(harness: ServerHarness, *data: str) -> Caller:
    """Connect a caller that sends these texts, and forget what it receives before the last one."""
    caller = await harness.call()
    for each in data:
        await caller.receive()
        await caller.send(each)
    return caller


def sends(*data: str) -> Beyond:
    """Let a connection send these texts, one after the other."""
    return lambda harness: connect_and_send(harness, *data)


def stranger(data: str) -> Beyond:
    """Let a connection that has not joined send this."""
    return sends("<protocol>" + data)


def player(data: str) -> Beyond:
    """Let a connection that has joined send this."""
    return sends("<protocol>" + JOIN, data)


def administrator(data: str) -> Beyond:
    """Let a connection that has authenticated send this."""
    return sends(f'<protocol><authenticate password="{PASSWORD}"/>', data)


async def stops_within_a_packet(harness: ServerHarness) -> Caller:
    """Let a player whose game is over begin a packet and then send nothing for some time."""
    caller = await harness.call()
    await caller.send("<protocol><join/>")
    (room,) = harness.server.lobby.rooms.values()
    room.cancel()
    await caller.send("<room")
    await trio.sleep(9.9)
    assert not harness.server.stream.refusals
    await trio.sleep(0.2)
    return caller


async def prepares_too_many(harness: ServerHarness) -> Caller:
    admin = await harness.admin()
    for _ in range(harness.config.rooms_waiting):
        await admin.send(PREPARE)
    assert not harness.server.stream.refusals
    assert len(harness.server.lobby.rooms) == harness.config.rooms_waiting
    caller = await connect_and_send(harness, "<protocol>" + JOIN)
    assert len(harness.server.lobby.rooms) == harness.config.rooms_waiting
    return caller


async def observes_beyond_the_limit(harness: ServerHarness) -> Caller:
    game = await harness.game()
    observe = f'<protocol><authenticate password="{PASSWORD}"/><observe roomId="{game.id}"/>'
    for _ in range(harness.config.observers_per_room - 1):
        await connect_and_send(harness, observe)
    assert not harness.server.stream.refusals
    return await connect_and_send(harness, observe)


async def uses_no_reservation(harness: ServerHarness) -> Caller:
    admin = await harness.admin()
    _, codes = await harness.prepare(admin)
    caller = await harness.take_seat(codes[0])
    await trio.sleep(harness.config.reservation_timeout - 0.1)
    assert harness.server.lobby.reservations
    await trio.sleep(0.2)
    assert not harness.server.lobby.reservations
    return caller


async def guesses(harness: ServerHarness) -> Caller:
    wrong = '<protocol><authenticate password="wrong"/>'
    for _ in range(harness.config.password_attempts):
        assert (await connect_and_send(harness, wrong)).is_ended
    caller = await connect_and_send(harness, wrong)
    assert not caller.is_ended
    await trio.sleep(1.1)
    assert (
        harness.server.stream.refusals.pop(("RequestRefused", "wrong_password")) == harness.config.password_attempts + 1
    )
    return caller


def deaf(seconds: float, data: str = "") -> Beyond:
    """Let a connection send packets that the server answers, and take nothing."""

    async def beyond(harness: ServerHarness) -> Caller:
        caller, wire = await harness.call_throttled(0, f'<authenticate password="{PASSWORD}"/>{data}')
        await trio.sleep(seconds)
        assert wire.has_closed()
        return caller

    return beyond


@dataclass(frozen=True)
class Row:
    """A limit; `reply` is a part of the reply, None if there is none or it cannot be read."""

    defaults: dict[str, Any]
    beyond: Beyond
    reason: tuple[str, str]
    reply: str | None
    settings: dict[str, Any] = field(default_factory=dict)


ROWS = {
    "bytes of a stranger's packet": Row(
        {"packet_bytes_before": 8192},
        stranger("<join x='" + "x" * 8192),
        ("ProtocolBroken", "packet_size"),
        "Packet 1 is longer than 8192 bytes",
    ),
    "bytes of a player's packet": Row(
        {"packet_bytes_player": 16384},
        player("<room roomId='" + "x" * 16384),
        ("ProtocolBroken", "packet_size"),
        "Packet 2 is longer than 16384 bytes",
    ),
    "bytes of a packet": Row(
        {"packet_bytes": 65536},
        administrator("<room roomId='" + "x" * 65536),
        ("ProtocolBroken", "packet_size"),
        "Packet 2 is longer than 65536 bytes",
    ),
    "comments, instructions and blanks count": Row(
        {},
        stranger(" " * 3000 + "<!--" + "x" * 3000 + "--><?x " + "x" * 3000),
        ("ProtocolBroken", "packet_size"),
        "Packet 1 is longer than 8192 bytes",
    ),
    "depth": Row({"packet_depth": 32}, stranger("<a>" * 32), ("ProtocolBroken", "depth"), "deeper than 32"),
    "attributes": Row(
        {"packet_attributes": 64},
        stranger("<a " + " ".join(f"b{number}=''" for number in range(65)) + "/>"),
        ("ProtocolBroken", "attributes"),
        "more than 64 attributes",
    ),
    "children of a stranger's packet": Row(
        {"packet_children_player": 64},
        stranger("<prepare>" + "<slot/>" * 65),
        ("ProtocolBroken", "children"),
        "more than 64 elements",
    ),
    "children of a player's packet": Row(
        {"packet_children_player": 64},
        player("<room>" + "<a/>" * 65),
        ("ProtocolBroken", "children"),
        "more than 64 elements",
    ),
    "children": Row(
        {"packet_children": 4096},
        administrator("<room>" + "<a/>" * 4097),
        ("ProtocolBroken", "children"),
        "more than 4096 elements",
    ),
    "document types": Row(
        {}, sends('<!DOCTYPE a [<!ENTITY b "c">]><protocol>'), ("ProtocolBroken", "doctype"), "contains a DOCTYPE"
    ),
    "external entities": Row(
        {},
        sends('<!DOCTYPE a SYSTEM "file:///etc/passwd">'),
        ("ProtocolBroken", "doctype"),
        "contains a DOCTYPE",
    ),
    "encodings": Row(
        {},
        sends('<?xml version="1.0" encoding="UTF-16"?>'),
        ("ProtocolBroken", "encoding"),
        "only UTF-8 is understood",
    ),
    "time of a packet": Row(
        {"packet_timeout": 10.0},
        stops_within_a_packet,
        ("ProtocolBroken", "packet_timeout"),
        "not ended in 10 s",
        {"edition": "blokus-2027"},
    ),
    "bytes that wait for a receiver": Row(
        {"outbox_bytes": 4 * 1024 * 1024},
        deaf(0.0, PREPARE * 700),
        ("PeerTooSlow", "outbox_bytes"),
        None,
        {"outbox_bytes": 65536},
    ),
    "time of a receiver": Row({"outbox_timeout": 10.0}, deaf(10.1, PREPARE), ("PeerTooSlow", "outbox_timeout"), None),
    "guessed passwords": Row(
        {"password_attempts": 5, "password_window": 60.0, "password_delay": 30.0},
        guesses,
        ("AnswerDelayed", "password_guessing"),
        "sc.server.network",
    ),
    "rooms that wait": Row(
        {"rooms_waiting": 1024},
        prepares_too_many,
        ("RequestRefused", "rooms_waiting"),
        "12 rooms wait for players",
        {"rooms_waiting": 12},
    ),
    "seats of a connection": Row(
        {"seats_per_connection": 3},
        stranger(JOIN * 4),
        ("RequestRefused", "seats_per_connection"),
        "has a seat in 3 games",
    ),
    "reserved seats": Row(
        {"reservation_timeout": 600.0}, uses_no_reservation, ("ReservationExpired", "reservation_timeout"), "left"
    ),
    "observers": Row(
        {"observers_per_room": 64},
        observes_beyond_the_limit,
        ("RequestRefused", "observers_per_room"),
        "has 64 observers",
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
async def test_beyond_a_limit(row: Row, autojump_clock: object) -> None:
    for name, default in row.defaults.items():
        assert getattr(Config(), name) == default
    async with open_harness(**row.settings) as harness:
        caller = await row.beyond(harness)
        received = (await caller.receive()).decode()
        if row.reply is None:
            assert received == ""
        else:
            assert row.reply in received
        assert dict(harness.server.stream.refusals) == {row.reason: 1}
        assert [type(each).__name__ for each in harness.server_events if type(each) in REFUSALS].count(row.reason[0])


OWN_ADDRESS = "192.0.2.1"
"""The address on which the server has accepted: only programs on its own machine, such as its pages, can have it."""


class _AtOwnAddress(socket.socket):
    def getsockname(self) -> tuple[str, int]:
        return OWN_ADDRESS, 13050


@pytest.mark.parametrize(
    ("host", "settings", "reason", "reply"),
    [
        ("192.0.2.7", {"connections": 1}, "connections", "no more than 1 connection"),
        ("127.0.0.1", {"connections": 1}, "connections", "no more than 1 connection"),
        ("192.0.2.7", {"connections_per_address": 1}, "connections_per_address", "no more than 1 connection from one"),
        ("127.0.0.1", {"connections_per_address": 1}, None, "<protocol/>"),
        (OWN_ADDRESS, {"connections_per_address": 1}, None, "<protocol/>"),
    ],
)
async def test_beyond_the_connections(host: str, settings: dict[str, int], reason: str | None, reply: str) -> None:
    assert (Config().connections, Config().connections_per_address) == (4096, 256)
    server = Server(Config(default_game=GAME_TYPE, **settings), io.StringIO())  # type: ignore[arg-type]
    (near, far), (other_near, other_far) = socket.socketpair(), socket.socketpair()
    with near, other_near:
        other_near.setblocking(False)
        async with trio.open_nursery() as sessions:
            server.admit(_AtOwnAddress(fileno=far.detach()), (host, 1), sessions)
            server.admit(_AtOwnAddress(fileno=other_far.detach()), (host, 2), sessions)
            await wait_all_tasks_blocked()
            if reason is None:
                other_near.sendall(b"<protocol><close/>")
                await trio.lowlevel.wait_readable(other_near)
            assert reply in other_near.recv(1000).decode()
            sessions.cancel_scope.cancel()
    assert dict(server.stream.refusals) == ({} if reason is None else {("ConnectionRefused", reason): 1})
    assert not server.connections_by_host


def test_defaults_that_refuse_no_ordinary_client() -> None:
    config = Config()
    assert (config.grace, config.close_timeout, config.soft_timeout, config.hard_timeout) == (5.0, 5.0, 2.0, 10.0)
    assert config.password == DEFAULT_PASSWORD
    most = config.seats_per_connection * config.connections_per_address
    assert most < config.rooms_waiting  # one address cannot take all of them
