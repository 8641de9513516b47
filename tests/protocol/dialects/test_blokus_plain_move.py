"""The plain form reads exactly what the parser and the tables read from the same bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.game.blokus.moves import SetMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.protocol.connection import Connection, ConnectionClosed, Role
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects.blokus_2021 import (
    BLOKUS_2021_R1,
    BLOKUS_2021_R2,
    BLOKUS_2021_R3,
    BLOKUS_2021_RELEASE,
)
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027
from spielleiter.protocol.errors import RemoteProtocolError
from spielleiter.protocol.limits import AFTER_JOIN
from spielleiter.protocol.messages import MoveData, RoomMessage
from tests.example_counts import examples
from tests.protocol import strategies
from tests.protocol.streams import ONE_LINE_MOVE, Cut, byte_by_byte, in_random_pieces, outcomes, whole

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


@given(strategies.set_moves)
def test_moves_written_by_this_project_have_the_form(move: SetMove) -> None:
    for dialect in (BLOKUS_2021_R3, BLOKUS_2027):
        packet = dialect.encode(RoomMessage("a-1", MoveData(move)))
        match = dialect.plain_forms[0].pattern.fullmatch(packet)
        is_short = all(-9999 <= number <= 9999 for number in (move.x, move.y))
        assert (match is not None) is is_short
        if match is not None:
            assert dialect.plain_forms[0].read(match) == RoomMessage("a-1", MoveData(move))


def test_a_move_on_one_line_has_the_form() -> None:
    match = BLOKUS_2021_R3.plain_forms[0].pattern.fullmatch(ONE_LINE_MOVE)
    assert match is not None
    expected = SetMove(Color.BLUE, Shape.PENTO_U, Rotation.NONE, False, 7, 7)
    assert BLOKUS_2021_R3.plain_forms[0].read(match) == RoomMessage("r", MoveData(expected))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'color="BLUE"', b'kind="BLUE"'),
        (b'x="7"', b'y="8"'),
        (b"BLUE", b"BLACK"),
        (b"PENTO_U", b"PENTO_Q"),
        (b"NONE", b"UP"),
    ],
)
def test_invalid_moves_are_left_to_the_tables(old: bytes, new: bytes) -> None:
    packet = ONE_LINE_MOVE.replace(old, new)
    match = BLOKUS_2021_R3.plain_forms[0].pattern.fullmatch(packet)
    assert match is not None
    assert BLOKUS_2021_R3.plain_forms[0].read(match) is None
    assert messages_of(BLOKUS_2021_R3, FIRST + packet) == messages_of(in_full(BLOKUS_2021_R3), FIRST + packet)


def test_a_move_of_another_season_does_not_have_the_form() -> None:
    assert BLOKUS_2027.plain_forms[0].pattern.match(ONE_LINE_MOVE) is None


@pytest.mark.parametrize("dialect", EDITIONS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("number", ["07", "010", "00", "-0", "-07", "+7", "0x7", "7 ", "08", "１"])
def test_unusual_numbers_are_read_as_the_tables_read_them(dialect: Dialect, number: str) -> None:
    package = dialect.move_classes[0].rpartition(".")[0].encode()
    packet = ONE_LINE_MOVE.replace(b"sc.plugin2021", package).replace(b'x="7"', f'x="{number}"'.encode())
    assert messages_of(dialect, FIRST + packet) == messages_of(in_full(dialect), FIRST + packet)
