"""The text form of a trace: bytes to lines, with marks under what is wrong.

The form is described in docs/wire.md. A line has the seconds since the connection began and since the line before it,
the name of the connection, a direction, one character (the *break*), and text::

       0.163204   +0.002  c3     ->  <room roomId="7b40729d">
                                    :  <data class="sc.plugin2027.SetMove"/>
                                    !               ^^^^^^^^^^^^^^^^^^^^^
                                    ! packet 4: 'sc.plugin2027.SetMove' is no move here
                                    :</room>

The bytes can be restored from the lines (`spielleiter.wire.trace_reader`), except for passwords and for what
is said to be left out. No line contains a control character or anything else that a terminal acts on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spielleiter.common.text import escaped, text_width

NOTE: Final = "!!"
"""The direction of a line that says what happened beside the packets."""

NO_BREAK: Final = " "
LINE_FEED: Final = "|"
READING_BREAK: Final = ":"
JOINED: Final = "+"
FAULT: Final = "!"
LEFT_OUT: Final = "~"

STREAM_ENDS: Final = "(FIN)"
RESET: Final = "(RST)"
STAYS_OPEN: Final = "(still open at the end)"

BLACKED_OUT: Final = r"\*"
"""Stands for a password."""
_HIDDEN: Final = "\ud800"
"""Stands for a password in decoded text, which cannot contain this character otherwise."""

LEGEND: Final = (
    "# -> to the server, <- from the server; seconds since the connection began, and since the line before",
    "# | a line feed that was sent    : a line break for reading only, which was not sent, nor the blanks after it",
    "# + as |, and several lines in one: the blank between two elements is a line feed and the same indentation",
    r"# ! what is wrong, at the marked place    ~ bytes that are left out    \* a password    \x41, \r, \t, \\ a byte",
)
"""What the signs mean, at the beginning of each file."""

LONGEST_JOINED: Final = 96
"""Characters of a line of several lines."""
LONGEST_WHOLE: Final = 72
"""Characters up to which a line is not divided for reading."""
MOST_MARKED: Final = 72
_INDENT: Final = 2
_DEEPEST: Final = 24
_TAG: Final = re.compile(r"<(/?)[^<>]*>")
_LEAF: Final = re.compile(r"<(\w+)(?: [^<>\n]*)?(?:/>|>[^<>\n]*</\1>)")
"""An element without others in it."""
_BLANKS: Final = re.compile(" *")
_LINE_START: Final = re.compile(r"\n *")
_SPECIAL: Final = re.compile(r"\\|[^ -~]")


@dataclass(frozen=True, slots=True)
class Mark:
    """What is wrong with some bytes: `text` says it, `start` and `end` are the bytes to mark; None: no single place."""

    text: str
    start: int | None = None
    end: int | None = None


def head_of(instant: float, since: float, name: str, direction: str) -> str:
    """Return the columns before the break; times are in seconds.

    `instant` has six digits, since the order of the lines of several files follows from it.
    """
    return f"{instant:11.6f} {f'+{since:.3f}':>8}  {name:<6} {direction} "


def packet_lines(
    head: str,
    data: bytes,
    passwords: Sequence[tuple[int, int]] = (),
    faults: Sequence[Mark] = (),
    left_out: int = 0,
) -> Iterator[str]:
    """Yield the lines of some bytes.

    `passwords` are spans of `data` in order; `left_out` is the number of bytes after `data` that are not shown.
    """
    text = _decoded(data, passwords)
    blank = " " * len(head)
    places: list[tuple[tuple[int, int] | None, Mark]] = []
    """The faults with the characters of `text` that they mark."""
    for fault in faults:
        place = None
        if fault.start is not None:
            first = _index_in_text(data, passwords, fault.start)
            last = first if fault.end is None else _index_in_text(data, passwords, fault.end)
            place = first, max(last, first + 1)
        places.append((place, fault))
    column = head
    for sign, indent, start, end in _layout(text):
        has_ended = end == len(text) or text[end] == "\n"
        line = _escaped(_joined(sign, text[start:end]), is_last=has_ended)
        if column is not blank and line.startswith("("):
            line = rf"\x28{line[1:]}"  # since `(FIN)` is an event
        yield f"{column}{sign}{' ' * indent}{line}"
        column = blank
        for place, fault in places:
            if place is not None and start <= place[0] < end + has_ended:
                before = indent + text_width(_escaped(_joined(sign, text[start : place[0]])))
                marked = text_width(_escaped(_joined(sign, text[place[0] : min(place[1], end)])))
                yield f"{blank}{FAULT}{' ' * before}{'^' * min(max(1, marked), MOST_MARKED)}"
                yield f"{blank}{FAULT} {escaped(fault.text)}"
    for place, fault in places:
        if place is None:
            yield f"{blank}{FAULT} {escaped(fault.text)}"
    if left_out:
        yield f"{blank}{LEFT_OUT} {left_out} bytes"


def note_line(head: str, text: str) -> str:
    """Return the line of a note or of an event such as the end of a stream."""
    return f"{head} {escaped(text)}"


# -- text of the bytes ----------------------------------------------------------------------------------------------


def _decoded(data: bytes, passwords: Sequence[tuple[int, int]]) -> str:
    pieces, position = [], 0
    for start, end in passwords:
        pieces += [data[position:start].decode("utf-8", "surrogateescape"), _HIDDEN]
        position = end
    pieces.append(data[position:].decode("utf-8", "surrogateescape"))
    return "".join(pieces)


def _index_in_text(data: bytes, passwords: Sequence[tuple[int, int]], position: int) -> int:
    """Return the index of the character in the decoded text that belongs to the byte at `position`."""
    before = []
    for start, end in passwords:
        if start < position < end:
            position = start
        if start < position:
            before.append((start, end))
    return len(_decoded(data[:position], before))


def _escaped(text: str, *, is_last: bool = False) -> str:
    """Return `text` without line feeds in printable characters; with `is_last`, blanks at its end are visible."""
    if is_last and text.endswith(" "):
        text, kept = text[:-1], r"\x20"
    else:
        kept = ""
    if not text.isascii() or not text.isprintable() or "\\" in text:
        text = _SPECIAL.sub(_escape, text)
    return text + kept


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    if char == "\\":
        return r"\\"
    if char == _HIDDEN:
        return BLACKED_OUT
    if char.isprintable():
        return char
    short = {"\r": r"\r", "\t": r"\t"}.get(char)
    return short or "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))


# -- lines of the text ----------------------------------------------------------------------------------------------


def _layout(text: str) -> Iterator[tuple[str, int, int, int]]:
    """Yield each line of `text`: its break, the columns of its indentation, and where it begins and ends in `text`."""
    start = 0
    sign = NO_BREAK
    while True:
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        joined = _end_of_joined(text, start, end) if sign == LINE_FEED else end
        if joined > end:
            yield JOINED, 0, start, joined
        elif start or end or not text:  # a line feed at the beginning is shown by the sign of the first line
            yield from _divided(text, sign, start, end)
        if joined == len(text):
            return
        start = joined + 1
        sign = LINE_FEED


def _end_of_joined(text: str, start: int, end: int) -> int:
    """Return the end of the last line that is shown together with the one from `start` to `end`."""
    indent = _indent_of(text, start)
    if _LEAF.fullmatch(text, start + indent, end) is None:
        return end
    room = LONGEST_JOINED - (end - start)
    while end < len(text):
        following = text.find("\n", end + 1)
        following = len(text) if following < 0 else following
        first = end + 1 + indent
        room -= following - first + 1
        if room < 0 or _indent_of(text, end + 1) != indent or _LEAF.fullmatch(text, first, following) is None:
            break
        end = following
    return end


def _indent_of(text: str, start: int) -> int:
    """Return the number of blanks at the beginning of a line."""
    found = _BLANKS.match(text, start)
    assert found is not None
    return found.end() - start


def _joined(sign: str, text: str) -> str:
    """Return the text of a line; in one of several lines, a blank stands for each line feed and indentation."""
    return _LINE_START.sub(" ", text) if sign == JOINED else text


def _divided(text: str, sign: str, start: int, end: int) -> Iterator[tuple[str, int, int, int]]:
    """Yield the line of `text` from `start` to `end`, divided between elements if it is long."""
    if end - start <= LONGEST_WHOLE:
        yield sign, 0, start, end
        return
    line = text[start:end]
    base = len(line) - len(line.lstrip(" "))
    depth, previous, was_opened = 0, 0, False
    indent = 0
    for found in _TAG.finditer(line):
        closes, is_empty = bool(found[1]), found[0].endswith("/>")
        begins = found.start()
        if begins > previous and line[begins - 1] == ">" and not (closes and was_opened):
            yield sign, indent, start + previous, start + begins
            previous, sign = begins, READING_BREAK
            indent = base + _INDENT * min(_DEEPEST, max(0, depth - closes))
        was_opened = not closes and not is_empty
        depth += was_opened - closes
    yield sign, indent, start + previous, end
