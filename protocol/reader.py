"""Bytes to complete packets: a pull parser, fed so that the size of every packet is known before it is parsed.

Law: bytes go into the parser in pieces that end where a packet can end at the earliest, so the bytes of a packet are
counted exactly and the limits hold before the memory is spent. Every refusal says what was wrong and where. Finished
packets are taken out of the tree: memory does not grow with the game. Every byte is looked at a bounded number of
times, however the bytes were split on their way.
"""

from __future__ import annotations

import codecs
import re
from typing import Final, cast

from lxml import etree
from lxml.etree import _Element, _ListErrorLog

from protocol.errors import Refusal, RemoteProtocolError
from protocol.limits import Limits
from protocol.reading import Element, quote

_PACKET_DEPTH: Final = 2
SLICE_BYTES: Final = 4096
"""At most so many bytes of one packet are parsed before depth, attributes and children are looked at."""

_BOM: Final = codecs.BOM_UTF8
_BLANKS: Final = b" \t\r\n"
_HEAD_BYTES: Final = 64
_LEAST_BYTES: Final = 2
"""The second byte tells UTF-16 from UTF-8 where the first one does not."""
_DECLARATION: Final = re.compile(r"<\?xml\s")
_ENCODING: Final = re.compile(r"""\sencoding\s*=\s*["']([^"']*)["']""")
_UTF8_NAMES: Final = frozenset({"utf-8", "utf8"})
_WHERE: Final = re.compile(r",? line \d+, column \d+\s*$")
_LONGEST_EXPLANATION: Final = 300
_MOST_FAULTS: Final = 32
"""The parser remembers every fault, also those that it forgives; nobody is forgiven more often."""
_COMMENT_BYTES: Final = len("<!---->")
_MARK_BYTES: Final = 64
"""So much of an end tag is enough to look for; a longer mark would only be slower to compare."""
_PLAIN_START: Final = re.compile(
    rb"""[ \t\r\n]*+<([A-Za-z][A-Za-z0-9]*+)(?:[ \t\r\n]++[A-Za-z]++=(?:"[^"<>]*+"|'[^'<>]*+'))*+[ \t\r\n]*+>"""
)
"""A start tag as nearly everybody writes it; a packet that begins so cannot end before an end tag of this name."""
_PLAIN_BYTES: Final = 1024
"""So many bytes of a packet are looked at for a plain start tag, each time some arrive."""
_MOST_SKIPPED: Final = 16 * 1024
"""After so many lines and columns that the parser has not seen it reads a packet itself: it has to be given them."""


