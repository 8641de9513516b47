"""Reads the bodies of requests.

Invariants: a body is refused before it is read if its size is announced and too large. Each has to be complete in time.
All that are being read or used have one budget together, and no client can take more than half of what is left of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import msgspec
import trio
from starlette.requests import Request

from spielleiter.viewer.web.answers import JSON, WebError, number_in
from spielleiter.viewer.web.guard import client_share, may_take

JSON_BYTES: Final = 16 * 1024
"""The maximum size of a body with JSON."""
MOST_BYTES: Final = 32 * 1024 * 1024
"""The maximum size of all bodies together."""
BODY_TIMEOUT: Final = 10.0
"""Seconds within which a body must be complete."""

_Form = TypeVar("_Form")


class BodyBudget:
    """What all bodies of one site together may take: `most_bytes`. `taken` are the bytes by address."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self.taken: Counter[str] = Counter()

    def take(self, address: str, size: int) -> None:
        """Take `size` bytes more, which have to be given back. Raises WebError if there are too many."""
        if not may_take(self.taken, address, self._most_bytes):
            raise WebError(
                429,
                "Es werden gerade zu viele Dateien hochgeladen; versuche es gleich noch einmal.",
                "Too much is being uploaded; try again in a moment.",
            )
        self.taken[address] += size

    def give_back(self, address: str, size: int) -> None:
        """Give back `size` bytes."""
        self.taken[address] -= size
        self.taken += Counter()  # drop addresses whose count is 0


@asynccontextmanager
async def body_of(request: Request, most_bytes: int, seconds: float = BODY_TIMEOUT) -> AsyncIterator[bytes]:
    """Give the body of `request`, which is in the budget until the block is left, and has to come in these `seconds`.

    Raises WebError if it is too large, arrives too slowly, or if all bodies together are too large.
    """
    if (number_in(request.headers.get("content-length", "")) or 0) > most_bytes:
        raise _too_large(most_bytes)
    budget: BodyBudget = request.app.state.bodies
    address = client_share(request)
    body = bytearray()
    try:
        with trio.move_on_after(seconds) as scope:
            while True:
                part = await request.receive()
                data = part.get("body", b"")
                budget.take(address, len(data))
                body += data
                if len(body) > most_bytes:
                    raise _too_large(most_bytes)
                if not part.get("more_body", False):
                    break
        if scope.cancelled_caught:
            raise WebError(408, "Die Anfrage kam zu langsam an.", "The request arrived too slowly.")
        yield bytes(body)
    finally:
        budget.give_back(address, len(body))


def _too_large(most_bytes: int) -> WebError:
    most = f"{most_bytes // 1_000_000} MB" if most_bytes >= 1_000_000 else f"{most_bytes // 1000} kB"
    return WebError(
        413,
        f"Das ist zu groß: Höchstens {most} sind erlaubt.",
        f"This is too large: at most {most} are allowed.",
    )


async def read_json(request: Request, form: type[_Form]) -> _Form:
    """Return the body of `request` as a value of the type `form`. Raises WebError if it is not one."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise WebError(415, f"Erwartet wird Content-Type {JSON}.", f"Expected the Content-Type {JSON}.")
    async with body_of(request, JSON_BYTES) as body:
        try:
            return msgspec.json.decode(body, type=form)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise WebError(
                400,
                "Diese Anfrage hat nicht die Form, die hier erwartet wird.",
                f"This request cannot be read ({error}).",
            ) from None
