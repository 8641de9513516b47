"""What may be sent to the editions that follow a release, how games end otherwise, and what is said and written then.

The outcomes are those of the releases: recorded, or derived from how they read packets (`docs/compatibility.md`). How
single values and elements are read is tested in `tests/protocol/`; here are cases of each outcome. In the first turn
BLUE has to place PENTO_U, which `placed()` does in the usual form.
"""

from __future__ import annotations

import enum
import html
import re
from typing import Final

import pytest

from spielleiter.protocol.messages import Cause
from spielleiter.server import events
from spielleiter.server.errors import Fault
from tests.server.harness import Game, ServerHarness, open_harness

EDITIONS: Final = {"blokus-2027": "sc.plugin2027", "blokus-2021-21.4.0": "sc.plugin2021"}
RELEASES = pytest.mark.parametrize("edition", EDITIONS)


class Outcome(enum.Enum):
    """What happens after a packet of the player on turn."""

    PLAYED = "the move is played"
    LOST = "the move breaks a rule"
    UNREADABLE = "the packet cannot be read: the player is disconnected"
    INCOMPLETE = "something is missing: the player is disconnected"
    REFUSED = "the request is refused"


PLAYED, LOST, UNREADABLE, INCOMPLETE, REFUSED = Outcome

POSITION: Final = '<position x="0" y="0"/>'
PIECE: Final = f'<piece color="BLUE" kind="PENTO_U" rotation="NONE" isFlipped="false">{POSITION}</piece>'


def placed(old: str = "", new: str = "") -> str:
    """The data of a legal first move, with `old` replaced by `new`."""
    assert old in PIECE
    return f'<data class="PACKAGE.SetMove">{PIECE.replace(old, new) if old else PIECE}</data>'


def skipped(content: str = "", attributes: str = "") -> str:
    return f'<data class="PACKAGE.SkipMove"{attributes}>{content}</data>'


MOVES: Final[list[tuple[str, Outcome]]] = [
    (placed(), PLAYED),
    # quotes, order, white space, empty elements
    (placed('"', "'"), PLAYED),
    (placed(POSITION, ' <position y="0" x="0"></position > '), PLAYED),
    # unknown attributes, unknown elements, hints
    (placed('rotation="NONE"', 'rotation="NONE" foo="x" position="0,0" id="1" reference="../x"'), PLAYED),
    (placed("</piece>", "<foo/></piece>"), UNREADABLE),
    (placed("/></piece>", "><z>1</z></position></piece>"), UNREADABLE),
    (placed() + "<foo/>", UNREADABLE),
    # attribute for element, element for attribute
    (placed(' kind="PENTO_U"', "").replace(POSITION, f"<kind>PENTO_U</kind>{POSITION}"), PLAYED),
    (placed(POSITION, "<position><x>0</x><y>0</y></position>"), PLAYED),
    (placed(POSITION, "").replace("<piece ", '<piece position="0,0" '), INCOMPLETE),
    # missing and doubled ones
    (placed(' isFlipped="false"', ""), PLAYED),
    (placed(' x="0"', ""), PLAYED),
    (placed(POSITION, ""), INCOMPLETE),
    (placed(' rotation="NONE"', ""), INCOMPLETE),
    (placed(' kind="PENTO_U"', ""), INCOMPLETE),
    (placed(PIECE, ""), INCOMPLETE),
    (placed(' color="BLUE"', ""), LOST),
    (placed('color="BLUE" kind="PENTO_U" ', ""), LOST),
    (placed(PIECE, PIECE * 2), UNREADABLE),
    (placed(POSITION, f"<kind>PENTO_U</kind>{POSITION}"), UNREADABLE),
    (placed(POSITION, '<position x="0" y="0"><x>0</x></position>'), UNREADABLE),
    (placed() * 2, UNREADABLE),
    # names and case of names
    (placed("<piece ", "<Piece ").replace("</piece>", "</Piece>"), UNREADABLE),
    (placed("kind=", "Kind="), INCOMPLETE),
    # case of and white space in values
    (placed("BLUE", "blue"), UNREADABLE),
    (placed(' color="BLUE"', "").replace(POSITION, f"<color>blue</color>{POSITION}"), PLAYED),
    # numbers
    *((placed('x="0"', f'x="{text}"'), PLAYED) for text in ("00", "0x0")),
    *((placed('x="0"', f'x="{text}"'), LOST) for text in ("0x1F", "4294967295")),  # outside the board
    *((placed('x="0"', f'x="{text}"'), UNREADABLE) for text in ("", "08")),
    # name spaces, comments, CDATA, entities, processing instructions
    (placed("<piece ", "<!-- c --><?pi x?><piece "), PLAYED),
    (placed("PENTO_U", "&foo;"), UNREADABLE),
    # control characters and the ends of sections
    (placed('kind="PENTO_U"', '\x01kind\0=\x1f"PENTO_U"\x0c'), PLAYED),
    (placed("<piece ", "]]&gt;]] ><piece "), PLAYED),
    (placed("<piece ", "]]><piece "), UNREADABLE),
    (placed("<piece ", '<piece foo="]]>" '), UNREADABLE),
    # escaped names
    (placed("piece", "p_.0069ece"), PLAYED),
    (placed('isFlipped="false"', 'isFlipped="false" isFl_.0069pped="false"'), UNREADABLE),
    (placed().replace("class=", "cl_.0061ss="), UNREADABLE),
    (placed().replace("data", "d_.0061ta"), PLAYED),
    # classes
    (placed("<piece ", '<piece class="foo" '), UNREADABLE),
    (placed("<piece ", '<piece class="null" '), INCOMPLETE),
    (placed().replace('class="PACKAGE.SetMove"', 'resolves-to="PACKAGE.SetMove"'), PLAYED),
    (placed().replace("PACKAGE.SetMove", "SetMove"), UNREADABLE),
    (placed().replace('class="PACKAGE.SetMove"', 'type="PACKAGE.SetMove"'), UNREADABLE),
    ("<data/>", UNREADABLE),
    ("<PACKAGE.SetMove/>", UNREADABLE),
    # skips; in the first turn a colour may not skip
    (skipped("<color>BLUE</color>"), LOST),
    (skipped(), LOST),
    (skipped(attributes=' color="BLUE"'), LOST),
    (skipped('<color class="null"/>'), LOST),
    (skipped("<color>BLUE</color><color>BLUE</color>"), UNREADABLE),
    (skipped('<color>BLUE</color><hint content="x"/>'), UNREADABLE),
    # no moves
    ("", REFUSED),
    ('<data class="null"/>', REFUSED),
    ('<data class="paused"><paused>true</paused></data>', REFUSED),
    ('<data class="paused"><foo/></data>', UNREADABLE),
    ('<data class="memento"/>', REFUSED),
    ('<data class="memento"><state class="null"/><perspective><x/></perspective></data>', REFUSED),
    ('<data class="memento"><state/></data>', UNREADABLE),
    ('<data class="sc.protocol.room.MementoMessage"/>', REFUSED),
    ('<data class="welcomeMessage"/>', REFUSED),
    ('<data class="welcomeMessage" color="any"/>', REFUSED),
    ('<data class="welcomeMessage"><color>ONE<x/></color></data>', REFUSED),
    ('<data class="welcomeMessage" color="ONE"><foo/></data>', UNREADABLE),
    ('<data class="error"/>', REFUSED),
    ('<data class="error" message="m"><originalMessage class="paused"/></data>', REFUSED),
    ('<data class="error"><originalMessage class="null"/></data>', REFUSED),
    ('<data class="error"><originalMessage/></data>', UNREADABLE),
    ('<data class="string">x</data>', UNREADABLE),
]


