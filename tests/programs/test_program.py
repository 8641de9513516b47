"""Running a program: its start, its output, its processor time and its end."""

from __future__ import annotations

import sys

import pytest

if sys.platform == "win32":
    pytest.skip("Windows has no processes of this kind", allow_module_level=True)
assert sys.platform != "win32"  # for mypy

import os
import shlex
import signal
from pathlib import Path

import trio

from spielleiter.common.errors import NotStartedError
from spielleiter.programs.outputs import OUTPUT_LIMIT
from spielleiter.programs.processes import TAG_VARIABLE
from tests.match.shell_programs import Runner, has_written, lines, wait_until
from tests.timeouts import HANG_TIMEOUT


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -SEGV $$", -signal.SIGSEGV)])
async def test_the_return_code_is_recorded(script: str, code: int, runner: Runner) -> None:
    program = runner.program(script)
    with trio.fail_after(HANG_TIMEOUT):
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
    with trio.fail_after(HANG_TIMEOUT):
        await runner.program("echo one; echo two; echo oh >&2; printf three").run()
    assert lines(runner.out) == ["one", "two", "three"]
    assert lines(runner.error) == ["oh"]
    assert all(0 <= float(line[:9]) < HANG_TIMEOUT for line in runner.out.read_text().splitlines())


async def test_a_line_that_arrives_in_pieces_has_one_time(runner: Runner) -> None:
    # the second piece is written only after the first one was read, so they cannot arrive together
    script = f"mkfifo {runner.out}.pipe; printf on; (read x < {runner.out}.pipe; echo e; echo two) & "
    async with trio.open_nursery() as nursery:
        await nursery.start(runner.program(script + "wait").run)
        await wait_until(lambda: has_written(runner.out, "  on"))
        await trio.Path(f"{runner.out}.pipe").write_text("go\n")
    assert lines(runner.out) == ["one", "two"]


async def test_endless_output_is_cut(runner: Runner) -> None:
    with trio.fail_after(HANG_TIMEOUT):
        await runner.program(f"head -c {2 * OUTPUT_LIMIT} /dev/zero; echo done >&2").run()
    assert OUTPUT_LIMIT <= runner.out.stat().st_size < OUTPUT_LIMIT + 200_000
    assert runner.out.read_bytes().endswith(b"(the rest was not kept)\n")
    assert lines(runner.error) == ["done"]


async def test_processor_time_includes_that_of_children(runner: Runner) -> None:
    burn = f"{shlex.quote(sys.executable)} -c 'import time\nwhile time.process_time() < 0.1: pass'"
    program = runner.program(f"{burn}; {burn}")
    with trio.fail_after(HANG_TIMEOUT):
        await program.run()
    assert 0.2 <= program.cpu_seconds < HANG_TIMEOUT


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
        with trio.fail_after(HANG_TIMEOUT):
            await program.end(HANG_TIMEOUT)
    assert (program.returncode, program.was_ended) == (4, False)


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
@pytest.mark.parametrize(
    "child", ["sleep 500 &", "setsid sleep 500 &", "(setsid sleep 500 &) &", "(env -i setsid sleep 500 &) &"]
)
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


async def test_a_program_can_be_pinned_to_one_core(runner: Runner) -> None:
    if sys.platform != "linux":
        pytest.skip("this system cannot pin processes to cores")
    before = os.sched_getaffinity(0)
    core = max(before)
    with trio.fail_after(HANG_TIMEOUT):
        await runner.program("taskset -p $$ 2>/dev/null || grep Cpus_allowed_list /proc/$$/status", [core]).run()
    line = lines(runner.out)[0]
    assert line.endswith(f": {1 << core:x}") or line.split() == ["Cpus_allowed_list:", str(core)]
    assert os.sched_getaffinity(0) == before


async def test_a_program_has_its_tag_and_an_empty_input(runner: Runner) -> None:
    with trio.fail_after(HANG_TIMEOUT):
        await runner.program(f"echo ${TAG_VARIABLE}; cat").run()
    assert lines(runner.out) == [runner.tag]