class PacketReader:
    """One stream's bytes in, its packets out, one at a time."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        """May be replaced at any time; holds from the next piece on."""
        self.is_ended = False
        """The root element has been closed: nothing more will come."""
        self.packet_number = 0
        """How many packets have begun."""
        self._buffer = bytearray()
        self._scanned = 0
        """So many bytes at the start of the buffer are known to hold no `>`."""
        self._spent = 0
        """Bytes parsed since the end of the last packet."""
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._is_ascii = False
        """The piece before was: the decoder waits for nothing."""
        self._parser = etree.XMLPullParser(
            events=("start", "end", "start-ns"),
            resolve_entities=False,
            load_dtd=False,
            no_network=True,
            remove_comments=True,
            remove_pis=True,
        )
        # a parser and its first document refer to each other, a later document and its parser do not: with the stream
        # as the second one, what a connection has cost is free as soon as it is gone, without a garbage collection
        self._parser.feed("<first/>")
        self._parser.close()
        for _ in self._parser.read_events():
            pass
        self._has_begun = False
        self._prolog_until = ""
        """What ends the comment or instruction that is open before the root; empty if none is."""
        self._is_in_prolog = True
        self._depth = 0
        self._children = 0
        self._namespaces = 0
        self._has_default_namespace = False
        self._is_between = False
        """What was read last was the end of a packet, or white space behind it: the next packet begins here."""
        self._skipped_lines = self._skipped_columns = 0
        """What the parser has not seen, so that faults are found where they stand."""
        self._end_mark: bytes | None = None
        """What the end of the open packet begins with; None between packets."""

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
        self.packet_number += 1

    def next_packet(self) -> Element | None:
        """The next complete packet, or None: more bytes are needed, or the root has been closed.

        The packet is only good until the next call. Raises RemoteProtocolError, after which the reader is of no use.
        """
        while not self.is_ended:
            piece = self._cut()
            if not piece:
                return None
            packet = self._parse(self._decode(piece))
            if packet is not None:
                return packet
        return None

    def _decode(self, piece: bytearray) -> str:
        """As UTF-8, whatever comes; ASCII needs no decoder, unless one waits for the rest of a character."""
        was_ascii, self._is_ascii = self._is_ascii, piece.isascii()
        return piece.decode("ascii") if was_ascii and self._is_ascii else self._decoder.decode(piece)

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
        if (size or len(buffer)) > self.limits.packet_bytes - self._spent:
            limit = self.limits.packet_bytes
            raise self._refuse(Refusal.PACKET_SIZE, f"is longer than {limit} bytes, which is the limit here")
        piece = buffer[:size]
        if size:
            del buffer[:size]
            self._has_begun = True
            self._scanned = 0
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
        found = buffer.find(b"</" + start[1], start.end(), SLICE_BYTES)
        size = buffer.find(b">", found, SLICE_BYTES) + 1 if found >= 0 else 0
        return size if size <= self.limits.packet_bytes - self._spent else 0

    def _measure_to_bracket(self) -> int:
        """Bytes up to the first `>`, or the white space that surely is between packets; 0 if there is none yet."""
        buffer = self._buffer
        found = buffer.find(b">", self._scanned)
        if found < 0:
            blanks = 0 if self._scanned or self._is_in_prolog else len(buffer) - len(buffer.lstrip(_BLANKS))
            self._scanned = 0 if blanks else len(buffer)
            return blanks
        return found + 1

    def _measure_in_packet(self, mark: bytes) -> int:
        """Bytes up to where the open packet may end, or as many as surely belong to it; 0 if none do yet."""
        buffer = self._buffer
        end = min(len(buffer), SLICE_BYTES)
        found = buffer.find(mark, 0, end)
        if found >= 0:
            bracket = buffer.find(b">", max(found, self._scanned))
            if bracket >= 0:
                return bracket + 1
            self._scanned = 0 if found else len(buffer)
            return found
        start = buffer.rfind(b"<", max(0, end - len(mark)), end)
        return start if start >= 0 and mark.startswith(buffer[start:end]) else end

    def _is_begun(self) -> bool:
        """Look at the first bytes of the stream; True once they are known to be the start of some XML in UTF-8."""
        head = bytes(self._buffer[:_HEAD_BYTES])
        if head[:1] in {b"\xfe", b"\xff"} or b"\0" in head[:4]:
            raise RemoteProtocolError(Refusal.ENCODING, "The stream is not UTF-8; it looks like UTF-16 or UTF-32")
        if len(head) < _LEAST_BYTES or (head != _BOM and _BOM.startswith(head)):
            return False
        text = head.removeprefix(_BOM).lstrip(_BLANKS)
        if text and not text.startswith(b"<"):
            found = text.decode("utf-8", "replace").split("\n", 1)[0].rstrip()
            explanation = f"The stream has to begin with <protocol>, but it begins with {quote(found)!r}"
            raise RemoteProtocolError(Refusal.MALFORMED, explanation)
        self._has_begun = bool(text)
        return True

    # -- parsing the pieces -----------------------------------------------------------------------------------------

    def _parse(self, text: str) -> Element | None:
        if self._is_in_prolog:
            text = self._check_prolog(text)
        if not text:
            return None
        if self._skipped_lines or self._skipped_columns:
            text = "\n" * self._skipped_lines + " " * self._skipped_columns + text
            self._skipped_lines = self._skipped_columns = 0
        is_well_formed = True
        try:
            self._parser.feed(text)
        except etree.XMLSyntaxError:
            is_well_formed = False
        packet = None
        for event, node in self._parser.read_events():
            if event == "start":
                self._start(node)
            elif event == "end":
                packet = node if self._end() else None
            else:
                self._namespaces += 1
                self._has_default_namespace |= not node[0]
        faults = self._parser.feed_error_log
        if not is_well_formed or (len(faults) and (len(faults) > _MOST_FAULTS or faults.filter_from_fatals())):
            raise self._malformed(faults, text)
        self._is_between = packet is not None or (self._is_between and text.isspace())
        if packet is not None and self._has_default_namespace:
            _forget_default_namespace(packet)
        return cast("Element | None", packet)

    def _check_prolog(self, text: str) -> str:
        """Refuse a DOCTYPE, or an encoding that is not UTF-8, before the parser sees it; `text` ends with `>`."""
        if self._prolog_until:
            if text.endswith(self._prolog_until):
                self._prolog_until = ""
            return text
        tag = text.lstrip()
        if tag.startswith("<!--"):
            if len(tag) < _COMMENT_BYTES or not tag.endswith("-->"):
                self._prolog_until = "-->"
        elif tag.startswith("<?"):
            if not tag.endswith("?>"):
                self._prolog_until = "?>"
            if _DECLARATION.match(tag):
                return self._check_declaration(tag)
        elif tag[: len("<!DOCTYPE")].upper() == "<!DOCTYPE":
            raise self._doctype()
        return text

    def _check_declaration(self, declaration: str) -> str:
        """The XML declaration, without the white space that some write before it."""
        encoding = _ENCODING.search(declaration)
        if encoding and encoding[1].lower() not in _UTF8_NAMES:
            explanation = f"The stream declares the encoding {quote(encoding[1])!r}; only UTF-8 is understood"
            raise RemoteProtocolError(Refusal.ENCODING, explanation)
        return declaration

    def _start(self, node: _Element) -> None:
        self._depth += 1
        attributes, self._namespaces = len(node.attrib) + self._namespaces, 0
        if self._depth == 1:
            self._is_in_prolog = False
            if node.getroottree().docinfo.internalDTD is not None:
                raise self._doctype()
        elif self._depth == _PACKET_DEPTH:
            self._begin_packet(node)
        else:
            self._children += 1
            if self._children > self.limits.children:
                raise self._refuse(Refusal.CHILDREN, f"has more than {self.limits.children} elements below it")
        if self._depth > self.limits.depth:
            raise self._refuse(Refusal.DEPTH, f"has elements nested deeper than {self.limits.depth}")
        if attributes > self.limits.attributes:
            what = f"has an element <{quote(str(node.tag))}> with more than {self.limits.attributes} attributes"
            raise self._refuse(Refusal.ATTRIBUTES, what)

    def _begin_packet(self, packet: _Element) -> None:
        self.packet_number += 1
        self._children = 0
        root = packet.getparent()
        assert root is not None
        while (finished := packet.getprevious()) is not None:
            root.remove(finished)
        name = str(packet.tag).rpartition("}")[2]
        if packet.prefix:
            name = f"{packet.prefix}:{name}"
        self._end_mark = b"</" + name.encode()[:_MARK_BYTES] if name.isascii() else b"</"

    def _end(self) -> bool:
        """Whether it was a packet that ended."""
        self._depth -= 1
        self.is_ended = self._depth == 0
        if self._depth != 1:
            return False
        self._end_mark = None
        self._spent = 0
        return True

    # -- refusing ---------------------------------------------------------------------------------------------------

    def _refuse(self, refusal: Refusal, what: str) -> RemoteProtocolError:
        number = self.packet_number + (self._end_mark is None)
        return RemoteProtocolError(refusal, f"Packet {number} {what}")

    def _doctype(self) -> RemoteProtocolError:
        return RemoteProtocolError(Refusal.DOCTYPE, "The stream contains a DOCTYPE; document types are not allowed")

    def _malformed(self, faults: _ListErrorLog, text: str) -> RemoteProtocolError:
        """What the parser says of the piece it could not read."""
        if "<!DOCTYPE" in text.upper():
            return self._doctype()
        number = self.packet_number + (self._end_mark is None)
        fatal_first = [*faults.filter_from_fatals(), *reversed(list(faults))]
        if not fatal_first:
            return RemoteProtocolError(Refusal.MALFORMED, f"Not well-formed XML (packet {number})")
        fault = fatal_first[0]
        where = f"packet {number}, line {fault.line}, column {fault.column}"
        what = _WHERE.sub("", fault.message).strip()[:_LONGEST_EXPLANATION]
        if fault.type == etree.ErrorTypes.ERR_UNDECLARED_ENTITY:
            explanation = f"{what} ({where}); only &amp; &lt; &gt; &quot; &apos; and numbers such as &#228; are known"
            return RemoteProtocolError(Refusal.ENTITY, explanation)
        return RemoteProtocolError(Refusal.MALFORMED, f"Not well-formed XML ({where}): {what}")


def _forget_default_namespace(packet: _Element) -> None:
    """The names as they were written: a default namespace means nothing here.

    A name with an undeclared prefix is in no namespace; lxml reads it, but does not allow it to be set.
    """
    for node in packet.iter():
        tag = str(node.tag)
        if node.prefix is None and tag.startswith("{"):
            node.tag = tag.rpartition("}")[2]
