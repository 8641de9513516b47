"""A cgroup for each run: in folders laid out like a file system of cgroups, and in a real one if there is one."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux has cgroups", allow_module_level=True)
assert sys.platform == "linux"  # for mypy

import contextlib
import errno
import os
import signal
from collections.abc import Mapping
from pathlib import Path

from spielleiter.programs.program import Program
from spielleiter.programs.sandbox.bubblewrap import BubblewrapSandbox, bubblewrap_problem
from spielleiter.programs.sandbox.cgroup import RunCgroup, delegated_cgroup, own_cgroup
from spielleiter.programs.sandbox.sandbox_run import SandboxRun
from spielleiter.programs.temporary_folders import new_label
from spielleiter.programs.this_platform import PLATFORM
from tests.programs.sandbox.sandboxes import python, run_in

MEBIBYTE = 1024 * 1024
MEMORY = 96 * MEBIBYTE
LIMITS = {"memory.max": str(MEMORY + 128 * MEBIBYTE), "pids.max": str(512 + 64)}


def cgroup_in(folder: Path, controllers: str = "cpu memory pids", passed_on: str = "memory pids") -> Path:
    folder.mkdir()
    for name, content in {
        "cgroup.controllers": controllers,
        "cgroup.subtree_control": passed_on,
        "cgroup.procs": "",
    }.items():
        (folder / name).write_text(content)
    return folder


def runs_in(folder: Path) -> list[Path]:
    """Return the cgroups of runs, which in a usual file system remain since there are files in them."""
    return [each for each in folder.iterdir() if (each / "run").is_dir() or (each / "memory.max").is_file()]


# -- finding it -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cgroup", "mount", "expected"),
    [
        ("0::/a/b\n", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "/sys/fs/cgroup/a/b"),
        ("1:pids:/x\n0::/a\n", "31 23 0:28 / /sys/fs/unified rw shared:4 - cgroup2 none rw", "/sys/fs/unified/a"),
        ("0::/docker/a/b\n", "31 23 0:28 /docker/a /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "/sys/fs/cgroup/b"),
        ("0::/\n", "31 23 0:28 / /with\\040blank rw - cgroup2 cgroup2 rw", "/with blank"),
        ("0::/other\n", "31 23 0:28 /docker/a /sys/fs/cgroup rw - cgroup2 cgroup2 rw", None),
        ("0::/../a\n", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", None),
        ("1:pids:/x\n", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", None),
        ("0::/a\n", "31 23 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids", None),
        ("0::/a\n", "nonsense", None),
        (None, "", None),
    ],
)
def test_the_cgroup_of_a_process_is_found(cgroup: str | None, mount: str, expected: str | None, tmp_path: Path) -> None:
    if cgroup is not None:  # there is a /proc
        (tmp_path / "cgroup").write_text(cgroup)
    (tmp_path / "mountinfo").write_text(f"23 1 8:1 / / rw - ext4 /dev/sda1 rw\n{mount}\n")
    assert own_cgroup(tmp_path) == (expected and Path(expected))


# -- whether it can be used -------------------------------------------------------------------------------------------


def test_a_cgroup_of_this_user_is_used(tmp_path: Path) -> None:
    own = cgroup_in(tmp_path / "own")
    assert delegated_cgroup(own, MEMORY) == own
    (trial,) = runs_in(own)
    assert {name: (trial / name).read_text() for name in LIMITS} == LIMITS
    assert (trial / "run" / "cgroup.procs").read_text() == "0\n"  # a process has entered it
    moved = cgroup_in(own / "spielleiter-processes", passed_on="")
    assert delegated_cgroup(moved, MEMORY) == own


@pytest.mark.parametrize(
    ("controllers", "missing", "owner"),
    [
        ("cpu memory", "", 0),  # both controllers are needed
        ("pids", "", 0),
        ("memory pids", "cgroup.procs", 0),  # it is no cgroup
        ("memory pids", "cgroup.controllers", 0),
        ("memory pids", "", 1),  # it is somebody else's
    ],
)
def test_another_folder_is_not_used(
    controllers: str, missing: str, owner: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = cgroup_in(tmp_path / "own", controllers=controllers)
    if missing:
        (own / missing).unlink()
    monkeypatch.setattr(os, "geteuid", lambda: own.stat().st_uid + owner)
    assert delegated_cgroup(own, MEMORY) is None
    assert runs_in(own) == []
    assert delegated_cgroup(None, MEMORY) is None


@pytest.mark.parametrize(
    ("name", "attributes", "is_used"),
    [
        ("a.service", {}, False),
        ("a.scope", {"user.delegate": b"0"}, False),
        ("a.slice", {"user.delegate": b"1"}, True),
        ("a.service", {"trusted.delegate": b"1"}, True),
    ],
)
def test_a_unit_of_systemd_is_used_only_if_it_is_delegated(
    name: str, attributes: Mapping[str, bytes], is_used: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Systemd resets what is changed in its other units."""

    def getxattr(_: Path, attribute: str) -> bytes:
        if attribute not in attributes:
            raise OSError(errno.ENODATA, os.strerror(errno.ENODATA))
        return attributes[attribute]

    monkeypatch.setattr(os, "getxattr", getxattr)
    own = cgroup_in(tmp_path / name)
    assert delegated_cgroup(own, MEMORY) == (own if is_used else None)


