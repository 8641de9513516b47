"""The fork server, supervisors, and what they find, name and kill."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux has what is tested here", allow_module_level=True)
assert sys.platform == "linux"  # for mypy

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import trio

from spielleiter.common.errors import SupervisorError
from spielleiter.programs.linux import FORK_SERVER_COMMAND, ForkServer, SupervisedProcess, start_supervised_process
from spielleiter.programs.linux_processes import still_running
from spielleiter.programs.platform_api import ProcessSpec
from spielleiter.programs.supervision import HEAD, READY
from tests.interpreter import PYTHON
from tests.programs.shell_programs import Runner
from tests.programs.shell_programs import wait_until as wait_until_async
from tests.timeouts import HANG_TIMEOUT

STRAY = "(env -i setsid sleep 500 &) & "
"""A process without a tag, in a session of its own, whose parents have ended."""


@pytest.fixture
def fork_server() -> Iterator[ForkServer]:
    fork_server = ForkServer(resume_after=0.01)
    yield fork_server
    fork_server.close()


def start(
    program: str | Sequence[str],
    cwd: str | None = None,
    environment: Mapping[str, str] = os.environ,
    fork_server: ForkServer | None = None,
    **options: Any,
) -> SupervisedProcess:
    """Start a script of a shell, or the words of a command; `options` are those of `ProcessSpec`."""
    words = ["sh", "-c", program] if isinstance(program, str) else program
    spec = ProcessSpec(words, cwd, dict(environment), **options)
    process = start_supervised_process(spec) if fork_server is None else fork_server.start(spec)
    assert process is not None
    return process


async def finish(process: SupervisedProcess) -> None:
    """End a process and close its outputs."""
    with trio.fail_after(HANG_TIMEOUT):
        await process.end()
    process.stdout.close()
    process.stderr.close()


async def result_of(process: SupervisedProcess) -> tuple[int | None, bytes, bytes]:
    """Return the code and the outputs of a process that ends by itself."""
    with trio.fail_after(HANG_TIMEOUT):
        await process.wait()
    outputs = process.stdout.read(), process.stderr.read()
    await finish(process)
    return process.returncode, *outputs


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until another process makes `condition` true."""
    deadline = time.monotonic() + HANG_TIMEOUT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def parent_of(pid: int) -> int:
    return int(Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[1])


# -- the fork server -------------------------------------------------------------------------------------------------


async def test_a_stopped_fork_server_is_resumed_and_a_killed_one_replaced(fork_server: ForkServer) -> None:
    first = start("sleep 500", fork_server=fork_server)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        assert fork_server.pid is not None
        os.kill(fork_server.pid, number)
        assert await result_of(start("exit 4", fork_server=fork_server)) == (4, b"", b"")
    assert still_running([first.pid])  # its supervisor is still there
    await finish(first)
    assert not still_running([first.pid])


def test_waiting_for_an_answer_has_a_time_limit() -> None:
    silent = ForkServer([sys.executable, "-c", "input()"], resume_after=0.01, answer_timeout=0.02)
    with pytest.raises(SupervisorError, match="does not answer"):
        silent.start(ProcessSpec(["true"], None, {}))


def test_nothing_is_started_on_a_system_without_supervisors() -> None:
    fork_server = ForkServer([sys.executable, "-c", ""])
    for _ in range(2):
        assert fork_server.start(ProcessSpec(["true"], None, {})) is None


@pytest.mark.parametrize("is_ready", [False, True])
def test_the_fork_server_ends_quietly_when_its_socket_is_closed(is_ready: bool) -> None:
    ours, theirs = socket.socketpair()
    if not is_ready:  # the match has ended before it was
        ours.close()
    with theirs:
        process = subprocess.Popen(FORK_SERVER_COMMAND, stdin=theirs.fileno(), stderr=subprocess.PIPE)
    with ours:
        if is_ready:
            assert ours.recv(1) == READY
            ours.sendall(b"\0\0")  # half a request
    assert process.communicate(timeout=HANG_TIMEOUT)[1] == b""
    assert process.returncode == 0


