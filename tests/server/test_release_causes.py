"""What the releases say and write in cases that do not change who wins: causes, texts, characters."""

from __future__ import annotations

import re

import pytest

from spielleiter.protocol.messages import Cause
from spielleiter.server import events
from tests.server.harness import open_harness

RELEASES = pytest.mark.parametrize("edition", ["blokus-2027", "blokus-2021-21.4.0"])
PIECE = '<piece color="BLUE" kind="PENTO_U" isFlipped="false"><position x="0" y="0"/></piece>'


@pytest.mark.parametrize(
    ("sent", "cause"),
    [
        # an end of input within a tag is an error of the parser, anywhere else a lost connection
        ("<room", "PROTOCOL_ERROR"),
        ('<room roomId="ROOM"><data', "PROTOCOL_ERROR"),
        ("<room>text<", "PROTOCOL_ERROR"),
        ("<room>&am", "PROTOCOL_ERROR"),
        ('<room roomId="ROOM"><data class="null"/>text', "LOST_CONNECTION"),
        ("<!-- c", "PROTOCOL_ERROR"),
        ("text &am", "PROTOCOL_ERROR"),
        ("text &amp; text", "LOST_CONNECTION"),
        (" \n", "LOST_CONNECTION"),
        ("<!-- c -->", "LOST_CONNECTION"),
    ],
)
async def test_the_end_of_the_input(sent: str, cause: str, autojump_clock: object) -> None:
    async with open_harness("blokus-2027") as harness:
        game = await harness.game()
        await game.one.send(sent.replace("ROOM", game.id))
        assert not harness.happened(events.GameEnded)
        await game.one.end_input()
        (ended,) = harness.happened(events.GameEnded)
        assert ended.result.scores[0].reason == f"hat das Spiel verlassen: {cause}"
        assert ended.result.winners == (1,)


@RELEASES
async def test_the_end_of_the_input_ends_the_open_packet(edition: str, autojump_clock: object) -> None:
    package = {"blokus-2027": "sc.plugin2027", "blokus-2021-21.4.0": "sc.plugin2021"}[edition]
    piece = '<piece color="BLUE" kind="PENTO_U" rotation="NONE" isFlipped="false"><position x="0" y="0"/></piece>'
    async with open_harness(edition) as harness:
        game = await harness.game()
        await game.one.send(f'<room roomId="{game.id}"><data class="{package}.SetMove">{piece} ')
        assert not harness.happened(events.MovePlayed)
        await game.one.end_input()
        assert len(harness.happened(events.MovePlayed)) == 1
        (ended,) = harness.happened(events.GameEnded)
        assert ended.result.winners == (1,)
        assert ended.result.scores[0].cause is Cause.LEFT


@pytest.mark.parametrize(
    ("sent", "cause"),
    [
        # a packet that stands for no object
        ("<null/>", "UNKNOWN"),
        ('<room class="null"/>', "UNKNOWN"),
        ('<join class=""/>', "UNKNOWN"),
        ('<foo resolves-to=""/>', "UNKNOWN"),
        ("<foo/>", "PROTOCOL_ERROR"),
        ('<room><data class=""/></room>', "PROTOCOL_ERROR"),
        # references without a name or number, between packets and in the first tag of one
        ("&;", "UNKNOWN"),
        ("&#;", "UNKNOWN"),
        ("&#x;", "UNKNOWN"),
        ("&#a;", "UNKNOWN"),
        ("&#99999999999;<room/>", "UNKNOWN"),
        ('<room roomId="&;"/>', "UNKNOWN"),
        ("&a;<room/>", "PROTOCOL_ERROR"),
        ("& ;", "PROTOCOL_ERROR"),
        # another fault, near a reference that is right
        ("&#9;]]>", "PROTOCOL_ERROR"),
        ("&#9;<room roomId=></room>", "PROTOCOL_ERROR"),
        ("<&;/>", "PROTOCOL_ERROR"),
        ("<room &;/>", "PROTOCOL_ERROR"),
        ("&#+1;", "PROTOCOL_ERROR"),
        ("<room>&;</room>", "PROTOCOL_ERROR"),
        ('<room><data class="&;"/></room>', "PROTOCOL_ERROR"),
        # what is missing shows only when the whole packet has been read
        (f'<room roomId="ROOM"><data class="sc.plugin2027.SetMove">{PIECE}</data></room>', "UNKNOWN"),
        (f'<room roomId="ROOM"><data class="sc.plugin2027.SetMove">{PIECE}</data><foo/></room>', "PROTOCOL_ERROR"),
        (f'<room roomId="ROOM"><data class="sc.plugin2027.SetMove">{PIECE}<foo/></data></room>', "PROTOCOL_ERROR"),
    ],
)
async def test_the_cause_of_a_packet_that_cannot_be_read(sent: str, cause: str, autojump_clock: object) -> None:
    async with open_harness("blokus-2027") as harness:
        game = await harness.game()
        await game.one.send(sent.replace("ROOM", game.id))
        (ended,) = harness.happened(events.GameEnded)
        assert ended.result.scores[0].cause is Cause.LEFT
        assert ended.result.scores[0].reason == f"hat das Spiel verlassen: {cause}"
        assert game.one.is_ended


