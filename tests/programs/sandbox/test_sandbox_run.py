"""Programs in every kind of sandbox that this machine has: what they can do, and what is observed of them."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux has what is tested here", allow_module_level=True)
assert sys.platform == "linux"  # for mypy

import contextlib
import json
import os
import signal
import socket
import sys
from pathlib import Path

import pytest
import trio

from spielleiter.common.errors import NotStartedError, SandboxError
from spielleiter.programs.contest_conditions import Condition
from spielleiter.programs.program import Program
from spielleiter.programs.sandbox import sandbox_run as module
from spielleiter.programs.sandbox.containers import ContainerSandbox
from spielleiter.programs.sandbox.helper import connect
from spielleiter.programs.sandbox.pythons import FoundPython
from spielleiter.programs.sandbox.sandbox import BUBBLEWRAP, NONE, Sandbox
from spielleiter.programs.sandbox.sandbox_run import (
    NAME,
    Control,
    Observations,
    RunReport,
    SandboxEndedError,
    SandboxRun,
    Scratch,
    count_attempts,
)
from spielleiter.programs.temporary_folders import remove_folder
from tests.programs.sandbox.sandboxes import ISOLATED, make_sandbox, python, run_in
from tests.programs.test_temporary_folders import nest

pytestmark = pytest.mark.slow


async def is_known_to_run(run: SandboxRun, sandbox: Sandbox) -> None:
    """Wait until a container has the state of one that runs; a program in it may have begun before.

    Until then, Podman does not pass signals on, but ends because of them.
    """
    if not isinstance(sandbox, ContainerSandbox):
        return
    command = [sandbox.name, "ps", "--quiet", "--filter", f"name={run.folder.name}", "--filter", "status=running"]
    while not (await trio.run_process(command, capture_stdout=True)).stdout.strip():  # noqa: ASYNC110 - as below
        await trio.sleep(0.01)


async def has_made(run: SandboxRun, name: str) -> None:
    """Wait until the program has made a file of this name in its folder."""
    path = trio.Path(run.folder, "program", name)
    while not await path.exists():  # noqa: ASYNC110 - another process makes it
        await trio.sleep(0.01)


async def write_file(path: Path, content: str) -> None:
    """Write an executable file that has its content from the beginning."""
    new = trio.Path(f"{path}.new")
    await new.write_text(content)
    await new.chmod(0o755)
    await new.rename(path)


INSIDE = """
import json, os, socket, sys, time
copied, near, outside, host, isolated = sys.argv[1:]
print(open(copied).read(), *(os.environ.get(name) for name in ("DISPLAY", "https_proxy")), len(os.sched_getaffinity(0)))
for name, content in (("data", "changed"), ("new", "new"), (os.path.join(os.environ["TMPDIR"], "t"), "t")):
    open(name, "w").write(content)
if isolated:
    for name in ("/usr/x", "/etc/x", "/bin/x", "/x", "/.spielleiter/x", "/home/x", outside, "/tmp/x"):
        try: open(name, "w").close(); print(name)
        except OSError: pass
    print(*map(socket.gethostbyname, ("gameserver", socket.gethostname(), "localhost")))
    print(socket.socket().connect_ex(("127.0.0.1", int(near))) == 0)
