"""Finds the ends of tags, comments, processing instructions and CDATA sections in a stream of bytes.

The other functions make up for two differences between our parser and that of the official server, which accepts
control characters everywhere, and refuses `]]>` in attributes.

Invariants: the result does not depend on how the bytes were divided into pieces, and every byte is examined a bounded
number of times, for any input. Something that cannot be markup ends at the first `>` after the byte that shows it; the
parser then reports the fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

# No group is possessive, since Python before 3.11.5 finds no match for some possessive groups. Even so, the time is
# proportional to the length: what a loop matches and what follows the loop always begin with different characters.
_QUOTED: Final = rb"""[^"'<>]*(?:(?:"[^"<]*"|'[^'<]*')[^"'<>]*)*"""
_ONE: Final = rb"[^<]*<(?:(?![!?])" + _QUOTED + rb">|!--.*?-->|\?.*?\?>|!\[CDATA\[.*?\]\]>)"
_MARKUP: Final = re.compile(_ONE, re.DOTALL)
"""A complete tag, comment, instruction or section, with the text before it."""
_MARKUPS: Final = re.compile(rb"(?:" + _ONE + rb")*", re.DOTALL)
_SLICE: Final = 64 * 1024
"""The number of bytes matched at once: a match needs memory for each markup in it."""
_WITHIN_TAG: Final = re.compile(_QUOTED)
_STOPS: Final = {0x22: re.compile(rb'["<]'), 0x27: re.compile(rb"['<]")}
"""For each quote the end of a value in it: the same quote, or a `<`, which is a fault there."""
_SECTIONS: Final = {b"<!--": b"-->", b"<![CDATA[": b"]]>", b"<?": b"?>"}
_LONGEST_OPENING: Final = max(map(len, _SECTIONS))
_LESS: Final = ord("<")
_GREATER: Final = ord(">")

_LONGEST_REFERENCE: Final = 64
_NAME_BYTES: Final = rb"#0-9A-Za-z_\x80-\xff-"
_TEXT_FAULT: Final = re.compile(
    rb"\]\]>|&(?!(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9A-Fa-f]+);)[%b]{0,%d}[^%b]"
    % (_NAME_BYTES, _LONGEST_REFERENCE - 2, _NAME_BYTES)
)
"""What is an error in text: the end of a section, or an unknown reference with the byte after its name."""

CONTROLS: Final = bytes({*range(0x20)} - {*b"\t\n\r"})
"""The control characters that XML does not allow."""
BLANKS: Final = b" \t\r\n" + CONTROLS
"""What may surround packets and stand between the parts of a tag: white space and, for the official server, these."""
REPLACED: Final = "\N{REPLACEMENT CHARACTER}".encode()
TAB: Final = b"&#x0009;"
"""A tab in a value, as it is given to the parser, which would make a blank of it; nobody else writes it like this."""
_CONTROL: Final = re.compile(b"[" + re.escape(CONTROLS) + b"]")
_TO_BLANKS: Final = bytes.maketrans(CONTROLS, b" " * len(CONTROLS))
_PART: Final = re.compile(rb"([^<]+|<!--.*?-->|<!\[CDATA\[.*?\]\]>)|(<\?.*?\?>)|<(?![!?])" + _QUOTED + rb">", re.DOTALL)
"""A part of complete markup. The first group is where control characters are content, the second an instruction."""
_PART_OF_TAG: Final = re.compile(rb"""("[^"<]*"|'[^'<]*')|[^"']+""")
"""The group is a value."""
SECTION_END: Final = b"]]>"


