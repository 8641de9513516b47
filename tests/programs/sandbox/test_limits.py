"""What a program in a sandbox may use: memory in every form, processes, and the disk."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux has the limits that are tested here", allow_module_level=True)
assert sys.platform == "linux"  # for mypy

import functools
import itertools
import os
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

from spielleiter.programs.sandbox import bubblewrap, helper
from spielleiter.programs.sandbox.containers import ENGINES
from spielleiter.programs.sandbox.sandbox import BUBBLEWRAP, NONE, Sandbox
from tests.programs.sandbox.sandboxes import ISOLATED, KINDS, Ran, make_sandbox, python, run_in
from tests.timeouts import HANG_TIMEOUT

MEBIBYTE = 1024 * 1024
SMALL = 64 * MEBIBYTE
DISK = 32 * MEBIBYTE
PROCESSES = 60
HOLDING = "\nimport time\ntime.sleep(1000)\n"


@pytest.fixture(autouse=True)
def _few_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spielleiter.programs.sandbox.sandbox_run.PROCESS_LIMIT", PROCESSES)


@functools.cache
def known_sandbox(kind: str, memory: int) -> Sandbox:
    sandbox = make_sandbox(kind, memory)
    sandbox.disk = DISK
    return sandbox


async def ran_with(kind: str, tmp_path: Path, code: str, memory: int = SMALL) -> Ran:
    sandbox = known_sandbox(kind, memory)
    return await run_in(sandbox, tmp_path, python(sandbox, code))


# -- memory -----------------------------------------------------------------------------------------------------------

# These programs pause, since what is in no process is looked at four times a second only.

MEMFD = """
import os, time
while True: os.write(os.memfd_create("x"), b"x" * 1_000_000); time.sleep(0.005)
"""
DELETED = """
import os, time
while True:
    file = os.open({}, os.O_WRONLY | os.O_CREAT)
    os.unlink({})
    os.write(file, b"x" * 1_000_000)
    time.sleep(0.005)
"""
SEGMENTS = """
import ctypes, time
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
while True:
    number = libc.shmget(0, 8_000_000, 0o1600)
    place = libc.shmat(number, None, 0)
    ctypes.memset(place, 1, 8_000_000)
    libc.shmdt(ctypes.c_void_p(place))
    time.sleep(0.01)
"""


SOCKETS = {
    "unix": "pairs.append(socket.socketpair())",
    "datagrams": "pairs.append(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))",
    "tcp": "near = socket.create_connection(server.getsockname()); pairs.append((near, server.accept()[0]))",
}
QUEUES = """
import resource, socket, time
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
server, pairs = socket.create_server(("127.0.0.1", 0)), []
while True:
    {}
    pairs[-1][0].setblocking(False)
    try:
        while True: pairs[-1][0].send(b"x" * 4000)
    except OSError: time.sleep(0.001)
"""
ALL_PROCESSES = """
import os, time
is_child = not (os.fork() and os.fork())
data = b"x" * (30 * 1024 * 1024)  # each of the three processes alone stays below the limit
if is_child: time.sleep(1000)
os._exit(os.wait()[1] != 0)
"""
HOGS = {
    "one process": "data = []\nwhile True: data.append(b'x' * 1_000_000)",
    "all processes": ALL_PROCESSES,
}
HOGS_IN_NO_PROCESS = {
    "files in memory": MEMFD,
    "segments": SEGMENTS,
    **{name: QUEUES.format(pair) for name, pair in SOCKETS.items()},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hog", "kind"),
    [*itertools.product(HOGS, KINDS), *itertools.product(HOGS_IN_NO_PROCESS, [BUBBLEWRAP])],
)
async def test_a_program_that_uses_too_much_memory_is_killed(hog: str, kind: str, tmp_path: Path) -> None:
    """Also if it is in a file without a name, in a segment, or in the queues of sockets, and so in no mapping."""
    ran = await ran_with(kind, tmp_path, (HOGS | HOGS_IN_NO_PROCESS)[hog])
    assert ran.program.exceeded == "memory"
    assert ran.observations.exceeded_memory
    assert hog == "all processes" or ran.program.returncode == -signal.SIGKILL
    assert ran.observations.peak_memory is not None
    assert hog != "one process" or ran.observations.peak_memory > SMALL // 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ISOLATED)
async def test_the_folder_for_shared_memory_is_small(kind: str, tmp_path: Path) -> None:
    code = """
import os
written = 0
try:
    with open("/dev/shm/x", "wb", 0) as file:
        while written < 500 * 2**20: written += file.write(bytes(2**20))
