"""The processes of a benchmark: how they start, the errors if they do not, and signals meanwhile."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spielleiter.bench import subprocesses
from spielleiter.bench.subprocesses import (
    STOP_SIGNALS,
    BenchError,
    deferred_stop_signals,
    describe_exit,
    end,
    first_line,
    running_server,
    start_python,
)

SILENT = ["-S", "-c", "import time; time.sleep(10_000)"]


@pytest.mark.slow
def test_a_server_runs_and_then_ends(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        assert server.port > 0
        if sys.platform == "linux":
            assert 1000 < server.kib("VmRSS:") <= server.kib("VmHWM:")
    assert (tmp_path / "log").exists()


@pytest.mark.slow
def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    text = r"the server does not start \(exit code 2\): .*--no-such-option"
    with pytest.raises(BenchError, match=text), running_server(tmp_path, "--no-such-option"):
        pass


def test_a_process_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocesses, "END_TIMEOUT", 0.02)
    process = start_python(SILENT, stderr=subprocess.PIPE)
    assert describe_exit(process) == "exit code -9"
    end(process)


def test_a_process_that_writes_nothing_has_no_first_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocesses, "START_TIMEOUT", 0.02)
    process = start_python(SILENT, stdout=subprocess.PIPE)
    assert first_line(process) == ""
    assert process.wait() == -9
    end(process)


def test_all_signals_are_handled_though_their_handlers_raise() -> None:
    handled: list[int] = []

    def stop(number: int, _frame: object) -> None:
        handled.append(number)
        raise RuntimeError("stopped")

    def receive_all() -> None:
        with deferred_stop_signals():
            for each in STOP_SIGNALS:
                signal.raise_signal(each)

    before = {each: signal.signal(each, stop) for each in STOP_SIGNALS}
    try:
        with pytest.raises(RuntimeError, match="stopped"):
            receive_all()
        assert handled == list(STOP_SIGNALS)
        assert [signal.getsignal(each) for each in STOP_SIGNALS] == [stop, stop]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if sys.platform != "win32":
        assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & set(STOP_SIGNALS)