def busy_as_long_as_there_are_processes(own: Path, monkeypatch: pytest.MonkeyPatch, *, may_move: bool) -> None:
    """Let `own` be like a cgroup of the kernel: it has processes, and passes nothing on as long as it has."""
    remaining = ["0", "17", "18"]
    (own / "cgroup.subtree_control").write_text("")
    (own / "cgroup.procs").write_text("\n".join(remaining))
    write = Path.write_text

    def write_text(path: Path, data: str) -> int:
        if path == own / "cgroup.subtree_control" and "17" in remaining:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        if path.name == "cgroup.procs":
            if data == "18":  # it has ended
                raise ProcessLookupError
            if may_move:
                remaining.remove(data)
        return write(path, data)

    monkeypatch.setattr(Path, "write_text", write_text)


@pytest.mark.parametrize("may_move", [False, True])
def test_processes_are_moved_once_or_it_is_not_used(
    may_move: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = cgroup_in(tmp_path / "own")
    busy_as_long_as_there_are_processes(own, monkeypatch, may_move=may_move)
    assert delegated_cgroup(own, MEMORY) == (own if may_move else None)
    if may_move:
        assert (own / "spielleiter-processes" / "cgroup.procs").read_text() == "17"
        assert (own / "cgroup.subtree_control").read_text() == "+memory +pids"
    else:
        assert runs_in(own) == []


def test_what_a_killed_match_has_left_is_removed(tmp_path: Path) -> None:
    own = cgroup_in(tmp_path / "own")
    stale = new_label().replace(f"-{os.getpid()}-", "-999999999-")
    for name in (stale, new_label(), "something"):
        (own / name / "run").mkdir(parents=True)
    delegated_cgroup(own, MEMORY)
    assert not (own / stale).exists()
    assert (own / "something").exists()
    assert len(runs_in(own)) == 3  # with the one that was tried


# -- one run ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, ""),
        ({"memory.events": "low 0\nhigh 0\nmax 9\noom 1\noom_kill 3\n"}, "memory"),
        ({"memory.events": "max 9\noom 1\noom_kill 0\n"}, ""),
        ({"memory.events": "max 0\noom 0\noom_kill 3\n"}, ""),
        ({"pids.events": "max 4\n", "pids.peak": "576\n"}, "processes"),
        ({"pids.events": "max 4\n", "pids.peak": "40\n"}, ""),
        ({"pids.events": "max 4\n"}, ""),
        ({"pids.events": "max 0\n", "pids.peak": "576\n"}, ""),
        ({"memory.events": "nonsense"}, ""),
    ],
)
def test_only_its_own_limits_count(files: Mapping[str, str], expected: str, tmp_path: Path) -> None:
    """A full machine kills as well, and a limit further up refuses processes; neither is the program's fault."""
    cgroup = RunCgroup(tmp_path / "run", MEMORY)
    for name, content in files.items():
        (cgroup.folder / name).write_text(content)
    assert cgroup.exceeded() == expected
    cgroup.release()
    assert (cgroup.folder / "cgroup.kill").read_text() == "1"


def make_sandbox_in(cgroup: Path | None) -> BubblewrapSandbox:
    if problem := bubblewrap_problem():
        pytest.skip(f"no bubblewrap: {problem}")
    return BubblewrapSandbox(MEMORY, cgroup=cgroup)


