"""A short run of the part that measures memory."""

from __future__ import annotations

import pytest

from spielleiter.bench.options import Options
from spielleiter.bench.parts.memory import measure_memory
from tests.bench.parts.runs import measure, values


@pytest.mark.slow
def test_idle_servers_connections_and_games_are_measured() -> None:
    options = Options.quick(editions=("blokus-2027",), connections=3, memory_games=(1, 2))
    steps, (server, games) = measure(measure_memory, options)
    assert steps == [
        "memory, 3 connections (connection)",
        "memory, 3 connections (administrator)",
        "memory, blokus-2027, 1 and 2 games",
    ]
    assert server.labels == {"part": "memory", "connections": 3}
    assert set(server.figures) == {"idle", "each connection more", "each administrator more"}
    assert values(server)["idle"] > 1
    assert games.labels == {"part": "memory", "edition": "blokus-2027", "from": 1, "to": 2}
    assert games.figures["each game more"].unit == "KiB"
