"""What a player may send to the editions that follow a release, and how its game ends otherwise.

The outcomes are those of the releases: recorded, or derived from how they read packets (`docs/compatibility.md`). In
the first turn BLUE has to place PENTO_U, which `placed()` does in the usual form.
"""

from __future__ import annotations

import enum
import html
import random
import re
from typing import Final

import pytest

from spielleiter.game.blokus.moves import SetMove, SkipMove
from spielleiter.game.blokus.state import BlokusState
from spielleiter.protocol.messages import Cause
from spielleiter.server import events
from spielleiter.server.errors import Fault
from tests.server.harness import Game, ServerHarness, open_harness

EDITIONS: Final = {"blokus-2027": "sc.plugin2027", "blokus-2021-21.4.0": "sc.plugin2021"}


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
    (placed('color="BLUE" kind="PENTO_U"', 'kind="PENTO_U"\n  color = "BLUE"'), PLAYED),
    (placed(POSITION, ' <position y="0" x="0"></position > '), PLAYED),
    (placed("<piece ", "text<piece "), PLAYED),
    (placed(POSITION, f"text{POSITION}text"), PLAYED),
    # unknown attributes, unknown elements, hints
    (placed('rotation="NONE"', 'rotation="NONE" foo="x" position="0,0" id="1" reference="../x"'), PLAYED),
    (placed("<position ", '<position z="1" '), PLAYED),
    (placed("</piece>", "<foo/></piece>"), UNREADABLE),
    (placed("</piece>", '</piece><hint content="x"/>'), UNREADABLE),
    (placed("<piece ", '<hint content="x"/><piece '), UNREADABLE),
    (placed("/></piece>", "><z>1</z></position></piece>"), UNREADABLE),
    (placed() + "<foo/>", UNREADABLE),
    # attribute for element, element for attribute
    (placed(' kind="PENTO_U"', "").replace(POSITION, f"<kind>PENTO_U</kind>{POSITION}"), PLAYED),
    (placed(POSITION, "<position><x>0</x><y>0</y></position>"), PLAYED),
    (placed(POSITION, '<position x="0"><y>0</y></position>'), PLAYED),
    (placed(POSITION, "").replace("<piece ", '<piece position="0,0" '), INCOMPLETE),
    # missing and doubled ones
    (placed(' isFlipped="false"', ""), PLAYED),
    (placed(' x="0"', ""), PLAYED),
    (placed(POSITION, "<position/>"), PLAYED),
    (placed(POSITION, ""), INCOMPLETE),
    (placed(' rotation="NONE"', ""), INCOMPLETE),
    (placed(' kind="PENTO_U"', ""), INCOMPLETE),
    (placed(PIECE, ""), INCOMPLETE),
    (placed(PIECE, "<piece/>"), INCOMPLETE),
    (placed(' color="BLUE"', ""), LOST),
    (placed('color="BLUE" kind="PENTO_U" ', ""), LOST),
    (placed('color="BLUE" kind="PENTO_U"', 'color="RED"'), LOST),
    (placed(PIECE, PIECE * 2), UNREADABLE),
    (placed(POSITION, POSITION * 2), UNREADABLE),
    (placed(POSITION, f"<kind>PENTO_U</kind>{POSITION}"), UNREADABLE),
    (placed(POSITION, '<position x="0" y="0"><x>0</x></position>'), UNREADABLE),
    (placed() * 2, UNREADABLE),
    # names and case of names
    (placed("<piece ", "<Piece ").replace("</piece>", "</Piece>"), UNREADABLE),
    (placed("position", "coordinates"), UNREADABLE),
    (placed("kind=", "Kind="), INCOMPLETE),
    (placed("rotation=", "ROTATION="), INCOMPLETE),
    (placed("isFlipped=", "isflipped="), PLAYED),
    # case of and white space in values
    (placed("BLUE", "blue"), UNREADABLE),
    (placed("BLUE", " BLUE"), UNREADABLE),
    (placed("BLUE", ""), UNREADABLE),
    (placed("BLUE", "Blau"), UNREADABLE),
    (placed("PENTO_U", "Pento_U"), UNREADABLE),
    (placed("PENTO_U", "17"), UNREADABLE),
    (placed("NONE", "0"), UNREADABLE),
    (placed(' color="BLUE"', "").replace(POSITION, f"<color>blue</color>{POSITION}"), PLAYED),
    (placed(' color="BLUE"', "").replace(POSITION, f"<color> BLUE</color>{POSITION}"), UNREADABLE),
    # numbers
    *((placed('x="0"', f'x="{text}"'), PLAYED) for text in ("+0", "00", "-0", "0x0", "#0", "٠", "０")),
    *((placed('x="0"', f'x="{text}"'), LOST) for text in ("077", "0x1F", "4294967295", "99")),  # outside the board
    *(
        (placed('x="0"', f'x="{text}"'), UNREADABLE)
        for text in ("", " 0", "0 ", "0.0", "0e0", "08", "a", "--0", "4294967296", "0_0", "½")
    ),
    # name spaces, comments, CDATA, entities, processing instructions
    (placed("<piece ", '<piece xmlns="u" '), PLAYED),
    (placed("piece", "p:piece"), UNREADABLE),
    (placed("kind=", "p:kind="), INCOMPLETE),
    (placed("<piece ", "<!-- c --><?pi x?><piece "), PLAYED),
    (placed("PENTO_U", "PENTO&#95;U"), PLAYED),
    (placed(' kind="PENTO_U"', "").replace(POSITION, f"<kind><![CDATA[PENTO_U]]></kind>{POSITION}"), PLAYED),
    (placed(' kind="PENTO_U"', "").replace(POSITION, f"<kind>PENTO<!-- c -->_U<x/></kind>{POSITION}"), PLAYED),
    (placed("PENTO_U", "&foo;"), UNREADABLE),
    # control characters and the ends of sections
    (placed('kind="PENTO_U"', '\x01kind\0=\x1f"PENTO_U"\x0c'), PLAYED),
    (placed("<piece ", "\0<!-- \1 --><?pi \2?><piece "), PLAYED),
    (placed("PENTO_U", "PENTO_U\0"), UNREADABLE),
    (placed("piece", "pi\0ece"), UNREADABLE),
    (placed("<piece ", "<\1piece "), UNREADABLE),
    (placed("<piece ", "]]&gt;]] ><piece "), PLAYED),
    (placed("<piece ", "]]><piece "), UNREADABLE),
    (placed("<piece ", '<piece foo="]]>" '), UNREADABLE),
    (placed("<piece ", '<piece foo="]]&gt;" '), PLAYED),
    # escaped names
    (placed("piece", "p_.0069ece"), PLAYED),
    (placed("<position", "<pos_.0069tion"), PLAYED),
    (placed("isFlipped=", "isFl_.0069pped="), PLAYED),
    (placed('isFlipped="false"', 'isFlipped="false" isFl_.0069pped="false"'), UNREADABLE),
    (placed(' x="0"', ' _.0078="0"'), UNREADABLE),
    (placed("kind=", "k_.0069nd="), UNREADABLE),
    (placed("rotation=", "rot_.0061tion="), UNREADABLE),
    (placed("color=", "col_.006Fr="), UNREADABLE),
    (placed("<piece ", '<piece a_-b="" a__b="" _.0061="" '), PLAYED),
    (placed("<piece ", '<piece a_.00="" '), UNREADABLE),
    (placed("<piece ", '<piece a_.zzzz="" '), UNREADABLE),
    (placed("<piece ", '<piece cl_.0061ss="foo" '), PLAYED),
    (placed().replace("class=", "cl_.0061ss="), UNREADABLE),
    (placed().replace("data", "d_.0061ta"), PLAYED),
    # classes
    (placed("<piece ", '<piece class="piece" '), PLAYED),
    (placed("<piece ", '<piece class="PACKAGE.Piece" '), PLAYED),
    (placed("<piece ", '<piece resolves-to="piece" class="foo" '), PLAYED),
    (placed("<piece ", '<piece class="foo" '), UNREADABLE),
    (placed("<piece ", '<piece class="null" '), INCOMPLETE),
    (placed("<piece ", '<piece defined-in="foo" '), UNREADABLE),
    (placed().replace('class="PACKAGE.SetMove"', 'resolves-to="PACKAGE.SetMove"'), PLAYED),
    (placed().replace('class="PACKAGE.SetMove"', 'class="PACKAGE.SetMove" xsi:type="x"'), PLAYED),
    (placed().replace("PACKAGE.SetMove", "setmove"), UNREADABLE),
    (placed().replace("PACKAGE.SetMove", "SetMove"), UNREADABLE),
    (placed().replace("PACKAGE.SetMove", "PACKAGE.setmove"), UNREADABLE),
    (placed().replace("PACKAGE.SetMove", " PACKAGE.SetMove"), UNREADABLE),
    (placed().replace("PACKAGE.SetMove", "PACKAGE.Move"), UNREADABLE),
    (placed().replace("PACKAGE.SetMove", ""), UNREADABLE),
    (placed().replace('class="PACKAGE.SetMove"', 'type="PACKAGE.SetMove"'), UNREADABLE),
    (placed().replace("PACKAGE.SetMove", "room"), UNREADABLE),
    ("<data/>", UNREADABLE),
    ("<PACKAGE.SetMove/>", UNREADABLE),
    ('<Data class="PACKAGE.SkipMove"/>', UNREADABLE),
    # skips; in the first turn a colour may not skip
    (skipped("<color>BLUE</color>"), LOST),
    (skipped(), LOST),
    (skipped(attributes=' color="BLUE"'), LOST),
    (skipped("BLUE"), LOST),
    (skipped('<color class="null"/>'), LOST),
    (skipped("<color/>"), UNREADABLE),
    (skipped('<color name="BLUE"/>'), UNREADABLE),
    (skipped("<color> BLUE </color>"), UNREADABLE),
    (skipped("<color>BLUE</color><color>BLUE</color>"), UNREADABLE),
    (skipped('<color>BLUE</color><hint content="x"/>'), UNREADABLE),
    (skipped("<Color>BLUE</Color>"), UNREADABLE),
    # no moves
    ("", REFUSED),
    ('<data class="null"/>', REFUSED),
    ('<data class="paused" paused="true"/>', REFUSED),
    ('<data class="paused"><paused>true</paused></data>', REFUSED),
    ('<data class="paused"><foo/></data>', UNREADABLE),
    ('<data class="memento"/>', REFUSED),
    ('<data class="memento" foo="1">x</data>', REFUSED),
    ('<data class="memento"><state class="null"/><perspective><x/></perspective></data>', REFUSED),
    ('<data class="memento"><state/></data>', UNREADABLE),
    ('<data class="memento"><foo/></data>', UNREADABLE),
    ('<data class="sc.protocol.room.MementoMessage"/>', REFUSED),
    ('<data class="welcomeMessage"/>', REFUSED),
    ('<data class="welcomeMessage" color="any"/>', REFUSED),
    ('<data class="welcomeMessage"><color>ONE<x/></color></data>', REFUSED),
    ('<data class="welcomeMessage" color="ONE"><foo/></data>', UNREADABLE),
    ('<data class="error"/>', REFUSED),
    ('<data class="error"><message>m</message></data>', REFUSED),
    ('<data class="error" message="m"><originalMessage class="paused"/></data>', REFUSED),
    ('<data class="error"><originalMessage class="null"/></data>', REFUSED),
    ('<data class="error"><originalMessage/></data>', UNREADABLE),
    ('<data class="string">x</data>', UNREADABLE),
]


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(("data", "outcome"), MOVES)
async def test_a_packet_of_the_player_on_turn(
    edition: str, data: str, outcome: Outcome, autojump_clock: object
) -> None:
    async with open_harness(edition) as harness:
        game = await harness.game()
        data = data.replace("PACKAGE", EDITIONS[edition])
        await game.one.send(f'<room roomId="{game.id}">{data}</room>')
        assert await outcome_of(harness, game, edition) is outcome


