"""Recognises the edition of a room by the packets that the server sends.

Seasons share most packets, but write positions and results differently. A `Recogniser` reads such a packet with every
dialect that it was given, and writes it again. The room has the dialect whose result is nearest to the received packet.
So a new season is recognised without an entry in any table, and a season is recognised even if the server adds an
attribute or an element.

A room is recognised once, from a position or a result, and from then on read and written in that dialect only. Before
that, data is read in the nearest dialect, which decides nothing. Packets outside rooms are written in the form of the
first dialect. A dialect is asked for only if no earlier one fits exactly, since it has to be imported with its game.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, cast

from spielleiter.protocol.all_seasons import READERS, ROOM_TAGS
from spielleiter.protocol.dialect import Dialect, Reading
from spielleiter.protocol.errors import LocalProtocolError
from spielleiter.protocol.messages import CloseConnection, Memento, Message, Result, RoomMessage, UnreadableData
from spielleiter.protocol.packet_reader import parse_element
from spielleiter.protocol.values import Element, UnreadableError
from spielleiter.protocol.writer import typed_element

_INDENT: Final = "\n"


class Recogniser:
    """Recognises the dialects of the rooms on one connection of a client.

    `dialects` are those that the server may use, at least one; the first of equally near ones is taken. It is read as
    far as necessary. The attribute `dialect` is the one to be used for the connection: it reads and writes each room in
    the room's own dialect.
    """

    def __init__(self, dialects: Iterable[Dialect]) -> None:
        self._more = iter(dialects)
        self._first: Final = next(self._more)
        self._known = [self._first]
        self._chosen: dict[str | None, Dialect] = {}
        self._latest = self._first
        self.dialect: Final = self._first.evolve(
            readers={**READERS, **self._first.readers, **dict.fromkeys(ROOM_TAGS, self._read_room)},
            is_strict=False,
            writers={
                RoomMessage: lambda message, _dialect, indent: self._chosen.get(message.room_id, self._first).body(
                    message, indent
                ),
                # in the dialect of the room that was recognised last, since a strict season requires its own form
                CloseConnection: lambda message, _dialect, indent: self._latest.body(message, indent),
            },
        )

    def of_room(self, room_id: str | None) -> Dialect | None:
        """Return the dialect of this room; None as long as it has not been recognised."""
        return self._chosen.get(room_id)

    @property
    def has_recognised(self) -> bool:
        """Whether the dialect of any room has been recognised."""
        return bool(self._chosen)

    def _read_room(self, packet: Element, reading: Reading) -> Message:
        room_id = packet.get("roomId")
        chosen = self._chosen.get(room_id)
        if chosen is not None:
            return _read(packet, reading, chosen)
        nearest: tuple[int, Dialect, RoomMessage] | None = None
        for dialect in self._dialects():
            try:
                message = _read(packet, reading, dialect)
                distance = _distance(packet, message, dialect)
            except (UnreadableError, LocalProtocolError):
                continue
            if nearest is None or distance < nearest[0]:
                nearest = distance, dialect, message
            if distance == 0:
                break
        if nearest is None:
            return _read(packet, reading, self._first)
        _, dialect, message = nearest
        if isinstance(message.data, Memento | Result):
            self._chosen[room_id] = self._latest = dialect
        return message

    def _dialects(self) -> Iterator[Dialect]:
        yield from self._known
        for dialect in self._more:
            self._known.append(dialect)
            yield dialect


def _read(packet: Element, reading: Reading, dialect: Dialect) -> RoomMessage:
    """Read a room packet in `dialect`. Raises UnreadableError if the dialect is strict."""
    return cast("RoomMessage", dialect.readers[ROOM_TAGS[0]](packet, reading.in_dialect(dialect)))


def _distance(packet: Element, message: RoomMessage, dialect: Dialect) -> int:
    """Return the number of elements in which `packet` differs from `message` as `dialect` writes it.

    A result that defines its scores as another season does differs in one more.

    Raises UnreadableError or LocalProtocolError if the dialect cannot read or write it.
    """
    if message.data is None:
        return 0
    if isinstance(message.data, UnreadableData):
        raise UnreadableError(message.data.problem)
    written = parse_element(typed_element(_INDENT, "data", dialect.data_body(message.data, _INDENT)))
    received = next(child for child in packet if child.tag == "data")
    difference = Counter(_elements(received))
    difference.subtract(_elements(written))
    differences = sum(map(abs, difference.values()))
    # results of several seasons have the same form, and differ in what the parts of a score are
    is_foreign = isinstance(message.data, Result) and message.data.definition != dialect.score_definition
    return differences + is_foreign


def _elements(element: Element, path: str = "") -> Iterator[tuple[str, tuple[tuple[str, str], ...], str]]:
    """Yield every element as its path, its attributes and its text. The order of siblings does not matter."""
    path = f"{path}/{element.tag}"
    yield path, tuple(sorted(element.items())), (element.text or "").strip()
    for child in element:
        yield from _elements(child, path)