@RELEASES
@pytest.mark.parametrize(
    ("data", "shown"),
    [("", "null"), ('<data class="null"/>', "null"), ('<data class="paused"/>', "GamePaused(paused=false)")],
)
async def test_a_packet_that_is_no_move_is_refused_before_its_sender(
    edition: str, data: str, shown: str, autojump_clock: object
) -> None:
    async with open_harness(edition) as harness:
        game = await harness.game()
        stranger = await harness.call()
        await stranger.send(f'<protocol><room roomId="{game.id}">{data}</room>')
        received = (await stranger.receive()).decode()
        assert f"Received non-move packet: RoomPacket(roomId={game.id}, data={shown})" in received
        assert not harness.happened(events.GameEnded)


@RELEASES
@pytest.mark.parametrize(
    ("sent", "repeated"),
    [
        ("a\tb", "a&#x9;b"),
        ("a\nb\r\nc\rd", "a b c d"),
        ("a&#9;b&#10;c&#13;d", "a&#x9;b&#xa;c&#xd;d"),
        ("a\x7fb\x80c\x85d\x9fe\xa0f", "a&#x7f;b&#x80;c&#x85;d&#x9f;e\xa0f"),
    ],
)
async def test_characters_that_are_repeated(edition: str, sent: str, repeated: str, autojump_clock: object) -> None:
    async with open_harness(edition) as harness:
        stranger = await harness.call()
        await stranger.send(f'<protocol><joinRoom roomId="{sent}"/>')
        assert f'<originalRequest class="joinRoom" roomId="{repeated}"/>' in (await stranger.receive()).decode()


async def test_a_name_that_is_blank_for_python_but_not_for_the_release(autojump_clock: object) -> None:
    async with open_harness("blokus-2027") as harness:
        admin = await harness.admin()
        _room_id, codes = await harness.prepare(admin, ("\x85", "\xa0"))
        one, two = [await harness.take_seat(code) for code in codes]
        await two.receive()
        await one.close()
        received = (await two.receive()).decode()
        assert '<player name="&#x85;" team="ONE"/>' in received
        assert '<player team="TWO"/>' in received
        assert 'reason="&#x85; hat das Spiel verlassen: LOST_CONNECTION"' in received


async def test_a_move_of_a_paused_game_in_2021(autojump_clock: object) -> None:
    """Its sender learns who is on turn, or that nobody was asked."""
    slots = "".join(f'<slot displayName="{name}" reserved="true"/>' for name in ("Eins", "Zwei"))
    for seat, error, packet in (
        (0, "Move from Team 1(Eins) has not been requested.", "exceptions.GameLogicException: Move from"),
        (1, "It&apos;s not your turn yet; expected: Team 1(Eins), got Team 2(Zwei)", "expected=Team 1(Eins), actual="),
    ):
        async with open_harness("blokus-2021-21.4.0") as harness:
            admin = await harness.admin()
            await admin.send(f'<prepare gameType="swc_2021_blokus" pause="true">{slots}</prepare>')
            room_id, *codes = re.findall(r"[0-9a-f-]{36}", (await admin.receive()).decode())
            sender = [await harness.take_seat(code) for code in codes][seat]
            skip = '<data class="sc.plugin2021.SkipMove"><color>BLUE</color></data>'
            await sender.send(f'<room roomId="{room_id}">{skip}</room>')
            received = (await sender.receive()).decode()
            assert f'<data class="error" message="{error}' in received
            assert packet in received


async def test_the_score_of_an_unknown_player_in_2021(autojump_clock: object) -> None:
    async with open_harness("blokus-2021-21.4.0") as harness:
        admin = await harness.admin()
        await admin.receive()
        await admin.send('<scoreForPlayer displayName="nobody"/>')
        assert admin.is_ended
        assert await admin.receive() == b""
