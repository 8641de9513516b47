"""`Dialect`: how one edition reads and writes all messages, as tables instead of branches.

Invariants: a dialect never changes; `evolve` makes another one that differs in the named entries. A message has one
body, wherever it is written: under its own tag, under `originalRequest class=...` or, for the data of a room, under
`data class=...` or `originalMessage class=...`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from spielleiter.game.api import State
from spielleiter.protocol.errors import LocalProtocolError, Refusal, RemoteProtocolError
from spielleiter.protocol.limits import Limits
from spielleiter.protocol.messages import (
    Fragment,
    Message,
    PrepareRequest,
    RoomData,
    RoomMessage,
    Slot,
    UnreadableData,
)
from spielleiter.protocol.texts import Texts
from spielleiter.protocol.values import (
    Element,
    UnreadableError,
    allowed,
    class_attribute,
    packet_class,
    quote,
    unknown_packet,
)
from spielleiter.protocol.writer import Body, element

PACKET_INDENT: Final = "\n  "
_TABLES: Final = ("readers", "data_readers", "writers", "data_writers")
_SLOT_FIELDS: Final[Mapping[str, str]] = {
    "displayName": "display_name",
    "canTimeout": "can_timeout",
    "reserved": "is_reserved",
    "shouldBePaused": "should_be_paused",
}
"""The attributes that a slot has in any season, each with its field of `Slot`."""

PlainReader: TypeAlias = Callable[[re.Match[bytes]], Message | None]
"""Returns the message in the packet, or None if the tables have to read it, which also report errors."""


class PlainForm(Struct, frozen=True):
    """The plain form of one kind of packet.

    `pattern` returns what matches a whole packet, with the white space around it. A match contains only ASCII, and no
    references. It is compiled when the first packet comes, since that takes a hundredth of the start of a server.
    """

    pattern: Callable[[], re.Pattern[bytes]]
    read: PlainReader
    depth: int
    """The nesting depth of the packet's elements, including the root of the stream."""
    attributes: int
    """The largest number of attributes of any of its elements."""
    children: int
    """The number of elements below that of the packet."""

    def fits(self, limits: Limits) -> bool:
        """Return whether a packet of this form is within all `limits` but `packet_bytes`, which is not checked here."""
        return self.depth <= limits.depth and self.attributes <= limits.attributes and self.children <= limits.children


Reader: TypeAlias = Callable[[Element, "Reading"], Message]
"""Reads a packet, or an `originalRequest`. Raises UnreadableError."""
DataReader: TypeAlias = Callable[[Element, "Reading"], RoomData]
"""Reads the data of a room packet. Raises UnreadableError."""
Writer: TypeAlias = Callable[[Any, "Dialect", str], Body]
"""Writes a message. The arguments are the message (of the type of its key in the table), the dialect, and the indent of
its children; the result is its body. Raises LocalProtocolError."""


PieceWriter: TypeAlias = Callable[[Any, "Dialect", str], Sequence[bytes]]
"""Writes the children of a message like a `Writer`, in UTF-8 and in pieces, which are to be joined."""


class RememberingWriter(ABC):
    """A writer of room data that is faster if it can reuse what it wrote last.

    Calling the object itself writes without a cache; `for_room` returns a writer that has one. Both write the same: a
    body of a fixed name that has children and no attributes.
    """

    @abstractmethod
    def __call__(self, message: Any, dialect: Dialect, indent: str) -> Body: ...

    @abstractmethod
    def for_room(self) -> PieceWriter:
        """Return a writer with a cache of its own, to be used for one room and in one thread."""


_T = TypeVar("_T")


def expected(value: object, kind: type[_T]) -> _T:
    """Return `value`, a move or a position to be written. Raises LocalProtocolError if it is not of this type."""
    if not isinstance(value, kind):
        raise LocalProtocolError(f"not a {kind.__name__}: {value!r:.200}")
    return value


