"""The limit of open files, which limits the number of connections.

Invariants: the soft limit is raised as far as the system allows a process to raise it. If that is not enough, this is
known at the start, and not in the middle of a game.
"""

from __future__ import annotations

import sys
from typing import Final

RESERVE: Final = 64
"""Descriptors for everything except connections: files, the log, listening sockets, threads."""


def connections_possible(wanted: int) -> int:
    """Raise the limit of open files for `wanted` connections; return the number of connections that are possible."""
    if sys.platform == "win32":  # which has no such limit
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + RESERVE
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    raised = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    except (OSError, ValueError):
        raised = soft
    return max(1, min(wanted, raised - RESERVE))
