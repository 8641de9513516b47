"""Running a program: its start, its output, its processor time and its end."""

from __future__ import annotations

import sys

import pytest

if sys.platform == "win32":
    pytest.skip("Windows has no processes of this kind", allow_module_level=True)
assert sys.platform != "win32"  # for mypy

import errno
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from spielleiter.common.errors import NotStartedError, SandboxError
from spielleiter.programs import environment
from spielleiter.programs.environment import added_variables, inherited_variables, open_home, own_variables
from spielleiter.programs.linux_processes import TAG_VARIABLE
from spielleiter.programs.program import begin
from spielleiter.programs.sandbox.sandbox_run import SandboxEndedError
from spielleiter.programs.windows import WindowsPlatform
from tests.programs.shell_programs import Runner, has_written, lines, wait_until
from tests.timeouts import HANG_TIMEOUT


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("kill -SEGV $$", -signal.SIGSEGV)])
async def test_the_return_code_and_the_outputs_are_recorded(script: str, code: int, runner: Runner) -> None:
    program = runner.program(f"echo one; echo two; echo ${TAG_VARIABLE} >&2; cat; printf three; {script}")
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        with trio.fail_after(HANG_TIMEOUT):
            await program.end(HANG_TIMEOUT)  # it ends by itself
    assert program.returncode == code
    assert program.exited.is_set()
    assert program.gone.is_set()
    assert (program.was_ended, program.leftovers) == (False, ())
    assert lines(runner.out) == ["one", "two", "three"]
    assert lines(runner.error)[0] == runner.tag
    assert all(0 <= float(line[:9]) < HANG_TIMEOUT for line in runner.out.read_text().splitlines())


class Stall(trio.abc.Instrument):
    """Lets each turn of the event loop take longer than a program has for its last outputs."""

    def before_io_wait(self, timeout: float) -> None:
        time.sleep(0.6)


@pytest.mark.slow
async def test_what_a_program_writes_before_its_end_is_kept_although_the_event_loop_stands_still(
    runner: Runner,
) -> None:
    program = runner.program("echo one; echo two >&2; exit 3")
    stall = Stall()
    async with trio.open_nursery() as nursery:
        trio.lowlevel.add_instrument(stall)
        await nursery.start(program.run)
        await program.gone.wait()
        trio.lowlevel.remove_instrument(stall)
    assert (lines(runner.out), lines(runner.error)) == (["one"], ["two"])


