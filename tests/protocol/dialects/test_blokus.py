"""Texts, moves and positions of Blokus."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Final, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from msgspec.structs import replace

from spielleiter.game.api import Move
from spielleiter.game.blokus.moves import IncompleteMove, IncompletePiece, SetMove, SkipMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.game.blokus.state import BLOKUS_2021, BlokusState
from spielleiter.game.hase_und_igel import HASE_UND_IGEL_2018
from spielleiter.protocol.connection import Connection, ConnectionClosed, Role
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects import blokus
from spielleiter.protocol.dialects.blokus import describe_move
from spielleiter.protocol.dialects.blokus_2021 import (
    BLOKUS_2021_R1,
    BLOKUS_2021_R2,
    BLOKUS_2021_R3,
    BLOKUS_2021_RELEASE,
)
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027
from spielleiter.protocol.errors import LocalProtocolError, Refusal, RemoteProtocolError
from spielleiter.protocol.limits import AFTER_JOIN
from spielleiter.protocol.messages import Memento, MoveData, RoomMessage, UnreadableData
from spielleiter.protocol.values import Element
from spielleiter.protocol.writer import typed_element
from tests.example_counts import examples
from tests.protocol.streams import (
    LATEST,
    ONE_LINE_MOVE,
    Cut,
    byte_by_byte,
    data_of,
    decode,
    in_random_pieces,
    outcomes,
    whole,
)


def placed(color: Color, shape: Shape, rotation: Rotation, flipped: bool, x: int = 0, y: int = 0) -> SetMove:
    return SetMove(color, shape, rotation, flipped, x, y)


def half(color: Color | None, shape: Shape | None, rotation: Rotation = Rotation.NONE) -> IncompleteMove:
    return IncompleteMove(IncompletePiece(color, shape, rotation, rotation is Rotation.LEFT, 3, -4))


@pytest.mark.parametrize(
    ("move", "described"),
    [
        (placed(Color.BLUE, Shape.PENTO_U, Rotation.NONE, False, -1, 20), "Setze PENTO_U(Farbe Blau)[-1,20]"),
        (placed(Color.RED, Shape.MONO, Rotation.MIRROR, False), "Setze MONO(Farbe Rot, gedreht um 180°)[0,0]"),
        (placed(Color.GREEN, Shape.MONO, Rotation.NONE, True), "Setze MONO(Farbe Grün, gespiegelt)[0,0]"),
        (SkipMove(Color.YELLOW), "Farbe Gelb setzt aus"),
        (IncompleteMove(is_skip=True), "null setzt aus"),
        (IncompleteMove(), "Setze null"),
        (half(None, None, Rotation.LEFT), "Setze null(null, gedreht um 270°, gespiegelt)[3,-4]"),
        (half(Color.RED, None), "Setze null(Farbe Rot)[3,-4]"),
        (half(None, Shape.MONO), "Setze MONO(null)[3,-4]"),
        (None, "null"),
    ],
)
def test_a_move_is_described(move: Move | None, described: str) -> None:
    assert describe_move(move) == described


PIECE = '<piece color="BLUE" kind="PENTO_U" rotation="RIGHT" isFlipped="true"><position x="7" y="-1"/></piece>'
MOVE = SetMove(Color.BLUE, Shape.PENTO_U, Rotation.RIGHT, True, 7, -1)
COLORS = "BLUE, YELLOW, RED, GREEN"


def parse(text: str) -> Element:
    return cast("Element", etree.fromstring(text.strip()))


def read(class_name: str, children: str, notes: list[str] | None = None) -> Any:
    return data_of(BLOKUS_2021_R3, f'<room roomId="r"><data class="{class_name}">{children}</data></room>', notes)


def read_set_move(children: str) -> Any:
    return read("sc.plugin2021.SetMove", children)


# -- moves ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("children", "move"),
    [
        (PIECE.replace('"true"', '"True"'), MoveData(MOVE)),
        (PIECE.replace(' isFlipped="true"', ""), MoveData(replace(MOVE, is_flipped=False))),
        (
            '<piece isFlipped="true" rotation="RIGHT" kind="PENTO_U" color="BLUE">\n<position y="-1" x="7"/></piece>',
            MoveData(MOVE),
        ),
        ('<hint content="a &lt; b"/>' + PIECE + '\n<hint content=""/><hint/>', MoveData(MOVE, ("a < b", "", ""))),
    ],
)
def test_a_set_move_is_read(children: str, move: MoveData) -> None:
    assert read_set_move(children) == move


@pytest.mark.parametrize(
    ("children", "move"),
    [
        ("<color>RED</color>", MoveData(SkipMove(Color.RED))),
        ("<color>\n RED </color>", MoveData(SkipMove(Color.RED))),
        ("", MoveData(SkipMove())),
        ('<hint content="x"/><color>GREEN</color><hint content="y"/>', MoveData(SkipMove(Color.GREEN), ("x", "y"))),
    ],
)
def test_a_skip_is_read(children: str, move: MoveData) -> None:
    assert read("sc.plugin2021.SkipMove", children) == move


UNREADABLE = [
    ("SetMove", "", "im Element data fehlt das Element piece"),
    ("SetMove", "<piece/>", "im Element piece fehlt das Element position"),
    (
        "SetMove",
        PIECE.replace(' kind="PENTO_U"', ""),
        f"im Element piece fehlt das Attribut kind; erlaubt: {', '.join(Shape.__members__)}",
    ),
    ("SetMove", PIECE.replace("BLUE", "PURPLE"), f'piece color="PURPLE" gibt es nicht; erlaubt: {COLORS}'),
    (
        "SetMove",
        PIECE.replace(' rotation="RIGHT"', ""),
        "im Element piece fehlt das Attribut rotation; erlaubt: NONE, RIGHT, MIRROR, LEFT",
    ),
    ("SetMove", PIECE.replace('x="7"', 'x="sieben"'), 'position x="sieben" ist keine ganze Zahl'),
    ("SetMove", PIECE.replace(' x="7"', ""), "im Element position fehlt das Attribut x (eine ganze Zahl)"),
    (
        "SetMove",
        PIECE.replace('y="-1"', 'y="4294967296"'),
        'position y="4294967296" liegt nicht zwischen -2147483648 und 2147483647',
    ),
    ("SkipMove", "<color>rot</color>", f'"rot" im Element color gibt es nicht; erlaubt: {COLORS}'),
    ("SkipMove", "<color/>", f'"" im Element color gibt es nicht; erlaubt: {COLORS}'),
]


@pytest.mark.parametrize(("name", "children", "problem"), UNREADABLE)
def test_an_unreadable_move_says_exactly_what_was_wrong(name: str, children: str, problem: str) -> None:
    class_name = f"sc.plugin2021.{name}"
    assert read(class_name, children) == UnreadableData(class_name, problem)


@pytest.mark.parametrize(
    ("children", "note"),
    [
        (PIECE + "<x/>", "<x> in <data>"),
        (PIECE + PIECE, "<piece> in <data>"),
        (PIECE.replace("</piece>", "<x/></piece>"), "<x> in <piece>"),
        (PIECE.replace("/></piece>", "><x/></position></piece>"), "<x> in <position>"),
        (PIECE + "<hint><x/></hint>", "<x> in <hint>"),
    ],
)
def test_unknown_children_of_a_move_are_skipped(children: str, note: str) -> None:
    notes: list[str] = []
    data = read("sc.plugin2021.SetMove", children, notes)
    assert isinstance(data, MoveData)
    assert (data.move, notes) == (MOVE, [note])


def test_a_move_is_written_as_the_official_client_does() -> None:
    packet = RoomMessage("r", MoveData(SetMove(Color.BLUE, Shape.PENTO_U, Rotation.NONE, False, 7, 7), ("a&b",)))
    assert BLOKUS_2021_R3.encode(packet).decode() == (
        '\n  <room roomId="r">'
        '\n    <data class="sc.plugin2021.SetMove">'
        '\n      <piece color="BLUE" kind="PENTO_U" rotation="NONE" isFlipped="false">'
        '\n        <position x="7" y="7"/>'
        "\n      </piece>"
        '\n      <hint content="a&amp;b"/>'
        "\n    </data>"
        "\n  </room>"
    )
    skip = RoomMessage("r", MoveData(SkipMove()))
    assert b'<data class="sc.plugin2021.SkipMove"/>' in BLOKUS_2021_R3.encode(skip)


@dataclass(frozen=True)
class ForeignMove:
    """A move of another game."""


def test_a_move_of_another_game_cannot_be_written() -> None:
    with pytest.raises(LocalProtocolError, match="not a move of Blokus: ForeignMove"):
        BLOKUS_2021_R3.encode(RoomMessage("r", MoveData(ForeignMove())))


# -- games that are played on -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", [8, 96, 100, 103, 400])
def test_a_game_that_is_played_on_is_not_over(turn: int) -> None:
    """A client asked for a move knows that the game goes on, whatever the options of the server's rules are."""
    start = BLOKUS_2021.new_state(random.Random(1))
    remaining = (0, *start.remaining_masks[1:])
    state = replace(start, turn=turn, remaining_masks=remaining, valid_mask=0b1110)
    assert state.outcome() is not None
    continued = blokus.played_on(state)
    assert continued.outcome() is None
    assert replace(cast("BlokusState", continued), rules=state.rules) == state
    foreign = HASE_UND_IGEL_2018.new_state(random.Random(1))
    assert blokus.played_on(foreign) is foreign


