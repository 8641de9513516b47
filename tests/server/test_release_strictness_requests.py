"""What an administrator or a newcomer may send to the editions that follow a release, and what it is answered.

The outcomes are those of the releases: recorded, or derived from how they read packets (`docs/compatibility.md`).
"""

from __future__ import annotations

import html
from typing import Final

import pytest

from spielleiter.server import events
from tests.server.harness import open_harness

PREPARE: Final = '<prepare gameType="GAME" pause="false">SLOTS</prepare>'
A, B = '<slot displayName="a" canTimeout="true" reserved="true"/>', '<slot displayName="b" reserved="true"/>'


def prepare(slots: str) -> str:
    return PREPARE.replace("SLOTS", slots)


REQUESTS: Final[list[tuple[str, str, str]]] = [
    # request; answer of 27.0.4; answer of 21.4.0: a part of what is sent, "" for silence, END for a disconnection
    (prepare(A + B), "reservation", "reservation"),
    (prepare('<slot displayName="a"/><slot displayName="b"/>'), "NO RESERVATION", "NO RESERVATION"),
    (prepare('<slot displayName="a" reserved="1"/><slot displayName="b" reserved=" true"/>'),)
    + ("NO RESERVATION",) * 2,
    (prepare(A + '<slot displayName="b" reserved="TRUE"/>'), "reservation", "reservation"),
    (prepare(A + "<slot><displayName>b</displayName><reserved>true</reserved></slot>"), "reservation", "reservation"),
    (prepare(A + '<slotDescriptors displayName="b"/>'), "reservation", "reservation"),
    (prepare(A + '<slot displayName="b" shouldBePaused="true"/>'), "reservation", "reservation"),
    (prepare(A + '<slot displayName="b" foo="x"/>'), "reservation", "reservation"),
    (prepare(A), "reservation", "reservation"),
    (prepare(""), "END", "END"),
    (prepare(A + "<slot/>"), "END", "END"),
    (prepare(A + '<slot displayname="b"/>'), "END", "END"),
    (prepare(A + '<slot class="null"/>'), "END", "END"),
    (prepare(A + B + B), "END", "END"),
    (prepare(A + '<slot displayName="b"><foo/></slot>'), "END", "END"),
    (prepare(A + '<slotDescriptor displayName="b"/>'), "END", "END"),
    (prepare(A + "<Slot/>"), "END", "END"),
    (prepare(A + B + "<pause>true</pause>"), "END", "END"),
    (prepare(A + B).replace("GAME", "nonsense"), "END", "Unknown GameType"),
    (prepare(A + B).replace(' gameType="GAME"', ""), "reservation", "END"),
    (prepare(A + B).replace(' gameType="GAME"', "").replace("</prepare>", "<gameType>GAME</gameType></prepare>"),)
    + ("reservation",) * 2,
    ('<join gameType="GAME"/>', "joined", "joined"),
    ('<join gameType="GAME" foo="x" id="1" reference="y">text<!-- c --></join>', "joined", "joined"),
    ("<join><gameType>GAME</gameType></join>", "joined", "joined"),
    ('<join class="joinRoom" roomId="x"/>', "Couldn't find a room with id x", "Couldn't find a room with id x"),
    ('<foo class="join" gameType="GAME"/>', "joined", "joined"),
    ('<sc.protocol.requests.JoinGameRequest gameType="GAME"/>', "joined", "joined"),
    ("<join/>", "joined", "END"),
    ('<join GameType="GAME"/>', "joined", "END"),
    ('<join gameType="GAME "/>', "END", "Unknown GameType"),
    ('<join gameType=""/>', "END", "Unknown GameType"),
    ('<join gameType="GAME"><foo/></join>', "END", "END"),
    ('<join gameType="GAME"><hint content="x"/></join>', "END", "END"),
    ('<join gameType="GAME"><gameType>GAME</gameType></join>', "END", "END"),
    ('<Join gameType="GAME"/>', "END", "END"),
    ('<join class="foo" gameType="GAME"/>', "END", "END"),
    ('<p:join xmlns:p="u" gameType="GAME"/>', "END", "END"),
    ("<joinRoom/>", "Couldn't find a room with id null", "Couldn't find a room with id null"),
    ('<joinRoom roomId="x"><bar/></joinRoom>', "END", "END"),
    ('<jo_.0069nRoom roomId="x"/>', "Couldn't find a room with id x", "Couldn't find a room with id x"),
    ('<joinRoom room_.0049d="x"/>', "Couldn't find a room with id null", "Couldn't find a room with id null"),
    ("<joinRoom><room_.0049d>x</room_.0049d></joinRoom>",) + ("Couldn't find a room with id x",) * 2,
    ('<joinRoom room_.0049d="x" roomId="x"/>', "END", "END"),
    ('<joinRoom roomId="x" a_.-07b=""/>',) + ("Couldn't find a room with id x",) * 2,
    ('<joinRoom roomId="x" a_.--07=""/>', "END", "END"),
    ('<joinRoom roomId="a\0b"/>',) + ("Couldn't find a room with id a\ufffdb",) * 2,
    ("<joinPrepared/>", "UnknownReservation", "UnknownReservation"),
    ("<joinPrepared><reservationCode>x</reservationCode></joinPrepared>", "UnknownReservation", "UnknownReservation"),
    ("<observe/>", "Couldn't find a room with id null", "Couldn't find a room with id null"),
    ('<pause roomId="x" pause="1"/>', "Couldn't find a room with id x", "Couldn't find a room with id x"),
    ("<step><roomId>x</roomId></step>", "Couldn't find a room with id x", "Couldn't find a room with id x"),
    ('<cancel roomId="x"/>', "Couldn't find a room with id x", "Couldn't find a room with id x"),
    ("<cancel/>", "END", "END"),
    ("<cancel roomid='x'/>", "END", "END"),
    ('<joined roomId="x"/>', "Unhandled Packet", "Unhandled Packet"),
    ("<joined><roomId>x</roomId></joined>",) + ('class="joined" roomId="x"',) * 2,
    ("<left><foo/></left>", "END", "END"),
    ("<prepared><reservation>x</reservation></prepared>",) + ("<reservation>x</reservation>",) * 2,
    ("<errorpacket/>",) + ('class="errorpacket"/>',) * 2,
    ("<errorpacket><originalRequest class='null'/></errorpacket>",) + ('class="errorpacket"/>',) * 2,
    ("<errorpacket><originalRequest class='step'/></errorpacket>",) + ('class="step" forced="false"/>',) * 2,
    ("<errorpacket><originalRequest class='foo'/></errorpacket>", "END", "END"),
    ("<foo/>", "END", "END"),
    ("<int>1</int>", "END", "END"),
    ("<null/>", "END", "END"),
    ('<data class="sc.plugin2027.SkipMove"/>', "END", "END"),
]


