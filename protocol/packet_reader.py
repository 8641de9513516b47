"""`PacketReader`: splits the bytes of a stream into packets, parses them, and enforces the limits.

Invariants: the parser gets the bytes in pieces that end at the earliest possible end of a packet. So the bytes of a
packet are counted exactly, and the limits are checked before the memory is used. A piece ends with a complete tag,
comment, instruction or section, or with white space. So the parser never has to defer incomplete input (as expat does
from 2.6.0 on). Every refusal says what is wrong and where. None of this depends on how the received bytes were divided,
and every byte is examined a bounded number of times, for any input. Memory does not grow with the length of the stream.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Container, Iterable, Iterator
from itertools import islice
from typing import Final, NoReturn, overload

# ruff warns about this module because of document types (entity expansion, external files), which are refused at
# their first byte.
from xml.parsers import expat

from msgspec import Struct

from spielleiter.protocol.dialect import PlainForm
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.limits import FROM_SERVER, Limits
from spielleiter.protocol.markup import (
    BLANKS,
    REPLACED,
    SECTION_END,
    TAB,
    MarkupScanner,
    end_of_markups,
    find_section_end_in_value,
    has_controls,
    replace_controls,
)
from spielleiter.protocol.messages import Message
from spielleiter.protocol.values import Element, UnreadableError, packet_class, quote, unknown_packet

_PACKET_DEPTH: Final = 2
_TEXT_BYTES: Final = 1024
"""The size of a parser's text buffer: its handler is called once for that amount of text, not for every line."""
_UTF8_NAMES: Final = frozenset({"utf-8", "utf8"})
_VERSIONS: Final = "1."
_BOM: Final = codecs.BOM_UTF8
_BEFORE_ROOT: Final = b" \t\r\n\0"
"""What may come before the root element: more control characters are not XML, but perhaps the start of TLS."""
_HEAD_BYTES: Final = 64
_LEAST_BYTES: Final = 2
"""The second byte distinguishes UTF-16 from UTF-8 if the first one does not."""
_NOT_UTF8: Final = (b"\xfe", b"\xff", b"<\0", b"\0<\0", b"\0\0\0<")
"""How streams in UTF-16 and UTF-32 begin. Any other NUL is a control character."""
_MARK_BYTES: Final = 64
"""The length of the part of an end tag that is searched for. A longer part would only be slower to compare."""
_PLAIN_START: Final = re.compile(
    rb"""[ \t\r\n]*<([A-Za-z][A-Za-z0-9]*)(?:[ \t\r\n]+[A-Za-z]+=(?:"[^"<>]*"|'[^'<>]*'))*[ \t\r\n]*>"""
)
"""A start tag in the most usual form. A packet that begins with one cannot end before an end tag of the same name."""
_PLAIN_BYTES: Final = 1024
"""The number of bytes at the start of a packet that are searched for a plain start tag whenever bytes arrive."""
_SHORT_BYTES: Final = 4096
"""A packet of at most this length is taken from the buffer as a whole."""
_MOST_SKIPPED: Final = 16 * 1024
"""The maximum of lines and columns that the parser has not seen; with more, the packet is parsed instead of skipped."""
_LONGEST_REMEMBERED: Final = 4096
"""The number of bytes of a packet that are kept, to be shown if reading it fails because of a bug."""
_EXCERPT_BYTES: Final = 20
_MARKUP_START: Final = re.compile(rb"<(?:!--.*?-->|\?.*?\?>|!\[CDATA\[.*?\]\]>|[!?/]|([^!?/]))", re.DOTALL)
"""The beginning of markup; only a start tag has a group."""
_REPLACED_GROWTH: Final = len(REPLACED) - 1
"""The additional bytes of an invalid byte after it has been replaced."""
_TAB_GROWTH: Final = len(TAB) - 1
_NONCHARACTER: Final = re.compile(rb"\xef\xbf[\xbe\xbf]")
"""U+FFFE or U+FFFF, which XML does not allow and the official server accepts."""
_DOCTYPE: Final = b"<!DOCTYPE"
_OPENING: Final = len(b"<!")
_EMPTY_REFERENCE: Final = re.compile(rb"&(?:#[0-9A-Za-z_#\x80-\xff-]*)?;")
_BAD_NUMBER: Final = expat.errors.codes[expat.errors.XML_ERROR_BAD_CHAR_REF]
_MISMATCH: Final = expat.errors.codes[expat.errors.XML_ERROR_TAG_MISMATCH]
_UNDECLARED: Final = expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]


