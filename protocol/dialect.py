"""One season's wire form as a value: tables instead of branches.

Law: a dialect never changes; `evolve` makes another one that differs in the entries named. A message has one body, and
the same body is written under its own tag, under `originalRequest class=...`, and (a room's data) under
`data class=...` or `originalMessage class=...`.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeAlias, get_args

from spielleiter.game.api import State
from spielleiter.protocol.errors import LocalProtocolError, Refusal, RemoteProtocolError
from spielleiter.protocol.messages import (
    Fragment,
    Message,
    PrepareRequest,
    Request,
    RoomData,
    Slot,
    UnknownPacket,
    UnreadableData,
)
from spielleiter.protocol.plain_form import PlainForm
from spielleiter.protocol.reading import Element, UnreadableError, allowed, quote
from spielleiter.protocol.texts import Texts
from spielleiter.protocol.writer import Body, element

Reader: TypeAlias = Callable[[Element, "Reading"], Message]
DataReader: TypeAlias = Callable[[Element, "Reading"], RoomData]
Writer: TypeAlias = Callable[[Any, "Dialect", str], Body]
"""Message (of the type it stands for in the table), dialect, indent of children → body."""


class RememberingWriter(ABC):
    """A writer of room data that is quicker if it may remember what it wrote last; called itself, it does not.

    What it writes is the same either way: a body without attributes, with children.
    """

    @abstractmethod
    def __call__(self, message: Any, dialect: Dialect, indent: str) -> Body: ...

    @abstractmethod
    def for_room(self) -> Writer:
        """The same writer with a memory of its own, for one room and one thread."""


PACKET_INDENT: Final = "\n  "
_TABLES: Final = ("readers", "data_readers", "writers", "data_writers")


_SLOT_FIELDS: Final[Mapping[str, str]] = {
    "displayName": "display_name",
    "canTimeout": "can_timeout",
    "reserved": "is_reserved",
    "shouldBePaused": "should_be_paused",
}
"""The attributes of a slot in any season, and the field of `Slot` each one fills."""


def _ignore(_note: str) -> None:
    """Nobody wants to know."""


def _no_details(_state: State) -> tuple[object, object]:
    return None, None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Dialect:
    """How one edition reads and writes every packet. Pure: the same input gives the same output."""

    name: str
    texts: Texts
    score_definition: tuple[Fragment, ...]
    readers: Mapping[str, Reader] = field(repr=False)
    """By tag, and by the class of an `originalRequest`."""
    data_readers: Mapping[str, DataReader] = field(repr=False)
    """By the class of a room's data."""
    writers: Mapping[type, Writer] = field(repr=False)
    data_writers: Mapping[type, Writer] = field(repr=False)
    move_classes: tuple[str, ...] = ()
    """The classes of data that are moves; named to a player who sent something else."""
    plain_forms: tuple[PlainForm, ...] = field(default=(), repr=False)
    """Packets that are read without a tree where they come in the usual form."""
    team_names: tuple[str, str] = ("ONE", "TWO")
    """By seat, as in results and positions."""
    welcome_names: tuple[str, str] = ("ONE", "TWO")
    """By seat, as in the welcome."""
    slot_defaults: Slot = Slot(None)  # noqa: RUF009 - a frozen value
    """What a slot means that leaves an attribute out."""
    slot_attributes: tuple[str, ...] = tuple(_SLOT_FIELDS)
    prepare_attributes: tuple[str, ...] = ("gameType", "pause")
    unnamed: str = ""
    """The display name of a player that was given none."""
    player_details: Callable[[State], tuple[object, object]] = field(default=_no_details, repr=False)
    """By seat: what a result of this edition shows of a player in the last position, beside its score."""
    is_strict: bool = False
    """A packet with anything in it that this edition does not know is unreadable, as it was for the release."""

    def __post_init__(self) -> None:
        for table in _TABLES:
            entries = getattr(self, table)
            if not isinstance(entries, MappingProxyType):
                object.__setattr__(self, table, MappingProxyType(dict(entries)))

    def __repr__(self) -> str:
        """Short, since it stands in the signatures that `help` shows."""
        return f"<Dialect {self.name}>"

    def evolve(self, **changes: Any) -> Dialect:
        """The same dialect but for `changes` (field name to value).

        The four tables are merged: an entry replaces the old one, an entry None takes it away.
        """
        for table in _TABLES:
            if table in changes:
                merged = {**getattr(self, table), **changes[table]}
                changes[table] = {key: entry for key, entry in merged.items() if entry is not None}
        return dataclasses.replace(self, **changes)

    def also_reading(self, *others: Dialect) -> Dialect:
        """The same dialect for a client that has not chosen its edition yet: it understands every request of `others`.

        What a room's data means stays this dialect's own, and so does how answers are written.
        """
        readers, writers = dict(self.readers), dict(self.writers)
        for other in others:
            for tag, reader in other.readers.items():
                readers.setdefault(tag, reader)
            for kind in get_args(Request):
                if kind in other.writers:
                    writers.setdefault(kind, other.writers[kind])
        return self.evolve(readers=readers, writers=writers)

    def has_packet(self, kind: type) -> bool:
        """Whether there is a way to write messages of this type; not every edition has one for every type."""
        return kind in self.writers or kind in self.data_writers

    def settle(self, request: PrepareRequest) -> PrepareRequest:
        """`request` as this edition means it, whichever dialect read it: what was left out is this edition's default.

        Raises RemoteProtocolError (UNREADABLE_PACKET) for an attribute that only another season has.
        """
        self._refuse_foreign(request, "prepare", request.given, ("gameType", "pause"), self.prepare_attributes)
        slots = []
        for number, slot in enumerate(request.slots, 1):
            self._refuse_foreign(request, f"slot {number}", slot.given, _SLOT_FIELDS, self.slot_attributes)
            given = _SLOT_FIELDS if slot.given is None else slot.given
            left_out = {
                name: getattr(self.slot_defaults, name)
                for attribute, name in _SLOT_FIELDS.items()
                if attribute not in given
            }
            slots.append(dataclasses.replace(slot, **left_out))
        return dataclasses.replace(request, slots=tuple(slots))

    def _refuse_foreign(
        self,
        request: PrepareRequest,
        where: str,
        given: frozenset[str] | None,
        known: Iterable[str],
        own: tuple[str, ...],
    ) -> None:
        foreign = [name for name in known if name in (given or ()) and name not in own]
        if foreign:
            text = f"{where}: {self.name} has no attribute {', '.join(foreign)}; it has {', '.join(own)}"
            raise RemoteProtocolError(Refusal.UNREADABLE_PACKET, text, request)

    def encode(self, message: Message, indent: str = PACKET_INDENT) -> bytes:
        """One packet as it goes over the wire: a line feed and two blanks, the element, nothing after it.

        Raises LocalProtocolError for a message this dialect has no packet for.
        """
        name, attributes, children, has_end_tag = self.body(message, indent + "  ")
        return element(indent, name, attributes, children, has_end_tag=has_end_tag).encode()

    def decode(self, packet: Element, note: Callable[[str], None] = _ignore) -> Message:
        """What a packet means. `note` is told of every unknown child that was skipped.

        Raises RemoteProtocolError (UNKNOWN_PACKET, UNREADABLE_PACKET).
        """
        tag = packet.tag
        reader = self.readers.get(tag)
        if reader is None:
            text = f"<{quote(tag)}> is not a packet of this protocol"
            raise RemoteProtocolError(Refusal.UNKNOWN_PACKET, text, UnknownPacket(tag))
        try:
            return reader(packet, Reading(self, note))
        except UnreadableError as error:
            text = f"<{tag}> cannot be read: {error.problem}"
            raise RemoteProtocolError(Refusal.UNREADABLE_PACKET, text, error.original) from None

    # -- for the entries of the tables ------------------------------------------------------------------------------

    def body(self, message: Message, indent: str) -> Body:
        """`message` without its tag; its children stand on lines beginning with `indent`."""
        return self._write(self.writers, message, indent)

    def data_body(self, data: RoomData, indent: str) -> Body:
        """A room's data without its tag; `Body.name` is its class."""
        return self._write(self.data_writers, data, indent)

    def read_data(self, data: Element, reading: Reading) -> RoomData:
        """A room's data by its class. What cannot be read becomes UnreadableData, with the reason."""
        class_name = data.get("class")
        reader = self.data_readers.get(class_name or "")
        if reader is None:
            found = "ohne class" if class_name is None else f'class="{quote(class_name)}"'
            return UnreadableData(class_name, f"{data.tag} {found} gibt es nicht; {allowed(self.move_classes)}")
        try:
            return reader(data, reading)
        except UnreadableError as error:
            return UnreadableData(class_name, error.problem)

    def _write(self, table: Mapping[type, Writer], message: object, indent: str) -> Body:
        writer = table.get(type(message))
        if writer is None:
            raise LocalProtocolError(f"{self.name} has no way to write {type(message).__name__}")
        return writer(message, self, indent)


class Reading:
    """The reading of one packet: its dialect, and where to note what was skipped."""

    __slots__ = ("_note", "dialect")

    def __init__(self, dialect: Dialect, note: Callable[[str], None]) -> None:
        self.dialect = dialect
        self._note = note

    def in_dialect(self, dialect: Dialect) -> Reading:
        """The reading of the same packet in another dialect."""
        return Reading(dialect, self._note)

    def skip(self, child: Element, parent: Element) -> None:
        """Pass over a child that means nothing here. Raises UnreadableError in a strict dialect."""
        text = f"<{quote(child.tag)}> in <{quote(parent.tag)}>"
        if self.dialect.is_strict:
            raise UnreadableError(f"unbekanntes Element {text}")
        self._note(text)

    def skip_children(self, element: Element) -> None:
        """Pass over all children of an element that should have none."""
        for child in element:
            self.skip(child, element)

    def children(self, element: Element, *tags: str) -> dict[str, Element]:
        """The first child of each of these names; all others are skipped."""
        found: dict[str, Element] = {}
        for child in element:
            tag = child.tag
            if tag in tags and tag not in found:
                found[tag] = child
            else:
                self.skip(child, element)
        return found
