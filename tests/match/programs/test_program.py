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

import spielleiter.match.programs.kept_process
import spielleiter.match.programs.program
from spielleiter.match.errors import NotStartedError, SetupError
from spielleiter.match.programs import processes
from spielleiter.match.programs.output import OUTPUT_LIMIT
from spielleiter.match.programs.processes import MARK, find_processes
from spielleiter.match.programs.program import Command, Program
from tests.patience import PATIENCE

PLACES = {"host": "::1", "port": "7", "reservation": "code", "seed": "5", "game": "chess"}
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
def test_a_command_line_is_filled_in(text: str, arguments: list[str]) -> None:
    assert Command.parse(text).arguments(PLACES) == arguments


def test_a_path_with_blanks_is_one_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my bot").touch()
    (tmp_path / "bot").touch()
    assert Command.parse(str(tmp_path / "my bot")).arguments(PLACES)[0] == str(tmp_path / "my bot")
    assert Command.parse("my bot").arguments(PLACES)[0] == "./my bot"
    assert Command.parse("bot --fast").arguments(PLACES)[:2] == ["./bot", "--fast"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected a command line"),
        ("bot 'oh", "no closing quotation"),
        ("bot {code}", "there is no place {code}, expected {host}"),
        ("builtin:clever", "there is no such strategy, expected first, random"),
    ],
)
def test_a_command_line_that_is_none_is_refused(text: str, problem: str) -> None:
    with pytest.raises(SetupError, match=problem):
        Command.parse(text)


