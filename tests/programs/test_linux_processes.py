"""Finding processes, and measuring their processor and waiting times."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux has what is tested here", allow_module_level=True)
assert sys.platform == "linux"  # for mypy

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from spielleiter.programs.linux_processes import (
    MOST_KEPT_FILES,
    KnownThreads,
    ThreadUsage,
    Usage,
    descendants_of,
    still_running,
)
from tests.timeouts import HANG_TIMEOUT


@contextmanager
def running(code: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python process that has executed the code up to ``ready()``, and ends with its input."""
    head = "import os, select, socket, subprocess, sys, threading, time; ready = lambda: print('ready', flush=True); "
    command = [sys.executable, "-I", "-S", "-c", f"{head}{code}; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield process
        finally:
            os.killpg(process.pid, 9)


T = ThreadUsage
BEFORE = Usage({1: T(1, 1)})
NEW = Usage({1: T(0, 0)})


@pytest.mark.parametrize(
    ("before", "after", "elapsed", "cores", "lost"),
    [
        (BEFORE, Usage({1: T(2, 3)}), 3, 2, 2.0),  # it was waiting whenever it was not running
        (BEFORE, Usage({1: T(2, 1.5)}), 3, 2, 0.5),
        (BEFORE, Usage({1: T(3, 2), 2: T(1, 1.5)}), 3, 1, 0.0),  # its own threads competed with each other
        (BEFORE, Usage({1: T(1, 1.1), 2: T(0.5, 2)}), 3, 1, 2.0),  # the thread that waited most counts
        (BEFORE, Usage({1: T(1, 0.9)}), 3, 1, 0.0),
        (BEFORE, Usage({}), 3, 1, 0.0),
        # no more than others have used, whatever made its thread wait; the system counts in ticks
        (Usage(NEW.threads, 100), Usage({1: T(1, 2)}, 101), 3, 2, 0.02),
        (Usage(NEW.threads, 100), Usage({1: T(1, 2)}, 101.5), 3, 2, 0.52),
        (Usage(NEW.threads, 100), Usage({1: T(1, 2)}, 109), 3, 2, 2.0),
        # ended children compete like running ones, also those that were started and have ended since
        (Usage(NEW.threads, 100, processor=50), Usage({1: T(0.5, 1.5)}, 104, processor=54), 2, 2, 0.01),
        # threads that have ended are subtracted from what others have used
        (Usage({1: T(0, 0), 2: T(3, 0)}, 100, processor=3), Usage({1: T(0.5, 1.5)}, 103, processor=5), 2, 4, 1.04),
        # an unknown thread counts only if it was started since: it may have been hidden from the match
        (Usage(NEW.threads, taken_at=1000), Usage({2: T(0, 0.5, started=999)}), 1, 2, 0.0),
        (Usage(NEW.threads, taken_at=1000), Usage({2: T(0, 0.5, started=1000)}), 1, 2, 0.5),
        (Usage(NEW.threads, taken_at=1000), Usage({2: T(0, 0.5)}), 1, 2, 0.0),
        # a thread that yields to others, now or at the request, has lost nothing
        (Usage({}, 0), Usage({2: T(0, 2)}, 9), 2, 2, 2.0),
        (Usage({}, 0), Usage({2: T(0, 2, is_yielding=True)}, 9), 2, 2, 0.0),
        (Usage({2: T(0, 0, is_yielding=True)}, 0), Usage({2: T(0, 2)}, 9), 2, 2, 0.0),
        # a thread on the first core waits half of the time, its sibling has the second core for itself
        (
            Usage({}, 100),
            Usage({1: T(1, 1, cores=frozenset({0})), 2: T(2, 0, cores=frozenset({1}))}, 104),
            *(2, 4, 1.0),
        ),
    ],
)
def test_only_waiting_for_other_programs_counts_as_lost_time(
    before: Usage, after: Usage, elapsed: float, cores: int, lost: float
) -> None:
    assert after.seconds_lost(before, elapsed, cores) == pytest.approx(lost)


@pytest.mark.parametrize("is_restricted_before", [False, True])
def test_a_program_that_restricts_itself_to_a_core_competes_for_that_core(is_restricted_before: bool) -> None:
    """Four threads on the first of two cores wait for each other, while others use the second core."""
    one, both = (frozenset(range(count)) for count in (1, 2))
    then, now = (one, both) if is_restricted_before else (both, one)
    before = Usage({each: T(0, 0, cores=then) for each in range(4)}, 100.0)
    after = Usage({each: T(0.5, 1.5, cores=now) for each in range(4)}, 104.0)
    assert after.seconds_lost(before, 2.0, 2) == pytest.approx(0.0)
    free = Usage({each: T(0.5, 1.5, cores=both) for each in range(4)}, 104.0)
    assert free.seconds_lost(Usage({}, 100.0), 2.0, 2) == pytest.approx(1.0)


@pytest.mark.parametrize("how", ["os.nice(1)", "os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))"])
def test_usage_tells_what_a_program_has_chosen_and_when_it_began(how: str) -> None:
    core = min(os.sched_getaffinity(0))
    before = Usage.of([os.getpid()])
    with running(f"os.sched_setaffinity(0, {{{core}}}); {how}; ready()") as bot:
        usage = Usage.of([bot.pid, os.getpid()])
        own, of_bot = usage.threads[os.getpid()], usage.threads[bot.pid]
        assert [thread for thread, each in usage.threads.items() if each.is_yielding] == [bot.pid]
        assert usage.machine_busy is not None
        assert of_bot.cores == frozenset({core})
        assert before.taken_at is not None
        assert usage.taken_at is not None
        assert own.started < before.taken_at <= of_bot.started <= usage.taken_at
        assert own.ran >= before.threads[os.getpid()].ran > 0


def looked(known: KnownThreads) -> Usage:
    usage = known.look()
    assert usage is not None
    return usage()


def test_known_threads_can_be_looked_at_again() -> None:
    script = (
        "ready(); sys.stdin.readline(); sum(range(9**6)); threading.Thread(target=time.sleep, args=[500]).start(); "
    )
    with running(f"{script}ready(); select.epoll().poll()") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        before = Usage.of([process.pid], 5.0)
        known = KnownThreads(before)
        process.stdin.write(b"go\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"ready\n"
        deadline = time.monotonic() + HANG_TIMEOUT
        while not (renewed := looked(known)).threads[process.pid].is_listening and time.monotonic() < deadline:
            time.sleep(0.02)
        searched = Usage.of([process.pid])
        assert len(searched.threads) == 2
        assert renewed.threads == {process.pid: searched.threads[process.pid]}
        used = renewed.threads[process.pid].ran - before.threads[process.pid].ran
        assert renewed.processor is not None
        assert renewed.processor - 5.0 >= used > 0
        assert renewed.machine_busy is not None
        assert before.machine_busy is not None
        assert renewed.machine_busy >= before.machine_busy
        brief = known.look(is_brief=True)
        assert brief is not None
        assert brief().threads == {process.pid: replace(renewed.threads[process.pid], switches=None)}
        assert brief().machine_busy is not None
    process.wait()
    assert known.look() is None
    known.close()
    known = KnownThreads(before)
    assert known.look() is None  # there are no files any more
    known.close()
    assert looked(KnownThreads(Usage({}))).threads == {}


OBEDIENT = """
if os.fork() == 0:
    stop = threading.Event()
    waiting = threading.Thread(target=stop.wait)
    waiting.start()
    ready()
    for line in sys.stdin:
        exec(line)
        ready()
os.wait()
"""


@pytest.mark.parametrize(
    ("order", "are_the_same"),
    [
        ("sum(range(9**6))", True),
        ("os.nice(1); os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})", True),
        ("threading.Thread(target=time.sleep, args=[500]).start()", False),
        ("stop.set(); waiting.join(); threading.Thread(target=time.sleep, args=[500]).start()", False),
        ("subprocess.Popen(['sleep', '500'])", False),
        (
            "threading.Thread(target=subprocess.run, args=[['sleep', '500']]).start(); stop.set()",
            False,
        ),
    ],
)
def test_known_threads_are_confirmed_unless_any_has_started_or_ended(order: str, are_the_same: bool) -> None:
    with running(f"exec({OBEDIENT!r})") as root:
        assert root.stdin is not None
        assert root.stdout is not None
        pids = descendants_of(root.pid)
        assert pids is not None
        known = KnownThreads(Usage.of(pids), root.pid)
        for each in (None, order):  # the files are opened before anything has changed
            if each is not None:
                root.stdin.write(f"{each}\n".encode())
                root.stdin.flush()
                assert root.stdout.readline() == b"ready\n"
            confirmed, searched = known.confirm(), Usage.of(descendants_of(root.pid) or ())
            assert (confirmed is not None) == (each is None or are_the_same)
            if confirmed is not None:
                assert {number: settled(thread) for number, thread in confirmed.threads.items()} == {
                    number: settled(thread) for number, thread in searched.threads.items()
                }
                assert confirmed.clocks.keys() == searched.clocks.keys()
                assert confirmed.processor == pytest.approx(searched.processor, abs=0.05)
                assert looked(known).threads.keys() == confirmed.threads.keys()
        known.close()
    root.wait()


def settled(thread: ThreadUsage) -> ThreadUsage:
    """What a thread has used, without what changes until it waits again after it has said that it is ready."""
    return replace(thread, ran=0.0, waited=0.0, switches=0, runs=0, is_listening=False)


def test_what_is_not_below_a_known_process_is_searched_for() -> None:
    with running("ready()") as process:
        known = KnownThreads(Usage.of([process.pid]))
        assert known.confirm() is None
        known.close()
        known = KnownThreads(Usage.of([process.pid]), os.getpid())
        assert (known.confirm() is None) == (descendants_of(os.getpid()) != (process.pid,))
        known.close()
    process.wait()
    known = KnownThreads(Usage.of([os.getpid()]), process.pid)  # which has ended
    assert known.confirm() is None
    known.close()


def test_the_files_of_many_threads_are_not_kept_open() -> None:
    script = "[threading.Thread(target=time.sleep, args=[500]).start() for _ in range(70)]; ready()"
    with running(script) as process:
        found = Usage.of([process.pid])
        files = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        known = KnownThreads(found)
        assert len(os.listdir("/proc/self/fd")) <= files + MOST_KEPT_FILES  # noqa: PTH208
        assert looked(known).threads.keys() == found.threads.keys()
        known.close()
        assert len(os.listdir("/proc/self/fd")) == files  # noqa: PTH208


@pytest.mark.parametrize(
    ("script", "state"),
    [
        ("time.sleep(500)", "asleep"),
        ("select.epoll().poll()", "listening"),
        ("select.select([], [], [], 500)", "listening"),
        ("s = socket.create_server(('', 0)); c = socket.create_connection(s.getsockname()); c.recv(1)", "listening"),
        ("threading.Event().wait()", ""),
        ("subprocess.run(['sleep', '500'])", ""),
    ],
)
def test_a_thread_that_sleeps_or_listens_is_told_from_one_that_waits_for_another(script: str, state: str) -> None:
    with running(f"ready(); {script}") as process:
        deadline = time.monotonic() + HANG_TIMEOUT
        is_blocked, before = False, Usage.of([process.pid])
        while not is_blocked and time.monotonic() < deadline:
            time.sleep(0.02)
            usage = Usage.of([process.pid])
            is_asleep = b" S " in Path("/proc", str(process.pid), "stat").read_bytes()  # it waits for no processor
            is_blocked, before = is_asleep and usage.threads == before.threads, usage
        thread = before.threads[process.pid]
        assert (thread.is_asleep, thread.is_listening) == (state == "asleep", state == "listening")


def test_usage_tells_how_often_a_thread_has_waited_otherwise() -> None:
    thread, before = threading.get_native_id(), Usage.of([os.getpid()])
    for _ in range(3):
        time.sleep(0.001)
    after = Usage.of([os.getpid()])
    change = after.threads[thread].since(before.threads[thread])
    assert change.ran > 0
    assert change.waited >= 0
    assert change.switches is not None
    assert change.switches >= 3
    without = replace(before.threads[thread], switches=None)
    assert after.threads[thread].since(without).switches == change.runs
    assert change.runs is not None
    assert change.runs >= change.switches


@pytest.mark.parametrize(
    ("after", "shares"),
    [
        (Usage({1: T(0, 0.5), 2: T(0, 9)}), {1: 0.25}),  # the other one was not there before
        (Usage({1: T(0, 0.5, is_yielding=True)}), {}),
        (Usage({1: T(0, 0.5, cores=frozenset({0}))}), {}),  # it may have waited for its siblings
        (Usage({1: T(0, 0.5, cores=frozenset({0, 1}))}), {1: 0.25}),
    ],
)
def test_only_waiting_for_others_is_the_share_of_a_thread(after: Usage, shares: dict[int, float]) -> None:
    assert after.waiting_shares(NEW, 2.0, 2) == shares
    assert after.waiting_shares(NEW, 0.0, 2) == {}


def test_the_processor_time_covers_children_that_have_ended() -> None:
    before = Usage.of([os.getpid()])
    spin = "import time\nwhile time.process_time() < 0.1: pass"
    subprocess.run([sys.executable, "-I", "-S", "-c", spin], check=True)
    after = Usage.of([os.getpid()])
    assert before.processor is not None
    assert after.processor is not None
    assert after.processor - before.processor >= 0.08
    assert Usage.of([os.getpid()], 7.0).processor == 7.0


def test_a_process_whose_first_thread_has_ended_is_still_running() -> None:
    code = "threading.Thread(target=lambda: subprocess.run(['sleep', '500'])).start(); ready(); "
    exits = "import ctypes; ctypes.CDLL(None).pthread_exit(None)"
    with running(code + exits) as process:
        while (
            not (children := descendants_of(process.pid))
            or Path(f"/proc/{children[0]}/comm").read_text() != "sleep\n"  # it is started by a copy of its parent
            or b" Z " not in Path(f"/proc/{process.pid}/stat").read_bytes()
        ):
            time.sleep(0.001)
        assert [each.name for each in still_running(children)] == ["sleep"]  # which another thread has started
        assert [each.pid for each in still_running([process.pid, *children])] == [process.pid, *children]
        os.kill(process.pid, 9)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert still_running([process.pid]) == ()
        assert descendants_of(process.pid) == ()
