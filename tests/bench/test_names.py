"""A short flood of names against a new server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spielleiter.bench.names import PACKET_NAMES, PARTS, measure
from spielleiter.bench.subject import LOG_NAME, running_server


@pytest.mark.slow
def test_names_are_refused_and_the_memory_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    connections = 2 * PARTS
    with running_server(tmp_path) as server:
        grown = measure(server, connections * PACKET_NAMES, connections)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == PARTS
    assert lines[-1].split()[:5] == [str(connections * PACKET_NAMES), "names", "over", str(connections), "connections:"]
    assert grown < 1.0
    log = [json.loads(line) for line in (tmp_path / LOG_NAME).read_text(encoding="utf-8").splitlines()]
    refused = [each["refusal"] for each in log if each["event"] == "protocol_broken"]
    assert len(refused) == connections
    assert set(refused) <= {"names", "children"}
