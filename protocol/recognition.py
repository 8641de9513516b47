"""Which season a room plays, found out from what the server sends.

Seasons share most packets but write positions and results differently. A `Recogniser` reads such a packet with every
dialect it was given and writes it again; the dialect whose own words are nearest to what came is the room's. So a new
season is recognised without an entry in any table, and a server that adds an attribute or an element still is.

Invariants: a room is recognised once, from a position or a result, and then read and written in that dialect alone.
Before that, data is read by the nearest dialect and settles nothing. Packets outside of rooms are written in the
first dialect's form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, cast

from spielleiter.protocol.dialect import Dialect, Reading
from spielleiter.protocol.errors import LocalProtocolError
from spielleiter.protocol.messages import CloseConnection, Memento, Message, Result, RoomMessage, UnreadableData
from spielleiter.protocol.reading import Element, UnreadableError
from spielleiter.protocol.tree import parse_element
from spielleiter.protocol.writer import Body, typed_element

_ROOM: Final = "room"
_INDENT: Final = "\n"


class Recogniser:
    """For one connection of a client: `dialect` is what the connection speaks.

    `dialects`: those the server may use, at least one. The first of equally near ones is taken.
    """

    def __init__(self, dialects: Sequence[Dialect]) -> None:
        self._dialects = tuple(dialects)
        self._chosen: dict[str | None, Dialect] = {}
        self._latest = self._dialects[0]
        own = self._latest
        readers = {tag: reader for each in reversed(self._dialects) for tag, reader in each.readers.items()}
        rooms = {tag: self._read_room for tag, reader in readers.items() if reader is readers[_ROOM]}
        self.dialect: Final = own.evolve(
            readers={**readers, **own.readers, **rooms},
            writers={RoomMessage: self._write_room, CloseConnection: self._write_goodbye},
        )

    def of_room(self, room_id: str | None) -> Dialect | None:
        """The dialect of this room; None while nothing has been read that tells."""
        return self._chosen.get(room_id)

    @property
    def has_recognised(self) -> bool:
        """Whether anything has been read that tells a room's dialect."""
        return bool(self._chosen)

    def _read_room(self, packet: Element, reading: Reading) -> Message:
        room_id = packet.get("roomId")
        chosen = self._chosen.get(room_id)
        if chosen is not None:
            return _read(packet, reading, chosen)
        nearest: tuple[int, Dialect, RoomMessage] | None = None
        for dialect in self._dialects:
            try:
                message = _read(packet, reading, dialect)
                distance = _distance(packet, message, dialect)
            except (UnreadableError, LocalProtocolError):
                continue
            if nearest is None or distance < nearest[0]:
                nearest = distance, dialect, message
        if nearest is None:
            return _read(packet, reading, self._dialects[0])
        _, dialect, message = nearest
        if isinstance(message.data, Memento | Result):
            self._chosen[room_id] = self._latest = dialect
        return message

    def _write_room(self, message: RoomMessage, _dialect: Dialect, indent: str) -> Body:
        return self._chosen.get(message.room_id, self._dialects[0]).body(message, indent)

    def _write_goodbye(self, message: CloseConnection, _dialect: Dialect, indent: str) -> Body:
        """In the words of the room that was recognised last: a player of a strict season has to use them."""
        return self._latest.body(message, indent)


def _read(packet: Element, reading: Reading, dialect: Dialect) -> RoomMessage:
    """Raises UnreadableError in a strict dialect."""
    return cast("RoomMessage", dialect.readers[_ROOM](packet, reading.in_dialect(dialect)))


def _distance(packet: Element, message: RoomMessage, dialect: Dialect) -> int:
    """In how many elements `packet` differs from what `dialect` makes of it.

    Raises UnreadableError or LocalProtocolError where it has no words for it.
    """
    if message.data is None:
        return 0
    if isinstance(message.data, UnreadableData):
        raise UnreadableError(message.data.problem)
    written = parse_element(typed_element(_INDENT, "data", dialect.data_body(message.data, _INDENT)))
    came = next(child for child in packet if child.tag == "data")
    difference = Counter(_elements(came))
    difference.subtract(_elements(written))
    return sum(map(abs, difference.values()))


def _elements(element: Element, path: str = "") -> Iterator[tuple[str, tuple[tuple[str, str], ...], str]]:
    """Every element with its place, its attributes and its text; the order of neighbours does not matter."""
    path = f"{path}/{element.tag}"
    yield path, tuple(sorted(element.items())), (element.text or "").strip()
    for child in element:
        yield from _elements(child, path)
