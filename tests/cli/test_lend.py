"""`spielleiter lend` and `borrow` as separate processes, since they end as the program ends."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.background import misuse, run
from tests.timeouts import HANG_TIMEOUT

SPIELLEITER = [sys.executable, "-m", "spielleiter"]


@pytest.mark.slow
def test_borrow_writes_and_ends_like_the_program(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    bot = tmp_path / "bot"
    bot.write_text('#!/bin/sh\necho "$@"\necho oh >&2\n[ "$4" -lt 100 ] && exit "$4"\nkill -$(($4 - 100)) $$\n')
    bot.chmod(0o755)
    command = f"{shlex.quote(str(bot))} {{host}} {{port}} {{reservation}} {{seed}} {{game}}"
    with subprocess.Popen([*SPIELLEITER, "lend", command, "--port", "0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith(f"offering {command} on 127.0.0.1 port ")
            borrow = ("borrow", f"127.0.0.1:{line.split()[-1]}", "-p", "13050", "-r", "abc")
            done = run(*borrow, "--seed", "5", "--game", "swc_2018_hase_und_igel")
            assert (done.exit_code, done.stderr) == (5, "oh\n")
            assert done.stdout == "127.0.0.1 13050 abc 5 swc_2018_hase_und_igel\n"
            for number in (signal.SIGTERM, signal.SIGKILL):
                words = [*SPIELLEITER, *borrow, "--seed", str(100 + number)]
                killed = subprocess.run(words, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False)
                assert (killed.returncode, killed.stderr) == (-number, "oh\n")
            bot.unlink()
            refused = run(*borrow)
            assert refused.exit_code == 127
            assert refused.stderr.startswith(f"spielleiter borrow: refused: {bot}")
        finally:
            process.kill()


@pytest.mark.slow
def test_a_lender_that_is_told_to_stop_ends_cleanly() -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    command = [*SPIELLEITER, "lend", "builtin:first", "--port", "0"]
    for number in (signal.SIGTERM, signal.SIGHUP):  # closing the terminal sends SIGHUP
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline().startswith("offering ")
                process.send_signal(number)
                assert process.wait(HANG_TIMEOUT) == 0
            finally:
                process.kill()


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
