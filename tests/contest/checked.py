"""Running a check in tests, and steps that stand in for those of the check."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import trio

from spielleiter.contest.check import CheckSetup, StepResult, check_program
from spielleiter.contest.scripted_server import InconclusiveError, UnexpectedBehaviourError
from spielleiter.match.plan import ProgramTimeouts
from spielleiter.programs.processes import find_processes
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from tests.timeouts import HANG_TIMEOUT

STEPS: Final = 22
BASIC_STEPS: Final = 6
"""The steps that share one game and one folder."""


async def check(
    folder: Path,
    command: str,
    game_type: str = DEFAULT_GAME_TYPE,
    edition: str | None = None,
    game_end: str | None = None,
    **times: float,
) -> tuple[StepResult, ...]:
    """Run the check; assert that every step was reported in order and that no process is left."""
    reported: list[StepResult] = []
    limits: dict[str, Any] = {"soft_timeout": HANG_TIMEOUT, "hard_timeout": HANG_TIMEOUT, "pause": 0.1, **times}
    patience = ProgramTimeouts(HANG_TIMEOUT, HANG_TIMEOUT, HANG_TIMEOUT)
    setup = CheckSetup(command, game_type, patience=patience, edition=edition, game_end=game_end, **limits)
    with trio.fail_after(HANG_TIMEOUT):
        results = await check_program(setup, folder, reported.append)
    assert results == tuple(reported)
    assert [result.number for result in results] == list(range(1, STEPS + 1))
    assert [process for process in find_processes("") if str(folder) in str(process)] == []
    return results


class FakeStep:
    """A step that is inconclusive `times` times, and then has a result or raises an error."""

    def __init__(self, times: int, then: str | UnexpectedBehaviourError = "as expected") -> None:
        self.times = times
        self.then = then
        self.calls = 0

    async def __call__(self, *_: object) -> str:
        self.calls += 1
        if self.calls <= self.times:
            raise InconclusiveError(f"late, {self.calls}")
        if isinstance(self.then, UnexpectedBehaviourError):
            raise self.then
        return self.then
