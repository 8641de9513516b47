"""A position as a document of its own: a replay that holds nothing else."""

from __future__ import annotations

from spielleiter.protocol.connection import Connection, ConnectionClosed, Role, StreamEnd
from spielleiter.protocol.dialect import Dialect, RoomWriter
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.messages import Memento, RoomMessage, UnreadableData


def write_position(dialect: Dialect, room_id: str, position: Memento) -> str:
    """Return the document with `position` in the form of `dialect`, as a game's replay would begin with it.

    Raises LocalProtocolError for a position of another game.
    """
    return f"<protocol>{RoomWriter(dialect, room_id, chr(10)).encode(position).decode()}\n</protocol>"


def read_position(dialect: Dialect, document: str) -> Memento:
    """Return the position in a document that `write_position` has written in the same `dialect`.

    Raises RemoteProtocolError for every other document.
    """
    connection = Connection(Role.CLIENT, dialect)
    connection.receive_data(document.encode("utf-8", "surrogatepass"))
    connection.receive_data(b"")
    found: Memento | None = None
    while not isinstance(event := connection.next_event(), ConnectionClosed):
        match event:
            case RoomMessage(_, Memento() as memento) if found is None:
                found = memento
            case RoomMessage(_, UnreadableData(_, problem)):
                raise RemoteProtocolError(Refusal.UNREADABLE_PACKET, problem)
            case StreamEnd():
                pass
            case _:
                raise RemoteProtocolError(Refusal.UNREADABLE_PACKET, "there is more in it than one position")
    if found is None:
        raise RemoteProtocolError(Refusal.UNREADABLE_PACKET, "there is no position in it")
    return found