class Dialect(Struct, frozen=True, kw_only=True, eq=False):
    r"""How one edition reads and writes every packet. It is pure: the same input gives the same output.

    >>> from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
    >>> from spielleiter.protocol.messages import StepRequest
    >>> BLOKUS_2021_R3.encode(StepRequest("a4b1", is_forced=True))
    b'\n  <step roomId="a4b1" forced="true"/>'
    """

    name: str
    texts: Texts
    score_definition: tuple[Fragment, ...]
    readers: Mapping[str, Reader]
    """The readers of packets, by tag; also used for an `originalRequest`, by its class."""
    data_readers: Mapping[str, DataReader]
    """The readers of the data of room packets, by class."""
    writers: Mapping[type, Writer]
    """The writers of packets, by type of message."""
    data_writers: Mapping[type, Writer]
    """The writers of the data of room packets, by type."""
    move_classes: tuple[str, ...] = ()
    """The classes of data that are moves, which the error for unreadable data lists."""
    plain_forms: tuple[PlainForm, ...] = ()
    """Packets that are read without a tree if they have their most usual form."""
    team_names: tuple[str, str] = ("ONE", "TWO")
    """The teams in the order of the seats, as they are written in results and positions."""
    welcome_names: tuple[str, str] = ("ONE", "TWO")
    """The teams in the order of the seats, as they are written in the welcome message."""
    slot_defaults: Slot = Slot(None)
    """The values of the attributes that a slot leaves out."""
    slot_attributes: tuple[str, ...] = tuple(_SLOT_FIELDS)
    """The attributes that a slot may have."""
    prepare_attributes: tuple[str, ...] = ("gameType", "pause")
    """The attributes that a `prepare` packet may have."""
    unnamed: str = ""
    """The display name of a player without one."""
    player_details: Callable[[State], tuple[object, object]] = lambda _state: (None, None)
    """Returns, by seat, what a result shows about the player besides its score, taken from the last position."""
    played_on: Callable[[State], State] = lambda state: state
    """Returns the same position under rules by which the game is not over yet.

    For a client that is asked for a move in a position in which the game is over by the rules of the dialect: the
    options of the server's rules are not on the wire.
    """
    official_readers: Mapping[str, Reader | None] = MappingProxyType({})
    """The entries of `readers` for everybody but administrators; None: no such packet.

    The official release disconnects the sender of a request that it does not know.
    """
    is_strict: bool = False
    """Whether packets of clients are read exactly as the official release reads them.

    Then the class of a packet may replace its tag, a packet with an unknown element is unreadable, and so is a room
    packet with unreadable data.
    """

    def __post_init__(self) -> None:
        for table in _TABLES:
            entries = getattr(self, table)
            if not isinstance(entries, MappingProxyType):
                force_setattr(self, table, MappingProxyType(dict(entries)))

    def __repr__(self) -> str:
        """Return a short text, since it appears in the signatures that `help` shows."""
        return f"<Dialect {self.name}>"

    def evolve(self, **changes: Any) -> Dialect:
        """Return a copy of this dialect with `changes` (field name to value).

        The four tables are merged: an entry replaces the old one, and None removes it.

        >>> from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
        >>> BLOKUS_2021_R3.evolve(name="silent", readers={"pause": None}).readers.get("pause")
        """
        for table in _TABLES:
            if table in changes:
                merged = {**getattr(self, table), **changes[table]}
                changes[table] = {key: entry for key, entry in merged.items() if entry is not None}
        return replace(self, **changes)

    def without_own_requests(self) -> Dialect:
        """Return a copy of this dialect that does not read requests that the official release does not know."""
        return self.evolve(readers=self.official_readers) if self.official_readers else self

    def has_packet(self, kind: type) -> bool:
        """Return whether messages of the type `kind` can be written; not every edition has a packet for each type."""
        return kind in self.writers or kind in self.data_writers

    def with_defaults(self, request: PrepareRequest) -> PrepareRequest:
        """Return `request` with this edition's defaults for everything that was left out, whichever dialect read it.

        An attribute that only other seasons have is ignored by a strict dialect, as by the official release; otherwise
        it raises RemoteProtocolError (UNREADABLE_PACKET).
        """
        self._refuse_foreign(request, "prepare", request.given, ("gameType", "pause"), self.prepare_attributes)
        slots = []
        for number, slot in enumerate(request.slots, 1):
            self._refuse_foreign(request, f"slot {number}", slot.given, _SLOT_FIELDS, self.slot_attributes)
            given = _SLOT_FIELDS if slot.given is None else slot.given
            left_out = {
                name: getattr(self.slot_defaults, name)
                for attribute, name in _SLOT_FIELDS.items()
                if attribute not in given or (self.is_strict and attribute not in self.slot_attributes)
            }
            slots.append(replace(slot, **left_out))
        return replace(request, slots=tuple(slots))

    def _refuse_foreign(
        self,
        request: PrepareRequest,
        where: str,
        given: frozenset[str] | None,
        known: Iterable[str],
        own: tuple[str, ...],
    ) -> None:
        foreign = [name for name in known if name in (given or ()) and name not in own]
        if foreign and not self.is_strict:
            text = f"{where}: {self.name} has no attribute {', '.join(foreign)}; it has {', '.join(own)}"
            raise RemoteProtocolError(Refusal.UNREADABLE_PACKET, text, request)

    def encode(self, message: Message, indent: str = PACKET_INDENT) -> bytes:
        """Return `message` as a packet in UTF-8: `indent` (a line feed and two blanks), the element, nothing after it.

        Raises LocalProtocolError for a message for which this dialect has no packet.
        """
        body = self.body(message, indent + "  ")
        return element(indent, body.name, body.attributes, body.children, has_end_tag=body.has_end_tag).encode()

    def decode(
        self, packet: Element, note: Callable[[str], None] = lambda _text: None, *, is_from_server: bool = False
    ) -> Message:
        """Return the message in `packet`. `note` is called with a text for every unknown child that is skipped.

        Packets of a server may contain unknown elements in any dialect. Raises RemoteProtocolError (UNKNOWN_PACKET,
        UNREADABLE_PACKET or INCOMPLETE_PACKET).
        """
        reading = Reading(self, note, is_from_server=is_from_server)
        tag = packet_class(packet) if reading.is_strict else packet.tag
        reader = self.readers.get(tag)
        if reader is None:
            raise unknown_packet(tag)
        try:
            return reader(packet, reading)
        except UnreadableError as error:
            text = f"<{packet.tag}> cannot be read: {error.problem}"
            refusal = Refusal.INCOMPLETE_PACKET if error.is_incomplete else Refusal.UNREADABLE_PACKET
            raise RemoteProtocolError(refusal, text, error.original) from None

    # -- for the entries of the tables ------------------------------------------------------------------------------

    def body(self, message: Message, indent: str) -> Body:
        """Return `message` without its tag. Its children are on lines of their own, which begin with `indent`."""
        return self._write(self.writers, message, indent)

    def data_body(self, data: RoomData, indent: str) -> Body:
        """Return the data of a room packet without its tag; `Body.name` is its class."""
        return self._write(self.data_writers, data, indent)

    def read_data(self, data: Element, reading: Reading) -> RoomData:
        """Return the data of a room packet. Data that cannot be read becomes UnreadableData, with the reason."""
        class_name = class_attribute(data) if reading.is_strict else data.get("class")
        reader = self.data_readers.get(class_name or "")
        if reader is None:
            found = "ohne class" if class_name is None else f'class="{quote(class_name)}"'
            return UnreadableData(class_name, f"{data.tag} {found} gibt es nicht; {allowed(self.move_classes)}")
        try:
            return reader(data, reading)
        except UnreadableError as error:
            return UnreadableData(class_name, error.problem, error.is_incomplete)

    def _write(self, table: Mapping[type, Writer], message: object, indent: str) -> Body:
        writer = table.get(type(message))
        if writer is None:
            raise LocalProtocolError(f"{self.name} has no way to write {type(message).__name__}")
        return writer(message, self, indent)