# -- moves in the plain form ------------------------------------------------------------------------------------------

EDITIONS = [BLOKUS_2021_R3, BLOKUS_2021_RELEASE, BLOKUS_2021_R1, BLOKUS_2021_R2, BLOKUS_2027]
FIRST = b"<protocol>\n<join gameType='x'/>"

blanks = st.text(" \t\r\n", max_size=3).map(str.encode)
quotes = st.sampled_from([b'"', b'"', b'"', b"'"])


def messages_of(dialect: Dialect, stream: bytes, cut: Cut = whole) -> list[object]:
    """The messages read from a stream, and the refusal that ends it, with its explanation."""
    connection = Connection(Role.SERVER, dialect, AFTER_JOIN)
    found = [
        (each.refusal, str(each), each.original) if isinstance(each, RemoteProtocolError) else each
        for each in outcomes(connection, cut(stream))
        if not isinstance(each, ConnectionClosed)
    ]
    return [*found, connection.ignored]


def in_full(dialect: Dialect) -> Dialect:
    return dialect.evolve(plain_forms=())


@st.composite
def written_moves(draw: st.DrawFn) -> bytes:
    """A move as a client may write it, in most cases in the plain form."""

    def tag(name: bytes, *attributes: tuple[bytes, bytes], end: bytes = b">") -> bytes:
        text = b"<" + name
        for key, value in draw(st.permutations(attributes)):
            quote = draw(quotes)
            text += draw(blanks) + b" " + key + b"=" + quote + value + quote
        return draw(blanks) + text + draw(blanks) + end

    odd = st.sampled_from(
        [b""] * 12 + [b"<!-- x -->", b'<hint content="h"/>', b"text", b"<x/>", b"&#32;", b"<![CDATA[]]>"]
    )
    name = st.sampled_from([b"BLUE", b"GREEN", b"blue", b"PENTO_X", b""])
    piece = [
        (b"color", draw(st.sampled_from([b"RED"] * 4) | name)),
        (b"kind", draw(st.sampled_from([b"PENTO_X", b"MONO", b"TETRO_T", b"DOMINO"]) | name)),
        (b"rotation", draw(st.sampled_from([b"NONE", b"LEFT", b"RIGHT", b"MIRROR"]) | name)),
        (b"isFlipped", draw(st.sampled_from([b"true", b"false", b"True", b"FALSE", b"no", b" true "]))),
    ]
    number = st.integers(-30, 30).map(lambda x: b"%d" % x) | st.sampled_from(
        [b"+1", b" 2", b"007", b"99999999999", b"-", b"x"]
    )
    position = [(b"x", draw(number)), (b"y", draw(number))]
    for attributes in (piece, position):
        match draw(st.sampled_from(["all"] * 6 + ["one more", "one less"])):
            case "one more":
                attributes.append((b"more", b"1"))
            case "one less":
                attributes.pop(draw(st.integers(0, len(attributes) - 1)))
    package = draw(st.sampled_from([b"sc.plugin2021", b"sc.plugin2021", b"sc.plugin2027"]))
    end = draw(st.sampled_from([(b"/>", b""), (b">", b"</position>")]))
    return b"".join(
        [
            tag(b"room", (b"roomId", draw(st.sampled_from([b"a-1", b"a-1", b"&amp;", b"\xc3\xa4"])))),
            tag(b"data", (b"class", package + b".SetMove")),
            draw(odd),
            tag(b"piece", *piece),
            draw(odd),
            tag(b"position", *position, end=end[0]),
            end[1],
            *(draw(blanks) + b"</" + name + draw(blanks) + b">" + draw(odd) for name in (b"piece", b"data", b"room")),
            draw(blanks),
        ]
    )