while not os.path.exists("port"): time.sleep(0.001)
sock = socket.create_connection((host, int(open("port").read())))
sock.sendall(b"hello")
print(sock.recv(100).decode())
sys.exit("_tkinter.TclError: no display name and no $DISPLAY environment variable")
"""
NO_WINDOW = "_tkinter.TclError: no display name and no $DISPLAY environment variable"


async def test_a_program_in_a_copy_of_its_folder_reaches_the_server_and_nothing_else(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path of the copy, and of the Unix socket beside it, may be longer than addresses of sockets.

    Without a sandbox, it has at least one core and no screen. The names of its own machine are no attempts.
    """
    temporary, package = tmp_path / ("x" * 150), tmp_path / "package"
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("https_proxy", "http://proxy.example:8080")
    for folder in (temporary, package):
        folder.mkdir()
    (package / "data").write_text("data")
    received: list[bytes] = []

    async def serve(run: SandboxRun, _program: Program) -> None:
        assert run.address[0] == sandbox.host
        await write_file(run.folder / "program" / "port", f"{run.address[1]:09}")
        listener = trio.SocketListener(trio.socket.from_stdlib_socket((await run.listener()).dup()))
        async with listener, await listener.accept() as stream:
            received.append(bytes(await stream.receive_some()))
            await stream.send_all(b"welcome")

    isolated = "isolated" if sandbox.name in ISOLATED else ""
    with socket.create_server(("127.0.0.1", 0)) as near:
        words = [str(package / "data"), str(near.getsockname()[1]), str(tmp_path / "outside"), sandbox.host, isolated]
        ran = await run_in(sandbox, tmp_path, [*python(sandbox, INSIDE), *words], serve)
    seen = ["/tmp/x", "127.0.0.2 127.0.1.1 127.0.0.1", "False"] if isolated else []
    assert (ran.output, ran.error) == (["data None None 1", *seen, "welcome"], [NO_WINDOW])
    assert received == [b"hello"]
    assert (ran.program.returncode, ran.program.leftovers) == (1, ())
    observed = ran.observations
    assert (observed.sandbox, observed.exceeded_memory) == (sandbox.name, False)
    assert (observed.window_attempts, observed.network_attempts) == ((NO_WINDOW,), 0 if isolated else None)
    assert observed.output_size == sum(len(line) + 1 for line in ran.output + ran.error)
    assert observed.files_written == (5 if isolated else 4)
    assert observed.bytes_written == len("changednewt") + 9
    assert [path.name for path in package.iterdir()] == ["data"]
    assert (package / "data").read_text() == "data"
    for path in ("/usr/x", "/etc/x", "/x", str(tmp_path / "outside")):
        assert not await trio.Path(path).exists()


async def test_a_signal_that_ended_a_program_is_known(tmp_path: Path) -> None:
    ran = await run_in(make_sandbox(BUBBLEWRAP), tmp_path, ["sh", "-c", "kill -SEGV $$"])
    assert ran.program.returncode == -signal.SIGSEGV


