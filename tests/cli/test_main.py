"""Ctrl-C while the command is being loaded shows no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [
        "spielleiter.cli.cli",
        "click",
        "spielleiter.cli.serve",
        "spielleiter.server.config.config",
        "trio",
        "spielleiter.server.app",
        "spielleiter.protocol.tree",
        "structlog",
    ],
)
def test_ctrl_c_while_a_module_is_loaded_shows_no_traceback(module: str, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from spielleiter.__main__ import main\n"
        "sys.argv = ['spielleiter', 'serve', '--port', '0', '--config', sys.argv[1]]\n"
        "main()\n"
    )
    (tmp_path / "server.properties").touch()
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "server.properties"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_TIMEOUT,
    )
    assert (done.returncode, done.stderr.strip()) == (130, "")
