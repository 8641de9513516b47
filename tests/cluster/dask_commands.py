"""A scheduler and workers that are started as Dask's own commands, as an administrator starts them.

Invariants: a command ends with its context, and leaves its files below the folder that it was started in.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

HOST = "127.0.0.1"


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as sock:
        sock.bind((HOST, 0))
        port: int = sock.getsockname()[1]
    return port


@contextmanager
def running_dask(
    *words: str, folder: Path, variables: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``dask`` with these words and further environment variables."""
    options = ["--host", HOST, "--no-dashboard", "--dashboard-address", f"{HOST}:0"]
    command = [sys.executable, "-m", "dask", *words, *options]
    environment = {**os.environ, **(variables or {}), "TMPDIR": str(folder), "SPIELLEITER_SPEED": "1"}
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()
