"""Where tags, comments, instructions and CDATA sections end in a stream of bytes.

Invariants: the answer does not depend on how the bytes were cut, and every byte is looked at a bounded number of times
however they were. What can be no markup ends at the first `>` behind the byte that shows it; the parser finds the
fault.
"""

from __future__ import annotations

import re
from typing import Final

# No group is possessive: Python before 3.11.5 finds no match for some that are. What a loop takes begins with another
# character than what follows it, so the time is in proportion to the length all the same.
_QUOTED: Final = rb"""[^"'<>]*(?:(?:"[^"<]*"|'[^'<]*')[^"'<>]*)*"""
_ONE: Final = rb"[^<]*<(?:(?![!?])" + _QUOTED + rb">|!--.*?-->|\?.*?\?>|!\[CDATA\[.*?\]\]>)"
_MARKUP: Final = re.compile(_ONE, re.DOTALL)
"""A whole tag, comment, instruction or section, with the text before it."""
_MARKUPS: Final = re.compile(rb"(?:" + _ONE + rb")*", re.DOTALL)
_SLICE: Final = 64 * 1024
"""Bytes that are looked at together: for each markup that a match holds, it needs memory."""
_WITHIN_TAG: Final = re.compile(_QUOTED)
_STOPS: Final = {0x22: re.compile(rb'["<]'), 0x27: re.compile(rb"['<]")}
"""What may follow in a quoted value, by the quote: its end, or a `<`, which is a fault there."""
_SECTIONS: Final = {b"<!--": b"-->", b"<![CDATA[": b"]]>", b"<?": b"?>"}
_LONGEST_OPENING: Final = max(map(len, _SECTIONS))
_LESS: Final = ord("<")
_GREATER: Final = ord(">")


class MarkupScanner:
    """Finds the end of the first markup in a buffer that grows at its end; `restart` it when bytes were taken out."""

    __slots__ = ("_closing", "_is_tag", "_position", "_quote")

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """The buffer begins with something else now, outside of any markup."""
        self._position = 0
        """What is before has been looked at."""
        self._closing: bytes | None = None
        """What the comment, instruction, section or fault that is open ends with."""
        self._is_tag = False
        self._quote = 0
        """The quote that the open value of the open tag ends with."""

    def find_end(self, buffer: bytearray) -> int:
        """Bytes of the text and the markup that `buffer` begins with; 0 as long as the markup is not complete."""
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
        return self._find_closing(buffer)

    def _find_opening(self, buffer: bytearray) -> bool:
        """Look for the first `<` and for what begins there; False as long as that is not known."""
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
        """The end of the open tag; 0 if it has not come, or if this is no tag, which ends it."""
        while True:
            if self._quote:
                stop = _STOPS[self._quote].search(buffer, self._position)
                place = len(buffer) if stop is None else stop.start()
            else:
                within = _WITHIN_TAG.match(buffer, self._position)
                assert within is not None
                place = within.end()
            if place == len(buffer):
                self._position = place
                return 0
            found, self._position = buffer[place], place + 1
            if found == _LESS:
                self._is_tag = False
                self._closing = b">"
                return 0
            if found == _GREATER:
                return place + 1
            self._quote = 0 if self._quote else found

    def _find_closing(self, buffer: bytearray) -> int:
        """The end of the open comment, instruction, section or fault; 0 if it has not come."""
        closing = self._closing
        assert closing is not None
        found = buffer.find(closing, self._position)
        if found >= 0:
            return found + len(closing)
        self._position = max(self._position, len(buffer) - len(closing) + 1)
        return 0


def end_of_markups(buffer: bytearray, end: int) -> int:
    """Bytes of all the complete markups in the first `end` bytes of `buffer`, the text between them included."""
    place = 0
    while True:
        stop = min(end, place + _SLICE)
        found = _MARKUPS.match(buffer, place, stop)
        if (found is None or found.end() == place) and stop < end:  # the first one is longer than a slice
            found = _MARKUP.match(buffer, place, end)
        if found is None or found.end() == place:
            return place
        place = found.end()