class MarkupScanner:
    """Finds the end of the first markup in a buffer that grows at its end.

    Call `restart` when bytes have been removed from the buffer.
    """

    __slots__ = ("_closing", "_is_tag", "_position", "_quote", "_text_position")

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Start again at the beginning of the buffer, outside of any markup."""
        self._position = 0
        """The bytes before this index have been examined."""
        self._closing: bytes | None = None
        """The bytes that end the open comment, instruction, section or fault."""
        self._is_tag = False
        """Whether a tag is open."""
        self._quote = 0
        """The quote that ends the open value of the open tag; 0 if none is open."""
        self._text_position = 0
        """The text before this index has been searched for faults."""

    def find_end(self, buffer: bytearray) -> int:
        """Return the length in bytes of the first markup in `buffer` and the text before it; 0 if it is incomplete."""
        if not self._position:
            found = _MARKUP.match(buffer)
            if found is not None:
                return found.end()
        if self._closing is None and not self._is_tag and not self._find_opening(buffer):
            return 0
        if self._is_tag:
            end = self._find_tag_end(buffer)
            if end or self._is_tag:
                return end
        closing = self._closing  # of the open comment, instruction, section or fault
        assert closing is not None
        found_at = buffer.find(closing, self._position)
        if found_at >= 0:
            return found_at + len(closing)
        self._position = max(self._position, len(buffer) - len(closing) + 1)
        return 0

    def find_text_fault(self, buffer: bytearray) -> int:
        """Return the end of the first error in the text before the first markup; 0 if there is none."""
        start = buffer.find(b"<", self._text_position)
        end = len(buffer) if start < 0 else start
        found = _TEXT_FAULT.search(buffer, self._text_position, end)
        if found is not None:
            return found.end()
        self._text_position = max(self._text_position, end - _LONGEST_REFERENCE)
        return 0

    def _find_opening(self, buffer: bytearray) -> bool:
        """Find the first `<`, and determine what begins there. Return False while that is unknown."""
        start = buffer.find(b"<", self._position)
        self._position = len(buffer) if start < 0 else start
        if start < 0:
            return False
        head = bytes(buffer[start : start + _LONGEST_OPENING])
        for opening, closing in _SECTIONS.items():
            if head.startswith(opening):
                self._closing = closing
                self._position = start + len(opening)
                return True
        is_declaration = head.startswith(b"<!")
        if head == b"<" or (is_declaration and any(opening.startswith(head) for opening in _SECTIONS)):
            return False
        self._position = start + 1
        self._is_tag = not is_declaration
        self._closing = b">" if is_declaration else None
        return True

    def _find_tag_end(self, buffer: bytearray) -> int:
        """Return the end of the open tag; 0 if it has not arrived, or if this turns out not to be a tag."""
        while True:
            if self._quote:
                stop = _STOPS[self._quote].search(buffer, self._position)
                index = len(buffer) if stop is None else stop.start()
            else:
                within = _WITHIN_TAG.match(buffer, self._position)
                assert within is not None
                index = within.end()
            if index == len(buffer):
                self._position = index
                return 0
            found, self._position = buffer[index], index + 1
            if found == _LESS:
                self._is_tag = False
                self._closing = b">"
                return 0
            if found == _GREATER:
                return index + 1
            self._quote = 0 if self._quote else found


def end_of_markups(buffer: bytearray, end: int) -> int:
    """Return the end of the last complete markup in the first `end` bytes of `buffer`; 0 if there is none."""
    position = 0
    while True:
        stop = min(end, position + _SLICE)
        found = _MARKUPS.match(buffer, position, stop)
        if (found is None or found.end() == position) and stop < end:  # the next markup is longer than a slice
            found = _MARKUP.match(buffer, position, end)
        if found is None or found.end() == position:
            return position
        position = found.end()


def has_controls(data: bytes) -> bool:
    """Return whether `data` contains a tab, or a control character that XML does not allow."""
    return b"\t" in data or len(data.translate(None, CONTROLS)) < len(data)


def replace_controls(markup: bytes, *, is_inside: bool) -> bytes:
    """Return complete markup, with the text before it, without control characters that XML does not allow.

    In a tag, in an instruction, and before the root unless `is_inside` it, they become blanks, as for the official
    server. In text and in values they become U+FFFD: nothing with such a character in it has a meaning in this
    protocol, so it does not matter which one it was. A tab in a value becomes `TAB`: the official server keeps it.
    """

    def replace(part: re.Match[bytes]) -> bytes:
        if part[1] is not None:
            return _CONTROL.sub(REPLACED, part[1])
        if part[2] is not None:
            return part[2].translate(_TO_BLANKS)
        return _PART_OF_TAG.sub(replace_in_tag, part[0])

    def replace_in_tag(part: re.Match[bytes]) -> bytes:
        if part[1] is None:
            return part[0].translate(_TO_BLANKS)
        return _CONTROL.sub(REPLACED, part[1]).replace(b"\t", TAB)

    end = 0 if is_inside else len(markup) - len(markup.lstrip(BLANKS))
    parts = [markup[:end].translate(_TO_BLANKS)]
    for part in _parts(markup, end):
        parts.append(replace(part))
        end = part.end()
    parts.append(_CONTROL.sub(REPLACED, markup[end:]))  # this is no markup, and the parser will say so
    return b"".join(parts)


def find_section_end_in_value(markup: bytes) -> int:
    """Return the index of the first `]]>` in the value of an attribute in complete markup; -1 if there is none."""
    for part in _parts(markup, 0):
        if part[1] is None and part[2] is None and (found := part[0].find(SECTION_END)) >= 0:
            return part.start() + found
    return -1


def _parts(markup: bytes, start: int) -> Iterator[re.Match[bytes]]:
    """Yield the parts of markup from `start` up to a fault: to search for more after it would take quadratic time."""
    while (part := _PART.match(markup, start)) is not None:
        yield part
        start = part.end()
