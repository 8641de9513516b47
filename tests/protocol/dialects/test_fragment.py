"""A part of a score definition is read back as it was written."""

from __future__ import annotations

from typing import Any

import pytest
from lxml import etree

from spielleiter.protocol.dialect import Reading
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.dialects.packets import fragment, read_fragment
from spielleiter.protocol.messages import Aggregation, Fragment
from spielleiter.protocol.reading import UnreadableError

READING = Reading(BLOKUS_2021_R3, lambda _: None)


def read(text: str) -> Fragment:
    element: Any = etree.fromstring(text)
    return read_fragment(element, READING)


@pytest.mark.parametrize("aggregation", Aggregation)
@pytest.mark.parametrize("is_relevant", [True, False])
def test_a_written_part_is_read_as_it_was(aggregation: Aggregation, is_relevant: bool) -> None:
    part = Fragment("∅ <Punkte>", aggregation, is_relevant)
    assert read(fragment(part, "\n  ")) == part


def test_a_part_is_relevant_for_the_ranking_by_default() -> None:
    found = read("<fragment><aggregation>SUM</aggregation></fragment>")
    assert found == Fragment("", Aggregation.SUM, is_relevant_for_ranking=True)


def test_a_part_without_its_aggregation_is_unreadable() -> None:
    with pytest.raises(UnreadableError, match="aggregation"):
        read('<fragment name="x"/>')
