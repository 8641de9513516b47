"""How many of something that is bounded one address may have, so that there is always some left for others.

Invariants: an address may take another one as long as it has fewer than are free. So a single address gets half of all,
and the next one half of the rest. Addresses among which one machine can choose count as one.

This is no fixed share: a class behind one address (a router, a proxy, this machine) has half of everything while nobody
else is there, and many addresses with a few each can use up all.
"""

from __future__ import annotations

import ipaddress
from collections import Counter

from starlette.requests import Request


def may_take(taken: Counter[str], address: str, most: int) -> bool:
    """Return whether `address` may take one more of `most`, of which each address has `taken` some already."""
    return taken[address] < most - taken.total()


def client_address(request: Request) -> str:
    """Return the address of the client without its port; empty if it is unknown."""
    return request.client.host if request.client else ""


def client_share(request: Request) -> str:
    """Return the address whose share the client uses: its own, or one for all those that it can choose."""
    return share_of(client_address(request))


def share_of(address: str) -> str:
    """Return what stands for all addresses that one machine can choose if it has `address`.

    This machine can choose among those of loopback, and a machine with IPv6 usually in a network of 64 bits.

    >>> share_of("127.9.9.9"), share_of("::1"), share_of("::ffff:192.0.2.7"), share_of("2001:db8::1:2%eth0")
    ('loopback', 'loopback', '192.0.2.7', '2001:db8::/64')
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:  # a Unix socket
        return address
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if found.is_loopback:
        return "loopback"
    return str(found if found.version == 4 else ipaddress.ip_network((found, 64), strict=False))
