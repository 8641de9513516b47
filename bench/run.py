"""A whole run: every part once a round, round after round.

Law: what is compared is measured by turns, in the same run. Everything measured is in the records, whatever is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from spielleiter.bench.figures import Records
from spielleiter.bench.options import Options
from spielleiter.bench.parts.match import measure_match
from spielleiter.bench.parts.memory import measure_memory
from spielleiter.bench.parts.plies import measure_plies
from spielleiter.bench.parts.protocol import measure_protocol
from spielleiter.bench.parts.rules import measure_rules
from spielleiter.bench.parts.start import measure_start
from spielleiter.bench.parts.traffic import measure_traffic
from spielleiter.server.runtime.descriptors import connections_possible

CONNECTIONS: Final = 8192

Part: TypeAlias = Callable[[Options, Records], Iterator[str]]
"""Measures one round; says what it does next."""

PARTS: Final[tuple[tuple[frozenset[str], Part], ...]] = (
    (frozenset({"floor", "server"}), measure_traffic),
    (frozenset({"rules"}), measure_rules),
    (frozenset({"protocol"}), measure_protocol),
    (frozenset({"start"}), measure_start),
    (frozenset({"memory"}), measure_memory),
    (frozenset({"plies"}), measure_plies),
    (frozenset({"match"}), measure_match),
)
"""Which words ask for a part, and the part."""


def run(options: Options, tell: Callable[[str], None]) -> Records:
    """Measure what `options` ask for; `tell` hears what is measured next. Raises BenchError."""
    connections_possible(CONNECTIONS)  # what is started from here inherits it
    records = Records()
    for number in range(options.rounds):
        for words, part in PARTS:
            if words.intersection(options.only):
                for what in part(options, records):
                    tell(f"round {number + 1} of {options.rounds}: {what}")
    return records
