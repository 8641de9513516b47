"""The lines of some bytes: where they break, what is escaped, and what is marked."""

from __future__ import annotations

import pytest

from spielleiter.server.tracing import TO_SERVER
from spielleiter.wire.conversation import find_passwords
from spielleiter.wire.trace_lines import Mark, head_of, packet_lines

HEAD = head_of(12.0345678, 0.0021, "c3", TO_SERVER)
ROOM = '<room roomId="7b40729d-1d82-4718-8dcb-08bd5eaada5e">'


def lines(data: bytes, *faults: Mark, left_out: int = 0) -> list[str]:
    """The lines after the columns."""
    found = list(packet_lines(HEAD, data, find_passwords(data), faults, left_out))
    assert found[0].startswith(HEAD)
    assert all(line.startswith(" " * len(HEAD)) for line in found[1:])
    return [line[len(HEAD) :] for line in found]


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"<join/>", [" <join/>"]),
        (b"\n  <join/>", ["|  <join/>"]),
        (b"\n", ["|"]),
        (b"\n\n<a/>", ["|", "|<a/>"]),
        (b"<a/>\r\n", [" <a/>\\r", "|"]),
        (b"(FIN)", [" \\x28FIN)"]),
        (b"\n(FIN)", ["|\\x28FIN)"]),
        (b"a\\n\t\x1b[1m\xff\xc3\xbc\xe2\x80\xae", [r" a\\n\t\x1b[1m\xffü\xe2\x80\xae"]),
        (b"<a> \n  </a>", [" <a>\\x20", "|  </a>"]),
        (b"", [" "]),
    ],
)
def test_every_byte_is_visible(data: bytes, shown: list[str]) -> None:
    assert lines(data) == shown


def test_a_long_line_is_divided_between_elements() -> None:
    data = f'{ROOM}<data class="sc.plugin2027.SetMove"><piece kind="MONO"/><text></text></data></room>'
    assert lines(data.encode()) == [
        f" {ROOM}",
        ':  <data class="sc.plugin2027.SetMove">',
        ':    <piece kind="MONO"/>',
        ":    <text></text>",
        ":  </data>",
        ":</room>",
    ]


def test_short_elements_one_below_the_other_share_a_line() -> None:
    shapes = [f"      <shape>PENTO_{letter}</shape>" for letter in "LTVSZIPWURXY"]
    found = lines("\n".join(["", "    <blueShapes>", *shapes, "    </blueShapes>"]).encode())
    assert found[0] == "|    <blueShapes>"
    assert found[1] == "+      " + " ".join(shape.strip() for shape in shapes[:3])
    assert [line[0] for line in found] == ["|", "+", "+", "+", "+", "|"]


def test_the_characters_of_a_fault_are_marked() -> None:
    data = f'{ROOM}<data class="Move"><piece color="PURPLE"/></data></room>'.encode()
    start = data.index(b"PURPLE")
    found = lines(data, Mark("'PURPLE' is no color", start, start + 6))
    assert found[2:5] == [':    <piece color="PURPLE"/>', "!                  ^^^^^^", "! 'PURPLE' is no color"]
    assert found[2].index("PURPLE") == found[3].index("^^^^^^")


@pytest.mark.parametrize(
    ("data", "start", "line", "mark"),
    [
        ("<müll>小", 7, " <müll>小", "!      ^^"),
        ("<a>\n<b", 3, " <a>", "!   ^"),
        ("<a>\n<b", 4, "|<b", "!^"),
        ("<a>\n<b", 6, "|<b", "!  ^"),
        ("\x01\\<a>", 2, " \\x01\\\\<a>", "!      ^"),
        (
            '<authenticate password="geheim" /><',
            34,
            ' <authenticate password="\\*" /><',
            "!                              ^",
        ),
        ('<authenticate password="geheim" />', 26, ' <authenticate password="\\*" />', "!                        ^^"),
        (
            "\n  <shape>A</shape>\n  <shape>B</shape>",
            30,
            "+  <shape>A</shape> <shape>B</shape>",
            "!                           ^",
        ),
    ],
)
def test_the_mark_is_under_the_character(data: str, start: int, line: str, mark: str) -> None:
    found = lines(data.encode(), Mark("wrong", start))
    position = found.index(mark)
    assert found[position - 1 : position + 2] == [line, mark, "! wrong"]