def test_a_command_line_is_read_where_the_program_is_started(tmp_path: Path) -> None:
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
    """Starts programs made of a line for the shell, in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.out, self.error = folder / "out", folder / "error"
        self.mark = f"{folder}/test"

    def program(self, script: str, cores: Sequence[int] | None = None, cwd: str = "") -> Program:
        return self.of(["sh", "-c", script], cores, cwd)

    def of(self, arguments: Sequence[str], cores: Sequence[int] | None = None, cwd: str = "") -> Program:
        return Program(arguments, self.mark, self.out, self.error, cores, cwd)

    @property
    def alive(self) -> list[str]:
        return [process.name for process in find_processes(self.mark)]


async def until(is_so: Callable[[], bool]) -> None:
    with trio.fail_after(PATIENCE):
        while not is_so():  # noqa: ASYNC110 - another process makes it so
            await trio.sleep(0.001)


def has_written(path: Path, text: str) -> bool:
    return path.exists() and text in path.read_text()


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def lines(path: Path) -> list[str]:
    return [line[11:] for line in path.read_text().splitlines()]


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -SEGV $$", -signal.SIGSEGV)])
async def test_how_a_process_ended_is_known(script: str, code: int, runner: Runner) -> None:
    program = runner.program(script)
    with trio.fail_after(PATIENCE):
        await program.run()
    assert program.returncode == code
    assert program.exited.is_set()
    assert program.gone.is_set()
    assert (program.was_ended, program.leftovers) == (False, ())


@pytest.mark.slow
async def test_a_program_is_started_in_its_directory(runner: Runner, tmp_path: Path) -> None:
    place = tmp_path / "some where"
    place.mkdir()
    (place / "bot").write_text("#!/bin/sh\npwd\n")
    (place / "bot").chmod(0o755)
    await runner.of(["./bot"], cwd=str(place)).run()
    assert runner.out.read_text().split(None, 1)[1] == f"{place}\n"


async def test_a_directory_that_is_gone_is_named(runner: Runner, tmp_path: Path) -> None:
    place = str(tmp_path / "gone")
    with pytest.raises(NotStartedError, match=r"gone: the directory to start \./bot in does not exist"):
        await runner.of(["./bot"], cwd=place).run()
    with pytest.raises(NotStartedError, match=r"\./bot: there is no such program"):
        await runner.of(["./bot"], cwd=str(tmp_path)).run()


async def test_outputs_are_kept_with_the_time_before_each_line(runner: Runner) -> None:
    with trio.fail_after(PATIENCE):
        await runner.program("echo one; echo two; echo oh >&2; printf three").run()
    assert lines(runner.out) == ["one", "two", "three"]
    assert lines(runner.error) == ["oh"]
    assert all(0 <= float(line[:9]) < PATIENCE for line in runner.out.read_text().splitlines())


async def test_a_line_that_comes_in_pieces_has_one_time(runner: Runner) -> None:
    # the second program answers a request of the first, so that the pieces cannot come together
    script = f"mkfifo {runner.out}.pipe; printf on; (read x < {runner.out}.pipe; echo e; echo two) & "
    async with trio.open_nursery() as nursery:
        await nursery.start(runner.program(script + "wait").run)
        await until(lambda: has_written(runner.out, "  on"))
        await trio.Path(f"{runner.out}.pipe").write_text("go\n")
    assert lines(runner.out) == ["one", "two"]


async def test_a_program_that_writes_without_end_fills_no_disk(runner: Runner) -> None:
    with trio.fail_after(PATIENCE):
        await runner.program(f"head -c {2 * OUTPUT_LIMIT} /dev/zero; echo done >&2").run()
    assert OUTPUT_LIMIT <= runner.out.stat().st_size < OUTPUT_LIMIT + 200_000
    assert runner.out.read_bytes().endswith(b"(the rest was not kept)\n")
    assert lines(runner.error) == ["done"]


async def test_processor_time_is_counted_with_that_of_children(runner: Runner) -> None:
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
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say how much it is")
async def test_processor_time_is_known_before_the_end_with_that_of_threads_and_children_that_have_ended(
    runner: Runner,
) -> None:
    program = runner.of([sys.executable, "-c", BURNING])
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        await until(lambda: has_written(runner.out, "done"))
        assert 0.15 <= program.seconds_spent < PATIENCE
        before = program.seconds_spent
        await program.end(0)
        assert before <= program.seconds_spent + 0.1  # which is counted in clock ticks before the end
    assert program.seconds_spent == program.cpu_seconds


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["/nowhere/bot"], "/nowhere/bot: there is no such program"),
        (["{folder}/plain"], "is not executable"),
        (["{folder}/strange"], "the interpreter that its first line names does not exist"),
        (["{folder}/data"], "is no program of this machine"),
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
    program = runner.of([word.format(folder=tmp_path) for word in arguments])
    with pytest.raises(NotStartedError, match=problem):
        await program.run()
    await program.end(0)  # nothing to end
    assert not program.exited.is_set()


async def test_a_process_that_ends_itself_is_not_ended(runner: Runner) -> None:
    program = runner.program("exit 4")
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        with trio.fail_after(PATIENCE):
            await program.end(PATIENCE)
    assert (program.returncode, program.was_ended) == (4, False)


async def test_a_process_is_asked_before_it_is_killed(runner: Runner) -> None:
    program = runner.program("trap 'echo asked; exit 7' TERM; echo ready; while :; do sleep 0.01; done")
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        await until(lambda: has_written(runner.out, "ready"))
        with trio.fail_after(PATIENCE):
            await program.end(0)
    assert (program.returncode, program.was_ended) == (7, True)
    assert lines(runner.out) == ["ready", "asked"]


@pytest.mark.slow
async def test_a_process_that_does_not_listen_is_killed_with_all_it_has_started(runner: Runner) -> None:
    program = runner.program("trap '' TERM INT HUP; setsid sleep 500 & sleep 500 & echo ready; wait; sleep 500")
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        await until(lambda: has_written(runner.out, "ready"))
        with trio.fail_after(PATIENCE):
            await program.end(0)
    assert program.returncode == -signal.SIGKILL
    assert program.leftovers == ()
    assert runner.alive == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", ["sleep 500 &", "setsid sleep 500 &", "(setsid sleep 500 &) &", "(env -i setsid sleep 500 &) &"]
)
async def test_what_outlives_a_process_is_named_and_ended(how: str, runner: Runner) -> None:
    program = runner.program(f"{how} echo here")
    with trio.fail_after(PATIENCE):
        await program.run()
    assert [process.name for process in program.leftovers] == ["sleep"]
    assert runner.alive == []
    assert lines(runner.out) == ["here"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="there are keepers on Linux only")
async def test_whoever_stops_its_keeper_keeps_nobody_waiting(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.match.programs.kept_process, "_WOKEN_AFTER", 0.1)
    program = runner.program("kill -STOP $PPID; exit 3")
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            await nursery.start(program.run)
            await program.end(0.1)
    assert program.returncode == 3
    assert runner.alive == []


STOPPING = "(read x < {folder}/pipe; while :; do kill -STOP $PPID; done) & "
"""Stops the keeper again and again, once something is written to the pipe."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="there are keepers on Linux only")
@pytest.mark.parametrize("rest", ["exit 3", "sleep 500"])
async def test_whoever_goes_on_stopping_its_keeper_is_ended(
    rest: str, runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spielleiter.match.programs.kept_process, "_LOOK", 0.05)
    for name in ("pipe", "second"):
        os.mkfifo(tmp_path / name)
    program = runner.program(STOPPING.format(folder=tmp_path) + f"read x < {tmp_path}/second; {rest}")
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            await nursery.start(program.run)
            await trio.Path(tmp_path / "pipe").write_text("go\n")
            await until(lambda: program.keeper_stops > 0)
            with suppress(OSError):  # nobody reads any more if it was ended
                os.write(os.open(tmp_path / "second", os.O_WRONLY | os.O_NONBLOCK), b"go\n")
    assert program.gone.is_set()
    assert program.keeper_stops >= 1
    assert runner.alive == []
    if rest != "exit 3":  # which the keeper may tell of between two stops
        assert (program.has_stopped_keeper, program.returncode) == (True, -signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="there are keepers on Linux only")