@pytest.mark.slow
@pytest.mark.parametrize("ends_alone", [True, False])
async def test_what_the_kernel_has_counted_is_observed(ends_alone: bool, tmp_path: Path) -> None:
    own = cgroup_in(tmp_path / "own")
    sandbox = make_sandbox_in(own)
    (trial,) = runs_in(own)

    async def exceed(run: SandboxRun, _: Program) -> None:
        (folder,) = set(runs_in(own)) - {trial}
        assert folder.name == run.folder.name
        (folder / "memory.events").write_text("oom 1\noom_kill 2\n")
        if ends_alone:
            (run.folder / "program" / "go").touch()
        else:
            for process in PLATFORM.find_tagged(str(tmp_path)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)

    waiting = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)"
    ran = await run_in(sandbox, tmp_path, python(sandbox, waiting), exceed)
    assert (ran.program.exceeded, ran.observations.exceeded_memory) == ("memory", True)
    assert ran.program.returncode == (0 if ends_alone else -signal.SIGKILL)
    assert ran.error == []


@pytest.mark.slow
async def test_a_run_whose_cgroup_cannot_be_made_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = cgroup_in(tmp_path / "own")
    sandbox = make_sandbox_in(own)
    monkeypatch.setattr("spielleiter.programs.sandbox.bubblewrap.RunCgroup", unable)
    ran = await run_in(sandbox, tmp_path, python(sandbox, "x = []\nwhile True: x.append(bytes(1_000_000))"))
    assert (ran.program.returncode, ran.program.exceeded) == (-signal.SIGKILL, "memory")


def unable(*_: object) -> None:
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


# -- a real one -------------------------------------------------------------------------------------------------------

ALL_MEMORY = "x = []\nwhile True: x.append(b'x' * 1_000_000)"
TOO_MANY_PROCESSES = """
import os, time
try:
    for _ in range(600):
        os.fork() or (time.sleep(60), os._exit(0))
except OSError: pass
"""
"""More than the kernel allows, but not so many that they harm the machine if it does not."""
RAISE_LIMITS = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print("unshare", libc.unshare(0x10000000 | 0x00020000 | 0x02000000), flush=True)  # users, mounts, cgroups
os.mkdir("cgroups")
print("mount", libc.mount(b"none", b"cgroups", b"cgroup2", 0, None), flush=True)
for folder, _, names in os.walk("cgroups"):
    for name in {"memory.max", "pids.max"}.intersection(names):
        print(name, open(f"{folder}/{name}", "w").write("max"), flush=True)
try:
    os.mkdir("cgroups/below")
except OSError as error:
    print(error.strerror, flush=True)
x = []
while True: x.append(b"x" * 1_000_000)
"""


@pytest.fixture
def real_sandbox() -> BubblewrapSandbox:
    """A sandbox in which only the kernel limits memory and processes."""
    if delegated_cgroup(own_cgroup(), MEMORY) is None:
        pytest.skip("no cgroup of version 2 is delegated to these tests")
    sandbox = make_sandbox_in(None)
    sandbox.watches_memory = False
    return sandbox


def real_runs() -> list[str]:
    own = own_cgroup()
    assert own is not None
    return [each.name for each in own.parent.iterdir() if each.is_dir() and each.name != own.name]


@pytest.mark.slow
async def test_the_kernel_limits_the_memory(real_sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    ran = await run_in(real_sandbox, tmp_path, python(real_sandbox, ALL_MEMORY))
    assert (ran.program.returncode, ran.program.exceeded) == (-signal.SIGKILL, "memory")
    assert real_runs() == []


@pytest.mark.slow
async def test_a_program_cannot_reach_its_limits(real_sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """The file system of cgroups can be mounted in name spaces of its own; it begins at the cgroup of the process."""
    ran = await run_in(real_sandbox, tmp_path, python(real_sandbox, RAISE_LIMITS))
    assert (ran.program.returncode, ran.program.exceeded) == (-signal.SIGKILL, "memory")
    assert [line for line in ran.output if ".max" in line] == []
    assert real_runs() == []


@pytest.mark.slow
async def test_the_kernel_limits_the_processes(
    real_sandbox: BubblewrapSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spielleiter.programs.sandbox.sandbox_run.PROCESS_LIMIT", 100_000)
    ran = await run_in(real_sandbox, tmp_path, python(real_sandbox, TOO_MANY_PROCESSES))
    assert ran.program.exceeded == "processes"
    assert real_runs() == []