@pytest.mark.no_cover
@pytest.mark.slow
@settings(max_examples=examples(120))
@given(st.lists(written_moves(), min_size=1, max_size=3), st.sampled_from(EDITIONS), st.integers(0, 99))
def test_the_result_does_not_depend_on_the_plain_form(packets: list[bytes], dialect: Dialect, seed: int) -> None:
    stream = FIRST + b"".join(packets)
    expected = messages_of(in_full(dialect), stream)
    for cut in (whole, byte_by_byte, lambda each: in_random_pieces(each, seed, 100)):
        assert messages_of(dialect, stream, cut) == expected


NUMBERS = ["07", "00", "-0", "-07", "+7", "0x7", "7 ", "08", "１"]


@pytest.mark.parametrize("dialect", EDITIONS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        *[('x="7"', f'x="{number}"') for number in NUMBERS],
        ('color="BLUE"', 'kind="BLUE"'),
        ('x="7"', 'y="8"'),
        ("BLUE", "BLACK"),
        ("PENTO_U", "PENTO_Q"),
        ("NONE", "UP"),
    ],
)
def test_unusual_moves_are_read_as_the_tables_read_them(dialect: Dialect, old: str, new: str) -> None:
    package = dialect.move_classes[0].rpartition(".")[0]
    packet = ONE_LINE_MOVE.decode().replace("sc.plugin2021", package).replace(old, new).encode()
    assert messages_of(dialect, FIRST + packet) == messages_of(in_full(dialect), FIRST + packet)


