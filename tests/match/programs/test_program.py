from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
import trio

import spielleiter.match.programs.program
import spielleiter.match.programs.supervised_process
from spielleiter.match.errors import NotStartedError, SetupError
from spielleiter.match.programs import processes
from spielleiter.match.programs.output import OUTPUT_LIMIT
from spielleiter.match.programs.processes import TAG_VARIABLE, find_processes
from spielleiter.match.programs.program import Command, Program
from tests.patience import PATIENCE

VALUES = {"host": "::1", "port": "7", "reservation": "code", "seed": "5", "game": "chess"}
OPTIONS = ["-h", "::1", "-p", "7", "-r", "code"]


# -- command lines --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("/bin/bot", ["/bin/bot", *OPTIONS]),
        ("/bin/bot --level 'very high'", ["/bin/bot", "--level", "very high", *OPTIONS]),
        ("bot.jar", ["java", "-jar", "bot.jar", *OPTIONS]),
        ("Bot.JAR -x", ["java", "-jar", "Bot.JAR", "-x", *OPTIONS]),
        ("bot --at {host}:{port} --code={reservation}", ["bot", "--at", "::1:7", "--code=code"]),
        ("bot --seed {seed} --play {game}", ["bot", "--seed", "5", "--play", "chess", *OPTIONS]),
        ("sh -c 'exec ${BOT} {port}'", ["sh", "-c", "exec ${BOT} 7"]),
        (
            "builtin:random",
            [
                sys.executable,
                "-P",
                "-m",
                "spielleiter",
                "play",
                "--strategy",
                "random",
                "--game",
                "chess",
                "--seed",
                "5",
                *OPTIONS,
            ],
        ),
    ],
)
def test_placeholders_of_a_command_line_are_replaced(text: str, arguments: list[str]) -> None:
    assert Command.parse(text).arguments(VALUES) == arguments


def test_a_path_with_blanks_is_one_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my bot").touch()
    (tmp_path / "bot").touch()
    assert Command.parse(str(tmp_path / "my bot")).arguments(VALUES)[0] == str(tmp_path / "my bot")
    assert Command.parse("my bot").arguments(VALUES)[0] == "./my bot"
    assert Command.parse("bot --fast").arguments(VALUES)[:2] == ["./bot", "--fast"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected a command line"),
        ("bot 'oh", "no closing quotation"),
        ("bot {code}", "there is no placeholder {code}, expected {host}"),
        ("builtin:clever", "there is no such strategy, expected first, random"),
    ],
)
def test_an_invalid_command_line_is_refused(text: str, problem: str) -> None:
    with pytest.raises(SetupError, match=problem):
        Command.parse(text)


def test_a_command_line_is_parsed_for_the_directory_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "my bot").touch()
    assert Command.parse("my bot", str(tmp_path)).words[0] == "./my bot"
    assert Command.parse("my bot").words[0] == "my"


def test_paths_of_windows_are_kept(tmp_path: Path) -> None:
    for platform in ("win32", "linux"):
        assert Command.parse(r"C:\bots\bot.exe -x", platform=platform).words[:2] == (r"C:\bots\bot.exe", "-x")
        assert Command.parse(r"C:\bots\bot.jar", platform=platform).words[:3] == ("java", "-jar", r"C:\bots\bot.jar")
    (tmp_path / "bot.exe").touch()
    assert Command.parse("bot.exe", str(tmp_path), "win32").words[0] == str(tmp_path / "bot.exe")
    assert Command.parse("./bot.exe", str(tmp_path), "win32").words[0] == str(tmp_path / "bot.exe")
    assert Command.parse("./bot.exe", str(tmp_path), "linux").words[0] == "./bot.exe"


# -- processes ------------------------------------------------------------------------------------------------------


