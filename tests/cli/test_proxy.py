"""`spielleiter proxy` as a process: a game through it, its trace, its lines, and misuse."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.background import background_server, run
from tests.timeouts import HANG_TIMEOUT


def start(*options: str, listen: str = "0") -> tuple[subprocess.Popen[str], int]:
    """Start a proxy at any free port; return it and the port."""
    command = [sys.executable, "-m", "spielleiter", "proxy", "--listen", listen, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.fullmatch(r"listens on [\d.]+:(\d+), passes on to \S+; Ctrl-C ends it\n", process.stdout.readline())
    assert found
    return process, int(found[1])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a process there cannot be sent SIGTERM")
def test_a_game_through_a_proxy_is_recorded(tmp_path: Path) -> None:
    with background_server() as server:
        process, port = start("--to", str(server.port), "--trace", str(tmp_path))
        server.add_player("illegal")
        played = run("play", "--port", str(port), "--strategy", "first", "--no-board")
        assert played.exit_code == 0, played.output
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=HANG_TIMEOUT)
        assert (process.returncode, errors) == (0, "")
        assert re.fullmatch(r"passed on 1 connection, \d+ bytes to the server, \d+ bytes from it\n", output)
        (trace,) = tmp_path.iterdir()
        assert "<joined " in trace.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_server_that_is_not_there_is_one_line_and_a_proxy_that_makes_everybody_local_is_warned_of() -> None:
    process, port = start("--to", "1", listen="0.0.0.0:0")
    try:
        played = run("play", "--port", str(port))
        assert played.exit_code == 1
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=HANG_TIMEOUT)
    warning, line = errors.splitlines()
    assert "well-known password" in warning
    assert line.startswith("spielleiter proxy: c1 from 127.0.0.1:")
    assert line.endswith("cannot be reached (nobody listens there); start it, or choose another with --to")


@pytest.mark.slow
def test_a_proxy_of_a_server_elsewhere_makes_nobody_local() -> None:
    process, _ = start("--to", "192.0.2.1:1", listen="0.0.0.0:0")
    process.terminate()
    _, errors = process.communicate(timeout=HANG_TIMEOUT)
    assert "well-known password" not in errors


def test_misuse(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for options, problem in (
        (("--listen", "x"), "'x' cannot be used, expected [HOST:]PORT"),
        (("--to", "host:0"), "no server listens at port 0"),
        (("--listen", "0", "--trace", str(file)), f"'{file}' is a file"),
        (("--listen", "0", "--trace", str(file / "folder")), "traces cannot be written there"),
        (("--listen", "nowhere.invalid:1"), "cannot listen on nowhere.invalid:1"),
    ):
        done = run("proxy", *options)
        assert done.exit_code == 2
        assert problem in done.output
        assert "Traceback" not in done.output
