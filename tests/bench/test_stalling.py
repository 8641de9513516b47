"""A server with stalls: it serves, reports its resources on request, and stops."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys

import pytest

from tests.timeouts import HANG_TIMEOUT


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="resources are read from /proc")
@pytest.mark.parametrize("stall", [0.0, 0.05])
def test_a_stalling_server_serves_reports_and_stops(stall: float) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    config = json.dumps({"port": 0, "log_level": "error", "grace": 0.0, "stall": stall, "stall_interval": 0.05})
    command = [sys.executable, "-P", "-m", "spielleiter.bench.stalling", config]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            start = json.loads(process.stdout.readline())
            assert start["bytes"] > 1 << 20
            with socket.create_connection(("127.0.0.1", start["port"]), HANG_TIMEOUT) as client:
                client.sendall(b"<protocol><step/>")
                assert client.recv(1)
                process.send_signal(signal.SIGUSR1)
                connected = json.loads(process.stdout.readline())
            assert connected["tasks"] > start["tasks"]
            assert connected["descriptors"] == start["descriptors"] + 1
            assert set(connected["pauses"]) == {"count", "total", "longest"}
            process.terminate()
            assert process.wait(HANG_TIMEOUT) == 0
        finally:
            process.kill()
