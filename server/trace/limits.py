"""How large traces may become.

Invariants: whatever a peer sends, neither the memory nor the files of a trace grow beyond these values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class TraceLimits:
    """The limits of traces; sizes are in bytes."""

    file_bytes: int = 8 * MIB
    """Size of one file. A game of Blokus takes about 1 MiB for each player."""
    total_bytes: int = 512 * MIB
    """Size of all files that one process writes."""
    files: int = 10_000
    """Number of files that one process writes."""
    queue_bytes: int = 16 * MIB
    """Bytes that wait to be written; what comes while they wait is missing in the files."""
    client_packet_bytes: int = 64 * KIB
    """Size up to which the end of a client's packet is looked for; the rest of a longer one is left out."""
    server_packet_bytes: int = 256 * KIB
    """The same for a server's packet. A position has at most about 45 KiB."""
    unreadable_bytes: int = 4 * KIB
    """Bytes that are shown of what follows something that is not well-formed."""
    hold_time: float = 1.0
    """Seconds for which a client's packet waits for what the server says about it, so that the fault can be marked."""


TRACE_LIMITS: Final = TraceLimits()
