"""What is the same in all seasons, or differs so little that one table has it all: packets without anything of a game.

So no season has to be imported to read what a client sends before it has chosen one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spielleiter.protocol.dialect import Dialect, Reader
from spielleiter.protocol.dialects import packets
from spielleiter.protocol.messages import REQUEST_TYPES, TimeoutRequest

ROOM_TAGS: Final = tuple(tag for tag, reader in packets.READERS.items() if reader is packets.read_room)
"""The tag of packets with the data of a room, and their class, which the releases accept in its place."""

READERS: Final[Mapping[str, Reader]] = {**packets.READERS, **packets.EARLIER_READERS}
"""The packets of all seasons, by tag and by class."""


def reading_all_requests(dialect: Dialect) -> Dialect:
    """Return a copy of `dialect` that also understands every request of other seasons.

    A server uses it for a client that has not chosen its edition yet. The data of rooms and the answers remain those of
    `dialect`.
    """
    writers = {kind: writer for kind, writer in packets.WRITERS.items() if kind in REQUEST_TYPES}
    return dialect.evolve(
        readers={**READERS, **dialect.readers},
        writers={**writers, TimeoutRequest: packets.write_timeout, **dialect.writers},
    )
