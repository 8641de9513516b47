"""What a client may send before it has chosen a season.

Seasons have most requests in common, so one table has them all, and no season need be imported to read them.
"""

from __future__ import annotations

from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects import packets
from spielleiter.protocol.messages import REQUEST_TYPES, TimeoutRequest


def reading_all_requests(dialect: Dialect) -> Dialect:
    """Return a copy of `dialect` that also understands every request of other seasons.

    A server uses it for a client that has not chosen its edition yet. The data of rooms and the answers remain those of
    `dialect`.
    """
    writers = {kind: writer for kind, writer in packets.WRITERS.items() if kind in REQUEST_TYPES}
    return dialect.evolve(
        readers={**packets.READERS, **packets.EARLIER_READERS, **dialect.readers},
        writers={**writers, TimeoutRequest: packets.write_timeout, **dialect.writers},
    )