except OSError as error:
    print(os.strerror(error.errno), written // 2**20)
"""
    ran = await ran_with(kind, tmp_path, code, memory=10 * SMALL)
    assert ran.error == []
    assert ran.output in (["No space left on device 64"], ["No space left on device 62"])  # or 64,000 KiB


@pytest.mark.slow
async def test_an_older_bubblewrap_keeps_shared_memory_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot limit the size of a folder in memory."""
    monkeypatch.setattr(bubblewrap, "_has_size_option", lambda: False)
    sandbox = make_sandbox(BUBBLEWRAP, SMALL)
    sandbox.disk = DISK
    code = "open('/dev/shm/a', 'w').write('1'); print(open('/dev/shm/a').read())"
    ran = await run_in(sandbox, tmp_path, python(sandbox, code))
    assert (ran.output, ran.error) == (["1"], [])
    ran = await run_in(sandbox, tmp_path, python(sandbox, DELETED.replace("{}", "'/dev/shm/x'")))
    assert ran.program.exceeded == "disk"


@pytest.mark.slow
async def test_nothing_else_in_memory_can_be_written(tmp_path: Path) -> None:
    """Bubblewrap's own /dev is a folder in memory without a limit. In a container, the kernel limits such folders."""
    code = """
import os
for folder, below, _ in os.walk("/"):
    if folder == "/": below[:] = set(below) - {"proc", "sys"}
    if folder in ("/usr", "/etc", "/.spielleiter"): below.clear()  # large, and not in memory
    if os.access(folder, os.W_OK):
        try:
            open(os.path.join(folder, "x"), "w").close()
            print(folder)
        except OSError:
            pass
"""
    ran = await ran_with(BUBBLEWRAP, tmp_path, code, memory=10 * SMALL)
    assert (sorted(ran.output), ran.error) == (["/dev/shm", "/home/player", "/player", "/tmp"], [])


def test_a_process_that_ends_hides_nothing() -> None:
    """It has given back its memory, and its open files are those of root then."""
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        unlinked = helper.Unlinked()
        unlinked.look([ended.pid], set())
        assert not unlinked.is_hidden


# -- processes --------------------------------------------------------------------------------------------------------


# These programs bound themselves, since what watches them may get no processor time on a busy machine: there are never
# more than 300 processes or threads, and none lives longer than a minute.

MANY = {
    "processes": """
for _ in range(300):
    try: os.fork() or (time.sleep(60), os._exit(0))
    except OSError: pass  # the system refuses more before the next look
""",
    "threads": """
for _ in range(300):
    try: threading.Thread(target=time.sleep, args=(60,)).start()
    except RuntimeError: pass
""",
    "processes that multiply": """
tokens, writing = os.pipe()
os.write(writing, bytes(300))
os.close(writing)
while os.read(tokens, 1):
    try: os.fork() or signal.alarm(60)
    except OSError: pass
""",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("starts", "kind"),
    [("processes", NONE), ("threads", NONE), ("threads", BUBBLEWRAP), ("processes that multiply", BUBBLEWRAP)],
)
async def test_a_program_with_too_many_processes_is_killed(starts: str, kind: str, tmp_path: Path) -> None:
    code = f"import os, signal, threading, time\n{MANY[starts]}\ntime.sleep(60)"
    ran = await ran_with(kind, tmp_path, code, memory=100 * SMALL)
    assert (ran.program.returncode, ran.program.exceeded) == (-signal.SIGKILL, "processes")
    assert ran.observations.exceeded_processes


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_within_the_limits_is_allowed_and_measured(kind: str, tmp_path: Path) -> None:
    code = """
import os, time
for _ in range(4):
    if not os.fork():
        time.sleep(0.5)
        os._exit(0)
for number in range(200): open(str(number), "w").write("x" * 5000)
with open("sparse", "wb") as file: file.truncate(60_000_000)
os.mkdir("deep")
os.symlink("/", "root")
for _ in range(4): os.wait()
data = bytearray(64 * 1024 * 1024)
for index in range(0, len(data), 4096): data[index] = 1
print("fine")
"""
    ran = await ran_with(kind, tmp_path, code, memory=4 * SMALL)
    assert (ran.output, ran.error, ran.program.exceeded) == (["fine"], [], "")
    assert not ran.observations.hid_files
    assert ran.observations.peak_memory is not None
    assert 64 * MEBIBYTE <= ran.observations.peak_memory < 128 * MEBIBYTE


# -- the disk ---------------------------------------------------------------------------------------------------------

WRITERS = {
    "one file": "with open('x', 'wb', 0) as file:\n    while True: file.write(bytes(10**6))",
    "many files": """
import itertools, os, time
for number in itertools.count():
    with open(os.path.join(os.environ["TMPDIR"], str(number)), "wb") as file: file.write(bytes(10**6))
    time.sleep(0.005)
""",
    "deleted files": DELETED.replace("{}", "'x'"),
    "a locked folder": "import os\nos.mkdir('d'); os.chdir('d'); os.chmod('.', 0)" + HOLDING,
    "nested folders": "import os\nfor _ in range(30): os.mkdir('d' * 200); os.chdir('d' * 200)" + HOLDING,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("writer", "kind"),
    [*itertools.product(WRITERS, [BUBBLEWRAP]), *itertools.product(["one file"], [NONE, *ENGINES])],
)
async def test_a_program_that_writes_too_much_is_killed(writer: str, kind: str, tmp_path: Path) -> None:
    if writer == "a locked folder" and kind == NONE and os.geteuid() == 0:
        pytest.skip("root may look into every folder")
    ran = await ran_with(kind, tmp_path, WRITERS[writer])
    assert ran.program.returncode  # the system may refuse to write before the program is killed
    assert ran.program.exceeded == "disk"
    assert ran.observations.exceeded_disk


@pytest.mark.slow
async def test_too_many_files_are_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spielleiter.programs.sandbox.sandbox_run.FILE_LIMIT", 100)
    code = "import time\nfor n in range(200): open(str(n), 'w').close()\ntime.sleep(1000)"
    assert (await ran_with(NONE, tmp_path, code)).program.exceeded == "disk"


def test_looking_at_files_takes_little_time_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1000):
        (tmp_path / str(number)).touch()
    files = helper.Files([str(tmp_path)], max_size=DISK, max_count=10)  # beyond what is there
    assert not files.is_exceeded
    (tmp_path / "new").mkdir()
    for number in range(20):
        (tmp_path / "new" / str(number)).touch()
    times = itertools.count(time.monotonic() + 10, 0.001)  # every fifty files take a millisecond
    monkeypatch.setattr(helper, "time", SimpleNamespace(monotonic=lambda: next(times)))
    assert [files.look() for _ in range(3)] == [True, False, False]
    assert not files.is_exceeded
    assert [files.look() for _ in range(2)] == [False, False]
    assert files.is_exceeded


