"""Before it measures, the benchmark waits until the server is idle, and fails if it stays busy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from spielleiter.bench.bench_hostile import processor_seconds, settle


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
        settle(process.pid, look=0.1)
        assert processor_seconds(process.pid) > 0.05
        process.kill()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the processor time of others is read from /proc")
def test_settle_fails_if_a_process_stays_busy() -> None:
    with started("print('ready', flush=True)\nwhile True: pass") as process:
        with pytest.raises(TimeoutError, match="still busy 0 s after the attack"):
            settle(process.pid, look=1.0, patience=0.0)
        process.kill()