async def test_a_program_that_cannot_be_started_is_named(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    await write_file(tmp_path / "package" / "bot", "#!/does/not/exist\n")
    with pytest.raises(BaseException) as error:
        await run_in(sandbox, tmp_path, ["./bot"])
    assert error.group_contains(NotStartedError, match="the interpreter that its first line names does not exist")


ATTEMPTS = """
import socket
for family, address in ((socket.AF_INET, "203.0.113.5"), (socket.AF_INET6, "2001:db8::5")):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            sock = socket.socket(family, kind)
            sock.connect((address, 80))
            sock.send(b"x")
            print("sent")
        except OSError as error:
            print(error.errno)
"""


@pytest.mark.parametrize("kind", ISOLATED)
async def test_the_network_is_out_of_reach_and_attempts_are_counted(kind: str, tmp_path: Path) -> None:
    sandbox = make_sandbox(kind)
    ran = await run_in(sandbox, tmp_path, python(sandbox, ATTEMPTS))
    assert "sent" not in ran.output
    assert ran.observations.network_attempts is not None
    assert ran.observations.network_attempts >= 2
    lookup = "import socket\ntry: socket.getaddrinfo('a.example', 80)\nexcept OSError: print('unknown')"
    ran = await run_in(sandbox, tmp_path, python(sandbox, lookup))
    assert ran.output == ["unknown"]
    assert ran.observations.network_attempts


async def test_processes_that_outlive_the_program_are_named_and_ended(sandbox: Sandbox, tmp_path: Path) -> None:
    """One of them has left its session."""
    code = """
import os, time
ready, writing = os.pipe()
if not os.fork():
    os.setsid()
    if os.fork(): os._exit(0)
    os.write(writing, b"1")
    time.sleep(1000)
os.read(ready, 1)
"""
    ran = await run_in(sandbox, tmp_path, python(sandbox, code))
    assert (ran.program.returncode, ran.program.was_ended) == (0, False)
    assert len(ran.program.leftovers) == len(ran.observations.leftovers) == 1


async def test_a_program_is_ended_with_everything_that_it_has_started(sandbox: Sandbox, tmp_path: Path) -> None:
    async def end(run: SandboxRun, program: Program) -> None:
        await has_made(run, "started")
        await program.end(0.0)

    script = "trap '' TERM; (trap '' TERM; sleep 1000) & touch started; while true; do sleep 1000; done"
    ran = await run_in(sandbox, tmp_path, ["sh", "-c", script], end)
    assert ran.program.was_ended


async def test_a_program_is_asked_to_end_before_it_is_killed(sandbox: Sandbox, tmp_path: Path) -> None:
    async def end(run: SandboxRun, program: Program) -> None:
        await has_made(run, "started")
        await is_known_to_run(run, sandbox)
        os.killpg(program.pids[0], signal.SIGTERM)

    code = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
open("started", "w").close()
signal.sigwait([signal.SIGTERM])
sys.exit(7)
"""
    ran = await run_in(sandbox, tmp_path, python(sandbox, code), end)
    assert ran.program.returncode == 7


async def test_two_programs_at_once_share_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    """Both use the same port of their own machine if they have a network of their own, and the same file."""
    port = 28051 if sandbox.has_own_name_spaces else 0
    code = f"""
import socket, time, os
server = socket.create_server(("127.0.0.1", {port}))
open(os.path.join(os.environ["TMPDIR"], "lock"), "x").close()
open("started", "w").close()
while not os.path.exists("go"): time.sleep(0.001)
print("both")
"""
    runs: list[SandboxRun] = []

    async def wait_for_both(run: SandboxRun, _program: Program) -> None:
        await has_made(run, "started")
        runs.append(run)
        if len(runs) == 2:
            for each in runs:
                await write_file(each.folder / "program" / "go", "")

    outputs = []

    async def run_one(folder: Path) -> None:
        await trio.Path(folder).mkdir()
        outputs.append((await run_in(sandbox, folder, python(sandbox, code), wait_for_both)).output)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_one, tmp_path / "first")
        nursery.start_soon(run_one, tmp_path / "second")
    assert outputs == [["both"], ["both"]]


async def test_a_sandbox_that_cannot_be_started_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = make_sandbox("bubblewrap")
    await write_file(tmp_path / "bwrap", "#!/bin/sh\necho 'bwrap: no name spaces today' >&2\nexit 1\n")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(BaseException) as error:
        await run_in(sandbox, tmp_path, ["sh", "-c", "exit 0"])
    assert error.group_contains(SandboxError, match="its sandbox could not be started: bwrap: no name spaces today")


EXECUTABLE = os.path.realpath(sys.executable)


@pytest.mark.skipif(sys.platform == "win32", reason="these commands are scripts of a shell")
@pytest.mark.parametrize("kind", [NONE, BUBBLEWRAP])
async def test_a_program_finds_the_python_of_the_contest(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = FoundPython("3.12.1", EXECUTABLE, sys.base_prefix)
    module = {NONE: "plain", BUBBLEWRAP: "bubblewrap"}[kind]
    monkeypatch.setattr(f"spielleiter.programs.sandbox.{module}.find_python", lambda *_, **__: found)
    sandbox = make_sandbox(kind)
    script = 'for each in python3 python; do $each -c "import sys; print(sys.executable)"; done'
    ran = await run_in(sandbox, tmp_path, ["sh", "-c", script])
    assert (ran.output, ran.error) == ([found.executable] * 2, [])
    assert sandbox.python_description == "Python 3.12.1"
    assert "Python 3.12.1" in sandbox.gaps[Condition.IMAGE]


OTHER = b'{"exit": 0, "cpu": 0, "peak": 0, "killed": "sunshine", "hidden": false, "left": []}\n'


@pytest.mark.parametrize("data", [b"", b"nonsense\n", b"[1]\n", b"\xff\n", OTHER, b"x" * 3_000_000])
async def test_nonsense_from_inside_is_an_error(data: bytes, tmp_path: Path) -> None:
    """Also a message without an end."""
    control = Control(tmp_path)
    inside = trio.SocketStream(trio.socket.from_stdlib_socket(connect(str(tmp_path / NAME))))

    async def send() -> None:
        with contextlib.suppress(trio.BrokenResourceError):
            await inside.send_all(data)
        await inside.aclose()

    await inside.send_all(b"1")
    await control.receive_descriptors()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(send)
        with pytest.raises(SandboxEndedError):
            await control.receive(RunReport)
        control.close()


async def test_an_end_without_a_byte_is_an_error(tmp_path: Path) -> None:
    control = Control(tmp_path)
    connect(str(tmp_path / NAME)).close()
    with pytest.raises(SandboxEndedError):
        await control.receive_descriptors()
    control.close()
    with pytest.raises(OSError):
        Control(tmp_path / "missing")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to copy; the folders of runs are made beside it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / "source"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "data").write_text("12345")
    (folder / "link").symlink_to("sub/data")
    (folder / "main").write_text("#!/bin/sh\n")
    (folder / "main").chmod(0o755)
    return folder


def test_new_and_changed_files_of_a_copy_are_counted(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = Scratch(source)
    program, home, temporary = scratch.layout.program, scratch.layout.home, scratch.layout.temporary
    assert (program / "sub" / "data").read_text() == "12345"
    assert (program / "link").readlink() == Path("sub/data")
    assert os.access(program / "main", os.X_OK)
    assert scratch.layout.root.stat().st_mode & 0o077 == 0
    assert scratch.written() == (0, 0)
    (program / "sub" / "data").write_text("changed")
    (program / "main").unlink()
    (home / "new").write_text("123")
    (home / "loop").symlink_to(".")
    (home / "all").symlink_to("/")
    with (temporary / "sparse").open("wb") as file:
        file.truncate(2**40)  # its holes are not written
    assert scratch.written() == (3, 10)
    for number in range(20):
        (temporary / str(number)).touch()
    assert scratch.written() == (23, 10)
    monkeypatch.setattr(module, "MAX_COUNTED", 10)
    assert scratch.written()[0] <= 10
    nest(home, 30, "d" * 200)
    assert scratch.written()[0] <= 10  # although no path leads to the innermost one
    scratch.remove()
    assert not scratch.layout.root.exists()


def test_nothing_is_left_if_the_copy_fails(source: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Scratch(source / "missing")
    nest(source, 600, "d")
    with pytest.raises(OSError, match="name too long"):
        Scratch(source)
    assert list(source.parent.glob("*/*-*")) == []
    remove_folder(source)  # pytest cannot remove it


SNMP = "Ip: Forwarding OutDiscards OutNoRoutes ReasmOKs\nIp: 1 2 {} 4\nIcmp: InMsgs\nIcmp: 5\n"
SNMP6 = "Ip6InReceives                   \t7\nIp6OutNoRoutes                  \t{}\n"


@pytest.mark.parametrize(
    ("contents", "count"),
    [
        ([SNMP.format(3), SNMP6.format(4)], 7),
        ([SNMP.format(0)], 0),
        ([SNMP6.format(2)], 2),
        (["", "nonsense\n"], None),
        (["Ip: Forwarding\nIp: 1\n"], None),
        ([], None),
    ],
)
def test_both_families_are_added(contents: list[str], count: int | None, tmp_path: Path) -> None:
    descriptors = []
    for number, content in enumerate(contents):
        (tmp_path / str(number)).write_text(content)
        descriptors.append(os.open(tmp_path / str(number), os.O_RDONLY))
    try:
        assert count_attempts(descriptors) == count
        assert count_attempts(descriptors) == count  # they can be read again
    finally:
        for each in descriptors:
            os.close(each)
    assert count_attempts(descriptors) is None  # closed


OBSERVED = Observations("none", 5, True, True, True, True, ("disk",), 2, ("a", "b"), 7, 1, 9, ("sleep",))


def test_observations_survive_json_and_fields_of_a_later_version() -> None:
    assert Observations.from_json(json.loads(json.dumps({**OBSERVED.to_json(), "new": 1}))) == OBSERVED