def test_a_program_that_the_match_has_given_up_is_not_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    options = json.dumps(
        {
            "arguments": ["touch", str(started)],
            "cwd": str(tmp_path),
            "environment": dict(os.environ),
            "cores": None,
            "memory": None,
        }
    ).encode()
    ours, theirs = socket.socketpair()
    control, of_supervisor = socket.socketpair()
    process = subprocess.Popen(FORK_SERVER_COMMAND, stdin=theirs.fileno())
    theirs.close()
    with ours, open(os.devnull, "wb") as null:  # noqa: PTH123
        assert ours.recv(1) == READY
        process.send_signal(signal.SIGSTOP)
        socket.send_fds(ours, [HEAD.pack(len(options))], [of_supervisor.fileno(), null.fileno(), null.fileno()])
        ours.sendall(options)
        of_supervisor.close()
        control.close()
        process.send_signal(signal.SIGCONT)
    assert process.wait(HANG_TIMEOUT) == 0
    assert not started.exists()


async def test_a_program_has_the_given_environment_directory_and_cores(tmp_path: Path) -> None:
    """The processor time in the system counts as well."""
    core = min(os.sched_getaffinity(0))
    code = (
        "import os, resource\nzero = open('/dev/zero', 'rb')\n"
        "while (used := resource.getrusage(resource.RUSAGE_SELF)).ru_stime < 0.05: zero.read(1 << 20)\n"
        "print(os.getcwd(), ascii(os.environ['A']), *os.sched_getaffinity(0))\nprint(used.ru_utime + used.ru_stime)"
    )
    process = start([sys.executable, "-ISc", code], str(tmp_path), {"A": "ü\udcff"}, cores=(core,))
    seen, used = (await result_of(process))[1].decode().splitlines()
    assert seen == f"{tmp_path} '\\xfc\\udcff' {core}"
    assert process.cpu_seconds >= float(used)


def test_start_errors_are_those_of_the_system() -> None:
    with pytest.raises(FileNotFoundError):
        start(["./no-such-program"])
    with pytest.raises(ValueError, match="null byte"):
        start(["a\0b"])
    with pytest.raises(ValueError, match="the memory limit cannot be set"):
        start("exit 0", memory="much")


async def test_memory_is_limited() -> None:
    code = "import sys; b = bytearray(100_000_000); print(len(b))"
    for memory, expected in ((None, 0), (50_000_000, 1)):
        process = start([sys.executable, "-ISc", code], memory=memory)
        returncode, _, error = await result_of(process)
        assert returncode == expected
        assert (process.peak_memory > 100_000_000) is (memory is None)
        assert (b"MemoryError" in error) is (memory is not None)


# -- supervisors -----------------------------------------------------------------------------------------------------


def start_with_stray() -> SupervisedProcess:
    """Start a program whose stray process has left the session and lost its parents."""
    process = start(f"{STRAY} echo ready; sleep 500")
    assert process.stdout.readline() == b"ready\n"

    def has_stray() -> bool:
        pids = process.pids
        try:
            return len(pids) == 3 and any(os.getsid(pid) == pid != process.pid for pid in pids)
        except ProcessLookupError:  # one of its parents has just ended
            return False

    wait_until(has_stray)
    return process


async def test_a_process_without_parent_session_or_environment_is_found_and_killed() -> None:
    process, other = start_with_stray(), start("sleep 500")
    pids = process.pids
    assert set(process.find_all()) == set(pids)
    assert len({parent_of(process.pid), parent_of(other.pid), os.getpid()}) == 3
    await finish(process)
    assert still_running(pids) == ()
    assert (process.returncode, process.pids) == (-signal.SIGKILL, ())
    assert still_running([other.pid])
    await finish(other)


def test_a_supervisor_kills_everything_when_the_match_is_gone() -> None:
    code = (
        f"import os, sys\nfrom spielleiter.programs.linux import start_supervised_process as start\n"
        f"from spielleiter.programs.platform_api import ProcessSpec\n"
        f"process = start(ProcessSpec(['sh', '-c', {STRAY + 'echo ready; sleep 500'!r}], None, dict(os.environ)))\n"
        f"process.stdout.readline()\nwhile len(pids := process.find_all()) < 2: pass\n"
        f"print(*pids, flush=True)\nos.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=HANG_TIMEOUT, check=False)
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) >= 2
    wait_until(lambda: not still_running(pids))


async def test_everything_below_a_killed_supervisor_is_killed() -> None:
    process = start_with_stray()
    pids = process.pids
    os.kill(process.supervisor, signal.SIGKILL)
    with trio.fail_after(HANG_TIMEOUT):
        await process.wait()
    assert process.returncode == -signal.SIGKILL
    wait_until(lambda: not still_running(pids))
    await finish(process)