@pytest.mark.parametrize("edition", EDITIONS)
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


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("text", "is_flipped"),
    [
        *((text, True) for text in ("true", "True", "TRUE", "tRuE")),
        *((text, False) for text in ("false", "False", "0", "1", "yes", "on", "", " true", "true ", "wahr")),
    ],
)
async def test_every_text_is_a_boolean(edition: str, text: str, is_flipped: bool, autojump_clock: object) -> None:
    async with open_harness(edition) as harness:
        game = await harness.game()
        data = placed("false", text).replace("PACKAGE", EDITIONS[edition])
        await game.one.send(f'<room roomId="{game.id}">{data}</room>')
        (played,) = harness.happened(events.MovePlayed)
        assert isinstance(played.move, SetMove)
        assert played.move.is_flipped is is_flipped


@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_request_of_our_own_is_unknown_unless_an_administrator_sends_it(
    edition: str, autojump_clock: object
) -> None:
    async with open_harness(edition) as harness:
        game = await harness.game()
        await game.admin.send("<status/>")
        assert b"<status>" in await game.admin.receive()
        stranger = await harness.call()
        await stranger.send("<protocol><status>")
        assert stranger.is_ended
        told = html.unescape((await stranger.receive()).decode())
        assert ("<status> is not a packet of this protocol" in told) is (edition == "blokus-2027")
        await game.two.send("<status/>")
        assert game.two.is_ended
        (ended,) = harness.happened(events.GameEnded)
        assert ended.result.winners == (0,)
        assert ended.result.scores[1].cause is Cause.LEFT
        assert game.admin.is_ended is False


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


