"""The process that checks or unpacks one upload, ``python -m spielleiter.league.check_process``.

An upload is read in a process of its own, since what its author has put into it must not be able to end the league, to
use up its memory, to stop its pages or to delay a clock; that holds for an accepted one, too. A short check decides
whether a version takes part: the layout of the ZIP, the start, and one game. A full one is that of ``spielleiter
check``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import trio

from spielleiter.common.errors import MatchError, first_error, os_error_text
from spielleiter.contest.calibration import Speed
from spielleiter.contest.package_check import RANDOM, check_package, one_word_fault
from spielleiter.contest.package_games import GameResult, PackageCheckSetup, PackageGames
from spielleiter.contest.package_report import ConditionResult, SandboxReport
from spielleiter.league.check_messages import (
    Checked,
    Doing,
    FoundNeeds,
    FromCheck,
    NotChecked,
    StartCheck,
    StartUnpacking,
    ToCheck,
    Unpacked,
    decode_to_check,
)
from spielleiter.league.child_process import open_parent, run_child
from spielleiter.league.fault_texts import fault_of
from spielleiter.league.package_needs import package_needs
from spielleiter.match.plan import ProgramTimeouts
from spielleiter.match.verdict import Verdict
from spielleiter.programs.command import join_command
from spielleiter.programs.contest_conditions import Condition
from spielleiter.programs.packages.faults import Finding, Level
from spielleiter.programs.packages.package import inspect_package, unpack_package
from spielleiter.programs.sandbox.choice import choose_sandbox
from spielleiter.programs.sandbox.sandbox import SandboxSettings
from spielleiter.programs.temporary_folders import remove_folder, temporary_folder

SHORT_START: Final = 15.0
"""Seconds in which a program must take its seat in the short check."""
SHORT_GAME: Final = 30.0
"""Seconds of the game of the short check; one that is not over then has shown enough."""
SHORTEST_GAME: Final = 10.0
"""Seconds of it that are left on a machine that was busy before it."""
FULL_NICENESS: Final = 10
"""By how much the full check gives way to games and to short checks; unpacking does not: a game waits for it."""
MEMORY: Final = 512 * 1024 * 1024
"""Bytes that the inspection of a package may take: the syntax tree of a source is a thousand times as large."""

_NOT_STARTED: Final = frozenset({Verdict.NO_START, Verdict.NEVER_JOINS, Verdict.NONSENSE})


@contextmanager
def limited_memory() -> Iterator[None]:
    """Limit the memory of this process on Linux; what is started in the block inherits that.

    macOS knows no such limit that it keeps, and on Windows a process cannot leave a limit again.
    """
    if sys.platform != "linux":
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    lower = MEMORY if soft == resource.RLIM_INFINITY else min(soft, MEMORY)
    resource.setrlimit(resource.RLIMIT_DATA, (lower, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


async def short_check(start: StartCheck, folder: Path, tell: Callable[[str], None]) -> Checked:
    """Inspect a package, start it and play one game; its files are in `folder`. Raises MatchError and OSError."""
    path, main = Path(start.path), start.main or None
    began = trio.current_time()
    tell("inspecting the ZIP")
    with limited_memory():
        inspection = await trio.to_thread.run_sync(inspect_package, path, main)
        if inspection.red:
            return Checked(fault_of(inspection.red[0]))
        package = await trio.to_thread.run_sync(unpack_package, path, folder / "program", main, start.parameters)
    sandbox = await trio.to_thread.run_sync(lambda: choose_sandbox(python_version=inspection.python_version))
    longest = max(SHORTEST_GAME, SHORT_GAME - (trio.current_time() - began))
    setup = _setup_of(start, inspection.python_version, ProgramTimeouts(start=SHORT_START, game=longest), 1.0)
    games = PackageGames(
        setup, join_command(package.words), package.folder, folder / "out", 1.0, sandbox.python_description
    )
    [result] = await games.play(Condition.UPLOAD_TEST.key, RANDOM, 1, tell)
    red = [each for each in result.findings if each.level is Level.RED]
    if result.record.verdict in _NOT_STARTED and red:
        better = await one_word_fault(setup, package, sandbox, folder / "out", result)
        red = red if better is None else [better]
    warnings = tuple(fault_of(each) for each in inspection.findings if each.level is Level.YELLOW)
    if not red or _was_only_long(result, start, longest):
        return Checked(None, warnings, result.is_undecided)
    return Checked(fault_of(red[0]), warnings)


def _was_only_long(result: GameResult, start: StartCheck, longest: float) -> bool:
    """Whether a program played without a fault until the time for the game, `longest`, was over."""
    record = result.record
    own = record.think_times[0]
    is_time_over = record.verdict == Verdict.HANGS and record.wall_seconds >= longest
    return is_time_over and len(own) > 1 and max(own) <= start.soft_timeout


class _Listener:
    """Passes on what the full check is doing, and calls `on_start` before it starts the program."""

    def __init__(self, tell: Callable[[str], None], on_start: Callable[[], object]) -> None:
        self.doing = tell
        self._on_start = on_start

    def started(self, main: str, sandbox: SandboxReport, speed: Speed) -> None:  # noqa: ARG002 - a listener's
        self._on_start()

    def result(self, result: ConditionResult) -> None: ...


async def full_check(start: StartCheck, folder: Path, tell: Callable[[str], None]) -> Checked:
    """Check a package as ``spielleiter check`` does. Raises MatchError and OSError."""
    with ExitStack() as inspecting:
        inspecting.enter_context(limited_memory())
        listener = _Listener(tell, inspecting.close)
        report = await check_package(_setup_of(start, "", ProgramTimeouts(), None), folder, listener)
    findings = [finding for result in report.results for finding in result.findings]
    red = [each for each in findings if each.level is Level.RED]
    return Checked(
        fault_of(red[0]) if red else None,
        tuple(fault_of(each) for each in _distinct(findings) if each.level is Level.YELLOW),
        report.is_undecided,
        report.to_json(),
    )


def _distinct(findings: list[Finding]) -> list[Finding]:
    return list({each.code: each for each in findings}.values())


def _setup_of(
    start: StartCheck, python_version: str, timeouts: ProgramTimeouts, speed: float | None
) -> PackageCheckSetup:
    return PackageCheckSetup(
        Path(start.path),
        start.game_type,
        start.edition,
        start.main or None,
        start.parameters,
        SandboxSettings(python_version=python_version),
        speed,
        start.soft_timeout,
        start.hard_timeout,
        timeouts=timeouts,
    )


def unpack(request: StartUnpacking) -> Unpacked:
    """Unpack a package. Raises PackageError and OSError."""
    folder = Path(request.folder)
    remove_folder(folder)  # what an attempt left that was interrupted
    package = unpack_package(Path(request.path), folder, request.main or None, request.parameters)
    return Unpacked(join_command(package.words), package.python_version)


async def _answer_to(request: ToCheck, folder: Path, tell: Callable[[str], None]) -> FromCheck:
    if isinstance(request, StartCheck):
        check = full_check if request.kind == "full" else short_check
        return await check(request, folder, tell)
    with limited_memory():
        if isinstance(request, StartUnpacking):
            return await trio.to_thread.run_sync(unpack, request)
        return FoundNeeds(await trio.to_thread.run_sync(package_needs, Path(request.path), request.main))


async def serve() -> None:
    """Do what the parent process asks for."""
    async with open_parent(decode_to_check) as parent:
        requests = aiter(parent)
        request = await anext(requests)
        can_wait = isinstance(request, StartCheck) and request.kind == "full"
        answer: FromCheck
        with temporary_folder() as folder:
            try:
                if sys.platform != "win32" and can_wait:
                    os.nice(FULL_NICENESS)

                async with trio.open_nursery() as nursery:

                    async def end_with_parent() -> None:
                        async for _ in requests:
                            pass
                        nursery.cancel_scope.cancel()

                    nursery.start_soon(end_with_parent)
                    answer = await _answer_to(request, folder, lambda text: parent.send_nowait(Doing(text)))
                    await parent.send(answer)
                    nursery.cancel_scope.cancel()
            except* (MatchError, OSError) as group:
                error = first_error(group)
                await parent.send(NotChecked(os_error_text(error) if isinstance(error, OSError) else str(error)))


if __name__ == "__main__":
    run_child(serve)