@RELEASES
@pytest.mark.parametrize(("data", "outcome"), MOVES)
async def test_a_packet_of_the_player_on_turn(
    edition: str, data: str, outcome: Outcome, autojump_clock: object
) -> None:
    async with open_harness(edition) as harness:
        game = await harness.game()
        data = data.replace("PACKAGE", EDITIONS[edition])
        await game.one.send(f'<room roomId="{game.id}">{data}</room>')
        assert await outcome_of(harness, game, edition) is outcome


@RELEASES
@pytest.mark.parametrize(
    ("packet", "outcome"),
    [
        ('\0<room roomId="ID">DATA</room>\0', PLAYED),
        ('ping \x01&amp;&#33; <room roomId="ID">DATA</room>', PLAYED),
        ('<roo_.006D roomId="ID">DATA</roo_.006D>', PLAYED),
        ('<room roomId="ID" room_.0049d="ID">DATA</room>', UNREADABLE),
        ('<room room_.0049d="ID">DATA</room>', REFUSED),
        ('<roo_.00 roomId="ID"/>', INCOMPLETE),
        ('<roo_.zzzz roomId="ID"/>', INCOMPLETE),
        ("ping]]>", UNREADABLE),
        ("<status/>", UNREADABLE),
        ("<feed/>", UNREADABLE),
        ("<metrics/>", UNREADABLE),
        ("<prepare><position/></prepare>", UNREADABLE),
        ('<foo class="status"/>', UNREADABLE),
        ("this & that", UNREADABLE),
        ("&unknown;", UNREADABLE),
    ],
)
async def test_what_comes_around_a_move(edition: str, packet: str, outcome: Outcome, autojump_clock: object) -> None:
    async with open_harness(edition) as harness:
        game = await harness.game()
        data = placed().replace("PACKAGE", EDITIONS[edition])
        await game.one.send(packet.replace("ID", game.id).replace("DATA", data))
        assert await outcome_of(harness, game, edition) is outcome