class Runner:
    """Creates programs from shell scripts; their outputs are in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.out, self.error = folder / "out", folder / "error"
        self.tag = f"{folder}/test"

    def program(self, script: str, cores: Sequence[int] | None = None, cwd: str = "") -> Program:
        return self.command(["sh", "-c", script], cores, cwd)

    def command(self, arguments: Sequence[str], cores: Sequence[int] | None = None, cwd: str = "") -> Program:
        return Program(arguments, self.tag, self.out, self.error, cores, cwd)

    @property
    def running(self) -> list[str]:
        return [process.name for process in find_processes(self.tag)]


async def wait_until(condition: Callable[[], bool]) -> None:
    with trio.fail_after(PATIENCE):
        while not condition():  # noqa: ASYNC110 - another process makes it true
            await trio.sleep(0.001)


def has_written(path: Path, text: str) -> bool:
    return path.exists() and text in path.read_text()


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def lines(path: Path) -> list[str]:
    return [line[11:] for line in path.read_text().splitlines()]


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -SEGV $$", -signal.SIGSEGV)])
async def test_the_return_code_is_recorded(script: str, code: int, runner: Runner) -> None:
    program = runner.program(script)
    with trio.fail_after(PATIENCE):
        await program.run()
    assert program.returncode == code
    assert program.exited.is_set()
    assert program.gone.is_set()
    assert (program.was_ended, program.leftovers) == (False, ())


@pytest.mark.slow
async def test_a_program_is_started_in_its_directory(runner: Runner, tmp_path: Path) -> None:
    folder = tmp_path / "some where"
    folder.mkdir()
    (folder / "bot").write_text("#!/bin/sh\npwd\n")
    (folder / "bot").chmod(0o755)
    await runner.command(["./bot"], cwd=str(folder)).run()
    assert runner.out.read_text().split(None, 1)[1] == f"{folder}\n"


async def test_a_missing_directory_is_named(runner: Runner, tmp_path: Path) -> None:
    folder = str(tmp_path / "gone")
    with pytest.raises(NotStartedError, match=r"gone: the directory to start \./bot in does not exist"):
        await runner.command(["./bot"], cwd=folder).run()
    with pytest.raises(NotStartedError, match=r"\./bot: there is no such program"):
        await runner.command(["./bot"], cwd=str(tmp_path)).run()


async def test_outputs_are_written_with_a_time_before_each_line(runner: Runner) -> None:
    with trio.fail_after(PATIENCE):
        await runner.program("echo one; echo two; echo oh >&2; printf three").run()
    assert lines(runner.out) == ["one", "two", "three"]
    assert lines(runner.error) == ["oh"]
    assert all(0 <= float(line[:9]) < PATIENCE for line in runner.out.read_text().splitlines())


async def test_a_line_that_arrives_in_pieces_has_one_time(runner: Runner) -> None:
    # the second piece is written only after the first one was read, so they cannot arrive together
    script = f"mkfifo {runner.out}.pipe; printf on; (read x < {runner.out}.pipe; echo e; echo two) & "
    async with trio.open_nursery() as nursery:
        await nursery.start(runner.program(script + "wait").run)
        await wait_until(lambda: has_written(runner.out, "  on"))
        await trio.Path(f"{runner.out}.pipe").write_text("go\n")
    assert lines(runner.out) == ["one", "two"]


async def test_endless_output_is_cut(runner: Runner) -> None:
    with trio.fail_after(PATIENCE):
        await runner.program(f"head -c {2 * OUTPUT_LIMIT} /dev/zero; echo done >&2").run()
    assert OUTPUT_LIMIT <= runner.out.stat().st_size < OUTPUT_LIMIT + 200_000
    assert runner.out.read_bytes().endswith(b"(the rest was not kept)\n")
    assert lines(runner.error) == ["done"]


async def test_processor_time_includes_that_of_children(runner: Runner) -> None:
    burn = f"{shlex.quote(sys.executable)} -c 'import time\nwhile time.process_time() < 0.1: pass'"
    program = runner.program(f"{burn}; {burn}")
    with trio.fail_after(PATIENCE):
        await program.run()
    assert 0.2 <= program.cpu_seconds < PATIENCE


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
        assert 0.15 <= program.cpu_seconds_so_far < PATIENCE
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
    ],
)
async def test_why_a_program_cannot_be_started(
    arguments: list[str], problem: str, runner: Runner, tmp_path: Path
) -> None:
    for name, text, mode in (("plain", "x", 0o644), ("strange", "#!/nowhere/sh\n", 0o755), ("data", "\x01\x02", 0o755)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(mode)
    program = runner.command([word.format(folder=tmp_path) for word in arguments])
    with pytest.raises(NotStartedError, match=problem):
        await program.run()
    await program.end(0)  # there is nothing to end
    assert not program.exited.is_set()


async def test_a_process_that_ends_by_itself_is_not_killed(runner: Runner) -> None:
    program = runner.program("exit 4")
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        with trio.fail_after(PATIENCE):
            await program.end(PATIENCE)
    assert (program.returncode, program.was_ended) == (4, False)


async def test_a_process_receives_sigterm_before_sigkill(runner: Runner) -> None:
    program = runner.program("trap 'echo asked; exit 7' TERM; echo ready; while :; do sleep 0.01; done")
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        await wait_until(lambda: has_written(runner.out, "ready"))
        with trio.fail_after(PATIENCE):
            await program.end(0)
    assert (program.returncode, program.was_ended) == (7, True)
    assert lines(runner.out) == ["ready", "asked"]


@pytest.mark.slow
async def test_a_process_that_ignores_sigterm_is_killed_with_everything_it_has_started(runner: Runner) -> None:
    program = runner.program("trap '' TERM INT HUP; setsid sleep 500 & sleep 500 & echo ready; wait; sleep 500")
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        await wait_until(lambda: has_written(runner.out, "ready"))
        with trio.fail_after(PATIENCE):
            await program.end(0)
    assert program.returncode == -signal.SIGKILL
    assert program.leftovers == ()
    assert runner.running == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "child", ["sleep 500 &", "setsid sleep 500 &", "(setsid sleep 500 &) &", "(env -i setsid sleep 500 &) &"]
)
async def test_processes_that_outlive_a_program_are_named_and_killed(child: str, runner: Runner) -> None:
    program = runner.program(f"{child} echo here")
    with trio.fail_after(PATIENCE):
        await program.run()
    assert [process.name for process in program.leftovers] == ["sleep"]
    assert runner.running == []
    assert lines(runner.out) == ["here"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has supervisors")
async def test_a_program_that_stops_its_supervisor_does_not_delay_the_match(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spielleiter.match.programs.fork_server_client, "_RESUME_AFTER", 0.1)
    program = runner.program("kill -STOP $PPID; exit 3")
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            await nursery.start(program.run)
            await program.end(0.1)
    assert program.returncode == 3
    assert runner.running == []


STOPPING = "(read x < {folder}/pipe; while :; do kill -STOP $PPID; done) & "
"""Stops the supervisor again and again, once something is written to the pipe."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has supervisors")
@pytest.mark.parametrize("rest", ["exit 3", "sleep 500"])
async def test_a_program_that_keeps_stopping_its_supervisor_is_killed(
    rest: str, runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spielleiter.match.programs.supervised_process, "_CHECK_INTERVAL", 0.05)
    for name in ("pipe", "second"):
        os.mkfifo(tmp_path / name)
    program = runner.program(STOPPING.format(folder=tmp_path) + f"read x < {tmp_path}/second; {rest}")
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            await nursery.start(program.run)
            await trio.Path(tmp_path / "pipe").write_text("go\n")
            await wait_until(lambda: program.supervisor_stops > 0)
            with suppress(OSError):  # the program was killed and does not read any more
                os.write(os.open(tmp_path / "second", os.O_WRONLY | os.O_NONBLOCK), b"go\n")
    assert program.gone.is_set()
    assert program.supervisor_stops >= 1
    assert runner.running == []
    if rest != "exit 3":  # the supervisor may report this exit between two stops
        assert (program.has_stopped_supervisor, program.returncode) == (True, -signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has supervisors")
@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_a_program_that_keeps_stopping_its_supervisor_can_be_ended(
    is_cancelled: bool, runner: Runner, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    program = runner.program(f"{STOPPING.format(folder=tmp_path)} sleep 500")
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            await nursery.start(program.run)
            await trio.Path(tmp_path / "pipe").write_text("go\n")
            if is_cancelled:
                nursery.cancel_scope.cancel()
            else:
                await program.end(0)
    assert program.gone.is_set()
    assert runner.running == []


async def test_children_that_end_soon_are_not_leftovers(runner: Runner) -> None:
    program = runner.program("sleep 0.1 & exit 0")
    with trio.fail_after(PATIENCE):
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


@pytest.fixture
def without_posix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a system without what Windows does not have."""
    for name in ("wait4", "waitid", "killpg", "pidfd_open", "getsid", "sched_getaffinity", "sched_setaffinity"):
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.delattr(trio.lowlevel, "FdStream")
    monkeypatch.setattr(spielleiter.match.programs.program, "start_supervised_process", lambda _spec: None)
    monkeypatch.setattr(processes, "_PROC", Path("/no/such/folder"))


@pytest.mark.usefixtures("without_posix")
async def test_a_process_is_run_to_its_end_without_posix(runner: Runner) -> None:
    program = runner.program("echo to out; echo to error >&2; exit 6")
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        with trio.fail_after(PATIENCE):
            await program.end(PATIENCE)
    assert (program.returncode, program.was_ended) == (6, False)
    assert lines(runner.out) == ["to out"]
    assert lines(runner.error) == ["to error"]


@pytest.mark.slow  # it has some time to end after SIGTERM
@pytest.mark.usefixtures("without_posix")
async def test_a_process_that_does_not_end_is_killed_without_posix(runner: Runner) -> None:
    program = runner.command(["sleep", "500"])
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        with trio.fail_after(PATIENCE):
            await program.end(0)
    assert (program.returncode, program.was_ended) == (-signal.SIGKILL, True)


@pytest.mark.usefixtures("without_posix")
async def test_a_cancelled_process_is_killed_with_its_children_without_posix(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taskkill = tmp_path / "bin" / "taskkill"  # replaces the command of Windows
    taskkill.parent.mkdir()
    taskkill.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\npkill -KILL -P "$4"\n')
    taskkill.chmod(0o755)
    monkeypatch.setenv("PATH", str(taskkill.parent), prepend=os.pathsep)
    program = runner.program("sleep 500 & echo ready; wait; sleep 500")
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        await wait_until(lambda: has_written(runner.out, "ready"))
        nursery.cancel_scope.cancel()
    assert program.gone.is_set()
    assert (tmp_path / "asked").read_text().startswith("/T /F /PID ")


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system cannot pin processes to cores")
async def test_a_program_can_be_pinned_to_one_core(runner: Runner) -> None:
    before = os.sched_getaffinity(0)
    core = max(before)
    with trio.fail_after(PATIENCE):
        await runner.program("taskset -p $$ 2>/dev/null || grep Cpus_allowed_list /proc/$$/status", [core]).run()
    line = lines(runner.out)[0]
    assert line.endswith(f": {1 << core:x}") or line.split() == ["Cpus_allowed_list:", str(core)]
    assert os.sched_getaffinity(0) == before


async def test_a_program_has_its_tag_and_an_empty_input(runner: Runner) -> None:
    with trio.fail_after(PATIENCE):
        await runner.program(f"echo ${TAG_VARIABLE}; cat").run()
    assert lines(runner.out) == [runner.tag]