async def test_a_piece_without_color_and_shape_is_repeated_as_far_as_it_goes(autojump_clock: object) -> None:
    async with open_harness("blokus-2027") as harness:
        game = await harness.game()
        piece = '<piece rotation="LEFT" isFlipped="TRUE"><position x="0x3"/></piece>'
        await game.one.send(f'<room roomId="{game.id}"><data class="sc.plugin2027.SetMove">{piece}</data></room>')
        received = html.unescape((await game.one.receive()).decode())
        assert "move=Setze null(null, gedreht um 270°, gespiegelt)[3,0])" in received
        assert '<piece rotation="LEFT" isFlipped="true">\n          <position x="3" y="0"/>' in received


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


def written(move: SetMove | SkipMove, package: str, rng: random.Random) -> str:
    """Return the data of a move in a form that no client writes every time, but that the releases accept."""

    def name(member: enum.Enum) -> str:
        return "".join(rng.choice((each.upper(), each.lower())) for each in member.name)

    def number(value: int) -> str:
        sign, size = "-" if value < 0 else rng.choice(("", "+")), abs(value)
        return sign + rng.choice((f"{size}", f"0x{size:x}", f"#{size:X}", f"0{size:o}"))

    def element(tag: str, values: dict[str, tuple[str, str]], children: str = "") -> str:
        """Return an element whose values, as attributes or as children, are in any order."""
        attributes = ""
        for key, (as_attribute, as_child) in rng.sample(sorted(values.items()), len(values)):
            if rng.random() < 0.5:
                quote = rng.choice("'\"")
                attributes += f"{rng.choice((' ', chr(10), '  '))}{key} = {quote}{as_attribute}{quote}"
            else:
                children += f"{rng.choice(('', ' ', '<!-- c -->', 'text'))}<{key}>{as_child}</{key}>"
        return f'<{tag} unknown="x"{attributes} >{children}</{tag} >'

    if isinstance(move, SkipMove):
        assert move.color is not None
        return f'<data class="{package}.SkipMove"><color>{name(move.color)}</color></data>'
    flag = "".join(rng.choice((each.upper(), each)) for each in ("true" if move.is_flipped else "false"))
    position = element("position", {"x": (number(move.x),) * 2, "y": (number(move.y),) * 2})
    piece = element(
        "piece",
        {
            "color": (move.color.name, name(move.color)),
            "kind": (move.shape.name, name(move.shape)),
            "rotation": (move.rotation.name, name(move.rotation)),
            "isFlipped": (flag, flag),
        },
        position,
    )
    return f'<data class="{package}.SetMove">{piece}</data>'


@pytest.mark.slow
@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_whole_game_in_all_accepted_forms(edition: str, autojump_clock: object) -> None:
    rng = random.Random(edition)
    async with open_harness(edition) as harness:
        game = await harness.game()
        while not harness.happened(events.GameEnded):
            state = game.room.state
            assert isinstance(state, BlokusState)
            moves = list(state.generate_legal_moves())
            data = written(rng.choice(moves), EDITIONS[edition], rng)
            player = (game.one, game.two)[state.seat_on_turn]
            await player.send(f"<room roomId='{game.id}' >{data}</room>{rng.choice(('', chr(10), ' '))}")
        (ended,) = harness.happened(events.GameEnded)
        assert [score.cause for score in ended.result.scores] == [Cause.REGULAR] * 2
        assert len(harness.happened(events.MovePlayed)) > 40
        assert harness.happened(events.ProtocolBroken) == []
        assert not game.one.is_ended
