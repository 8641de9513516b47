"""A request for a prepared game is completed with its edition's defaults, or refused with a reason."""

from __future__ import annotations

import pytest

from spielleiter.protocol.messages import PrepareRequest, Slot
from spielleiter.server.core.dispatch import complete_request
from spielleiter.server.editions import EDITIONS
from spielleiter.server.errors import Fault, RequestError

NAMED = Slot("Eins", given=frozenset({"displayName"}))


def test_missing_values_are_the_edition_s_defaults() -> None:
    request = complete_request(PrepareRequest("swc_2021_blokus", (NAMED, NAMED)), EDITIONS["blokus-2021-r3"])
    defaults = EDITIONS["blokus-2021-r3"].dialect.slot_defaults
    assert [slot.can_timeout for slot in request.slots] == [defaults.can_timeout] * 2


@pytest.mark.parametrize("edition", ["blokus-2027", "blokus-2021-21.4.0"])
def test_one_slot_is_enough_if_the_release_accepts_it(edition: str) -> None:
    request = complete_request(PrepareRequest("g", (NAMED,)), EDITIONS[edition])
    assert [(slot.display_name, slot.is_reserved) for slot in request.slots][1] == ("", False)


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        ((), "this request has 0"),
        ((NAMED,), "this request has 1"),
        ((NAMED,) * 3, "this request has 3"),
        ((Slot("x", given=frozenset({"unknown", "reserved"})),) * 1000, "this request has 1000"),
        ((NAMED, Slot(None)), "Slot 2 of this request has no displayName"),
    ],
)
def test_incomplete_requests_are_refused(slots: tuple[Slot, ...], message: str) -> None:
    with pytest.raises(RequestError, match=message) as refused:
        complete_request(PrepareRequest("swc_2021_blokus", slots), EDITIONS["blokus-2021-r3"])
    assert refused.value.fault is Fault.BAD_SLOTS


def test_an_attribute_of_another_season_is_refused() -> None:
    reserved = Slot("Eins", given=frozenset({"displayName", "reserved"}))
    with pytest.raises(RequestError, match="reserved") as refused:
        complete_request(PrepareRequest("swc_2018_hase_und_igel", (reserved, reserved)), EDITIONS["hase-und-igel-2018"])
    assert refused.value.fault is Fault.BAD_SLOTS


@pytest.mark.parametrize("edition", ["blokus-2027", "blokus-2021-21.4.0"])
def test_an_attribute_of_another_season_is_ignored_if_the_release_ignores_it(edition: str) -> None:
    paused = Slot("Eins", should_be_paused=True, given=frozenset({"displayName", "reserved", "shouldBePaused"}))
    request = complete_request(PrepareRequest("g", (paused, NAMED)), EDITIONS[edition])
    assert request.slots == (
        Slot("Eins", can_timeout=False, is_reserved=True),
        Slot("Eins", can_timeout=False, is_reserved=False),
    )
