"""The starter of the pages: nobody can look into their process, not even in the instant in which it is started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.timeouts import HANG_TIMEOUT

if sys.platform != "linux":
    pytest.skip("only Linux has the starter", allow_module_level=True)

assert sys.platform == "linux"  # for mypy

from spielleiter.programs.supervision import find_descendants

AS_ANY_USER = """
import ctypes, os, sys

ctypes.CDLL(None).prctl(24, 19, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_SYS_PTRACE: root could look into every process
os.execv(sys.executable, [sys.executable, "-P", *sys.argv[1:]])
"""

ATTACKER = """
import os, select, signal, sys
assert sys.platform == "linux"  # for mypy

from spielleiter.programs.supervision import find_descendants

server = int(sys.argv[1])
os.kill(find_descendants(server)[-1], signal.SIGKILL)  # the pages
opened = set()
while not select.select([sys.stdin], [], [], 0.01)[0]:
    for pid in find_descendants(server):
        try:
            os.close(os.open(f"/proc/{pid}/mem", os.O_RDONLY))
            opened.add(pid)
        except OSError:
            pass
print(len(opened))
"""


def run_as_any_user(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start Python without what only root may do to the processes of the same user."""
    return subprocess.Popen([sys.executable, "-c", AS_ANY_USER, *arguments], text=True, **options)


@contextmanager
def started_server(
    folder: Path, *arguments: str
) -> Iterator[tuple[subprocess.Popen[str], Iterator[dict[str, Any]], str]]:
    """A server process with its pages, the rest of its log, and the address of the pages."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPIELLEITER_")}
    environment["SPIELLEITER_RECENT_GAMES"] = "0"
    command = ["-m", "spielleiter", "serve", "--port", "0", "--log-format", "json"]
    with run_as_any_user(*command, cwd=folder, env=environment, stderr=subprocess.PIPE) as process:
        try:
            assert process.stderr is not None
            log = map(json.loads, process.stderr)
            yield process, log, next(line["url"] for line in log if line["event"] == "viewer_started")
        finally:
            process.terminate()
            process.wait(HANG_TIMEOUT)


@pytest.mark.slow
def test_nobody_can_open_the_memory_of_pages_that_are_started_again(tmp_path: Path) -> None:
    """Who has opened it before a process hides itself can read what the process is told later."""
    with started_server(tmp_path) as (server, log, url):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with run_as_any_user("-c", ATTACKER, str(server.pid), **pipes) as attacker:
            assert (
                next(line for line in log if line["event"] == "viewer_ended")["reason"] == "the signal SIGKILL ended it"
            )
            with urllib.request.urlopen(url, timeout=HANG_TIMEOUT):  # they are there again
                pass
            assert attacker.communicate("stop\n", HANG_TIMEOUT)[0] == "0\n"
        starter, pages = find_descendants(server.pid)
        os.kill(starter, signal.SIGKILL)
        ended = next(line for line in log if line["event"] == "viewer_ended")
        assert (ended["reason"], ended["restarts_in"]) == ("the process that starts it was ended", None)
        server.terminate()
        assert next(line for line in log if line["event"] == "server_stopped")["games_cut"] == 0
        assert server.wait(HANG_TIMEOUT) == 0
        psutil.wait_procs([psutil.Process(pages)] if psutil.pid_exists(pages) else [], timeout=HANG_TIMEOUT)


@pytest.mark.slow
def test_the_starter_ends_with_its_server_even_if_the_pages_do_not_answer(tmp_path: Path) -> None:
    with started_server(tmp_path) as (server, _, _):
        started = [psutil.Process(pid) for pid in find_descendants(server.pid)]
        started[-1].suspend()
        server.kill()
        assert psutil.wait_procs(started, timeout=HANG_TIMEOUT)[1] == []


HEIR = """
import os, signal, sys
assert sys.platform == "linux"  # for mypy

import trio
from spielleiter.programs.supervision import find_descendants
from spielleiter.viewer.web.page_starter import forked_starter

signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # as some services start their programs
with open(sys.argv[1], "w"), forked_starter() as starter:
    async def start() -> None:
        pages = await starter.start()
        await pages.stream.aclose()
        print(await pages.wait())

    trio.run(start)
    trio.run(start)
    (pid,) = find_descendants(os.getpid())
    print(sys.argv[1] in [os.path.realpath(f"/proc/{pid}/fd/{each}") for each in os.listdir(f"/proc/{pid}/fd")])
"""


@pytest.mark.slow
def test_the_starter_inherits_neither_files_nor_how_signals_are_handled(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-c", HEIR, str((tmp_path / "lock").resolve())]
    assert subprocess.run(command, text=True, capture_output=True, check=True).stdout.split() == ["0", "0", "False"]


ENDS_WITHOUT_READING = """
import os, socket, time

import trio

from spielleiter.programs.supervision import find_descendants
from spielleiter.viewer.web.page_starter import forked_starter


async def main():
    near, far = socket.socketpair()
    with forked_starter() as starter:
        await starter.request(b"S", far)
        await starter.answer()
        near.close()
        far.close()  # which ends the pages
        while len(find_descendants(os.getpid())) > 1:
            time.sleep(0.01)
        time.sleep(0.1)  # the starter says with which code they have ended
        os._exit(0)


trio.run(main)
"""


def test_a_server_may_end_without_reading_what_the_starter_says() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDS_WITHOUT_READING], check=True, capture_output=True, text=True, timeout=HANG_TIMEOUT
    )
    assert "Traceback" not in done.stderr
