"""`TreeBuilder`: builds elements from XML text, with handlers for expat that check the limits.

Invariants: a limit is checked in the handler, before anything more is parsed. Nothing but the caller refers to a
finished element. A parser is used for one stream, and everything that it has stored is freed with it, including the
names. (libxml2, which lxml wraps, keeps every name of every stream in one dictionary until the process ends.) Names are
taken as they are written: prefixes and namespaces have no meaning in this protocol.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final, NoReturn

# ruff warns about these modules because of document types (entity expansion, external files), which are refused at
# their first byte.
from xml.etree.ElementTree import Element as TreeElement
from xml.parsers import expat

from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.limits import FROM_SERVER, Limits
from spielleiter.protocol.object_form import packet_class
from spielleiter.protocol.reading import Element, UnreadableError, quote, unknown_packet

_PACKET_DEPTH: Final = 2
_TEXT_BYTES: Final = 1024
"""The size of a parser's text buffer: its handler is called once for that amount of text, not for every line."""
_UTF8_NAMES: Final = frozenset({"utf-8", "utf8"})
_VERSIONS: Final = "1."


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
        self._open: list[TreeElement] = []
        """The open packet, followed by its open descendants."""
        self._finished: TreeElement | None = None

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
        node = TreeElement(tag, attributes)
        if depth > _PACKET_DEPTH:
            self._children += 1
            if self._children > limits.children:
                raise self.refusal(Refusal.CHILDREN, f"has more than {limits.children} elements below it")
            if depth > limits.depth:
                raise self.refusal(Refusal.DEPTH, f"has elements nested deeper than {limits.depth}")
            self._open[-1].append(node)
            self._open.append(node)
        elif depth == _PACKET_DEPTH:
            if self.known_packets is not None:
                self._check_packet(node, self.known_packets)
            self.packet_number += 1
            self._children = 0
            self._open.append(node)
        else:
            self._root_tag = tag
        if len(attributes) > limits.attributes:
            what = f"has an element <{quote(tag)}> with more than {limits.attributes} attributes"
            raise self.refusal(Refusal.ATTRIBUTES, what)
        if len(self.names) != self._names_checked:
            self._check_names(tag, attributes)

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
            if not len(node):
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

    @staticmethod
    def _check_packet(packet: Element, known: Container[str]) -> None:
        try:
            name = packet_class(packet)
        except UnreadableError as error:
            raise RemoteProtocolError(Refusal.INCOMPLETE_PACKET, error.problem) from None
        if name not in known:
            raise unknown_packet(name)

    def _check_names(self, tag: str, attributes: dict[str, str]) -> None:
        limits = self.limits
        self._names_checked = len(self.names)
        if self._names_checked > limits.names:
            raise self.refusal(Refusal.NAMES, f"has a name too many: a stream may use {limits.names} different ones")
        for name in (tag, *attributes):
            if len(name) > limits.name_length:
                what = f"has a name longer than {limits.name_length} characters: {quote(name)}"
                raise self.refusal(Refusal.NAME_LENGTH, what)


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
