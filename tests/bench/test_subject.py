"""The processes that are measured: how they start, and the errors if they do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from spielleiter.bench import subject
from spielleiter.bench.subject import BenchError, describe_exit, end, first_line, running_server, start_python


@pytest.mark.slow
def test_a_server_runs_and_then_ends(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        assert server.port > 0
        if sys.platform == "linux":
            assert 1000 < server.resident_kib <= server.peak_kib
    assert (tmp_path / "log").exists()


@pytest.mark.slow
def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    text = r"the server does not start \(exit code 2\): .*--no-such-option"
    with pytest.raises(BenchError, match=text), running_server(tmp_path, "--no-such-option"):
        pass


def test_the_exit_of_a_process_is_described() -> None:
    process = start_python(["-S", "-c", "import sys; sys.exit('no such thing')"], stderr=subprocess.PIPE)
    assert describe_exit(process) == "exit code 1: no such thing"
    end(process)


SILENT = ["-S", "-c", "import time; time.sleep(10_000)"]


def test_a_process_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "END_TIMEOUT", 0.02)
    process = start_python(SILENT, stderr=subprocess.PIPE)
    assert describe_exit(process) == "exit code -9"
    end(process)


def test_a_process_that_writes_nothing_has_no_first_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "START_TIMEOUT", 0.02)
    process = start_python(SILENT, stdout=subprocess.PIPE)
    assert first_line(process) == ""
    assert process.wait() == -9
    end(process)