# -- moves, as the releases read them ---------------------------------------------------------------------------------

DIALECTS: Final = {"sc.plugin2027": BLOKUS_2027, "sc.plugin2021": BLOKUS_2021_RELEASE}
COORDINATES: Final = {"sc.plugin2027": "sc.api.plugins.Coordinates", "sc.plugin2021": "sc.plugin2021.Coordinates"}

packages = pytest.mark.parametrize("package", DIALECTS)


def room(package: str, name: str, content: str) -> str:
    return f'<room roomId="r"><data class="{package}.{name}">{content}</data></room>'


RELEASE_PIECE: Final = (
    '<piece color="RED" kind="MONO" rotation="LEFT" isFlipped="TRUE"><position x="0x10" y="-1"/></piece>'
)
RELEASE_MOVE: Final = SetMove(Color.RED, Shape.MONO, Rotation.LEFT, True, 16, -1)
HALF: Final = '<piece rotation="LEFT"><position/></piece>'


@packages
@pytest.mark.parametrize(
    ("name", "content", "move"),
    [
        ("SetMove", RELEASE_PIECE, RELEASE_MOVE),
        ("SetMove", RELEASE_PIECE.replace("<piece ", '<piece class="PACKAGE.Piece" '), RELEASE_MOVE),
        ("SetMove", RELEASE_PIECE.replace("<position ", '<position class="COORDINATES" '), RELEASE_MOVE),
        ("SetMove", RELEASE_PIECE.replace("</piece>", "<_shape><x/></_shape></piece>"), RELEASE_MOVE),
        ("SkipMove", "<color>red</color>", SkipMove(Color.RED)),
        ("SkipMove", '<color class="PACKAGE.Color">RED</color>', SkipMove(Color.RED)),
        ("SkipMove", "", IncompleteMove(is_skip=True)),
        ("SetMove", "", IncompleteMove()),
        ("SetMove", HALF, IncompleteMove(IncompletePiece(None, None, Rotation.LEFT, False, 0, 0))),
    ],
)
def test_moves_as_the_release_reads_them(package: str, name: str, content: str, move: Move) -> None:
    content = content.replace("PACKAGE", package).replace("COORDINATES", COORDINATES[package])
    data = data_of(DIALECTS[package], room(package, name, content))
    assert data.move == move
    assert (data.problem is not None) is isinstance(move, IncompleteMove)


