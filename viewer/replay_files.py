"""Reads replays of all editions, recognised by their content: the packets of a room, as an observer receives them.

Invariants: a replay is hostile input. No more than `MOST_BYTES` of it are ever in memory, it is read with the limits of
the wire, and the number of its positions is bounded. Reading raises nothing but ReplayFileError. No season is known by
name here: the edition is the one whose packets are nearest to those of the file and under whose rules the game went on
as it did.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spielleiter.game.api import GameError
from spielleiter.protocol.connection import Connection, ConnectionClosed, Event, Role, StreamEnd
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.edition_recognition import Recogniser
from spielleiter.protocol.errors import LocalProtocolError, Refusal, RemoteProtocolError
from spielleiter.protocol.messages import Memento, RoomData, RoomMessage, UnknownPacket, UnreadableData
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.positions.view import Words

MOST_BYTES: Final = 16 * 1024 * 1024
"""The maximum size of a replay, packed and unpacked. A game of Blokus has about 1 MiB, other games less."""
MOST_POSITIONS: Final = 512
"""Several times the number of plies of the longest game."""


class ReplayFileError(Exception):
    """The file cannot be shown. `words` has the sentence in both languages; `str(error)` is the English one."""

    def __init__(self, de: str, en: str) -> None:
        super().__init__(en)
        self.words: Words = {"de": de, "en": en}


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file, as they are. Raises ReplayFileError."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise ReplayFileError("Diese Datei gibt es nicht.", "There is no such file.") from None
    except IsADirectoryError:
        raise ReplayFileError(
            "Das ist ein Ordner und keine Replay-Datei.", "This is a folder and not a replay."
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        why = getattr(error, "strerror", None) or str(error)
        raise ReplayFileError(
            f"Die Datei kann nicht gelesen werden (das System meldet „{why}“).", f"The file cannot be read ({why})."
        ) from None
    _require_size(content)
    return content


def unpacked(content: bytes) -> bytes:
    """Return `content`, decompressed if it is compressed with gzip. Raises ReplayFileError."""
    _require_size(content)
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            plain = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise ReplayFileError(
            "Die gepackte Datei ist beschädigt oder nicht vollständig.",
            "The compressed file is damaged or incomplete.",
        ) from None
    _require_size(plain)
    return plain


def _require_size(content: bytes) -> None:
    if len(content) > MOST_BYTES:
        most = MOST_BYTES >> 20
        raise ReplayFileError(
            f"Die Datei ist zu groß für ein Replay: Sie hat ausgepackt mehr als {most} MiB.",
            f"The file is too large for a replay: it has more than {most} MiB when it is unpacked.",
        )


@dataclass(frozen=True, slots=True)
class Replay:
    """A game that was read from a file: its edition, and the packets of its room in their order."""

    edition: Edition
    record: tuple[RoomData, ...]
    source: str
    """The name of the file, without its folder."""


def load_replay(path: Path) -> Replay:
    """Read the replay `path`, which may be compressed with gzip. Raises ReplayFileError."""
    return read_replay(read_bytes(path), page_name(path.name))


def page_name(name: str) -> str:
    """Return the name of a file as the page knows it: a text, which on Linux it need not be."""
    return name.encode("utf-8", "replace").decode()


def read_replay(content: bytes, source: str, editions: Mapping[str, Edition] = EDITIONS) -> Replay:
    """Return the game in a replay.

    - `content`: the bytes of the file, which may be compressed with gzip.
    - `source`: the name of the file.
    - `editions`: the editions that are tried, by name.

    Raises ReplayFileError if the bytes are not a complete replay of one of these editions.
    """
    recogniser = Recogniser(edition.dialect for edition in editions.values())
    # the stream of an observer has packets that belong to no room; they are skipped
    readers = recogniser.dialect.readers
    only_rooms = recogniser.dialect.evolve(
        readers={
            tag: lambda packet, _reading: UnknownPacket(packet.tag)
            for tag, reader in readers.items()
            if reader != readers["room"]
        }
    )
    room, record = _room_of(_messages(unpacked(content), only_rooms), editions)
    first = next(data for data in record if isinstance(data, Memento))
    chosen = recogniser.of_room(room)
    assert chosen is not None  # it has a position
    game_type = editions[chosen.name].game_type
    candidates = [each for each in editions.values() if each.game_type == game_type and _is_alike(each, chosen, first)]
    readings = [
        Replay(
            edition,
            tuple(
                Memento(edition.game.resume(data.state), data.names, data.hints) if isinstance(data, Memento) else data
                for data in record
            ),
            source,
        )
        for edition in candidates
    ]
    for reading in readings:
        states = [data.state for data in reading.record if isinstance(data, Memento)]
        # under its rules, the game was not over before its last position
        if all(state.outcome() is None for state in states if state != states[-1]):
            return reading
    return readings[0]


def _messages(content: bytes, dialect: Dialect) -> Iterator[RoomMessage]:
    """Yield the room packets of a replay. Raises ReplayFileError."""
    if not content.strip():
        raise ReplayFileError("Die Datei ist leer.", "The file is empty.")
    connection = Connection(Role.CLIENT, dialect)
    connection.receive_data(content)
    connection.receive_data(b"")
    is_complete = False
    number = 0
    while True:
        event = _next_event(connection, number)
        number += 1
        if isinstance(event, RoomMessage):
            yield event
        elif isinstance(event, StreamEnd):
            is_complete = True
        elif event is None or isinstance(event, ConnectionClosed):
            break
    if not is_complete:
        raise ReplayFileError(
            "Die Datei ist nicht vollständig: Ihr Ende fehlt.", "The file is incomplete: its end is missing."
        )


def _next_event(connection: Connection, number: int) -> Event | None:
    """Return the next event; `number` events were read before. Raises ReplayFileError."""
    try:
        return connection.next_event()
    except RemoteProtocolError as error:
        if error.refusal is Refusal.UNKNOWN_PACKET:
            raise ReplayFileError("Die Datei ist kein Replay.", f"The file is not a replay ({error}).") from None
        if number == 0 and error.refusal in {Refusal.MALFORMED, Refusal.ENCODING}:
            raise ReplayFileError(
                "Die Datei ist kein Replay: Sie enthält kein XML, das sich lesen lässt.",
                f"The file is not a replay: it holds no XML that can be read ({error}).",
            ) from None
        raise ReplayFileError(
            f"Die Datei ist beschädigt: Paket {number + 1} lässt sich nicht lesen.",
            f"The file is damaged: packet {number + 1} cannot be read ({error}).",
        ) from None


def _room_of(
    messages: Iterable[RoomMessage], editions: Mapping[str, Edition]
) -> tuple[str | None, tuple[RoomData, ...]]:
    """Return the first room that has a position, and its packets. Raises ReplayFileError if there is none."""
    records: dict[str | None, list[RoomData]] = {}
    room: str | None = None
    count = 0
    has_unreadable = False
    for message in messages:
        data = message.data
        if data is None or (count and message.room_id != room):
            continue
        if isinstance(data, UnreadableData):
            has_unreadable = True
            if count and data.class_name == "memento":
                raise ReplayFileError(
                    f"Die Datei ist beschädigt: Die Stellung nach der {count}. lässt sich nicht lesen.",
                    f"The file is damaged: the position after number {count} cannot be read.",
                )
        if isinstance(data, Memento):
            room = message.room_id
            count += 1
            if count > MOST_POSITIONS:
                raise ReplayFileError(
                    f"Die Datei ist zu groß für ein Replay: Sie enthält mehr als {MOST_POSITIONS} Stellungen.",
                    f"The file is too large for a replay: it holds more than {MOST_POSITIONS} positions.",
                )
        records.setdefault(message.room_id, []).append(data)
    if count:
        return room, tuple(records[room])
    if has_unreadable:
        known = ", ".join(dict.fromkeys(edition.game_type for edition in editions.values()))
        raise ReplayFileError(
            f"Das Replay stammt aus einem Spieljahr, das dieses Programm nicht kennt (bekannt sind: {known}).",
            f"The replay is of a season that this program does not know (it knows {known}).",
        )
    raise ReplayFileError(
        "Die Datei ist kein Replay: Sie enthält keine Stellung.", "The file is not a replay: it holds no position."
    )


def _is_alike(edition: Edition, chosen: Dialect, position: Memento) -> bool:
    """Return whether the file may be of this edition: it writes the position as the recognised dialect does."""
    message = RoomMessage("", position)
    try:
        edition.game.resume(position.state)
        return edition.dialect is chosen or edition.dialect.encode(message) == chosen.encode(message)
    except (GameError, LocalProtocolError):
        return False
