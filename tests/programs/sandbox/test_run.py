"""Programs in every kind of sandbox that this machine has: what they can do, and what is observed of them."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux has what is tested here", allow_module_level=True)
assert sys.platform == "linux"  # for mypy

import json
import os
import secrets
import signal
import socket
import sys
from pathlib import Path

import pytest
import trio

from spielleiter.common.errors import NotStartedError, SandboxError
from spielleiter.programs.contest_conditions import Condition
from spielleiter.programs.processes import start_ticks_of
from spielleiter.programs.program import Program
from spielleiter.programs.sandbox import run as module
from spielleiter.programs.sandbox.containers import ContainerSandbox
from spielleiter.programs.sandbox.inside import connect, hand_out_descriptors
from spielleiter.programs.sandbox.pythons import FoundPython
from spielleiter.programs.sandbox.run import (
    NAME,
    Control,
    Observations,
    SandboxEndedError,
    SandboxRun,
    Scratch,
    count_attempts,
)
from spielleiter.programs.sandbox.sandbox import BUBBLEWRAP, NONE, Sandbox
from spielleiter.programs.temporary_folders import is_stale, remove_folder, remove_stale_folders
from tests.programs.sandbox.sandboxes import ISOLATED, KINDS, make_sandbox, python, run_in

pytestmark = pytest.mark.slow

MEBIBYTE = 1024 * 1024
SMALL = 96 * MEBIBYTE


async def is_known_to_run(run: SandboxRun, sandbox: Sandbox) -> None:
    """Wait until a container has the state of one that runs; a program in it may have begun before.

    Until then, Podman does not pass signals on, but ends because of them.
    """
    if not isinstance(sandbox, ContainerSandbox):
        return
    label = run._scratch.layout.label
    command = [sandbox.name, "ps", "--quiet", "--filter", f"name={label}", "--filter", "status=running"]
    while not (await trio.run_process(command, capture_stdout=True)).stdout.strip():  # noqa: ASYNC110 - as below
        await trio.sleep(0.001)


async def has_made(run: SandboxRun, name: str) -> None:
    """Wait until the program has made a file of this name in its folder."""
    path = trio.Path(run.folder, "program", name)
    while not await path.exists():  # noqa: ASYNC110 - another process makes it
        await trio.sleep(0.001)


async def write_file(path: Path, content: str) -> None:
    """Write an executable file that has its content from the beginning."""
    new = trio.Path(f"{path}.new")
    await new.write_text(content)
    await new.chmod(0o755)
    await new.rename(path)


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -SEGV $$", -signal.SIGSEGV)])
async def test_the_end_of_a_program_is_known(script: str, code: int, sandbox: Sandbox, tmp_path: Path) -> None:
    ran = await run_in(sandbox, tmp_path, ["sh", "-c", f"echo out; echo error >&2; {script}"])
    assert (ran.output, ran.error[:1]) == (["out"], ["error"])
    assert (ran.program.returncode, ran.program.leftovers) == (code, ())
    assert ran.observations.output_size == len("out\nerror\n") + sum(len(line) + 1 for line in ran.error[1:])
    assert ran.observations.sandbox == sandbox.name
    assert not ran.observations.exceeded_memory


async def test_a_program_runs_in_a_copy_of_its_folder(sandbox: Sandbox, tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "data").write_text("data\n")
    script = 'cat data; echo more >>data; echo new >new; echo t >"$TMPDIR/t"; echo "$@"'
    (package / "bot.sh").write_text(f"#!/bin/sh\n{script}\n")
    (package / "bot.sh").chmod(0o755)
    ran = await run_in(sandbox, tmp_path, ["./bot.sh", "-h", "host"])
    assert (ran.output, ran.error) == (["data", "-h host"], [])
    assert (ran.observations.files_written, ran.observations.bytes_written) == (3, len("data\nmore\nnew\nt\n"))
    assert sorted(path.name for path in package.iterdir()) == ["bot.sh", "data"]
    assert (package / "data").read_text() == "data\n"


async def test_paths_in_the_command_line_lead_into_the_copy(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    bot = tmp_path / "package" / "bot.sh"
    bot.write_text("#!/bin/sh\necho started\n")
    bot.chmod(0o755)
    ran = await run_in(sandbox, tmp_path, [str(bot)])
    assert ran.output == ["started"]


async def test_a_program_that_cannot_be_started_is_named(sandbox: Sandbox, tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "bot").write_text("#!/does/not/exist\n")
    (package / "bot").chmod(0o755)
    with pytest.raises(BaseException) as missing:
        await run_in(sandbox, tmp_path, ["./missing"])
    assert missing.group_contains(NotStartedError, match=r"^\./missing: there is no such program$")
    with pytest.raises(BaseException) as interpreter:
        await run_in(sandbox, tmp_path, ["./bot"])
    assert interpreter.group_contains(NotStartedError, match="the interpreter that its first line names does not exist")


async def test_a_program_reaches_the_server(sandbox: Sandbox, tmp_path: Path) -> None:
    received: list[bytes] = []

    async def serve(run: SandboxRun, _program: Program) -> None:
        listener = trio.SocketListener(trio.socket.from_stdlib_socket((await run.listener()).dup()))
        async with listener, await listener.accept() as stream:
            received.append(bytes(await stream.receive_some()))
            await stream.send_all(b"welcome")

    own_network = sandbox.has_own_network
    code = f"""
