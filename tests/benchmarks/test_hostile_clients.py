"""Games beside hostile clients of every kind: the games end as they should, and only the offenders are affected."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from spielleiter.bench.subprocesses import running_piped, running_server
from tests.benchmarks.hostile_clients import KINDS
from tests.timeouts import HANG_TIMEOUT

GAMES = 2
PLAY = (sys.executable, "-m", "spielleiter", "play")
REFUSED = {"protocol_broken", "request_refused", "move_refused", "peer_too_slow"}
REASONS = {"first_packet", "packet_size", "doctype", "names"}


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_only_the_offenders_are_affected(tmp_path: Path) -> None:
    limits = ("--grace", "0", "--loopback-timeouts", "--first-packet-timeout", "1", "--packet-timeout", "1")
    more = ("--soft-timeout", "60000", "--hard-timeout", "60000")  # this machine may be busy
    clients = str(Path(__file__).with_name("hostile_clients.py"))
    with running_server(tmp_path, *limits, *more) as server:
        with running_piped([clients, str(server.port), str(2 * len(KINDS))]) as hostile:
            assert hostile.stdout is not None
            assert hostile.stdout.readline() == "ready\n"
            play = [*PLAY, "--port", str(server.port), "--edition", "blokus-2021-r3"]
            for _ in range(GAMES):
                started = [subprocess.Popen(play, stdout=subprocess.DEVNULL) for _ in range(2)]
                assert [each.wait(HANG_TIMEOUT) for each in started] == [0, 0]
            deadline = time.monotonic() + HANG_TIMEOUT
            while not {each["refusal"] for each in read(tmp_path / "log") if "refusal" in each} >= REASONS:
                assert time.monotonic() < deadline
                time.sleep(0.1)
            output, _ = hostile.communicate()
        assert server.peak_mib  # it still runs
    assert json.loads(output).keys() == {kind.__name__.lower() for kind in KINDS}
    results = [each for each in read(tmp_path / "replays/results.jsonl") if each["edition"] == "blokus-2021-r3"]
    assert [each["causes"] for each in results] == [["REGULAR", "REGULAR"]] * GAMES
    log = read(tmp_path / "log")
    assert [each for each in log if each["event"] == "internal_error"] == []
    rooms = {each["room"] for each in results}
    players = {each["connection"] for each in log if each["event"] == "player_joined" and each["room"] in rooms}
    offenders = {each["connection"] for each in log if each["event"] in REFUSED}
    assert len(players) == 2 * GAMES
    assert players & offenders == set()
    reasons = {each["refusal"] for each in log if each["event"] == "protocol_broken"}
    assert reasons <= REASONS | {"children", "packet_timeout", "unreadable_packet"}