@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_whoever_goes_on_stopping_its_keeper_can_be_ended(
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
    assert runner.alive == []


async def test_children_that_end_soon_are_no_leftovers(runner: Runner) -> None:
    program = runner.program("sleep 0.1 & exit 0")
    with trio.fail_after(PATIENCE):
        await program.run()
    assert program.leftovers == ()


async def test_whoever_is_cancelled_leaves_nothing(runner: Runner) -> None:
    program = runner.program("trap '' TERM; setsid sleep 500 & sleep 500")
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        await until(lambda: len(runner.alive) == 3)
        nursery.cancel_scope.cancel()
    assert program.returncode == -signal.SIGKILL
    assert program.gone.is_set()
    assert runner.alive == []


@pytest.fixture
def without_posix(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that has nothing of what Windows lacks."""
    for name in ("wait4", "waitid", "killpg", "pidfd_open", "getsid", "sched_getaffinity", "sched_setaffinity"):
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.delattr(trio.lowlevel, "FdStream")
    monkeypatch.setattr(spielleiter.match.programs.program, "start_kept_process", lambda _start: None)
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


@pytest.mark.slow  # it is given time to end by itself
@pytest.mark.usefixtures("without_posix")
async def test_a_process_that_does_not_end_is_ended_without_posix(runner: Runner) -> None:
    program = runner.of(["sleep", "500"])
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        with trio.fail_after(PATIENCE):
            await program.end(0)
    assert (program.returncode, program.was_ended) == (-signal.SIGKILL, True)


@pytest.mark.usefixtures("without_posix")
async def test_a_cancelled_process_is_ended_without_posix_with_what_it_has_started(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taskkill = tmp_path / "bin" / "taskkill"  # stands in for the command of Windows
    taskkill.parent.mkdir()
    taskkill.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\npkill -KILL -P "$4"\n')
    taskkill.chmod(0o755)
    monkeypatch.setenv("PATH", str(taskkill.parent), prepend=os.pathsep)
    program = runner.program("sleep 500 & echo ready; wait; sleep 500")
    async with trio.open_nursery() as nursery:
        await nursery.start(program.run)
        await until(lambda: has_written(runner.out, "ready"))
        nursery.cancel_scope.cancel()
    assert program.gone.is_set()
    assert (tmp_path / "asked").read_text().startswith("/T /F /PID ")


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system pins nothing")
async def test_a_program_can_be_kept_to_one_core(runner: Runner) -> None:
    before = os.sched_getaffinity(0)
    core = max(before)
    with trio.fail_after(PATIENCE):
        await runner.program("taskset -p $$ 2>/dev/null || grep Cpus_allowed_list /proc/$$/status", [core]).run()
    told = lines(runner.out)[0]
    assert told.endswith(f": {1 << core:x}") or told.split() == ["Cpus_allowed_list:", str(core)]
    assert os.sched_getaffinity(0) == before


async def test_a_program_bears_its_mark_and_reads_nothing(runner: Runner) -> None:
    with trio.fail_after(PATIENCE):
        await runner.program(f"echo ${MARK}; cat").run()
    assert lines(runner.out) == [runner.mark]
