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
from pathlib import Path

import spielleiter.programs.processes
from spielleiter.programs.processes import (
    TAG_VARIABLE,
    ProcessInfo,
    Usage,
    descendants_of,
    find_processes,
    kill_processes,
    still_running,
)
from tests.timeouts import HANG_TIMEOUT


def start(tag: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "500"], env={"A": "1", TAG_VARIABLE: tag, "B": "2"})


def test_processes_are_found_by_the_beginning_of_their_tag(tmp_path: Path) -> None:
    tag = str(tmp_path)
    with start(f"{tag}/1") as first, start(f"{tag}/2") as second, start(f"other{tag}") as third:
        assert find_processes(f"{tag}/") == tuple(ProcessInfo(pid, "sleep") for pid in sorted([first.pid, second.pid]))
        assert find_processes(f"{tag}/2") == (ProcessInfo(second.pid, "sleep"),)
        kill_processes(find_processes(tag))
        assert first.wait(HANG_TIMEOUT) == second.wait(HANG_TIMEOUT) == -9
        assert third.poll() is None
        third.kill()
    assert find_processes(tag) == ()


def test_ended_processes_are_not_found_even_if_nobody_has_waited_for_them(tmp_path: Path) -> None:
    process = start(str(tmp_path))
    try:
        kill_processes(find_processes(str(tmp_path)))
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert find_processes(str(tmp_path)) == ()
        kill_processes([ProcessInfo(process.pid, "sleep")])
    finally:
        process.wait(HANG_TIMEOUT)
    kill_processes([ProcessInfo(process.pid, "sleep")])


def test_usage_covers_the_threads_of_a_process() -> None:
    before = Usage.of([os.getpid()])
    assert os.getpid() in before.threads
    after = Usage.of([os.getpid()])
    assert after.threads[os.getpid()][0] >= before.threads[os.getpid()][0] > 0


@pytest.mark.parametrize(
    ("threads", "cores", "lost"),
    [
        ({1: (2_000_000_000, 3_000_000_000)}, 2, 2.0),  # it was waiting whenever it was not running
        ({1: (2_000_000_000, 1_500_000_000)}, 2, 0.5),
        (
            {1: (3_000_000_000, 2_000_000_000), 2: (1_000_000_000, 1_500_000_000)},
            1,
            0.0,
        ),  # its own threads competed with each other
        (
            {1: (1_500_000_000, 1_100_000_000), 2: (500_000_000, 2_000_000_000)},
            1,
            2.0,
        ),  # the thread that waited most counts
        ({1: (1_000_000_000, 900_000_000)}, 1, 0.0),
        ({}, 1, 0.0),
    ],
)
def test_only_waiting_for_other_programs_counts_as_lost_time(
    threads: dict[int, tuple[int, int]], cores: int, lost: float
) -> None:
    before = Usage({1: (1_000_000_000, 1_000_000_000)})
    assert Usage(threads).seconds_lost(before, 3.0, cores) == pytest.approx(lost)


@pytest.mark.parametrize(
    ("busy", "lost"),
    [
        (1.0, 0.02),  # nobody else has used a processor; the system counts in ticks
        (1.5, 0.52),
        (9.0, 2.0),
    ],
)
def test_a_program_lost_no_more_time_than_others_have_used(busy: float, lost: float) -> None:
    """Whatever made its thread wait: other threads and children of its own, or a processor that it shares with them."""
    before = Usage({1: (0, 0)}, machine_busy=100.0)
    after = Usage({1: (1_000_000_000, 2_000_000_000)}, machine_busy=100.0 + busy)
    assert after.seconds_lost(before, 3.0, 2) == pytest.approx(lost)


def test_ended_children_compete_like_running_ones() -> None:
    """Also those that were started and have ended since; they are no longer among the threads."""
    before = Usage({1: (0, 0)}, machine_busy=100.0, processor=50.0)
    after = Usage({1: (500_000_000, 1_500_000_000)}, machine_busy=104.0, processor=54.0)
    assert after.seconds_lost(before, 2.0, 2) == pytest.approx(0.01)  # nobody else has used a processor


def test_threads_that_have_ended_are_subtracted_from_what_others_have_used() -> None:
    before = Usage({1: (0, 0), 2: (3_000_000_000, 0)}, machine_busy=100.0, processor=3.0)
    after = Usage({1: (500_000_000, 1_500_000_000)}, machine_busy=103.0, processor=5.0)
    assert after.seconds_lost(before, 2.0, 1) == pytest.approx(0.02)
    assert after.seconds_lost(before, 2.0, 2) == pytest.approx(1.01)
    assert after.seconds_lost(before, 2.0, 4) == pytest.approx(1.04)


