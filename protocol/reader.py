"""Bytes to complete packets: a parser, fed so that the size of every packet is known before it is parsed.

Invariants: bytes go into the parser in pieces that end where a packet can end at the earliest, so the bytes of a packet
are counted exactly and the limits hold before the memory is spent. Every refusal says what was wrong and where. Memory
does not grow with the game. Every byte is looked at a bounded number of times, however the bytes were split.
"""

from __future__ import annotations

import codecs
import re
from typing import Final
from xml.parsers import expat

from protocol.errors import Refusal, RemoteProtocolError
from protocol.limits import Limits
from protocol.reading import Element, quote
from protocol.tree import TreeBuilder, new_parser

_BOM: Final = codecs.BOM_UTF8
_BLANKS: Final = b" \t\r\n"
_HEAD_BYTES: Final = 64
_LEAST_BYTES: Final = 2
"""The second byte tells UTF-16 from UTF-8 where the first one does not."""
_MARK_BYTES: Final = 64
"""So much of an end tag is enough to look for; a longer mark would only be slower to compare."""
_PLAIN_START: Final = re.compile(
    rb"""[ \t\r\n]*<([A-Za-z][A-Za-z0-9]*)(?:[ \t\r\n]+[A-Za-z]+=(?:"[^"<>]*"|'[^'<>]*'))*[ \t\r\n]*>"""
)
"""A start tag as nearly everybody writes it; a packet that begins so cannot end before an end tag of this name."""
_PLAIN_BYTES: Final = 1024
"""So many bytes of a packet are looked at for a plain start tag, each time some arrive."""
_SHORT_BYTES: Final = 4096
"""A packet this short is looked for as a whole."""
# No group is possessive: Python before 3.11.5 finds no match for some that are. What a loop takes begins with another
# character than what follows it, so the time is in proportion to the length all the same.
_QUOTED: Final = rb"""[^"'<>]*(?:(?:"[^"<]*"|'[^'<]*')[^"'<>]*)*"""
_MARKUP: Final = re.compile(
    rb"[^<]*<(?:(?![!?])" + _QUOTED + rb">|!--.*?-->|\?.*?\?>|!\[CDATA\[.*?\]\]>)",
    re.DOTALL,
)
"""A whole tag, comment, instruction or section, with the text before it."""
_UNFINISHED: Final = re.compile(
    rb"[^<]*(?:\Z|<(?:!--|!\[CDATA\[|\?|(?![!?])" + _QUOTED + rb"""(?:"[^"<]*|'[^'<]*)?\Z))"""
)
"""The beginning of one; after a `_MARKUP` that does not match."""
_MOST_FUTILE: Final = 64
"""So many times the beginning of a tag or comment may be read again because a `>` inside of it looks like its end."""
_MOST_SKIPPED: Final = 16 * 1024
"""After so many lines and columns that the parser has not seen it reads a packet itself: it has to be given them."""
_LONGEST_REMEMBERED: Final = 4096
"""So much of a packet is kept to be shown if reading it fails by a bug."""
_EXCERPT_BYTES: Final = 20
_MISMATCH: Final = expat.errors.codes[expat.errors.XML_ERROR_TAG_MISMATCH]
_UNDECLARED: Final = expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]