@packages
@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("SkipMove", "", "im Element data fehlt das Element color"),
        ("SetMove", "", "im Element data fehlt das Element piece"),
        ("SetMove", HALF, "im Element piece fehlt das Attribut color; erlaubt: BLUE, YELLOW, RED, GREEN"),
        (
            "SetMove",
            HALF.replace("<piece", '<piece color="RED"'),
            f"im Element piece fehlt das Attribut kind; erlaubt: {', '.join(Shape.__members__)}",
        ),
    ],
)
def test_what_is_missing_is_named(package: str, name: str, content: str, problem: str) -> None:
    data = data_of(DIALECTS[package], room(package, name, content))
    assert data.problem == problem


@packages
@pytest.mark.parametrize(
    ("content", "refusal", "problem"),
    [
        ("<piece/>", Refusal.INCOMPLETE_PACKET, "im Element piece fehlt das Attribut rotation; erlaubt: NONE, RIGHT, "),
        (
            RELEASE_PIECE.replace("position", "place"),
            Refusal.UNREADABLE_PACKET,
            "unbekanntes Element <place> in <piece>",
        ),
        ('<piece rotation="NONE"/>', Refusal.INCOMPLETE_PACKET, "im Element piece fehlt das Element position"),
        (
            RELEASE_PIECE.replace("RED", "red"),
            Refusal.UNREADABLE_PACKET,
            'piece color="red" gibt es nicht; erlaubt: BLUE',
        ),
    ],
)
def test_moves_that_cannot_be_read(package: str, content: str, refusal: Refusal, problem: str) -> None:
    with pytest.raises(RemoteProtocolError) as error:
        decode(DIALECTS[package], room(package, "SetMove", content))
    assert error.value.refusal is refusal
    assert str(error.value).startswith(f"<room> cannot be read: {problem}")
    original = error.value.original
    assert isinstance(original, RoomMessage)
    assert isinstance(original.data, UnreadableData)
    assert original.data.is_incomplete is (refusal is Refusal.INCOMPLETE_PACKET)


# -- positions --------------------------------------------------------------------------------------------------------


def memento_of(packet: bytes | str) -> Any:
    return data_of(BLOKUS_2021_R3, packet)


def test_a_position_of_another_game_cannot_be_written() -> None:
    with pytest.raises(LocalProtocolError, match="not a BlokusState: 'chess'"):
        BLOKUS_2021_R3.encode(RoomMessage("r", Memento("chess")))  # type: ignore[arg-type]