# -- what watches -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ISOLATED)
async def test_the_process_that_watches_cannot_be_changed(kind: str, tmp_path: Path) -> None:
    code = (
        """
import os, signal
for name in ("mem", "maps", "environ"):
    try:
        open(f"/proc/1/{name}", "rb" if name != "mem" else "r+b")
        print(name)
    except OSError:
        pass
os.kill(1, signal.SIGSTOP)
os.kill(1, signal.SIGKILL)
import ctypes
print(ctypes.CDLL(None).ptrace(16, 1, 0, 0))
"""
        + MEMFD
    )
    ran = await ran_with(kind, tmp_path, code)
    assert ran.output in (["-1"], [])
    assert ran.program.exceeded == "memory"


@pytest.mark.slow
async def test_without_open_files_what_watches_ends_with_the_program(tmp_path: Path) -> None:
    code = "import resource, time\nresource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))\ntime.sleep(1000)"
    ran = await ran_with(BUBBLEWRAP, tmp_path, code)
    assert ran.program.returncode not in {0, None}


HIDING = "import ctypes, time\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\ntime.sleep(0.8)"


@pytest.mark.slow
async def test_hidden_files_are_a_remark(tmp_path: Path) -> None:
    ran = await ran_with(BUBBLEWRAP, tmp_path, HIDING)
    assert ran.observations.hid_files
    assert "hid open files or memory, so that these could not be watched completely" in ran.observations.remarks


KEEPING = """
import ctypes, mmap, os, socket, time
size = 32 * 2**20
file = os.memfd_create("x")
{}
time.sleep(1.8)
"""
UNSEEN = {
    "mapped": """
os.write(file, bytes(size))
ctypes.CDLL(None).mmap(None, ctypes.c_size_t(4096), 1, 1, file, ctypes.c_long(0))
os.close(file)
""",
    "in flight": "pair = socket.socketpair(); socket.send_fds(pair[0], [b'x'], [file]); os.close(file)",
    "anonymous": "kept = mmap.mmap(-1, size); kept.write(bytes(size)); kept.madvise(mmap.MADV_DONTNEED)",
}
"""Where memory is that no open file and no page of a process shows."""