import os, socket, time
while not os.path.exists("port"): time.sleep(0.001)
sock = socket.create_connection(({sandbox.host!r}, int(open("port").read())))
sock.sendall(b"hello")
print(sock.recv(100).decode())
"""

    async def write_port_and_serve(run: SandboxRun, program: Program) -> None:
        assert run.address[0] == sandbox.host
        await write_file(run.folder / "program" / "port", str(run.address[1]))
        await serve(run, program)

    ran = await run_in(sandbox, tmp_path, python(sandbox, code), write_port_and_serve)
    assert (received, ran.output, ran.error) == ([b"hello"], ["welcome"], [])
    assert ran.observations.network_attempts == (0 if own_network else None)


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
    lookup = (
        "import socket\ntry: socket.getaddrinfo('example.com', 80); print('found')\nexcept OSError: print('unknown')"
    )
    ran = await run_in(sandbox, tmp_path, python(sandbox, lookup))
    assert ran.output == ["unknown"]
    assert ran.observations.network_attempts


@pytest.mark.parametrize("kind", ISOLATED)
async def test_the_names_of_the_server_and_of_the_own_machine_are_no_attempts(kind: str, tmp_path: Path) -> None:
    sandbox = make_sandbox(kind)
    names = "('gameserver', socket.gethostname(), 'localhost')"
    code = f"import socket\nfor name in {names}: print(socket.gethostbyname(name))"
    ran = await run_in(sandbox, tmp_path, python(sandbox, code))
    assert (ran.output, ran.error) == (["127.0.0.2", "127.0.1.1", "127.0.0.1"], [])
    assert ran.observations.network_attempts == 0


@pytest.mark.parametrize("kind", ISOLATED)
async def test_ports_of_this_machine_are_out_of_reach(kind: str, tmp_path: Path) -> None:
    sandbox = make_sandbox(kind)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket\nprint(socket.socket().connect_ex(('127.0.0.1', {port})) == 0)"
        assert (await run_in(sandbox, tmp_path, python(sandbox, code))).output == ["False"]


@pytest.mark.parametrize("kind", ISOLATED)
async def test_files_outside_of_its_folders_cannot_be_written(kind: str, tmp_path: Path) -> None:
    sandbox = make_sandbox(kind)
    code = f"""
import os
import sys
for name in ("/usr/x", "/etc/x", "/bin/x", "/x", "/.spielleiter/x", "/home/x", {str(tmp_path / "x")!r}, "x", "/tmp/x"):
    try:
        open(name, "w").close()
        print(name)
    except OSError:
        pass
"""
    ran = await run_in(sandbox, tmp_path, python(sandbox, code))
    assert (ran.output, ran.error) == (["x", "/tmp/x"], [])
    for path in ("/usr/x", "/etc/x", "/x", str(tmp_path / "x")):
        assert not await trio.Path(path).exists()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_program_that_uses_too_much_memory_is_killed(kind: str, tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    sandbox = make_sandbox(kind, SMALL)
    hog = "data = []\nwhile True: data.append(b'x' * 1_000_000)"
    ran = await run_in(sandbox, tmp_path, python(sandbox, hog))
    assert ran.program.returncode == -signal.SIGKILL
    assert ran.program.exceeded == "memory"
    assert ran.observations.exceeded_memory
    assert ran.observations.peak_memory is not None
    assert ran.observations.peak_memory > SMALL // 2


@pytest.mark.parametrize("kind", KINDS)
async def test_the_memory_of_all_processes_counts(kind: str, tmp_path: Path) -> None:
    """Each of the three processes alone stays below the limit."""
    sandbox = make_sandbox(kind, SMALL)
    code = """
