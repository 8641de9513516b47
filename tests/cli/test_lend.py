"""`spielleiter lend` and `borrow` as separate processes, since they end as the program ends."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.background import misuse, run
from tests.timeouts import HANG_TIMEOUT

SPIELLEITER = [sys.executable, "-m", "spielleiter"]


@contextmanager
def lending(command: str, end: signal.Signals = signal.SIGTERM) -> Iterator[str]:
    """HOST:PORT of a lender; it must end by `end` with exit code 0."""
    with subprocess.Popen([*SPIELLEITER, "lend", command, "--port", "0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith(f"offering {command} on 127.0.0.1 port ")
            yield f"127.0.0.1:{line.split()[-1]}"
            process.send_signal(end)
            assert process.wait(HANG_TIMEOUT) == 0
        finally:
            process.kill()


def borrow(lender: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SPIELLEITER, "borrow", lender, "-p", "13050", "-r", "abc", *options],
        capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False,
    )  # fmt: skip


def python(code: str) -> str:
    return shlex.join([sys.executable, "-c", code, "{host}", "{port}", "{reservation}", "{seed}", "{game}"])


@pytest.mark.slow
def test_borrow_writes_and_ends_like_the_program() -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    code = "import os, sys; print(sys.argv[1:]); print('oh', file=sys.stderr, flush=True); s = int(sys.argv[4]); "
    end = "os.kill(os.getpid(), s - 100) if s > 100 else sys.exit(s)"
    with lending(python(code + "sys.stdout.flush(); " + end)) as lender:
        done = borrow(lender, "--seed", "5", "--game", "swc_2018_hase_und_igel")
        assert (done.returncode, done.stderr) == (5, "oh\n")
        assert done.stdout == "['127.0.0.1', '13050', 'abc', '5', 'swc_2018_hase_und_igel']\n"
        for number in (signal.SIGTERM, signal.SIGKILL):
            killed = borrow(lender, "--seed", str(100 + number))
            assert (killed.returncode, killed.stderr) == (-number, "oh\n")


@pytest.mark.slow
def test_a_program_that_no_longer_exists_is_refused_with_127(tmp_path: Path) -> None:
    end = signal.SIGTERM
    if sys.platform != "win32":
        end = signal.SIGHUP  # closing the terminal shuts a lender down cleanly, too
    bot = tmp_path / "bot"
    bot.write_text("#!/bin/sh\n")
    bot.chmod(0o755)
    with lending(str(bot), end) as lender:
        bot.unlink()
        done = borrow(lender)
    assert done.returncode == 127
    assert done.stderr.startswith(f"spielleiter borrow: refused: {bot}")


@pytest.mark.parametrize("lender", ["host", ":1", "host:0", "host:x"])
def test_a_lender_has_host_and_port(lender: str) -> None:
    assert f"{lender!r}, expected HOST:PORT" in misuse("borrow", lender, "-r", "x")


def test_no_lender_is_a_failure() -> None:
    result = run("borrow", "127.0.0.1:1", "-r", "x")
    assert result.exit_code == 1
    assert "there is no lender at 127.0.0.1:1" in result.output


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["builtin:nothing"], "there is no such strategy"),
        (["x {what}"], "there is no placeholder {what}"),
        (["./no-such-bot"], "there is no file ./no-such-bot"),
        (["builtin:first", "--host", "192.0.2.1", "--port", "0"], "cannot listen on 192.0.2.1 port 0"),
    ],
)
def test_a_program_that_cannot_be_lent_is_misuse(arguments: list[str], why: str) -> None:
    assert why in misuse("lend", *arguments)