class _Node(Struct, weakref=True):
    """An `Element`: it is made as fast as one of `xml.etree`, whose import takes as long as ten of our own modules."""

    tag: str
    attributes: dict[str, str]
    text: str | None = None
    children: list[_Node] = []

    @overload
    def get(self, key: str) -> str | None: ...

    @overload
    def get(self, key: str, default: str) -> str: ...

    def get(self, key: str, default: str | None = None) -> str | None:
        return self.attributes.get(key, default)

    def items(self) -> Iterable[tuple[str, str]]:
        return self.attributes.items()

    def __iter__(self) -> Iterator[_Node]:
        return iter(self.children)

    def __len__(self) -> int:
        return len(self.children)


class TreeBuilder:
    """Builds one packet after another from the calls of a parser, and refuses anything that exceeds `limits`.

    The handlers of the parser refer to the builder, but the builder does not refer to the parser. So reference counting
    frees both.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        """It may be replaced at any time."""
        self.known_packets: Container[str] | None = None
        """The classes of packets that may begin; None: any. It may be replaced at any time."""
        self.packet_number = 0
        """The number of packets that have begun."""
        self.depth = 0
        """The number of open elements, including the root."""
        self.tag_count = 0
        """The number of start tags so far."""
        self.is_over = False
        """Whether the root has been closed."""
        self.names: dict[str, str] = {}
        """All names of elements and attributes so far. The parser stores each string once, in this dictionary."""
        self._names_checked = 0
        self._children = 0
        self._root_tag: str | None = None
        self._open: list[_Node] = []
        """The open packet, followed by its open descendants."""
        self._finished: _Node | None = None

    @property
    def open_tag(self) -> str | None:
        """The tag of the innermost open element."""
        return self._open[-1].tag if self._open else self._root_tag

    @property
    def packet_tag(self) -> str | None:
        """The tag of the open packet; None between packets."""
        return self._open[0].tag if self._open else None

    def end_tags(self) -> bytes:
        """Return the end tags of the open packet and its open descendants."""
        return "".join(f"</{node.tag}>" for node in reversed(self._open)).encode()

    def take(self) -> Element | None:
        """Return the packet that has ended since the last call; None if there is none."""
        packet, self._finished = self._finished, None
        return packet

    def refusal(self, refusal: Refusal, what: str) -> RemoteProtocolError:
        """Return the error whose text says `what` about the open packet or, between packets, the next one."""
        return RemoteProtocolError(refusal, f"Packet {self.packet_number + (not self._open)} {what}")

    # -- handlers of the parser -------------------------------------------------------------------------------------

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle a start tag. Raises RemoteProtocolError."""
        self.depth = depth = self.depth + 1
        self.tag_count += 1
        limits = self.limits
        node = _Node(tag, attributes)
        if depth > _PACKET_DEPTH:
            self._children += 1
            if self._children > limits.children:
                raise self.refusal(Refusal.CHILDREN, f"has more than {limits.children} elements below it")
            if depth > limits.depth:
                raise self.refusal(Refusal.DEPTH, f"has elements nested deeper than {limits.depth}")
            self._open[-1].children.append(node)
            self._open.append(node)
        elif depth == _PACKET_DEPTH:
            if self.known_packets is not None:
                try:
                    name = packet_class(node)
                except UnreadableError as error:
                    raise RemoteProtocolError(Refusal.INCOMPLETE_PACKET, error.problem) from None
                if name not in self.known_packets:
                    raise unknown_packet(name)
            self.packet_number += 1
            self._children = 0
            self._open.append(node)
        else:
            self._root_tag = tag
        if len(attributes) > limits.attributes:
            what = f"has an element <{quote(tag)}> with more than {limits.attributes} attributes"
            raise self.refusal(Refusal.ATTRIBUTES, what)
        if len(self.names) != self._names_checked:
            self._names_checked = len(self.names)
            if self._names_checked > limits.names:
                what = f"has a name too many: a stream may use {limits.names} different ones"
                raise self.refusal(Refusal.NAMES, what)
            for name in (tag, *attributes):
                if len(name) > limits.name_length:
                    what = f"has a name longer than {limits.name_length} characters: {quote(name)}"
                    raise self.refusal(Refusal.NAME_LENGTH, what)

    def end(self, _tag: str) -> None:
        """Handle an end tag. The parser has already checked that it is the right one."""
        self.depth -= 1
        if self._open:
            node = self._open.pop()
            if not self._open:
                self._finished = node
        else:
            self.is_over = True

    def text(self, text: str) -> None:
        """Handle text. Only the text before an element's first child is kept."""
        if self._open:
            node = self._open[-1]
            if not node.children:
                node.text = text if node.text is None else node.text + text

    def refuse_doctype(self, *_what: object) -> NoReturn:
        """Refuse a document type. Raises RemoteProtocolError."""
        raise self.doctype_refusal()

    @staticmethod
    def doctype_refusal() -> RemoteProtocolError:
        """Return the error for a document type."""
        return RemoteProtocolError(Refusal.DOCTYPE, "The stream contains a DOCTYPE; document types are not allowed")

    def check_declaration(self, version: str, encoding: str | None, _standalone: int) -> None:
        """Check the XML declaration. Raises RemoteProtocolError."""
        if encoding is not None and encoding.lower() not in _UTF8_NAMES:
            explanation = f"The stream declares the encoding {quote(encoding)!r}; only UTF-8 is understood"
            raise RemoteProtocolError(Refusal.ENCODING, explanation)
        if not version.startswith(_VERSIONS):
            explanation = f"The stream declares version {quote(version)!r} of XML; only 1.0 is understood"
            raise RemoteProtocolError(Refusal.MALFORMED, explanation)