async def test_a_supervisor_is_killed_without_its_help() -> None:
    process = start_with_stray()
    pids, own = process.pids, process.supervisor
    fork_server = parent_of(own)
    for pid in (own, fork_server):  # so that neither can do it instead
        os.kill(pid, signal.SIGSTOP)
    with trio.fail_after(HANG_TIMEOUT):
        await process.kill_supervisor()
    assert still_running(pids) == ()
    wait_until(lambda: not still_running([own]))
    os.kill(fork_server, signal.SIGCONT)
    await finish(process)


async def test_a_program_that_keeps_starting_others_is_killed() -> None:
    process = start("while :; do (setsid sleep 500 &); done & sleep 500")
    wait_until(lambda: len(process.pids) > 5)
    await finish(process)
    assert process.find_all() == ()


@pytest.mark.parametrize(
    "change",
    [
        "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
        "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (100, 100))",
        "os.sched_setaffinity(os.getppid(), {min(os.sched_getaffinity(0))})",
        pytest.param(
            "open(f'/proc/{os.getppid()}/oom_score_adj', 'w').write('1000')",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can change it"),
        ),
    ],
    ids=["priority", "limit", "cores", "oom score"],
)
async def test_what_a_program_changes_of_its_supervisor_concerns_no_other(change: str) -> None:
    head = "import os, resource; "
    show = (
        "print(os.getpriority(os.PRIO_PROCESS, 0), resource.getrlimit(resource.RLIMIT_NOFILE), os.sched_getaffinity(0),"
        " open('/proc/self/oom_score_adj').read())"
    )
    outputs = []
    for code in (show, change, show):
        outputs.append(await result_of(start([sys.executable, "-ISc", head + code])))
        assert outputs[-1][0] == 0
    assert outputs[0] == outputs[2]
    assert outputs[0][1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into every process")
@pytest.mark.parametrize("name", ["environ", "mem", "maps", "fd"])
async def test_no_program_can_look_into_its_supervisor(name: str) -> None:
    code = f"import os; os.listdir(p) if os.path.isdir(p := f'/proc/{{os.getppid()}}/{name}') else open(p)"
    assert (await result_of(start([sys.executable, "-ISc", code])))[0] == 1


# -- programs that stop their supervisors ----------------------------------------------------------------------------

STOPPING = "(read x < '{folder}/pipe'; while :; do kill -STOP $PPID; done) & "
"""Stops the supervisor again and again, once something is written to the pipe."""
STOP_OFTEN = "import os, signal, sys, time\nwhile True: os.kill(int(sys.argv[1]), signal.SIGSTOP); time.sleep(0.001)"
STOPPING_OFTEN = f"(read x < '{{folder}}/pipe'; exec {PYTHON} -ISc '{STOP_OFTEN}' $PPID) & "
"""The same, which takes little processor time."""


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


@pytest.mark.slow
async def test_a_program_that_stops_its_supervisor_does_not_delay_the_match(runner: Runner) -> None:
    program = runner.program("kill -STOP $PPID; exit 3")
    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            await nursery.start(program.run)
            await program.end(0.1)
    assert program.returncode == 3
    assert runner.running == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stopping", "rest"), [(STOPPING_OFTEN, "exit 3"), (STOPPING, "sleep 500")], ids=["exit 3", "sleep 500"]
)
async def test_a_program_that_keeps_stopping_its_supervisor_is_killed(
    stopping: str, rest: str, runner: Runner, tmp_path: Path
) -> None:
    for name in ("pipe", "second"):
        os.mkfifo(tmp_path / name)
    program = runner.program(stopping.format(folder=tmp_path) + f"read x < '{tmp_path}/second'; {rest}")
    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            await nursery.start(program.run)
            await trio.Path(tmp_path / "pipe").write_text("go\n")
            await wait_until_async(lambda: program.supervisor_stops > 0)
            with suppress(OSError):  # the program was killed and does not read any more
                os.write(os.open(tmp_path / "second", os.O_WRONLY | os.O_NONBLOCK), b"go\n")
    assert program.gone.is_set()
    assert program.supervisor_stops >= 1
    assert runner.running == []
    if rest != "exit 3":  # the supervisor may report this exit between two stops
        assert (program.has_stopped_supervisor, program.returncode) == (True, -signal.SIGKILL)


@pytest.mark.slow
async def test_a_program_that_keeps_stopping_its_supervisor_can_be_ended(runner: Runner, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    program = runner.program(f"{STOPPING_OFTEN.format(folder=tmp_path)} sleep 500")
    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            await nursery.start(program.run)
            await trio.Path(tmp_path / "pipe").write_text("go\n")
            nursery.cancel_scope.cancel()
    assert program.gone.is_set()
    assert runner.running == []
