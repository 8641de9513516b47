"""Commands of the project as somebody runs them in its folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[1]


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    # `make PYTHON=... test` hands its variables on to the tests; a `make` that they run is to have none of them
    of_make = ("MAKE", "MFLAGS", "PYTHON", "VENV", "ARGS", "FACTOR")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(of_make)}
    return subprocess.run(
        words, cwd=ROOT, env={**inherited, **environment}, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