@pytest.mark.parametrize(
    ("started", "lost"),
    [
        (999, 0.0),  # it was hidden from the match at the request: its waiting is that of its whole life
        (1000, 0.5),
        (None, 0.0),
    ],
)
def test_an_unknown_thread_counts_only_if_it_was_started_since_the_request(started: int | None, lost: float) -> None:
    before = Usage({1: (0, 0)}, taken_at=1000)
    times = {} if started is None else {2: started}
    after = Usage({1: (0, 0), 2: (0, 500_000_000)}, started=times, taken_at=1100)
    assert after.seconds_lost(before, 1.0, 2) == pytest.approx(lost)


@pytest.mark.parametrize("is_restricted_before", [False, True])
def test_a_program_that_restricts_itself_to_a_core_competes_for_that_core(is_restricted_before: bool) -> None:
    """Four threads on the first of two cores wait for each other, while others use the second core."""
    times = dict.fromkeys(range(4), (500_000_000, 1_500_000_000))
    one, both = (dict.fromkeys(times, frozenset(range(count))) for count in (1, 2))
    before = Usage(dict.fromkeys(times, (0, 0)), 100.0, cores=one if is_restricted_before else both)
    after = Usage(times, 104.0, cores=both if is_restricted_before else one)
    assert after.seconds_lost(before, 2.0, 2) == pytest.approx(0.0)
    assert Usage(times, 104.0, cores=both).seconds_lost(Usage({}, 100.0), 2.0, 2) == pytest.approx(1.0)


def test_the_threads_of_another_core_do_not_compete() -> None:
    """A thread on the first core waits for others half of the time, its sibling has the second core for itself."""
    times = {1: (1_000_000_000, 1_000_000_000), 2: (2_000_000_000, 0)}
    cores = {1: frozenset({0}), 2: frozenset({1})}
    after = Usage(times, 104.0, cores=cores)
    assert after.seconds_lost(Usage({}, 100.0), 2.0, 4) == pytest.approx(1.0)


def test_a_thread_that_yields_to_others_has_lost_nothing() -> None:
    threads = {1: (0, 0), 2: (0, 2_000_000_000)}
    assert Usage(threads, 9.0, frozenset({2})).seconds_lost(Usage({}, 0.0), 2.0, 2) == 0.0
    assert Usage(threads, 9.0).seconds_lost(Usage({}, 0.0), 2.0, 2) == 2.0
    assert Usage(threads, 9.0).seconds_lost(Usage({}, 0.0, frozenset({2})), 2.0, 2) == 0.0  # at the request


