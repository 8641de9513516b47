"""Games beside hostile clients of every kind: the games end as they should, and only the offenders are affected."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.hostile_clients import KINDS
from benchmarks.under_attack import EDITION, drive, hostile_clients, processor_seconds, running_sink, settle
from spielleiter.bench.driver import plan_of
from spielleiter.bench.scripted_games import load_of
from spielleiter.bench.subprocesses import running_server
from tests.timeouts import HANG_TIMEOUT

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


def started(code: str) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the processor time of others is read from /proc")
def test_settle_waits_until_a_process_is_idle() -> None:
    busy = "import time\nwhile time.process_time() < 0.1: pass\n"
    with started(busy + "print('ready', flush=True); time.sleep(600)") as process:
        settle(process.pid, interval=0.1)
        assert processor_seconds(process.pid) > 0.05
        process.kill()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the processor time of others is read from /proc")
def test_settle_fails_if_a_process_stays_busy() -> None:
    with started("print('ready', flush=True)\nwhile True: pass") as process:
        with pytest.raises(TimeoutError, match="still busy 0 s after the attack"):
            settle(process.pid, interval=1.0, timeout=0.0)
        process.kill()


@pytest.mark.slow
def test_a_sink_takes_everything() -> None:
    with running_sink() as port, socket.create_connection(("127.0.0.1", port), HANG_TIMEOUT) as client:
        client.sendall(b"x" * 100_000)
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""