STATE = LATEST["memento_turn1"].decode()
MONO = (
    "<lastMoveMono><entry><color>BLUE</color><boolean>true</boolean></entry>"
    "<entry><boolean>false</boolean><color>GREEN</color></entry></lastMoveMono>"
)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("state", "x", "im Element data fehlt das Element state"),
        ("board>", "x>", "im Element state fehlt das Element board"),
        ("greenShapes>", "x>", "im Element state fehlt das Element greenShapes"),
        ('startPiece="PENTO_L"', 'startPiece="X"', 'state startPiece="X" gibt es nicht; erlaubt: MONO, DOMINO'),
        ('turn="1"', "", "im Element state fehlt das Attribut turn (eine ganze Zahl)"),
        ('turn="1"', 'turn="-1"', 'state turn="-1" ist kleiner als 0'),
        ("<shape>MONO</shape>", "<shape>STEREO</shape>", '"STEREO" im Element shape gibt es nicht; erlaubt: MONO'),
        ("<color>BLUE</color>", "<color>PINK</color>", '"PINK" im Element color gibt es nicht; erlaubt: BLUE'),
        ('x="18" y="0" content="BLUE"', 'x="20" y="0" content="BLUE"', "field (20, 0) liegt nicht auf dem Spielfeld"),
        ('x="18" y="0" content="BLUE"', 'x="+1" y="0" content="BLUE"', "field (1, 0) liegt nicht auf dem Spielfeld"),
        ('x="18" y="0" content="BLUE"', 'x="a" y="0" content="BLUE"', 'field x="a" ist keine ganze Zahl'),
        ('content="BLUE"', 'content="EMPTY"', f'field content="EMPTY" gibt es nicht; erlaubt: {COLORS}'),
        ('content="BLUE"', "", f"im Element field fehlt das Attribut content; erlaubt: {COLORS}"),
        ('kind="PENTO_L"', 'kind="L"', 'piece kind="L" gibt es nicht; erlaubt: MONO'),
        (
            'class="sc.plugin2021.SetMove"',
            'class="paused"',
            "lastMove ist kein Zug; erlaubt: sc.plugin2021.SetMove, sc.plugin2021.SkipMove",
        ),
        ("<lastMoveMono/>", "<lastMoveMono><entry/></lastMoveMono>", "im Element entry fehlt color oder boolean"),
    ],
)
def test_a_position_that_cannot_be_read_says_why(old: str, new: str, problem: str) -> None:
    assert old in STATE
    data = memento_of(STATE.replace(old, new))
    assert isinstance(data, UnreadableData)
    assert data.class_name == "memento"
    assert data.problem.startswith(problem)


def test_optional_children_may_be_missing() -> None:
    root = etree.fromstring(STATE.strip())
    state = root[0][0]
    for tag in ("startTeam", "validColors", "first", "second", "lastMove", "lastMoveMono"):
        child = state.find(tag)
        assert child is not None
        state.remove(child)
    memento = memento_of(etree.tostring(root))
    assert (memento.state.valid_mask, memento.state.last_move, memento.state.mono_last) == (15, None, (None,) * 4)
    assert memento.names == ("", "")


def test_a_position_is_written_and_read_again_with_an_indent_of_its_own() -> None:
    """No other test uses this indent, for which each field is written once."""
    memento = memento_of(STATE)
    written = BLOKUS_2021_R3.encode(RoomMessage("r", memento), "\n\t")
    assert b'\n\t        <field x="18" y="0" content="BLUE"/>' in written
    assert memento_of(written) == memento


@given(
    st.builds(
        SetMove,
        st.sampled_from(Color),
        st.sampled_from(Shape),
        st.sampled_from(Rotation),
        st.booleans(),
        st.integers(-1, 20),
        st.integers(-1, 20),
    )
    | st.builds(SkipMove, st.sampled_from(Color)),
    st.sampled_from([(), ("a hint", "<&>")]),
    st.sampled_from([*EDITIONS, BLOKUS_2021_RELEASE]),
)
def test_the_last_move_is_written_as_the_tables_write_a_move(
    move: SetMove | SkipMove, hints: tuple[str, ...], dialect: Dialect
) -> None:
    state = replace(memento_of(STATE).state, last_move=move)
    written = dialect.encode(RoomMessage("r", Memento(state, hints=hints)))
    in_full = typed_element("\n        ", "lastMove", dialect.data_body(MoveData(move, hints), "\n          "))
    assert in_full.encode() in written


def test_entries_in_any_order() -> None:
    assert memento_of(STATE.replace("<lastMoveMono/>", MONO)).state.mono_last == (True, None, None, False)


@pytest.mark.parametrize("tag", ["state", "board", "blueShapes", "validColors", "lastMove"])
def test_unknown_children_of_a_position_are_skipped(tag: str) -> None:
    notes: list[str] = []
    text = STATE.replace(f"</{tag}>", f"<x/></{tag}>")
    assert BLOKUS_2021_R3.decode(parse(text), notes.append) == BLOKUS_2021_R3.decode(parse(STATE))
    assert notes == [f"<x> in <{tag}>"]
