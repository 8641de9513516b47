"""The sink accepts all connections, sends nothing, and closes those that its peers have closed."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from tests.timeouts import HANG_TIMEOUT


@pytest.mark.slow
def test_a_sink_discards_what_it_receives() -> None:
    command = [sys.executable, "-P", "-m", "spielleiter.bench.sink"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = ("127.0.0.1", int(process.stdout.readline()))
            with (
                socket.create_connection(address, HANG_TIMEOUT) as first,
                socket.create_connection(address, HANG_TIMEOUT) as second,
            ):
                for sock in (first, second):
                    sock.sendall(b"<protocol>" * 100_000)
                    sock.shutdown(socket.SHUT_WR)
                    assert sock.recv(1) == b""
        finally:
            process.kill()