@pytest.mark.parametrize(("edition", "column"), [("blokus-2027", 1), ("blokus-2021-21.4.0", 2)])
@pytest.mark.parametrize("row", REQUESTS, ids=[row[0] for row in REQUESTS])
async def test_a_request_of_an_administrator(
    edition: str, column: int, row: tuple[str, str, str], autojump_clock: object
) -> None:
    async with open_harness(edition) as harness:
        admin = await harness.admin()
        await admin.receive()
        await admin.send(row[0].replace("GAME", harness.game_type))
        received = html.unescape((await admin.receive()).decode())
        expected = row[column]
        if expected == "END":
            assert admin.is_ended
            assert ("<errorpacket" in received) == (edition == "blokus-2027")
        elif expected == "NO RESERVATION":
            assert "<prepared" in received
            assert "<reservation>" not in received
        else:
            assert expected in received
            is_refused = "<errorpacket" in received
            assert admin.is_ended == (is_refused and edition != "blokus-2027")


@pytest.mark.parametrize(
    ("first", "is_ended"),
    [
        ("<protocol>", False),
        ("\n <protocol>", False),
        ('<?xml version="1.0"?>\n<protocol>', False),
        ('\ufeff<?xml version="1.0"?><protocol>', False),
        ("<anything foo='bar'>", False),
        ('\n<?xml version="1.0"?><protocol>', True),
        ('\ufeff <?xml version="1.0"?><protocol>', True),
        ("<protocol><?xml version='1.0'?>", True),
        ("<protocol><protocol>", True),
        ("<protocol>\n<protocol>\n", True),
    ],
)
async def test_the_beginning_of_the_stream(first: str, is_ended: bool, autojump_clock: object) -> None:
    async with open_harness("blokus-2027") as harness:
        caller = await harness.call()
        await caller.send(first + "<join/>")
        assert (b"<joined" in await caller.receive()) is not is_ended
        assert caller.is_ended is is_ended


async def test_a_request_without_slots_is_described_as_the_release_does(autojump_clock: object) -> None:
    async with open_harness("blokus-2027") as harness:
        caller = await harness.call()
        await caller.send("<protocol><prepare/>")
        received = html.unescape((await caller.receive()).decode())
        assert "Request PrepareGameRequest(gameType=null, slotDescriptors=null, pause=false) requires" in received
        assert not caller.is_ended


@pytest.mark.parametrize("request_", ['<join gameType="nonsense"/>', '<join gameType=""/>'])
async def test_a_player_that_asks_for_an_unknown_game_leaves_its_own(request_: str, autojump_clock: object) -> None:
    async with open_harness("blokus-2027") as harness:
        game = await harness.game()
        await game.two.send(request_)
        received = await game.two.receive()
        assert b"Unknown GameType" in received
        assert received.endswith(b"\n  <close/>\n</protocol>")
        assert game.two.is_ended
        (ended,) = harness.happened(events.GameEnded)
        assert ended.result.winners == (0,)
        assert ended.result.scores[1].reason == "hat das Spiel verlassen: UNKNOWN"
