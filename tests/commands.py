"""Runs commands in the folder of the project, as a user does in a terminal."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[1]


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command with further environment variables to its end, and capture its output."""
    # `make PYTHON=... test` passes its variables to the tests; a `make` that a test runs must not inherit them
    of_make = ("MAKE", "MFLAGS", "PYTHON", "VENV", "ARGS", "FACTOR")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(of_make)}
    return subprocess.run(
        words,
        cwd=ROOT,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=HANG_TIMEOUT,
        check=False,
    )
