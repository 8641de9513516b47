"""Completes a request for a prepared game with the defaults of its edition.

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
ANYBODY: Final = Slot("", can_timeout=True, is_reserved=False)
"""The second slot of a game that was prepared with one."""


def complete_request(request: PrepareRequest, edition: Edition) -> PrepareRequest:
    """Return `request` with one complete slot for each seat; missing values are the edition's defaults.

    Raises RequestError for a wrong number of slots, a slot without a name, or an attribute of another season.
    """
    if len(request.slots) > SEATS:
        raise _wrong_slot_count(request)  # checked first, so that a request with very many slots costs nothing
    try:
        request = edition.dialect.with_defaults(request)
    except RemoteProtocolError as error:
        raise RequestError(Fault.BAD_SLOTS, str(error)) from None
    slots = request.slots
    if len(slots) == 1 and edition.policy.accepts_single_slot:
        slots = (*slots, ANYBODY)
    if len(slots) != SEATS:
        raise _wrong_slot_count(request)
    for number, slot in enumerate(slots, 1):
        if slot.display_name is None:
            raise RequestError(Fault.BAD_SLOTS, f"Slot {number} of this request has no displayName")
    return dataclasses.replace(request, slots=slots)


def _wrong_slot_count(request: PrepareRequest) -> RequestError:
    text = f"A game is prepared with {SEATS} slots, this request has {len(request.slots)}"
    return RequestError(Fault.BAD_SLOTS, text)
