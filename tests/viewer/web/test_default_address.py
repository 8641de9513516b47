"""A real server process with the default settings serves its pages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.slow


def test_the_pages_are_served_by_default(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SPIELLEITER_")}
    command = [sys.executable, "-P", "-m", "spielleiter", "serve", "--port", "0", "--log-format", "json"]
    with subprocess.Popen(command, cwd=tmp_path, env=environ, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            lines = map(json.loads, process.stderr)
            url = next(line["url"] for line in lines if line["event"] == "viewer_started")
            assert url.startswith("http://127.0.0.1:")  # another port than 13080 if that is taken
            with urllib.request.urlopen(url, timeout=HANG_TIMEOUT) as answer:
                assert b"main.js" in answer.read()
        finally:
            process.terminate()
            process.wait(HANG_TIMEOUT)
