"""A benchmark run: several rounds, in each of which every part is measured once.

Invariants: things that are compared are measured alternately, in the same run. The records contain everything that was
measured, whatever the report shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from spielleiter.bench.figures import Records
from spielleiter.bench.options import Options
from spielleiter.bench.parts.cluster import measure_cluster
from spielleiter.bench.parts.match import measure_match
from spielleiter.bench.parts.memory import measure_memory
from spielleiter.bench.parts.plies import measure_plies
from spielleiter.bench.parts.protocol import measure_protocol
from spielleiter.bench.parts.proxy import measure_proxy
from spielleiter.bench.parts.rules import measure_rules
from spielleiter.bench.parts.start import measure_start
from spielleiter.bench.parts.traffic import measure_traffic
from spielleiter.bench.parts.viewer import measure_viewer
from spielleiter.server.runtime.descriptors import connections_possible

CONNECTIONS: Final = 8192
"""The number of open files that the processes may need."""

Part: TypeAlias = Callable[[Options, Records], Iterator[str]]
"""Measures one round, adds it to the records, and yields a description of each step before the step begins."""

PARTS: Final[tuple[tuple[frozenset[str], Part], ...]] = (
    (frozenset({"floor", "server"}), measure_traffic),
    (frozenset({"rules"}), measure_rules),
    (frozenset({"protocol"}), measure_protocol),
    (frozenset({"start"}), measure_start),
    (frozenset({"memory"}), measure_memory),
    (frozenset({"plies"}), measure_plies),
    (frozenset({"match"}), measure_match),
    (frozenset({"viewer"}), measure_viewer),
    (frozenset({"proxy"}), measure_proxy),
    (frozenset({"cluster"}), measure_cluster),
)
"""The parts, each with the values of the option `only` that select it."""


def run(options: Options, tell: Callable[[str], None]) -> Records:
    """Measure what `options` select, and return the records. Raises BenchError.

    `tell` is called with a description of each step before it begins.
    """
    connections_possible(CONNECTIONS)  # the processes started from here inherit the limit
    records = Records()
    for number in range(options.rounds):
        for words, part in PARTS:
            if words.intersection(options.only):
                for what in part(options, records):
                    tell(f"round {number + 1} of {options.rounds}: {what}")
    return records
