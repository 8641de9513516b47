"""The command with real processes and small numbers: JSON and text contain every figure."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.background import misuse, run
from tests.timeouts import HANG_TIMEOUT

TRAFFIC = {
    "throughput",
    "latency median",
    "latency p99",
    "latency max",
    "start median",
    "games playing",
    "games ended",
    "processor per move",
    "processor busy",
    "driver busy",
    "memory peak",
}
VERDICTS = {"false verdicts", "games judged"}
START = {"bare Python", "server", "server to bare Python", "server, first answer"}


QUICK = ("bench", "--quick", "--seconds", "0.2", "--editions", "2027", "--drivers", "1")


def check(report: dict[str, Any]) -> None:
    """Check what each report has."""
    assert {"date", "command", "processor", "cores", "kernel", "python", "trio", "lxml"} <= set(report)
    for record in report["records"]:
        for figure in record["figures"].values():
            assert set(figure) == {"unit", "median", "min", "max", "rounds"}
            assert figure["unit"]
    assert all(type(target["reached"]) is bool for target in report["targets"])


@pytest.mark.slow
def test_server_and_floor_are_measured_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    result = run(*QUICK, "--only", "floor,server", "--games", "1,2", "--observers", "0,1", "--json", str(path))
    assert result.exit_code == 0, result.stderr
    assert "round 1 of 1" in result.stderr
    report = json.loads(path.read_text(encoding="utf-8"))
    check(report)
    records = report["records"]
    names = ("subject", "games", "observers")
    assert {tuple(record[name] for name in names) for record in records} == {
        (subject, games, observers) for subject in ("floor", "server") for games in (1, 2) for observers in (0, 1)
    }
    for record in records:
        figures = record["figures"]
        assert set(figures) == (TRAFFIC if record["subject"] == "floor" else TRAFFIC | VERDICTS)
        assert figures["throughput"]["median"] > 0
        assert figures["games playing"]["median"] <= record["games"]
    assert {target["target"]: target["reached"] for target in report["targets"]}["false verdicts"] is True
    assert "Targets" in result.stdout


@pytest.mark.slow
def test_the_start_is_measured_and_shown_even_if_its_file_cannot_be_written(tmp_path: Path) -> None:
    result = run(*QUICK, "--only", "start", "--json", str(tmp_path / "nowhere" / "report.json"))
    assert result.exit_code == 1
    assert all(figure in result.stdout for figure in START)
    assert "cannot be written" in result.stderr


@pytest.mark.slow
def test_matches_are_measured() -> None:
    result = run(*QUICK, "--only", "match", "--match-games", "1,2", "--json", "-")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    check(report)
    programs, *built_in = report["records"]
    processor = {"runner's processor, a game", "runner's processor, a game of kept programs"}
    assert set(programs["figures"]) == {*processor, "disk, a game", "spoilt"}
    assert [record["games"] for record in built_in] == [1, 2]
    assert {"games/s", "200 games", "memory peak", "disk, a game", "spoilt"} == set(built_in[0]["figures"])
    assert "memory, 1,000 games more" in built_in[1]["figures"]
    assert all(record["figures"]["spoilt"]["max"] == 0 for record in report["records"])
    assert programs["figures"]["disk, a game"]["median"] > 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--only", "floor,nothing"), "expected some of floor,server,"),
        (("--editions", "2018"), "expected some of 2027,2021-r3,"),
        (("--games", "0"), "expected whole numbers from 1"),
        (("--rounds", "0"), "--rounds"),
    ],
)
def test_invalid_options_are_refused(arguments: tuple[str, ...], text: str) -> None:
    assert text in misuse("bench", *arguments)


def test_other_systems_than_linux_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows and macOS, functions that only Linux has are missing, and modules use them when they are imported."""
    for name in [
        name for name in sys.modules if name.startswith("spielleiter.bench.") and name != "spielleiter.bench.machine"
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.delattr(select, "epoll")
    result = run("bench")
    assert result.exit_code == 1
    assert "needs Linux" in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_operation_that_a_sandbox_forbids_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted", sys.executable)

    monkeypatch.setattr(subprocess, "Popen", forbidden)
    result = run("bench", "--quick", "--only", "start")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].endswith(
        f"cannot run on this machine: {sys.executable}: Operation not permitted"
    )


def children_of(pid: int) -> set[int]:
    return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()}


def modules_of(pids: set[int]) -> dict[int, str]:
    """Return the module that each process runs; those that do not run one yet, or are something else, are left out."""
    modules = {}
    for pid in pids:
        with contextlib.suppress(OSError):  # it has ended
            words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")
            if "-P" in words:  # not yet the case in a process that has just been forked
                modules[pid] = words[words.index("-m") + 1]
    return modules


@pytest.mark.slow
def test_a_signal_ends_all_started_processes() -> None:
    command = [sys.executable, "-m", "spielleiter", "bench", "--only", "server", "--games", "1", "--seconds", "60"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(started := modules_of(children_of(process.pid))) < 2:  # the server and its driver
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    stdout, _ = process.communicate(timeout=HANG_TIMEOUT)
    assert process.returncode == 130
    assert stdout == ""
    deadline = time.monotonic() + HANG_TIMEOUT
    while any(Path(f"/proc/{pid}").exists() for pid in started):  # a driver that has just been started ends by itself
        assert time.monotonic() < deadline