BURNING = """
import subprocess, sys, threading, time
def burn():
    while time.thread_time() < 0.1: pass
thread = threading.Thread(target=burn)
thread.start()
thread.join()
subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.1: pass"])
print("done", flush=True)
time.sleep(500)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not report it before the end")
async def test_processor_time_is_known_before_the_end_and_includes_ended_threads_and_children(
    runner: Runner,
) -> None:
    program = runner.command([sys.executable, "-c", BURNING])
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        await wait_until(lambda: has_written(runner.out, "done"))
        assert 0.15 <= program.cpu_seconds_so_far < HANG_TIMEOUT
        before = program.cpu_seconds_so_far
        await program.end(0)
        assert before <= program.cpu_seconds_so_far + 0.1  # before the end, it is counted in clock ticks
    assert program.cpu_seconds_so_far == program.cpu_seconds


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["/nowhere/bot"], "/nowhere/bot: there is no such program"),
        (["{folder}/plain"], "is not executable"),
        (["{folder}/strange"], "the interpreter that its first line names does not exist"),
        (["{folder}/data"], "is not a program for this machine"),
        (["a\0b"], "null byte"),
        (["{folder}"], "is not executable"),
        (["./bot"], "gone: the directory to start ./bot in does not exist"),
    ],
)
async def test_why_a_program_cannot_be_started(
    arguments: list[str], problem: str, runner: Runner, tmp_path: Path
) -> None:
    for name, text, mode in (("plain", "x", 0o644), ("strange", "#!/nowhere/sh\n", 0o755), ("data", "\x01\x02", 0o755)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(mode)
    cwd = str(tmp_path / "gone") if arguments == ["./bot"] else ""
    program = runner.command([word.format(folder=tmp_path) for word in arguments], cwd=cwd)
    with pytest.raises(NotStartedError, match=problem):
        await program.run()
    await program.end(0)  # there is nothing to end
    assert not program.exited.is_set()


async def test_a_process_receives_sigterm_before_sigkill(runner: Runner) -> None:
    program = runner.program("trap 'echo asked; exit 7' TERM; echo ready; while :; do sleep 0.01; done")
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        await wait_until(lambda: has_written(runner.out, "ready"))
        with trio.fail_after(HANG_TIMEOUT):
            await program.end(0)
    assert (program.returncode, program.was_ended) == (7, True)
    assert lines(runner.out) == ["ready", "asked"]


@pytest.mark.slow
async def test_a_process_that_ignores_sigterm_is_killed_with_everything_it_has_started(runner: Runner) -> None:
    program = runner.program("trap '' TERM INT HUP; setsid sleep 500 & sleep 500 & echo ready; wait; sleep 500")
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        await wait_until(lambda: has_written(runner.out, "ready"))
        with trio.fail_after(HANG_TIMEOUT):
            await program.end(0)
    assert program.returncode == -signal.SIGKILL
    assert program.leftovers == ()
    assert runner.running == []


@pytest.mark.slow
@pytest.mark.parametrize("child", ["sleep 500 &", "(env -i setsid sleep 500 &) &"])
async def test_processes_that_outlive_a_program_are_named_and_killed(child: str, runner: Runner) -> None:
    program = runner.program(f"{child} echo here")
    with trio.fail_after(HANG_TIMEOUT):
        await program.run()
    assert [process.name for process in program.leftovers] == ["sleep"]
    assert runner.running == []
    assert lines(runner.out) == ["here"]


async def test_children_that_end_soon_are_not_leftovers(runner: Runner) -> None:
    program = runner.program("sleep 0.1 & exit 0")
    with trio.fail_after(HANG_TIMEOUT):
        await program.run()
    assert program.leftovers == ()


async def test_cancelling_a_program_leaves_no_process_behind(runner: Runner) -> None:
    program = runner.program("trap '' TERM; setsid sleep 500 & sleep 500")
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        await wait_until(lambda: len(runner.running) == 3)
        nursery.cancel_scope.cancel()
    assert program.returncode == -signal.SIGKILL
    assert program.gone.is_set()
    assert runner.running == []


class Process:
    """A process that ends after `seconds`, and has written `text` to standard error."""

    def __init__(self, seconds: float, text: bytes = b"") -> None:
        self._seconds = seconds
        self.stdout, self.stderr = trio.testing.MemoryReceiveStream(), trio.testing.MemoryReceiveStream()
        self.stderr.put_data(text)
        for stream in self.open_outputs():
            stream.put_eof()

    def open_outputs(self) -> tuple[trio.testing.MemoryReceiveStream, trio.testing.MemoryReceiveStream]:
        return self.stdout, self.stderr

    async def wait(self) -> None:
        await trio.sleep(self._seconds)


class Sandbox:
    """A sandbox that starts its program after `seconds`, or raises `error` instead."""

    def __init__(self, seconds: float, error: Exception | None = None) -> None:
        self._seconds, self._error = seconds, error

    async def begin(self) -> None:
        await trio.sleep(self._seconds)
        if self._error is not None:
            raise self._error


async def start(sandbox: Any, process: Any) -> None:
    try:
        await begin(sandbox, process, "./bot", None)
    except (NotStartedError, SandboxError):
        for stream in process.open_outputs():
            with pytest.raises(trio.ClosedResourceError):
                await stream.receive_some(1)
        raise


async def test_a_program_that_ends_at_once_has_started(autojump_clock: trio.testing.MockClock) -> None:
    await start(Sandbox(1), Process(0.9))


@pytest.mark.parametrize(
    ("sandbox", "process", "kind", "text"),
    [
        (Sandbox(1, OSError(errno.ENOENT, "")), (100, b""), NotStartedError, "./bot: there is no such program"),
        (Sandbox(1, ValueError("embedded null byte")), (100, b""), NotStartedError, "'./bot': embedded null byte"),
        (
            Sandbox(1, SandboxEndedError()),
            (100, b"a\nno permission\n"),
            SandboxError,
            "its sandbox could not be started: no permission",
        ),
        (Sandbox(100), (1, b""), SandboxError, "its sandbox could not be started: it gave no reason"),
        (Sandbox(100), (100, b""), SandboxError, "its sandbox has not started it within 60 s"),
    ],
)
async def test_what_keeps_a_program_from_starting_is_named(
    sandbox: Sandbox,
    process: tuple[float, bytes],
    kind: type[Exception],
    text: str,
    autojump_clock: trio.testing.MockClock,
) -> None:
    with pytest.raises(kind) as problem:
        await start(sandbox, Process(*process))
    assert str(problem.value) == text


ON_WINDOWS = {
    "COMSPEC": r"C:\Windows\system32\cmd.exe",
    "NUMBER_OF_PROCESSORS": "8",
    "PATH": r"C:\Windows\system32;C:\Windows",
    "PATHEXT": ".COM;.EXE;.BAT;.CMD;.PY",
    "PROGRAMFILES(X86)": r"C:\Program Files (x86)",
    "SYSTEMDRIVE": "C:",
    "SYSTEMROOT": r"C:\Windows",
    "TEMP": r"C:\Users\Anna\AppData\Local\Temp",
    "TMP": r"C:\Users\Anna\AppData\Local\Temp",
    "VIRTUAL_ENV": r"C:\Users\Anna\bots\venv",
    "WINDIR": r"C:\Windows",
}


def set_variables(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


async def test_a_program_on_windows_gets_what_a_process_needs_there(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {"GITHUB_TOKEN": "x", "USERPROFILE": r"C:\Users\Anna", "APPDATA": r"C:\Users\Anna\AppData\Roaming"}
    set_variables(monkeypatch, {**ON_WINDOWS, **secrets})
    monkeypatch.setattr(environment, "PLATFORM", WindowsPlatform())
    assert inherited_variables() == ON_WINDOWS
    async with open_home() as home:
        assert set(home) == {"USERPROFILE", "APPDATA", "LOCALAPPDATA"}
        [folder] = map(Path, set(home.values()))
        assert list(folder.iterdir()) == []
    assert not folder.exists()


def test_a_program_on_macos_gets_the_same_as_on_linux_but_for_the_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform == "win32":
        pytest.skip("the module needs POSIX")
    else:
        from spielleiter.programs.macos import MacPlatform

        expected = {"PATH": "/bin", "LC_ALL": "C", "DYLD_LIBRARY_PATH": "/lib"}
        set_variables(monkeypatch, {**expected, "LC_X": "x", "GH_TOKEN": "x"})
        monkeypatch.setattr(environment, "PLATFORM", MacPlatform())
        assert inherited_variables() == expected


def test_a_program_gets_what_is_passed_on_or_set_and_one_of_our_own_the_settings_of_this_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_variables(monkeypatch, {"PATH": "/bin", "PYTHONPATH": "/modules", "A": "1", "B": "2", "C": "3"})
    assert inherited_variables() == {"PATH": "/bin"}
    assert own_variables() == {"PATH": "/bin", "PYTHONPATH": "/modules"}
    assert added_variables(("A", "B", "NO_SUCH"), {"B": "4"}) == {"A": "1", "B": "4"}


async def test_each_home_folder_is_new_and_private() -> None:
    async with open_home() as first, open_home() as second:
        folders = [Path(next(iter(home.values()))) for home in (first, second)]
        assert folders[0] != folders[1]
        if sys.platform != "win32":
            assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700, 0o700]
        (folders[0] / "cache").mkdir()
        (folders[0] / "cache" / "file").write_bytes(b"x")
    assert not [folder for folder in folders if folder.exists()]