def new_parser(builder: TreeBuilder) -> expat.XMLParserType:
    """Return a parser of UTF-8 for one stream, which calls `builder`."""
    parser = expat.ParserCreate("utf-8", None, builder.names)
    # Otherwise newer releases of expat defer the end of a packet until more bytes arrive. Older ones lack the method.
    getattr(parser, "SetReparseDeferralEnabled", bool)(False)
    parser.buffer_size = _TEXT_BYTES
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    parser.StartDoctypeDeclHandler = builder.refuse_doctype
    parser.XmlDeclHandler = builder.check_declaration
    return parser


def parse_element(text: str) -> Element:
    """Return the only element in `text`, which must be XML written by this program."""
    builder = TreeBuilder(FROM_SERVER)
    new_parser(builder).Parse(f"<protocol>{text}")
    element = builder.take()
    assert element is not None
    return element


class PacketReader:
    """Takes the bytes of one stream, and returns its packets one at a time."""

    def __init__(self, limits: Limits, *, must_begin_at_once: bool = False) -> None:
        """Start a stream. If `must_begin_at_once`, nothing may come before an XML declaration, as in the standard."""
        self._must_begin_at_once = must_begin_at_once
        self._buffer = bytearray()
        self._scanner = MarkupScanner()
        self._spent = 0
        """The number of bytes parsed since the end of the last packet."""
        self._remembered = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_ascii = False
        """Whether the previous piece was ASCII. If so, the decoder has no incomplete character."""
        self._builder = TreeBuilder(limits)
        self._parser = new_parser(self._builder)
        self._fed = 0
        """The number of bytes that the parser was given."""
        self._has_begun = False
        """Whether the first `<` of the stream has been found."""
        self._is_between = False
        """Whether the last thing read was the end of a packet, or white space after it: the next packet begins here."""
        self._skipped_lines = self._skipped_columns = 0
        """The lines and columns that the parser has not seen. It gets them later, so that it reports true positions."""
        self._end_mark: bytes | None = None
        """The beginning of the end tag of the open packet; None between packets."""

    @property
    def limits(self) -> Limits:
        """What the peer may send. It may be replaced at any time; the new limits apply from the next piece on."""
        return self._builder.limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        self._builder.limits = limits

    def expect(self, known_packets: Container[str] | None) -> None:
        """Read as the official server does: refuse a packet whose class is not one of these at its start tag.

        None: refuse no packet for its class, and accept `]]>` in attributes, as XML does.
        """
        self._builder.known_packets = known_packets

    @property
    def is_ended(self) -> bool:
        """Whether the root element has been closed, so that nothing more can follow."""
        return self._builder.is_over

    @property
    def unread_bytes(self) -> int:
        """The number of bytes that have arrived and have not been parsed."""
        return len(self._buffer)

    @property
    def packet_number(self) -> int:
        """The number of packets that have begun."""
        return self._builder.packet_number

    @property
    def remembered(self) -> bytes:
        """The first bytes of the packet that is being read, to be shown if that fails because of a bug."""
        return bytes((self._remembered + self._buffer)[:_LONGEST_REMEMBERED])

    @property
    def has_partial_packet(self) -> bool:
        """Whether a packet, or markup before it, has begun and not ended yet; text between packets has no meaning."""
        return self._end_mark is not None or b"<" in self._buffer

    @property
    def has_partial_markup(self) -> bool:
        """Whether a tag, other markup, or a reference has begun and not ended yet."""
        return b"<" in self._buffer or b"&" in self._buffer.rpartition(b";")[2]

    def receive(self, data: bytes) -> None:
        """Append bytes that have arrived to the buffer."""
        self._buffer += data

    def complete(self) -> None:
        """End the open packet, as the official server's parser does when the input ends between two tags."""
        if self._end_mark is not None and b"<" not in self._buffer:
            self._buffer += self._builder.end_tags()

    def read_plain(self, forms: Iterable[PlainForm]) -> Message | None:
        """Return the message of the next packet if it has one of these `forms`; None if the parser has to read it."""
        if not self._is_between or not self._is_ascii or self._skipped_lines + self._skipped_columns > _MOST_SKIPPED:
            return None
        self._remembered.clear()
        limits = self._builder.limits
        end = min(_PLAIN_BYTES, limits.packet_bytes - self._spent)
        for form in forms:
            match = form.pattern().match(self._buffer, 0, end)
            if match is not None and form.fits(limits):
                message = form.read(match)
                if message is not None:
                    self._skip(match.end())
                    return message
        return None

    def _skip(self, size: int) -> None:
        """Treat the first `size` bytes of the buffer as read, which are a whole packet."""
        buffer = self._buffer
        last_line = buffer.rfind(b"\n", 0, size)
        if last_line < 0:
            self._skipped_columns += size
        else:
            self._skipped_lines += buffer.count(b"\n", 0, size)
            self._skipped_columns = size - 1 - last_line
        del buffer[:size]
        self._scanner.restart()
        self._spent = 0
        self._builder.packet_number += 1

    def next_packet(self) -> Element | None:
        """Return the next complete packet; None if more bytes are needed, or if the root has been closed.

        Raises RemoteProtocolError; the reader must not be used after that.
        """
        buffer = self._buffer
        while not self.is_ended:
            if not self._has_begun and not self._is_begun():
                return None
            size = self._measure_plain_packet() or self._measure_markup()
            limit = self.limits.packet_bytes
            if (size or len(buffer)) > limit - self._spent:
                explanation = f"is longer than {limit} bytes, which is the limit here"
                raise self._builder.refusal(Refusal.PACKET_SIZE, explanation).at(limit)
            if not size:
                return None
            piece = buffer[:size]  # if it contains the end of a packet, it ends there
            del buffer[:size]
            self._scanner.restart()
            if not self._spent:
                self._remembered.clear()
            if len(self._remembered) < _LONGEST_REMEMBERED:
                self._remembered += piece[:_LONGEST_REMEMBERED]
            self._spent += size
            packet = self._parse(piece)
            if packet is not None:
                return packet
        return None

    def _measure_plain_packet(self) -> int:
        """Return the length of the next packet if it is short, complete, and has a plain start tag; otherwise 0.

        The packet could also be cut into smaller pieces, but each piece costs as much as the whole packet does.
        """
        buffer = self._buffer
        if not self._is_between or not buffer.endswith((b">", b">\n")):
            return 0
        start = _PLAIN_START.match(buffer, 0, _PLAIN_BYTES)
        if start is None:
            return 0
        found = buffer.find(b"</" + start[1], start.end(), _SHORT_BYTES)
        size = buffer.find(b">", found, _SHORT_BYTES) + 1 if found >= 0 else 0
        if buffer.find(b"<!", 0, size) >= 0 or buffer.find(b"<?", 0, size) >= 0:
            return 0  # the end tag that was found may be inside a comment
        return size if size <= self.limits.packet_bytes - self._spent else 0

    def _measure_markup(self) -> int:
        """Return the length of the next markup, or of text that is certainly between packets.

        Returns 0 if the markup is incomplete. Text between packets is measured up to the first error in it, which so
        shows at once. Inside a packet, the markup after the first one is included, up to the
        point where the packet may end.
        """
        buffer, mark = self._buffer, self._end_mark
        end = self._scanner.find_end(buffer)
        if mark is None:
            if not self._builder.depth:
                return end
            blanks = 0 if end else len(buffer) - len(buffer.lstrip(BLANKS))
            return blanks or self._scanner.find_text_fault(buffer) or end
        if not end:
            return 0
        found = buffer.find(mark)
        limit = buffer.find(b">", found) + 1 if found >= 0 else 0
        room = self.limits.packet_bytes - self._spent
        return max(end, end_of_markups(buffer, min(limit or len(buffer), room)))

    def _is_begun(self) -> bool:
        """Examine the first bytes of the stream. Return True once they are known to be the start of XML in UTF-8."""
        head = bytes(self._buffer[:_HEAD_BYTES])
        if head.startswith(_NOT_UTF8):
            explanation = "The stream is not UTF-8; it looks like UTF-16 or UTF-32"
            raise RemoteProtocolError(Refusal.ENCODING, explanation).at(0)
        is_open = any(other.startswith(head) for other in (_BOM, *_NOT_UTF8))
        if len(head) < _LEAST_BYTES or (is_open and head != _BOM):
            return False
        # Drop everything before the first `<`: blanks before an XML declaration are an error, but a common one. If they
        # are not allowed, one of them is left for the parser, which refuses only the declaration.
        content = self._buffer.removeprefix(_BOM)
        if self._must_begin_at_once and content[:1] in _BEFORE_ROOT and content:
            self._skipped_columns = 1
        size = len(self._buffer) - len(content.lstrip(_BEFORE_ROOT))
        del self._buffer[:size]
        self._spent += size
        text = self._buffer[:_HEAD_BYTES]
        if text and not text.startswith(b"<"):
            found = text.decode("utf-8", "replace").split("\n", 1)[0].rstrip()
            explanation = f"The stream has to begin with <protocol>, but it begins with {quote(found)!r}"
            raise RemoteProtocolError(Refusal.MALFORMED, explanation).at(self._spent)
        self._has_begun = bool(text)
        return True

    # -- parsing the pieces -----------------------------------------------------------------------------------------

    def _parse(self, piece: bytearray) -> Element | None:
        builder = self._builder
        # the text is valid UTF-8, without characters that XML does not allow
        was_ascii, self._is_ascii = self._is_ascii, piece.isascii()
        if was_ascii and self._is_ascii:  # it needs no decoder, which has no incomplete character either
            text = bytes(piece)
        else:
            text = _NONCHARACTER.sub(REPLACED, self._decoder.decode(piece).encode())
        if has_controls(text):
            text = replace_controls(text, is_inside=builder.depth > 0)
        data = text
        if self._skipped_lines or self._skipped_columns:
            data = b"\n" * self._skipped_lines + b" " * self._skipped_columns + text
            self._skipped_lines = self._skipped_columns = 0
        self._fed += len(data)
        if SECTION_END in text and builder.known_packets is not None:
            index = find_section_end_in_value(text)
            if index >= 0:  # only the official server's parser does not accept it
                what = "has ]]> in an attribute, where it must be ]]&gt;"
                raise builder.refusal(Refusal.MALFORMED, what).at(self._position(piece, text, index))
        tag_count = builder.tag_count
        try:
            self._parser.Parse(data)
        except expat.ExpatError as error:
            index = len(text) - (self._fed - self._parser.ErrorByteIndex)
            raise self._malformed(error, data).at(self._position(piece, text, index)) from None
        except RemoteProtocolError as error:  # the parser has gone on to the end of the piece
            number = builder.tag_count - tag_count  # of the start tag that was refused; 0: the first markup was
            starts = (found.start() for found in _MARKUP_START.finditer(text) if not number or found[1])
            error.position = self._position(piece, text, next(islice(starts, max(0, number - 1), None), 0))
            raise
        packet = builder.take()
        if packet is not None:
            self._is_between = True
            self._end_mark = None
            self._spent = 0
            return packet
        self._is_between &= not piece.strip(BLANKS)
        if self._end_mark is None:
            tag = builder.packet_tag
            if tag is not None:
                self._end_mark = b"</" + tag.encode()[:_MARK_BYTES] if tag.isascii() else b"</"
        return None

    def _position(self, piece: bytearray, text: bytes, index: int) -> int:
        """Return the number of bytes from the end of the last packet to `index` in `text`, which is `piece` decoded."""
        before = text[: max(0, index)]
        growth = _REPLACED_GROWTH * before.count(REPLACED) + _TAB_GROWTH * before.count(TAB)
        return self._spent - len(piece) + len(before) - growth

    def _malformed(self, error: expat.ExpatError, data: bytes) -> RemoteProtocolError:
        """Return the error for the piece `data` that the parser could not read."""
        builder = self._builder
        index = len(data) - (self._fed - self._parser.ErrorByteIndex)
        if _DOCTYPE in data[max(0, index - _OPENING) : index + len(_DOCTYPE)].upper():
            return builder.doctype_refusal()
        number = builder.packet_number + (builder.packet_tag is None)
        where = f"packet {number}, line {error.lineno}, column {error.offset + 1}"
        what = expat.ErrorString(error.code)
        if error.code == _MISMATCH:
            what += f"; the element that has to end first is <{quote(builder.open_tag or '')}>"
        else:
            # only up to the end of the markup: how much follows in this piece depends on what had arrived
            found, bracket, _ = data[index : index + _EXCERPT_BYTES].partition(b">")
            what += f" at {''.join((found + bracket).decode('utf-8', 'replace').splitlines()[:1])!r}"
        if error.code == _UNDECLARED:
            explanation = f"{what} ({where}); only &amp; &lt; &gt; &quot; &apos; and numbers such as &#228; are known"
            return RemoteProtocolError(Refusal.ENTITY, explanation)
        start = data.rfind(b"&", 0, index + 1)
        reference = _EMPTY_REFERENCE.match(data, max(0, start))
        is_faulty = reference is not None and index < reference.end() and (index > start or error.code == _BAD_NUMBER)
        is_outside = builder.packet_tag is None  # inside a packet, the official server's parser reports every failure
        refusal = Refusal.REFERENCE if is_faulty and is_outside else Refusal.MALFORMED
        return RemoteProtocolError(refusal, f"Not well-formed XML ({where}): {what}")