import os, time
is_child = not (os.fork() and os.fork())
data = b"x" * (60 * 1024 * 1024)
if is_child: time.sleep(1000)
os._exit(os.wait()[1] != 0)
"""
    ran = await run_in(sandbox, tmp_path, python(sandbox, code))
    assert ran.observations.exceeded_memory


@pytest.mark.parametrize("kind", KINDS)
async def test_memory_that_is_enough_is_measured(kind: str, tmp_path: Path) -> None:
    sandbox = make_sandbox(kind, 4 * SMALL)
    code = "data = bytearray(64 * 1024 * 1024)\nfor index in range(0, len(data), 4096): data[index] = 1"
    ran = await run_in(sandbox, tmp_path, python(sandbox, code))
    assert (ran.program.returncode, ran.observations.exceeded_memory) == (0, False)
    assert ran.observations.peak_memory is not None
    assert 64 * MEBIBYTE <= ran.observations.peak_memory < 128 * MEBIBYTE


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
        program._process.terminate()  # type: ignore[union-attr]

    code = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
open("started", "w").close()
signal.sigwait([signal.SIGTERM])
sys.exit(7)
"""
    ran = await run_in(sandbox, tmp_path, python(sandbox, code), end)
    assert ran.program.returncode == 7


async def test_a_program_has_one_core_and_no_screen(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("https_proxy", "http://proxy.example:8080")
    code = """
import os
print(len(os.sched_getaffinity(0)), os.environ.get("DISPLAY"), os.environ.get("https_proxy"))
"""
    ran = await run_in(sandbox, tmp_path, python(sandbox, code))
    assert ran.output == ["1 None None"]


async def test_an_attempt_to_open_a_window_is_noticed(sandbox: Sandbox, tmp_path: Path) -> None:
    text = "_tkinter.TclError: no display name and no $DISPLAY environment variable"
    ran = await run_in(sandbox, tmp_path, ["sh", "-c", 'echo "$0" >&2; exit 1', text])
    assert ran.observations.window_attempts == (text,)


async def test_two_programs_at_once_share_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    """Both use the same port of their own machine if they have a network of their own, and the same file."""
    port = 28051 if sandbox.has_own_network else 0
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


def test_plain_limits_are_always_there() -> None:
    assert make_sandbox(NONE).name == NONE


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
    assert sandbox.python == "Python 3.12.1"
    assert "Python 3.12.1" in sandbox.gaps[Condition.IMAGE]


async def connected(folder: Path) -> tuple[Control, socket.socket]:
    """Return both ends, with the descriptors handed out."""
    control = Control(folder)
    inside = connect(str(folder / NAME))
    hand_out_descriptors(inside, "127.0.0.1", 0)
    await control.receive_descriptors()
    return control, inside


async def test_descriptors_and_messages_arrive(tmp_path: Path) -> None:
    control, inside = await connected(tmp_path)
    assert not await trio.Path(tmp_path, NAME).exists()
    assert control.listener is not None
    with inside, socket.create_connection(control.listener.getsockname()):
        assert [os.pread(each, 3, 0) for each in control.counters][:1] == [b"Ip:"]
        data = b""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(control.send, {"arguments": ["ä" * 50_000]})
            while not data.endswith(b"\n"):
                await trio.lowlevel.wait_readable(inside)
                data += inside.recv(65536)
        assert json.loads(data) == {"arguments": ["ä" * 50_000]}
        inside.sendall(b'{"started": 1}\n{"exit"')
        assert await control.receive() == {"started": 1}
        inside.sendall(b": 0}\n")
        assert await control.receive() == {"exit": 0}
        control.close()
        assert inside.recv(1) == b""
    assert control.counters == []


async def test_a_long_path_is_no_problem(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 200)
    await trio.Path(folder).mkdir()
    control, inside = await connected(folder)
    inside.close()
    control.close()


async def test_a_process_without_a_network_of_its_own_sends_a_byte(tmp_path: Path) -> None:
    control = Control(tmp_path)
    with connect(str(tmp_path / NAME)) as inside:
        hand_out_descriptors(inside, "", 0)
        await control.receive_descriptors()
    assert (control.listener, control.counters) == (None, [])
    control.close()


@pytest.mark.parametrize("data", [b"", b"{", b"nonsense\n", b"[1]\n", b"\xff\n"])
async def test_nonsense_is_an_error(data: bytes, tmp_path: Path) -> None:
    control, inside = await connected(tmp_path)
    inside.sendall(data)
    inside.close()
    with pytest.raises(SandboxEndedError):
        await control.receive()
    control.close()


async def test_an_end_without_a_byte_is_an_error(tmp_path: Path) -> None:
    control = Control(tmp_path)
    connect(str(tmp_path / NAME)).close()
    with pytest.raises(SandboxEndedError):
        await control.receive_descriptors()
    control.close()


async def test_a_message_has_a_maximum_size(tmp_path: Path) -> None:
    control, inside = await connected(tmp_path)

    async def flood() -> None:
        inside.setblocking(False)
        while True:
            await trio.lowlevel.wait_writable(inside)
            inside.send(b"x" * 65536)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(flood)
        with pytest.raises(SandboxEndedError):
            await control.receive()
        nursery.cancel_scope.cancel()
    inside.close()
    control.close()


async def test_a_missing_folder_leaves_nothing_open(tmp_path: Path) -> None:
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


def test_a_copy_keeps_modes_and_links(source: Path) -> None:
    scratch = Scratch(source)
    program = scratch.layout.program
    assert (program / "sub" / "data").read_text() == "12345"
    assert (program / "link").readlink() == Path("sub/data")
    assert os.access(program / "main", os.X_OK)
    assert scratch.layout.root.stat().st_mode & 0o077 == 0
    assert scratch.written() == (0, 0)
    scratch.remove()
    assert not scratch.layout.root.exists()


def test_new_and_changed_files_are_counted(source: Path) -> None:
    scratch = Scratch(source)
    (scratch.layout.program / "sub" / "data").write_text("changed")
    (scratch.layout.home / "new").write_text("123")
    (scratch.layout.temporary / "empty").touch()
    (scratch.layout.program / "main").unlink()
    assert scratch.written() == (3, 10)
    scratch.remove()


def test_folders_that_a_program_has_locked_are_removed(source: Path) -> None:
    scratch = Scratch(source)
    (scratch.layout.home / "deep").mkdir()
    (scratch.layout.home / "deep" / "file").touch()
    (scratch.layout.home / "deep").chmod(0)
    scratch.remove()
    assert not scratch.layout.root.exists()


def test_nothing_is_left_if_the_copy_fails(source: Path) -> None:
    with pytest.raises(OSError):
        Scratch(source / "missing")
    assert list(source.parent.glob("*/*-*")) == []


def test_only_folders_of_ended_processes_are_stale(source: Path) -> None:
    current = Scratch(source)
    own_ticks = start_ticks_of(os.getpid())
    for name in (
        "spielleiter-1-0-aa",
        "spielleiter-999999999-5-bb",
        f"spielleiter-{os.getpid()}-1-cc",
        "spielleiter-x",
    ):
        (source.parent / name).mkdir()
    remove_stale_folders()
    left = {path.name for path in source.parent.iterdir()}
    assert left == {"source", "spielleiter-x", current.layout.root.parent.name}
    assert current.layout.root.is_dir()
    assert not is_stale(f"spielleiter-{os.getpid()}-{own_ticks}-{secrets.token_hex(2)}")
    assert not is_stale("other-1-1-1")
    current.remove()


def test_deeply_nested_folders_are_counted_and_removed(source: Path) -> None:
    scratch = Scratch(source)
    (scratch.layout.home / "new").write_text("123")
    descriptor = os.open(scratch.layout.home, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
    assert scratch.written() == (1, 3)
    scratch.remove()
    assert not scratch.layout.root.exists()


def test_a_source_that_is_nested_too_deeply_is_an_error_of_the_system(source: Path) -> None:
    inner = source
    for _ in range(1500):
        inner /= "d"
        inner.mkdir()
    with pytest.raises(OSError, match="name too long"):
        Scratch(source)
    assert list(source.parent.glob("*/*-*")) == []
    remove_folder(source)  # pytest cannot remove it


def test_the_holes_of_a_sparse_file_are_not_written(source: Path) -> None:
    scratch = Scratch(source)
    with (scratch.layout.temporary / "sparse").open("wb") as file:
        file.truncate(2**40)
    assert scratch.written() == (1, 0)
    scratch.remove()


def test_counting_is_limited_and_follows_no_link(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = Scratch(source)
    (scratch.layout.home / "loop").symlink_to(".")
    (scratch.layout.home / "all").symlink_to("/")
    for number in range(20):
        (scratch.layout.temporary / str(number)).touch()
    assert scratch.written() == (20, 0)
    monkeypatch.setattr(module, "MAX_COUNTED", 10)
    assert scratch.written()[0] <= 10
    scratch.remove()


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


def test_observations_survive_json() -> None:
    assert Observations.from_json(json.loads(json.dumps(OBSERVED.to_json()))) == OBSERVED


def test_unknown_fields_of_a_later_version_are_left_out() -> None:
    assert Observations.from_json({**OBSERVED.to_json(), "new": 1}) == OBSERVED