async def outcome_of(harness: ServerHarness, game: Game, edition: str) -> Outcome:
    """Return what the server has done with the packet, and check that everybody was told."""
    explains = edition == "blokus-2027"
    played, ended = harness.happened(events.MovePlayed), harness.happened(events.GameEnded)
    one, two = (await game.one.receive()).decode(), (await game.two.receive()).decode()
    if played:
        assert not ended
        assert "memento" in one
        assert "memento" in two
        return Outcome.PLAYED
    if not harness.happened(events.MoveRefused) and not harness.happened(events.ProtocolBroken):
        assert "<errorpacket" in one
        assert game.one.is_ended is not explains
        return Outcome.REFUSED
    (end,) = ended
    assert end.result.winners == (1,)
    assert 'class="result"' in two
    assert not game.two.is_ended
    cause, reason = end.result.scores[0].cause, end.result.scores[0].reason
    if cause is Cause.RULE_VIOLATION:
        assert 'class="error"' in one
        assert ("GameLogicException" in one) is not explains
        assert game.one.is_ended is not explains
        return Outcome.LOST
    assert cause is Cause.LEFT
    assert game.one.is_ended
    if explains:
        assert re.fullmatch(
            r'\n  <errorpacket message="[^"]+">.*</errorpacket>\n  <close/>\n</protocol>', one, re.DOTALL
        )
    else:
        assert one == ""
    is_incomplete = any("ncomplete" in each.refusal for each in harness.happened(events.ProtocolBroken)) or any(
        each.fault is Fault.INCOMPLETE_MOVE for each in harness.happened(events.MoveRefused)
    )
    if explains:
        assert reason == f"hat das Spiel verlassen: {'UNKNOWN' if is_incomplete else 'PROTOCOL_ERROR'}"
    return Outcome.INCOMPLETE if is_incomplete else Outcome.UNREADABLE


async def test_the_texts_about_a_skip_without_a_color_are_those_of_the_release(autojump_clock: object) -> None:
    async with open_harness("blokus-2027") as harness:
        game = await harness.game()
        await game.one.send(f'<room roomId="{game.id}"><data class="sc.plugin2027.SkipMove"/></room>')
        received = html.unescape((await game.one.receive()).decode())
        assert (
            "message=\"Ungueltiger Zug von 'Eins'.\nInvalidMoveException(mistake=Nur eigene Spielfiguren können "
            'gezogen werden, move=null setzt aus)">\n      <originalMessage class="sc.plugin2027.SkipMove"/>'
        ) in received
        assert (
            "Regelverletzung von Eins: Nur eigene Spielfiguren können gezogen werden bei 'null setzt aus'" in received
        )
        (refused,) = harness.happened(events.MoveRefused)
        assert refused.fault is Fault.INCOMPLETE_MOVE
        assert refused.text == (
            "Nur eigene Spielfiguren können gezogen werden bei 'null setzt aus' "
            "(im Element data fehlt das Element color)"
        )


