"""Games beside hostile clients of every kind: the games end as they should, and only the offenders are affected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.hostile_clients import KINDS
from benchmarks.under_attack import EDITION, drive, hostile_clients
from spielleiter.bench.driver import plan_of
from spielleiter.bench.scripted_games import load_of
from spielleiter.bench.subprocesses import running_server

HOSTILE = 2 * len(KINDS)
GAMES = 2
SECONDS = 2.0  # longer than the server waits for a first packet; the games are played to the end after it
REFUSED = {"protocol_broken", "request_refused", "move_refused", "peer_too_slow"}


@pytest.mark.slow
def test_only_the_offenders_are_affected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load = load_of(EDITION)
    limits = ("--grace", "0", "--loopback-timeouts", "--first-packet-timeout", "1", "--packet-timeout", "1")
    more = ("--soft-timeout", "60000", "--hard-timeout", "60000")  # this machine may be busy
    with running_server(tmp_path, *limits, *more) as server:
        with hostile_clients(server.port, HOSTILE):
            drive(plan_of(load, server.port, GAMES), SECONDS)
        assert server.kib("VmRSS:")  # it still runs
    output = capsys.readouterr().out
    assert all(f"{kind.__name__.lower()} " in output for kind in KINDS)
    lines = (tmp_path / "replays" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    results = [each for each in map(json.loads, lines) if each["edition"] == EDITION]
    assert len(results) >= GAMES
    assert {tuple(each["causes"]) for each in results} == {("REGULAR", "REGULAR")}
    assert {each["plies"] for each in results} <= {len(script.packets) for script in load.scripts}
    log = [json.loads(line) for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines()]
    assert [each for each in log if each["event"] == "internal_error"] == []
    rooms = {each["room"] for each in results}
    players = {each["connection"] for each in log if each["event"] == "player_joined" and each["room"] in rooms}
    offenders = {each["connection"] for each in log if each["event"] in REFUSED}
    assert len(players) == 2 * len(results)
    assert players & offenders == set()
    reasons = {each["refusal"] for each in log if each["event"] == "protocol_broken"}
    assert {"first_packet", "packet_size", "doctype", "names"} <= reasons
    assert reasons <= {
        "first_packet",
        "packet_size",
        "doctype",
        "names",
        "children",
        "packet_timeout",
        "unreadable_packet",
    }