class Reading:
    """The context for reading one packet: its dialect, its sender, and a function to call with what was skipped."""

    __slots__ = ("_is_from_server", "_note", "dialect")

    def __init__(self, dialect: Dialect, note: Callable[[str], None], *, is_from_server: bool = False) -> None:
        self.dialect = dialect
        self._note = note
        self._is_from_server = is_from_server

    @property
    def is_strict(self) -> bool:
        """Whether the packet is read exactly as the official server would read it."""
        return self.dialect.is_strict and not self._is_from_server

    def in_dialect(self, dialect: Dialect) -> Reading:
        """Return the context for reading the same packet, which a server has sent, in another dialect."""
        return Reading(dialect, self._note, is_from_server=True)

    def skip(self, child: Element, parent: Element) -> None:
        """Note and skip an unknown child. Raises UnreadableError if the packet is read strictly."""
        text = f"<{quote(child.tag)}> in <{quote(parent.tag)}>"
        if self.is_strict:
            raise UnreadableError(f"unbekanntes Element {text}")
        self._note(text)

    def skip_children(self, element: Element) -> None:
        """Skip all children of an element that should have none."""
        for child in element:
            self.skip(child, element)

    def each(self, element: Element, tag: str) -> Iterator[Element]:
        """Yield the children with this tag. Every other child is skipped when it is reached."""
        for child in element:
            if child.tag == tag:
                yield child
            else:
                self.skip(child, element)

    def children(self, element: Element, *tags: str) -> dict[str, Element]:
        """Return the first child with each of `tags`, by tag. All other children are skipped."""
        found: dict[str, Element] = {}
        for child in element:
            tag = child.tag
            if tag in tags and tag not in found:
                found[tag] = child
            else:
                self.skip(child, element)
        return found

    def required(self, element: Element, *tags: str, optional: Iterable[str] = ()) -> dict[str, Element]:
        """Return the first child with each of `tags` and `optional`, by tag. All other children are skipped.

        Raises UnreadableError if there is none with one of `tags`.
        """
        found = self.children(element, *tags, *optional)
        for tag in tags:
            if tag not in found:
                raise UnreadableError(f"im Element {element.tag} fehlt das Element {tag}")
        return found


