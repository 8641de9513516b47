"""How many of something that is bounded one address may have, so that there is always some left for others.

Invariants: an address may take another one as long as it has fewer than are free. So a single address gets half of all,
and the next one half of the rest.

This is no fixed share: a class behind one address (a router, a proxy, this machine) has half of everything while nobody
else is there, and many addresses with a few each can use up all.
"""

from __future__ import annotations

from collections import Counter

from starlette.requests import Request


def may_take(taken: Counter[str], address: str, most: int) -> bool:
    """Return whether `address` may take one more of `most`, of which each address has `taken` some already."""
    return taken[address] < most - taken.total()


def client_address(request: Request) -> str:
    """Return the address of the client without its port; empty if it is unknown."""
    return request.client.host if request.client else ""