@pytest.mark.parametrize("how", ["os.nice(1)", "os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))"])
def test_a_program_that_lowers_its_own_priority_yields(how: str) -> None:
    script = f"import os, sys; {how}; print('ready', flush=True); sys.stdin.read()"
    command = [sys.executable, "-I", "-S", "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        usage = Usage.of([process.pid, os.getpid()])
        assert usage.yielding == {process.pid}
        assert usage.machine_busy is not None


def test_usage_tells_what_a_program_has_chosen_and_when_it_began() -> None:
    core = min(os.sched_getaffinity(0))
    script = f"import os, sys; os.sched_setaffinity(0, {{{core}}}); print('ready', flush=True); sys.stdin.read()"
    before = Usage.of([os.getpid()])
    command = [sys.executable, "-I", "-S", "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as bot:
        assert bot.stdout is not None
        assert bot.stdout.readline() == b"ready\n"
        usage = Usage.of([bot.pid])
        assert usage.cores == {bot.pid: frozenset({core})}
        assert before.taken_at is not None
        assert usage.taken_at is not None
        assert before.started[os.getpid()] < before.taken_at <= usage.started[bot.pid] <= usage.taken_at


@pytest.mark.parametrize(
    ("script", "state"),
    [
        ("time.sleep(500)", "asleep"),
        ("select.epoll().poll()", "listening"),
        ("select.poll().poll()", "listening"),
        ("select.select([], [], [], 500)", "listening"),
        ("threading.Event().wait()", ""),
        ("s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname()); c.recv(1)",
         "listening"),
        ("subprocess.run(['sleep', '500'])", ""),
    ],
)  # fmt: skip
def test_a_thread_that_sleeps_or_listens_is_told_from_one_that_waits_for_another(script: str, state: str) -> None:
    imports = "import select, socket, subprocess, sys, threading, time"
    command = [sys.executable, "-I", "-S", "-c", f"{imports}; print('ready', flush=True); {script}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        deadline = time.monotonic() + HANG_TIMEOUT
        is_blocked, before = False, Usage.of([process.pid])
        while not is_blocked and time.monotonic() < deadline:
            time.sleep(0.02)
            usage = Usage.of([process.pid])
            is_blocked, before = usage.threads == before.threads, usage
        assert before.asleep == ({process.pid} if state == "asleep" else set())
        assert before.listening == ({process.pid} if state == "listening" else set())
        os.killpg(process.pid, 9)


def test_usage_tells_how_often_a_thread_has_waited_otherwise() -> None:
    thread, before = threading.get_native_id(), Usage.of([os.getpid()])
    for _ in range(3):
        time.sleep(0.001)
    after = Usage.of([os.getpid()])
    ran, waited, switches = after.of_thread(thread, before)
    assert ran > 0
    assert waited >= 0
    assert switches is not None
    assert switches >= 3
    assert after.of_thread(0, before) == (0.0, 0.0, None)


@pytest.mark.parametrize(
    ("after", "shares"),
    [
        (Usage({1: (0, 500_000_000), 2: (0, 9_000_000_000)}), {1: 0.25}),  # the other one was not there before
        (Usage({1: (0, 500_000_000)}, yielding=frozenset({1})), {}),
        (Usage({1: (0, 500_000_000)}, cores={1: frozenset({0})}), {}),  # it may have waited for its siblings
        (Usage({1: (0, 500_000_000)}, cores={1: frozenset({0, 1})}), {1: 0.25}),
    ],
)
def test_only_waiting_for_others_is_the_share_of_a_thread(after: Usage, shares: dict[int, float]) -> None:
    before = Usage({1: (0, 0)})
    assert after.waiting_shares(before, 2.0, 2) == shares
    assert after.waiting_shares(before, 0.0, 2) == {}


def test_the_processor_time_covers_children_that_have_ended() -> None:
    before = Usage.of([os.getpid()])
    spin = "import time\nwhile time.process_time() < 0.1: pass"
    subprocess.run([sys.executable, "-I", "-S", "-c", spin], check=True)
    after = Usage.of([os.getpid()])
    assert before.processor is not None
    assert after.processor is not None
    assert after.processor - before.processor >= 0.08
    assert Usage.of([os.getpid()], 7.0).processor == 7.0


def test_nothing_is_found_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.programs.processes, "_PROC", tmp_path / "proc")
    assert find_processes("") == ()
    assert Usage.of([os.getpid()]) == Usage({})


def test_unexpected_entries_of_proc_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.programs.processes, "_PROC", tmp_path)
    for name in ("7", "8", "9", "self"):
        (tmp_path / name).mkdir()
    (tmp_path / "7" / "environ").write_bytes(f"A=1\0{TAG_VARIABLE}=x/1\0".encode())
    (tmp_path / "8" / "environ").write_bytes(f"{TAG_VARIABLE}=x/2".encode())
    (tmp_path / "8" / "cmdline").write_bytes(b"/opt/my bot\0--fast\0")
    (tmp_path / "self" / "environ").write_bytes(f"{TAG_VARIABLE}=x/3".encode())
    assert find_processes("x/") == (ProcessInfo(7, "?"), ProcessInfo(8, "my bot"))
    (tmp_path / "7" / "task" / "70").mkdir(parents=True)
    (tmp_path / "7" / "task" / "70" / "schedstat").write_text("oh")
    assert Usage.of([7, 8]) == Usage({})


def test_the_searching_process_finds_itself_by_its_tag(tmp_path: Path) -> None:
    tag = str(tmp_path)
    script = f"from spielleiter.programs.processes import *; print([p.name for p in find_processes({tag!r})])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        env={**os.environ, TAG_VARIABLE: tag},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{[Path(sys.executable).name]}\n"


def test_descendants_are_found_through_all_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.programs.processes, "_PROC", tmp_path)
    for thread, children in (("7/task/7", "8 "), ("7/task/71", "9 10 "), ("9/task/9", "11 "), ("8/task/8", "")):
        (tmp_path / thread).mkdir(parents=True)
        (tmp_path / thread / "children").write_text(children)
    assert sorted(descendants_of(7) or ()) == [8, 9, 10, 11]
    assert descendants_of(8) == ()
    assert descendants_of(10) == ()


def test_descendants_are_unknown_if_the_system_does_not_report_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spielleiter.programs.processes, "_PROC", tmp_path)
    (tmp_path / "7" / "task" / "7").mkdir(parents=True)
    assert descendants_of(7) is None


def test_a_process_whose_first_thread_has_ended_is_still_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spielleiter.programs.processes, "_PROC", tmp_path)
    for pid, threads in ((7, 1), (8, 2)):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (my bot) Z 1 {'0 ' * 15}{threads} 0 0\n")
    assert [process.pid for process in still_running([7, 8])] == [8]
