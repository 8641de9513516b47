"""The server log of a game."""

from __future__ import annotations

import gzip
import io
import json
import time
from pathlib import Path

import pytest

import spielleiter.match.game_folder
from spielleiter.match.game_folder import LOG_LIMIT, GameLog
from spielleiter.server import events
from spielleiter.server.log import MOST_TRACEBACK, log_events

EVENTS: tuple[events.ServerEvent, ...] = (
    events.ConnectionOpened("game1-program1-1", "127.0.0.1:4711"),
    events.PlayerJoined("room", "game1-program1-1", 0, "naïve \u202e \x1b"),
    events.RoomClosed("room"),
)


def lines_of(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def test_each_event_is_written_as_the_server_writes_it(tmp_path: Path) -> None:
    server = io.StringIO()
    log_server = log_events(server, "json", "debug")
    before = time.time()
    with GameLog(tmp_path / "log") as log:
        for event in EVENTS:
            log_server(event)
            log.add(event)
    own, others = lines_of(tmp_path / "log"), server.getvalue().splitlines()
    assert len(own) == len(others) == len(EVENTS)
    for line, other in zip(own, others, strict=True):
        assert line.partition('"timestamp"')[0] == other.partition('"timestamp"')[0]
        assert json.loads(line).keys() == json.loads(other).keys()
        assert len(json.loads(line)["timestamp"]) == len("2026-11-22T04:44:55.987521Z")
        assert json.loads(line)["timestamp"][:4] == time.strftime("%Y", time.gmtime(before))


def test_the_log_is_bounded_and_says_so(tmp_path: Path) -> None:
    with GameLog(tmp_path / "log") as log:
        for _ in range(LOG_LIMIT // MOST_TRACEBACK + 10):
            log.add(events.InternalError("", "x" * MOST_TRACEBACK))
    text = gzip.decompress((tmp_path / "log").read_bytes()).decode()
    assert LOG_LIMIT <= len(text) < 1.5 * LOG_LIMIT
    assert text.endswith("\n(the rest was not kept)\n")


def test_the_number_of_buffered_events_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.match.game_folder, "BUFFERED_EVENTS", 2)
    with GameLog(tmp_path / "log") as log:
        log.add(EVENTS[0])
        assert not (tmp_path / "log").exists()
        log.add(EVENTS[0])
        assert (tmp_path / "log").exists()
        log.add(EVENTS[0])
    assert len(lines_of(tmp_path / "log")) == 3


def test_a_log_that_is_discarded_is_not_written(tmp_path: Path) -> None:
    log = GameLog(tmp_path / "log")
    log.add(EVENTS[0])
    log.discard()
    log.add(EVENTS[0])
    assert not (tmp_path / "log").exists()