class RoomWriter:
    """Encodes the packets of the room `room_id` in `dialect`. Each packet begins with `indent`, a line feed and blanks.

    >>> from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
    >>> from spielleiter.protocol.messages import Paused
    >>> print(RoomWriter(BLOKUS_2021_R3, "a4b1").encode(Paused(True)).decode())
    <BLANKLINE>
      <room roomId="a4b1">
        <data class="paused" paused="true"/>
      </room>
    """

    __slots__ = ("_frames", "_indent", "_inner", "_room_id", "_writers", "dialect")

    def __init__(self, dialect: Dialect, room_id: str, indent: str = PACKET_INDENT) -> None:
        self.dialect = dialect
        self._room_id = room_id
        self._indent = indent
        self._inner = indent + "    "
        self._writers = {
            kind: writer.for_room()
            for kind, writer in dialect.data_writers.items()
            if isinstance(writer, RememberingWriter)
        }
        self._frames: dict[type, tuple[bytes, bytes]] = {}
        """For each type of data with a cache the bytes before its children, and those after them."""

    def encode(self, data: RoomData) -> bytes:
        """Return one packet in UTF-8. Raises LocalProtocolError for data that this dialect cannot write."""
        kind = type(data)
        writer = self._writers.get(kind)
        if writer is None:
            return self.dialect.encode(RoomMessage(self._room_id, data), self._indent)
        pieces = writer(data, self.dialect, self._inner)
        frame = self._frames.get(kind)
        if frame is None:
            # taken from the packet as the dialect writes it, so that both are always equal
            packet = self.dialect.encode(RoomMessage(self._room_id, data), self._indent)
            head, _, tail = packet.rpartition(b"".join(pieces))
            frame = self._frames[kind] = head, tail
        return b"".join((frame[0], *pieces, frame[1]))
