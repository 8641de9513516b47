"""As many connections as this process may have open files.

Law: the limit is raised as far as the system lets a process raise it by itself; what is still too little is said, never
found out in the middle of a game.
"""

from __future__ import annotations

from typing import Final

RESERVE: Final = 64
"""Descriptors for everything that is no connection: files, the log, listening sockets, threads."""


def connections_possible(wanted: int) -> int:
    """Raise the process's limit for `wanted` connections; returns how many there can be."""
    try:
        import resource
    except ImportError:  # no limit of this kind here
        return wanted
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
