"""A request for a prepared game is completed for its edition, or refused with what was wrong."""

from __future__ import annotations

import pytest

from spielleiter.protocol.messages import PrepareRequest, Slot
from spielleiter.server.core.reservations import settled
from spielleiter.server.editions import EDITIONS
from spielleiter.server.errors import Fault, RequestError

NAMED = Slot("Eins", given=frozenset({"displayName"}))


def test_what_is_left_out_is_the_edition_s_default() -> None:
    request = settled(PrepareRequest("swc_2021_blokus", (NAMED, NAMED)), EDITIONS["blokus-2021-r3"])
    defaults = EDITIONS["blokus-2021-r3"].dialect.slot_defaults
    assert [slot.can_timeout for slot in request.slots] == [defaults.can_timeout] * 2


def test_one_slot_is_enough_where_the_release_takes_it() -> None:
    request = settled(PrepareRequest("swc_2021_blokus", (NAMED,)), EDITIONS["blokus-2021-21.4.0"])
    assert [(slot.display_name, slot.is_reserved) for slot in request.slots][1] == ("", False)


@pytest.mark.parametrize(
    ("slots", "told"),
    [
        ((), "this request has 0"),
        ((NAMED,), "this request has 1"),
        ((NAMED,) * 3, "this request has 3"),
        ((Slot("x", given=frozenset({"unknown", "reserved"})),) * 1000, "this request has 1000"),
        ((NAMED, Slot(None)), "Slot 2 of this request has no displayName"),
    ],
)
def test_anything_else_is_refused(slots: tuple[Slot, ...], told: str) -> None:
    with pytest.raises(RequestError, match=told) as refused:
        settled(PrepareRequest("swc_2021_blokus", slots), EDITIONS["blokus-2021-r3"])
    assert refused.value.fault is Fault.BAD_SLOTS


def test_an_attribute_of_another_season_is_refused() -> None:
    paused = Slot("Eins", given=frozenset({"displayName", "shouldBePaused"}))
    with pytest.raises(RequestError, match="shouldBePaused") as refused:
        settled(PrepareRequest("swc_2027_blokus", (paused, paused)), EDITIONS["blokus-2027"])
    assert refused.value.fault is Fault.BAD_SLOTS
