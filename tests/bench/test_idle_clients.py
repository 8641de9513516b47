"""Clients that do nothing: they connect, and disconnect again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spielleiter.bench.idle_clients import authenticated_clients, idle_rooms, unauthenticated_clients
from spielleiter.bench.subject import LOG_NAME, running_server


def count_events(folder: Path, event: str) -> int:
    log = [json.loads(line) for line in (folder / LOG_NAME).read_text(encoding="utf-8").splitlines()]
    return sum(each["event"] == event for each in log)


@pytest.mark.slow
def test_idle_clients_connect_and_disconnect(tmp_path: Path) -> None:
    with running_server(tmp_path, "--log-level", "debug") as server:
        with unauthenticated_clients(server.port, 3):
            pass
        with authenticated_clients(server.port, 2):
            pass
        with idle_rooms(server.port, "swc_2027_blokus", 2):
            pass
    assert count_events(tmp_path, "connection_opened") == (3 + 1) + (2 + 1) + (1 + 2 * 2)
    assert count_events(tmp_path, "admin_authenticated") == 1 + (2 + 1) + 1
    assert count_events(tmp_path, "player_joined") == 2 * 2