@pytest.mark.slow
@pytest.mark.parametrize("place", UNSEEN)
async def test_memory_that_cannot_be_seen_is_a_remark(place: str, tmp_path: Path) -> None:
    ran = await ran_with(BUBBLEWRAP, tmp_path, KEEPING.format(UNSEEN[place]))
    assert ran.error == []
    assert ran.observations.hid_files


@pytest.mark.slow
async def test_files_that_are_passed_on_and_shared_for_a_moment_are_no_remark(tmp_path: Path) -> None:
    code = """
import mmap, os, socket, time
pair = socket.socketpair()
for _ in range(30):
    file = os.memfd_create("x")
    os.ftruncate(file, 4096)
    with mmap.mmap(file, 4096): os.close(file)
    socket.send_fds(pair[0], [b"x"], [0])
    os.close(socket.recv_fds(pair[1], 1, 1)[1][0])
    time.sleep(0.05)
"""
    ran = await ran_with(BUBBLEWRAP, tmp_path, code)
    assert (ran.error, ran.observations.hid_files) == ([], False)


INTERRUPTED_START = """
import os, runpy, signal, socket, subprocess, sys

def start_and_interrupt(*arguments, **settings):
    popen = start(*arguments, **settings)
    os.kill(os.getpid(), signal.SIGTERM)
    return popen

start, subprocess.Popen = subprocess.Popen, start_and_interrupt
options = {"arguments": ["sleep", "500"], "cwd": "/", "core": None, "memory": None, "cgroup": False}
options |= {"processes": 500, "disk": 2**30, "files": 1000, "folders": [], "own_users": False}
ours, theirs = socket.socketpair()
program = runpy.run_path(sys.argv[1], run_name="inside")["ConfinedProgram"]
print(program(ours, {**options, "hidden": [], "environment": {}}, is_first=False).run())
"""


def test_a_request_to_end_that_arrives_during_the_start_is_passed_on() -> None:
    """The program may have begun already, but its id is not known yet."""
    command = [sys.executable, "-I", "-S", "-c", INTERRUPTED_START, helper.__file__]
    done = subprocess.run(command, capture_output=True, check=True, timeout=HANG_TIMEOUT)
    assert int(done.stdout) == -signal.SIGTERM


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n", True),
        ("low 0\noom 1\noom_kill 0\n", False),
        ("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", True),
        ("", False),
    ],
)
def test_a_kill_by_the_kernel_is_read(content: str, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "events").write_text(content)
    assert helper.has_oom_kill([str(tmp_path / "missing"), str(tmp_path / "events")]) == expected
    assert not helper.has_oom_kill([str(tmp_path / "missing")])


# -- the limits of the kernel -----------------------------------------------------------------------------------------

SYSTEMD_RUN = """#!/bin/sh
echo "$@" >>"{log}"
while [ "$1" != -- ]; do shift; done
shift
[ "$1" != /bin/sh ] || {{ printf '%s\\n' {answer}; exit 0; }}
exec "$@"
"""


def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str) -> Path:
    """Put a systemd-run on the path whose cgroups have the limits `answer`; return the file with its arguments."""
    folder = tmp_path / "bin"
    folder.mkdir()
    log = tmp_path / "log"
    (folder / "systemd-run").write_text(SYSTEMD_RUN.format(log=log, answer=answer))
    (folder / "systemd-run").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return log


@pytest.mark.slow
async def test_a_cgroup_is_used_if_it_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = SMALL + 128 * MEBIBYTE, 512 + 64
    log = installed(tmp_path, monkeypatch, f"{expected[0]} {expected[1]}")
    sandbox = make_sandbox(BUBBLEWRAP, SMALL)
    ran = await run_in(sandbox, tmp_path, python(sandbox, "import os\nprint(os.environ.get('XDG_RUNTIME_DIR'))"))
    assert (ran.output, ran.error) == (["None"], [])
    calls = log.read_text().splitlines()
    assert len(calls) == 2
    for call in calls:
        assert f"--scope --quiet --collect --property=MemoryMax={expected[0]} --property=MemorySwapMax=0" in call
        assert f"--property=TasksMax={expected[1]} -- " in call
        assert ("--user" in call) == (os.geteuid() != 0)
    assert " -- bwrap " in calls[1]


@pytest.mark.parametrize("answer", ["max max", "''", f"{SMALL + 128 * MEBIBYTE} max"])
def test_a_cgroup_that_does_not_limit_is_not_used(answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user may make cgroups whose limits the kernel ignores."""
    log = installed(tmp_path, monkeypatch, answer)
    assert bubblewrap._limited_scope(SMALL) == []
    assert log.exists()
