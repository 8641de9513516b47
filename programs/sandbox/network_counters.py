"""Reading the kernel's network counters of a sandbox: how often something inside wanted to reach another machine.

A sandbox's network has no route to any other machine. The kernel counts every packet and connection for which it finds
no route; that is exact and cannot be avoided. What does not need a route is not seen: connections to ports of the
sandbox itself, and a name that is looked up in a file. A look-up of a name in the DNS counts as one attempt or more,
since the sandbox names a server there that cannot be reached.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Final

UNREACHABLE_DNS: Final = "nameserver 198.51.100.1\noptions timeout:1 attempts:1\n"
"""The content of /etc/resolv.conf in a sandbox; the address belongs to nobody (RFC 5737)."""

_MAX_SIZE: Final = 65536
_NO_ROUTE: Final = "OutNoRoutes"
_NO_ROUTE_6: Final = "Ip6OutNoRoutes"


def count_attempts(descriptors: Iterable[int]) -> int | None:
    """Return the number of attempts up to now; None if no file can be read.

    The descriptors are those of /proc/net/snmp and /proc/net/snmp6, opened in the sandbox; they can be read again.
    """
    counts = [count for each in descriptors if (count := _no_routes(_content(each))) is not None]
    return sum(counts) if counts else None


def _content(descriptor: int) -> str:
    if sys.platform != "linux":
        raise NotImplementedError
    try:
        return os.pread(descriptor, _MAX_SIZE, 0).decode("ascii", "replace")
    except OSError:
        return ""


def _no_routes(text: str) -> int | None:
    """Return the counter in either file: names and values in two lines, or one name and value a line."""
    names: list[str] = []
    for line in text.splitlines():
        fields = line.split()
        if fields[0] == _NO_ROUTE_6:
            return int(fields[1])
        if fields[0] == "Ip:" and not names:
            names = fields
        elif fields[0] == "Ip:" and _NO_ROUTE in names:
            return int(fields[names.index(_NO_ROUTE)])
    return None