@pytest.mark.parametrize(
    ("data", "is_named"),
    [
        ('<data class="sc.plugin2027.SetMove"/>', True),
        ('<data class="sc.plugin2027.SkipMove"/>', True),
        (
            '<data class="sc.plugin2027.SetMove"><piece rotation="NONE"><position/></piece></data>',
            True,
        ),
        ('<data class="sc.plugin2027.SetMove"><piece/></data>', False),
    ],
)
@pytest.mark.parametrize("is_known", [True, False])
async def test_an_incomplete_move_of_a_player_not_on_turn(
    data: str, is_named: bool, is_known: bool, autojump_clock: object
) -> None:
    """It is refused as any other move, unless the release cannot even name it."""
    async with open_harness("blokus-2027") as harness:
        game = await harness.game()
        await game.two.send(f'<room roomId="{game.id if is_known else "x"}">{data}</room>')
        received = html.unescape((await game.two.receive()).decode())
        ended = next(iter(harness.happened(events.GameEnded)), None)
        if not is_named:
            assert "fehlt das Attribut rotation" in received
            assert game.two.is_ended
            assert ended is not None
            assert ended.result.scores[1].reason == "hat das Spiel verlassen: UNKNOWN"
        elif is_known:
            assert "It's not your turn yet" in received
            assert ended is not None
            assert ended.result.scores[1].cause is Cause.PROCESS_VIOLATION
            assert not game.two.is_ended
        else:
            assert "Couldn't find a room with id x" in received
            assert ended is None
            assert not game.two.is_ended
        assert ended is None or ended.result.winners == (0,)


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
    (prepare(A + '<slot displayName="b" shouldBePaused="true"/>'), "reservation", "reservation"),
    (prepare(A), "reservation", "reservation"),
    (prepare(""), "END", "END"),
    (prepare(A + "<slot/>"), "END", "END"),
    (prepare(A + B + B), "END", "END"),
    (prepare(A + '<slot displayName="b"><foo/></slot>'), "END", "END"),
    (prepare(A + B + "<pause>true</pause>"), "END", "END"),
    (prepare(A + B).replace("GAME", "nonsense"), "END", "Unknown GameType"),
    (prepare(A + B).replace(' gameType="GAME"', ""), "reservation", "END"),
    ('<join gameType="GAME"/>', "joined", "joined"),
    ('<join class="joinRoom" roomId="x"/>', "Couldn't find a room with id x", "Couldn't find a room with id x"),
    ('<foo class="join" gameType="GAME"/>', "joined", "joined"),
    ("<join/>", "joined", "END"),
    ('<join gameType="GAME "/>', "END", "Unknown GameType"),
    ('<join gameType=""/>', "END", "Unknown GameType"),
    ('<join gameType="GAME"><foo/></join>', "END", "END"),
    ('<join class="foo" gameType="GAME"/>', "END", "END"),
    ("<joinRoom/>", "Couldn't find a room with id null", "Couldn't find a room with id null"),
    ('<jo_.0069nRoom roomId="x"/>', "Couldn't find a room with id x", "Couldn't find a room with id x"),
    ('<joinRoom room_.0049d="x"/>', "Couldn't find a room with id null", "Couldn't find a room with id null"),
    ('<joinRoom roomId="x" a_.--07=""/>', "END", "END"),
    ('<joinRoom roomId="a\0b"/>',) + ("Couldn't find a room with id a\ufffdb",) * 2,
    ("<joinPrepared/>", "UnknownReservation", "UnknownReservation"),
    ("<observe/>", "Couldn't find a room with id null", "Couldn't find a room with id null"),
    ('<pause roomId="x" pause="1"/>', "Couldn't find a room with id x", "Couldn't find a room with id x"),
    ("<cancel/>", "END", "END"),
    ('<joined roomId="x"/>', "Unhandled Packet", "Unhandled Packet"),
    ("<joined><roomId>x</roomId></joined>",) + ('class="joined" roomId="x"',) * 2,
    ("<prepared><reservation>x</reservation></prepared>",) + ("<reservation>x</reservation>",) * 2,
    ("<errorpacket/>",) + ('class="errorpacket"/>',) * 2,
    ("<errorpacket><originalRequest class='null'/></errorpacket>",) + ('class="errorpacket"/>',) * 2,
    ("<errorpacket><originalRequest class='step'/></errorpacket>",) + ('class="step" forced="false"/>',) * 2,
    ("<errorpacket><originalRequest class='foo'/></errorpacket>", "END", "END"),
    ("<foo/>", "END", "END"),
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


UNTURNED = '<piece color="BLUE" kind="PENTO_U" isFlipped="false"><position x="0" y="0"/></piece>'


@pytest.mark.parametrize(
    ("sent", "cause"),
    [
        # an end of input within a tag is an error of the parser, anywhere else a lost connection
        ("<room", "PROTOCOL_ERROR"),
        ('<room roomId="ROOM"><data', "PROTOCOL_ERROR"),
        ("<room>&am", "PROTOCOL_ERROR"),
        ('<room roomId="ROOM"><data class="null"/>text', "LOST_CONNECTION"),
        ("<!-- c", "PROTOCOL_ERROR"),
        ("text &am", "PROTOCOL_ERROR"),
        (" \n", "LOST_CONNECTION"),
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
    async with open_harness(edition) as harness:
        game = await harness.game()
        await game.one.send(f'<room roomId="{game.id}"><data class="{package}.SetMove">{PIECE} ')
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
        ("&#99999999999;<room/>", "UNKNOWN"),
        ('<room roomId="&;"/>', "UNKNOWN"),
        ("&a;<room/>", "PROTOCOL_ERROR"),
        ("& ;", "PROTOCOL_ERROR"),
        # another fault, near a reference that is right
        ("&#9;]]>", "PROTOCOL_ERROR"),
        ("<&;/>", "PROTOCOL_ERROR"),
        ("&#+1;", "PROTOCOL_ERROR"),
        ("<room>&;</room>", "PROTOCOL_ERROR"),
        ('<room><data class="&;"/></room>', "PROTOCOL_ERROR"),
        # what is missing shows only when the whole packet has been read
        (f'<room roomId="ROOM"><data class="sc.plugin2027.SetMove">{UNTURNED}</data></room>', "UNKNOWN"),
        (f'<room roomId="ROOM"><data class="sc.plugin2027.SetMove">{UNTURNED}</data><foo/></room>', "PROTOCOL_ERROR"),
        (f'<room roomId="ROOM"><data class="sc.plugin2027.SetMove">{UNTURNED}<foo/></data></room>', "PROTOCOL_ERROR"),
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
