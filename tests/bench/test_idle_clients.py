"""Connections that do nothing: they are there as long as they should be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spielleiter.bench.idle_clients import authenticated_clients, idle_rooms, unauthenticated_clients
from spielleiter.bench.subject import LOG_NAME, running_server


def happened(folder: Path, event: str) -> int:
    log = [json.loads(line) for line in (folder / LOG_NAME).read_text(encoding="utf-8").splitlines()]
    return sum(each["event"] == event for each in log)


@pytest.mark.slow
def test_visitors_come_and_go(tmp_path: Path) -> None:
    with running_server(tmp_path, "--log-level", "debug") as server:
        with unauthenticated_clients(server.port, 3):
            pass
        with authenticated_clients(server.port, 2):
            pass
        with idle_rooms(server.port, "swc_2027_blokus", 2):
            pass
    assert happened(tmp_path, "connection_opened") == (3 + 1) + (2 + 1) + (1 + 2 * 2)
    assert happened(tmp_path, "admin_authenticated") == 1 + (2 + 1) + 1
    assert happened(tmp_path, "player_joined") == 2 * 2
