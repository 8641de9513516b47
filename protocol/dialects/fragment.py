"""Reads and writes one part of a score definition, which is used in results and in the scores of test mode.

Invariants: reading a written part gives an equal one. Sources: the seed documents, and release 21.4.0.
"""

from __future__ import annotations

from typing import Final

from spielleiter.protocol.dialect import Reading
from spielleiter.protocol.messages import Aggregation, Fragment
from spielleiter.protocol.reading import Element, UnreadableError, allowed, is_true, read_enum_text, read_text
from spielleiter.protocol.writer import attribute, boolean, element, leaf

AGGREGATIONS: Final = {aggregation.value: aggregation for aggregation in Aggregation}


def read_fragment(fragment: Element, reading: Reading) -> Fragment:
    """Read one part of a score definition. Raises UnreadableError."""
    parts = reading.children(fragment, "aggregation", "relevantForRanking")
    aggregation = parts.get("aggregation")
    if aggregation is None:
        raise UnreadableError(f"im Element fragment fehlt das Element aggregation; {allowed(AGGREGATIONS)}")
    relevant = parts.get("relevantForRanking")
    return Fragment(
        fragment.get("name", ""),
        read_enum_text(aggregation, AGGREGATIONS),
        relevant is None or is_true(read_text(relevant)),
    )


def fragment(part: Fragment, indent: str) -> str:
    """Return one part of a score definition as XML."""
    lines = leaf(indent + "  ", "aggregation", part.aggregation.value)
    lines += leaf(indent + "  ", "relevantForRanking", boolean(value=part.is_relevant_for_ranking))
    return element(indent, "fragment", attribute("name", part.name), lines)