class PacketReader:
    """One stream's bytes in, its packets out, one at a time."""

    def __init__(self, limits: Limits) -> None:
        self._buffer = bytearray()
        self._scanned = 0
        """So many bytes at the start of the buffer are known to hold no `>`."""
        self._spent = 0
        """Bytes parsed since the end of the last packet."""
        self._futile = 0
        """Pieces of the tag or comment that is open, each ended by a `>` inside of it."""
        self._remembered = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_ascii = False
        """The piece before was: the decoder waits for nothing."""
        self._builder = TreeBuilder(limits)
        self._parser = new_parser(self._builder)
        self._fed = 0
        """Bytes that the parser was given."""
        self._has_begun = False
        self._is_between = False
        """What was read last was the end of a packet, or white space behind it: the next packet begins here."""
        self._skipped_lines = self._skipped_columns = 0
        """What the parser has not seen, so that faults are found where they stand."""
        self._end_mark: bytes | None = None
        """What the end of the open packet begins with; None between packets."""

    @property
    def limits(self) -> Limits:
        """What the peer may send; may be replaced at any time, and holds from the next piece on."""
        return self._builder.limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        self._builder.limits = limits

    @property
    def is_ended(self) -> bool:
        """The root element has been closed: nothing more will come."""
        return self._builder.is_over

    @property
    def packet_number(self) -> int:
        """How many packets have begun."""
        return self._builder.packet_number

    @property
    def remembered(self) -> bytes:
        """The first bytes of the packet that is being read, to be shown if that fails by a bug."""
        return bytes((self._remembered + self._buffer)[:_LONGEST_REMEMBERED])

    @property
    def has_partial_packet(self) -> bool:
        """A packet has been begun and not been ended yet."""
        return self._end_mark is not None or bool(self._buffer.strip(_BLANKS))

    def receive(self, data: bytes) -> None:
        self._buffer += data

    @property
    def is_empty(self) -> bool:
        """There is nothing to read but what is still to come."""
        return not self._buffer

    def match(self, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
        """Where `pattern` matches the next packet, which has to begin right here; it has not been read yet."""
        if not self._is_between or not self._is_ascii or self._skipped_lines + self._skipped_columns > _MOST_SKIPPED:
            return None
        self._remembered.clear()
        room = self.limits.packet_bytes - self._spent
        return pattern.match(self._buffer, 0, min(_PLAIN_BYTES, room))

    def skip(self, match: re.Match[bytes]) -> None:
        """Take the packet that `match` has found as read."""
        size = match.end()
        last_line = self._buffer.rfind(b"\n", 0, size)
        if last_line < 0:
            self._skipped_columns += size
        else:
            self._skipped_lines += self._buffer.count(b"\n", 0, size)
            self._skipped_columns = size - 1 - last_line
        del self._buffer[:size]
        self._scanned = 0
        self._spent = 0
        self._builder.packet_number += 1

    def next_packet(self) -> Element | None:
        """The next complete packet, or None: more bytes are needed, or the root has been closed.

        Raises RemoteProtocolError, after which the reader is of no use.
        """
        while not self.is_ended:
            piece = self._cut()
            if not piece:
                return None
            packet = self._parse(piece)
            if packet is not None:
                return packet
        return None

    # -- cutting the bytes ------------------------------------------------------------------------------------------

    def _cut(self) -> bytearray:
        """Take the next piece from the buffer: it holds the end of a packet at its own end or not at all."""
        buffer = self._buffer
        if not self._has_begun and not self._is_begun():
            return bytearray()
        if self._end_mark:
            size = self._measure_in_packet(self._end_mark)
        else:
            size = self._measure_plain_packet() or self._measure_to_bracket()
        limit = self.limits.packet_bytes
        if (size or len(buffer)) > limit - self._spent:
            raise self._builder.refusal(Refusal.PACKET_SIZE, f"is longer than {limit} bytes, which is the limit here")
        piece = buffer[:size]
        if size:
            del buffer[:size]
            self._scanned = 0
            if not self._spent:
                self._remembered.clear()
            if len(self._remembered) < _LONGEST_REMEMBERED:
                self._remembered += piece[:_LONGEST_REMEMBERED]
            self._spent += size
        return piece

    def _measure_plain_packet(self) -> int:
        """Bytes of the next packet where it is short, has come whole, and begins as most do; 0 otherwise.

        It could as well be cut into smaller pieces; each one costs as much as all of them.
        """
        buffer = self._buffer
        if not self._is_between or not buffer.endswith((b">", b">\n")):
            return 0
        start = _PLAIN_START.match(buffer, 0, _PLAIN_BYTES)
        if start is None:
            return 0
        found = buffer.find(b"</" + start[1], start.end(), _SHORT_BYTES)
        size = buffer.find(b">", found, _SHORT_BYTES) + 1 if found >= 0 else 0
        return size if size <= self.limits.packet_bytes - self._spent else 0

    def _measure_to_bracket(self) -> int:
        """Bytes up to the end of the next tag, or the white space that surely is between packets; 0 if none came yet.

        What can be no markup ends at its first `>`: the parser finds the fault.
        """
        buffer = self._buffer
        found = buffer.find(b">", self._scanned)
        if found < 0:
            blanks = 0 if self._scanned or not self._builder.depth else len(buffer) - len(buffer.lstrip(_BLANKS))
            self._scanned = 0 if blanks else len(buffer)
            return blanks
        room = self.limits.packet_bytes - self._spent
        markup = _MARKUP.match(buffer, 0, room)
        if markup is not None:
            return markup.end()
        if _UNFINISHED.match(buffer, 0, room) is None:
            return found + 1
        self._scanned = len(buffer)
        self._note_futile()
        return 0

    def _measure_in_packet(self, mark: bytes) -> int:
        """Bytes up to where the open packet may end, or up to the last `>` that surely belongs to it; 0 without one."""
        buffer = self._buffer
        last = buffer.rfind(b">", self._scanned)
        if last < 0:
            self._scanned = len(buffer)
            return 0
        found = buffer.find(mark, 0, last)
        return (last if found < 0 else buffer.find(b">", found)) + 1

    def _is_begun(self) -> bool:
        """Look at the first bytes of the stream; True once they are known to be the start of some XML in UTF-8."""
        head = bytes(self._buffer[:_HEAD_BYTES])
        if head[:1] in {b"\xfe", b"\xff"} or b"\0" in head[:4]:
            raise RemoteProtocolError(Refusal.ENCODING, "The stream is not UTF-8; it looks like UTF-16 or UTF-32")
        if len(head) < _LEAST_BYTES or (head != _BOM and _BOM.startswith(head)):
            return False
        self._drop_blanks()
        text = self._buffer[:_HEAD_BYTES]
        if text and not text.startswith(b"<"):
            found = text.decode("utf-8", "replace").split("\n", 1)[0].rstrip()
            explanation = f"The stream has to begin with <protocol>, but it begins with {quote(found)!r}"
            raise RemoteProtocolError(Refusal.MALFORMED, explanation)
        self._has_begun = bool(text)
        return True

    def _drop_blanks(self) -> None:
        """Drop what stands before the first `<`: blanks before an XML declaration are a fault, but a common one."""
        buffer = self._buffer
        size = len(buffer) - len(buffer.removeprefix(_BOM).lstrip(_BLANKS))
        del buffer[:size]
        self._spent += size

    # -- parsing the pieces -----------------------------------------------------------------------------------------

    def _parse(self, piece: bytearray) -> Element | None:
        builder = self._builder
        data = self._decode(piece)
        if self._skipped_lines or self._skipped_columns:
            data = b"\n" * self._skipped_lines + b" " * self._skipped_columns + data
            self._skipped_lines = self._skipped_columns = 0
        event_count = builder.event_count
        self._fed += len(data)
        try:
            self._parser.Parse(data)
        except expat.ExpatError as error:
            raise self._malformed(error, data) from None
        packet = builder.take()
        if packet is not None:
            self._is_between = True
            self._end_mark = None
            self._spent = self._futile = 0
            return packet
        self._is_between &= piece.isspace()
        if builder.event_count != event_count:
            self._futile = 0
            self._set_end_mark()
        elif self._end_mark is not None:
            self._note_futile()
        return None

    def _decode(self, piece: bytearray) -> bytes:
        """As UTF-8, whatever comes; ASCII needs no decoder, unless one waits for the rest of a character."""
        was_ascii, self._is_ascii = self._is_ascii, piece.isascii()
        return bytes(piece) if was_ascii and self._is_ascii else self._decoder.decode(piece).encode()

    def _set_end_mark(self) -> None:
        tag = self._builder.packet_tag
        if tag is not None:
            self._end_mark = b"</" + tag.encode()[:_MARK_BYTES] if tag.isascii() else b"</"

    def _note_futile(self) -> None:
        self._futile += 1
        if self._futile > _MOST_FUTILE:
            what = f"has more than {_MOST_FUTILE} '>' inside of tags and comments"
            raise self._builder.refusal(Refusal.MALFORMED, what)

    # -- refusing ---------------------------------------------------------------------------------------------------

    def _malformed(self, error: expat.ExpatError, data: bytes) -> RemoteProtocolError:
        """What the parser says of the piece it could not read."""
        builder = self._builder
        if b"<!DOCTYPE" in data.upper():
            builder.refuse_doctype()
        number = builder.packet_number + (builder.packet_tag is None)
        where = f"packet {number}, line {error.lineno}, column {error.offset + 1}"
        what = expat.ErrorString(error.code)
        if error.code == _MISMATCH:
            what += f"; the element that has to end first is <{quote(builder.open_tag or '')}>"
        else:
            place = len(data) - (self._fed - self._parser.ErrorByteIndex)
            if 0 <= place < len(data):
                found = data[place : place + _EXCERPT_BYTES].decode("utf-8", "replace")
                what += f" at {found.splitlines()[0]!r}"
        if error.code == _UNDECLARED:
            explanation = f"{what} ({where}); only &amp; &lt; &gt; &quot; &apos; and numbers such as &#228; are known"
            return RemoteProtocolError(Refusal.ENTITY, explanation)
        return RemoteProtocolError(Refusal.MALFORMED, f"Not well-formed XML ({where}): {what}")
