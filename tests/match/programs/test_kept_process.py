from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

import spielleiter.match.programs.kept_process
from spielleiter.match.programs import keeper
from spielleiter.match.programs.kept_process import KeptProcess, Start, start_kept_process
from spielleiter.match.programs.processes import living
from tests.patience import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there are keepers on Linux only")

STRAY = "(env -i setsid sleep 500 &) & "
"""A process without a mark, in a session of its own, whose parents have ended."""


def start(script: str, **how: object) -> KeptProcess:
    kept = start_kept_process(Start(["sh", "-c", script], None, dict(os.environ), **how))  # type: ignore[arg-type]
    assert kept is not None
    return kept


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def parent_of(pid: int) -> int:
    return int(Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[1])


def has_stray(kept: KeptProcess) -> bool:
    """Whether the stray process has left the session and lost its parents."""
    pids = kept.pids
    try:
        return len(pids) == 3 and any(os.getsid(pid) == pid != kept.pid for pid in pids)
    except ProcessLookupError:  # one of its parents, just now
        return False


async def finish(kept: KeptProcess) -> None:
    with trio.fail_after(PATIENCE):
        await kept.end()
    kept.stdout.close()
    kept.stderr.close()


async def test_a_process_without_parent_session_or_environment_is_known_and_ended() -> None:
    kept = start(f"{STRAY} echo ready; sleep 500")
    assert kept.stdout.readline() == b"ready\n"
    until(lambda: has_stray(kept))
    pids = kept.pids
    assert set(kept.find_all()) == set(pids)
    await finish(kept)
    assert living(pids) == ()
    assert (kept.returncode, kept.pids) == (-signal.SIGKILL, ())


async def test_each_program_has_a_keeper_of_its_own() -> None:
    first, second = start("sleep 500"), start("sleep 500")
    assert parent_of(first.pid) != parent_of(second.pid)
    assert os.getpid() not in {parent_of(first.pid), parent_of(second.pid)}
    await finish(first)
    assert living([second.pid])
    await finish(second)


@pytest.mark.slow  # it is given time to end by itself
async def test_what_outlives_a_program_is_named() -> None:
    kept = start(f"{STRAY} exit 3")
    with trio.fail_after(PATIENCE):
        await kept.wait()
        await kept.see_off()
    assert (kept.returncode, [each.name for each in kept.leftovers]) == (3, ["sleep"])
    await finish(kept)


async def test_a_keeper_whose_asker_is_gone_ends_everything() -> None:
    kept = start(f"{STRAY} echo ready; sleep 500")
    kept.stdout.readline()
    until(lambda: has_stray(kept))
    pids = kept.pids
    kept._control.close()
    until(lambda: not living(pids))
    kept.stdout.close()
    kept.stderr.close()


async def test_what_a_killed_keeper_kept_is_ended() -> None:
    kept = start(f"{STRAY} echo ready; sleep 500")
    kept.stdout.readline()
    until(lambda: has_stray(kept))
    pids = kept.pids
    os.kill(parent_of(kept.pid), signal.SIGKILL)
    with trio.fail_after(PATIENCE):
        await kept.wait()
    assert kept.returncode == -signal.SIGKILL
    until(lambda: not living(pids))
    await finish(kept)


async def test_there_are_new_keepers_once_their_parent_is_gone() -> None:
    first = start("sleep 500")
    parent = parent_of(parent_of(first.pid))
    os.kill(parent, signal.SIGKILL)
    second = start("exit 4")
    with trio.fail_after(PATIENCE):
        await second.wait()
    assert second.returncode == 4
    assert living([first.pid])  # its keeper is still there
    await finish(second)
    await finish(first)
    assert not living([first.pid])


async def test_the_process_that_keepers_come_from_is_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.match.programs.kept_process, "_WOKEN_AFTER", 0.01)
    first = start("sleep 500")
    os.kill(parent_of(parent_of(first.pid)), signal.SIGSTOP)
    second = start("exit 4")
    with trio.fail_after(PATIENCE):
        await second.wait()
    assert second.returncode == 4
    await finish(second)
    await finish(first)


async def test_who_says_nothing_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.match.programs.kept_process, "_WOKEN_AFTER", 0.001)
    monkeypatch.setattr(spielleiter.match.programs.kept_process, "_ANSWERED", 0.01)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert spielleiter.match.programs.kept_process._patiently(ours, os.getpid(), lambda: ours.recv(1)) is None


async def test_a_keeper_is_ended_without_its_help() -> None:
    kept = start(f"{STRAY} echo ready; sleep 500")
    kept.stdout.readline()
    until(lambda: has_stray(kept))
    pids, own = kept.pids, parent_of(kept.pid)
    os.kill(own, signal.SIGSTOP)
    os.kill(parent_of(own), signal.SIGSTOP)  # so that nobody else can do it
    with trio.fail_after(PATIENCE):
        await kept.end_keeper()
    assert living(pids) == ()
    until(lambda: not living([own]))
    os.kill(parent_of(own), signal.SIGCONT)
    await finish(kept)


async def test_a_program_that_goes_on_starting_others_is_ended() -> None:
    kept = start("while :; do (setsid sleep 500 &); done & sleep 500")
    until(lambda: len(kept.pids) > 5)
    await finish(kept)
    assert kept.find_all() == ()


async def test_memory_is_limited() -> None:
    code = "import sys; b = bytearray(100_000_000); print(len(b))"
    arguments = [sys.executable, "-I", "-S", "-c", code]
    for memory, expected in ((None, 0), (50_000_000, 1)):
        kept = start_kept_process(Start(arguments, None, dict(os.environ), memory=memory))
        assert kept is not None
        with trio.fail_after(PATIENCE):
            await kept.wait()
        assert kept.returncode == expected
        assert (kept.peak_memory > 100_000_000) is (memory is None)
        assert (b"MemoryError" in kept.stderr.read()) is (memory is not None)
        await finish(kept)


async def test_a_limit_that_cannot_be_set_is_said() -> None:
    with pytest.raises(ValueError, match="the memory limit cannot be set"):
        start("exit 0", memory="much")


async def test_what_cannot_be_started_is_said_as_by_the_system() -> None:
    with pytest.raises(FileNotFoundError):
        start_kept_process(Start(["./no-such-program"], None, {}))
    with pytest.raises(ValueError, match="null byte"):
        start_kept_process(Start(["a\0b"], None, {}))


async def test_a_program_has_this_environment_and_directory(tmp_path: Path) -> None:
    kept = start_kept_process(
        Start(["sh", "-c", "pwd; echo $A-$B"], str(tmp_path), {"A": "ü\udcff", "PATH": os.environ["PATH"]})
    )
    assert kept is not None
    with trio.fail_after(PATIENCE):
        await kept.wait()
    assert kept.stdout.read() == f"{tmp_path}\nü".encode() + b"\xff-\n"
    await finish(kept)


async def test_where_there_are_no_keepers_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    keeper_host = spielleiter.match.programs.kept_process._KeeperHost()
    monkeypatch.setattr(keeper, "__file__", "/no/such/file")
    assert keeper_host.start(Start(["true"], None, {})) is None
    assert keeper_host.start(Start(["true"], None, {})) is None
    monkeypatch.setattr(sys, "platform", "darwin")
    assert start_kept_process(Start(["true"], None, {})) is None
