"""What a request for a prepared game means in the edition that it names.

Invariants: a request is either complete for its edition or refused with RequestError; nothing is guessed.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from spielleiter.protocol.errors import RemoteProtocolError
from spielleiter.protocol.messages import PrepareRequest, Slot
from spielleiter.server.core.policy import Edition
from spielleiter.server.errors import Fault, RequestError

SEATS: Final = 2


def settled(request: PrepareRequest, edition: Edition) -> PrepareRequest:
    """`request` with one complete slot for each seat; what it leaves out is the edition's default.

    Raises RequestError for a wrong number of slots, a slot without a name, or an attribute of another season.
    """
    if len(request.slots) > SEATS:
        raise _wrong_number(request)  # first of all, so that slots without end cost nothing
    try:
        request = edition.dialect.with_defaults(request)
    except RemoteProtocolError as error:
        raise RequestError(Fault.BAD_SLOTS, str(error)) from None
    slots = request.slots
    if len(slots) == 1 and edition.policy.accepts_single_slot:
        slots = (*slots, Slot("", can_timeout=True, is_reserved=False))
    if len(slots) != SEATS:
        raise _wrong_number(request)
    for number, slot in enumerate(slots, 1):
        if slot.display_name is None:
            raise RequestError(Fault.BAD_SLOTS, f"Slot {number} of this request has no displayName")
    return dataclasses.replace(request, slots=slots)


def _wrong_number(request: PrepareRequest) -> RequestError:
    text = f"A game is prepared with {SEATS} slots, this request has {len(request.slots)}"
    return RequestError(Fault.BAD_SLOTS, text)
