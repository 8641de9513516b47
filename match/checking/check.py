"""Is a program fit for the contest? One step after the other, each with what was expected and what came.

Invariants: the first six steps share one game, and every other step starts the program anew. If one of the first six
fails, nothing after it is tried, unless the program can play all the same. A step that this machine spoilt is tried
again, and is undecided if that does not help. Every step has a result, and no process is left at the end.

A step that tests more than the official server does is a warning when it fails, and says why in `StepResult.remark`.
It does not make a program unfit.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from spielleiter.match.checking.early_endings import EARLY_ENDS
from spielleiter.match.checking.scripted_server import ScriptedServer
from spielleiter.match.checking.surprise import SpoiltError, SurpriseError
from spielleiter.match.checking.trials import FirstGame, LooseSeatError, Trials
from spielleiter.match.programs.program import Command
from spielleiter.match.setup import ProgramTimeouts
from spielleiter.server.editions import choose_editions

ATTEMPTS: Final = 3
"""How often a step is tried that this machine spoils."""

_TAIL: Final = 10  # lines of standard error in a report
_NO_UNKNOWN_ELEMENTS: Final = "the official server sends no unknown elements, so the contest does not demand this"


class Status(enum.Enum):
    PASSED = "passed"
    FAILED = "failed"
    WARNING = "warning"  # failed, but the contest does not demand it
    UNDECIDED = "undecided"  # this machine was too busy to tell
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step: what was expected, what came, and the end of the program's standard error at that point.

    `remark` says of a warning why it is no more than that; it is empty for every other status. `folder`, relative to
    that of the check, holds what was kept of the step; it is empty for a step that was not tried.
    """

    number: int
    title: str
    expected: str
    status: Status
    came: str = ""
    stderr: str = ""
    remark: str = ""
    folder: str = ""


def is_fit(results: Iterable[StepResult]) -> bool:
    """Whether a program with these results is fit for the contest: nothing failed and everything was tried."""
    return all(result.status in {Status.PASSED, Status.WARNING} for result in results)


def is_undecided(results: Iterable[StepResult]) -> bool:
    """Whether this machine was too busy to tell if the program is fit; never if a step has failed."""
    statuses = {result.status for result in results}
    return Status.UNDECIDED in statuses and Status.FAILED not in statuses


@dataclass(frozen=True, slots=True)
class CheckSetup:
    """What is checked, and how long things may take, in seconds; `edition`: None is the usual one of that game."""

    command: str
    game_type: str
    soft_timeout: float = 2.0
    hard_timeout: float = 10.0
    pause: float = 3.0
    patience: ProgramTimeouts = field(default_factory=ProgramTimeouts)
    edition: str | None = None


async def check_program(
    setup: CheckSetup, folder: Path, tell: Callable[[StepResult], None] = lambda _: None
) -> tuple[StepResult, ...]:
    """Try every step; `tell` hears of each as it is done. Raises MatchError.

    `folder` keeps what the program wrote and the bytes on the wire, in a folder for each step.
    """
    check = _Check(setup, folder, tell)
    await check.run()
    return tuple(check.results)


@dataclass(frozen=True, slots=True)
class _Step:
    """A step that is to be tried; `beyond` says why the contest does not demand it, and is empty if it does."""

    title: str
    expected: str
    beyond: str = ""


@dataclass(frozen=True, slots=True)
class _Try:
    """What came of a step; `is_end`: whether the program cannot be asked for anything after it."""

    status: Status
    came: str = ""
    stderr: str = ""
    is_end: bool = False


class _Check:
    def __init__(self, setup: CheckSetup, folder: Path, tell: Callable[[StepResult], None]) -> None:
        self.results: list[StepResult] = []
        self._setup = setup
        self._tell = tell
        editions = {} if setup.edition is None else {setup.game_type: setup.edition}
        self._trials = Trials(
            choose_editions(editions, {})[setup.game_type],
            Command.parse(setup.command),
            folder,
            soft_timeout=setup.soft_timeout,
            hard_timeout=setup.hard_timeout,
            patience=setup.patience,
        )
        self._is_abandoned = False

    async def run(self) -> None:
        trials, soft = self._trials, f"{self._setup.soft_timeout:g} s"
        await self._first_game(soft)
        await self._step(
            _Step("fragmented packets", "legal moves in time, however the packets are cut up"), trials.fragmented
        )
        await self._step(
            _Step("coalesced packets", "legal moves in time when several packets come at once"), trials.coalesced
        )
        await self._step(
            _Step(
                "unknown elements",
                "legal moves in time, unknown elements and attributes ignored",
                beyond=_NO_UNKNOWN_ELEMENTS,
            ),
            trials.unknown,
        )
        await self._step(
            _Step("a pause", f"silence for {self._setup.pause:g} s, then a legal move for the same position"),
            partial(trials.pause, self._setup.pause),
        )
        await self._step(
            _Step(
                "a whole game by the script",
                f"every request answered in {soft} by a legal move, and the process ends itself after the result",
            ),
            trials.whole_game,
        )
        for end in EARLY_ENDS:
            await self._step(
                _Step(
                    f"the end: {end.text}",
                    f"the process ends itself within {self._setup.patience.exit:g} s, not by a signal",
                ),
                partial(trials.early_end, end),
            )
        for game, side in ((1, "first"), (2, "second")):
            await self._step(
                _Step(
                    f"a whole game against random as {side} player",
                    "played to its end without a fault, and nothing left behind",
                ),
                partial(trials.real_game, game),
            )

    async def _step(self, step: _Step, act: Callable[[], Awaitable[str]]) -> None:
        """Try a step that has the program for itself, again if this machine spoils it."""
        done = _Try(Status.NOT_TRIED)
        if not self._is_abandoned:
            for attempt in range(1, ATTEMPTS + 1):
                self._trials.begin(len(self.results) + 1, attempt)
                done = await self._try(act)
                if done.status is not Status.UNDECIDED:
                    break
        self._add(step, done)

    async def _first_game(self, soft: str) -> None:
        """The first six steps."""
        for attempt in range(1, ATTEMPTS + 1):
            if await self._play_first_game(soft, is_last=attempt == ATTEMPTS, attempt=attempt):
                return

    async def _play_first_game(self, soft: str, *, attempt: int, is_last: bool) -> bool:
        """One attempt; whether it decided something. Steps that were passed in an earlier one keep their results."""
        game = FirstGame(self._trials)
        hard, start = f"{self._setup.hard_timeout:g} s", f"{self._setup.patience.start:g} s"
        steps: tuple[tuple[_Step, Callable[[ScriptedServer], Awaitable[str]]], ...] = (
            (
                _Step(
                    "starts", f"the process starts and connects in {start}, to the host and port it was given (-h, -p)"
                ),
                game.start,
            ),
            (
                _Step("takes its seat", "<protocol> and joinPrepared with the reservation code that it was given"),
                game.take_seat,
            ),
            (_Step("answers a request", f"an answer within {hard}"), game.ask),
            (_Step("is in time", f"the answer within {soft}"), game.judge_time),
            (_Step("can be understood", "a move that can be read"), game.read),
            (_Step("keeps the rules", "a legal move"), game.play),
        )
        self._trials.begin(1, attempt)
        try:
            async with self._trials.scripted_server() as scripted_server:
                for number, (step, act) in enumerate(steps, 1):
                    done = await self._try(partial(act, scripted_server))
                    if done.status is Status.UNDECIDED and not is_last:
                        return False
                    if number <= len(self.results) and not done.is_end:
                        continue
                    known = len(self.results)
                    self._add(steps[known][0] if number <= known else step, done)  # may fail where it passed before
                    if done.is_end:
                        self._is_abandoned = True
                        break
        except SurpriseError as surprise:  # the process could not even be started
            self._is_abandoned = True
            self._add(steps[len(self.results)][0], _Try(Status.FAILED, str(surprise)))
        for step, _ in steps[len(self.results) :]:
            self._add(step, _Try(Status.NOT_TRIED))
        return True

    async def _try(self, act: Callable[[], Awaitable[str]]) -> _Try:
        try:
            return _Try(Status.PASSED, await act())
        except SurpriseError as surprise:
            status = Status.UNDECIDED if isinstance(surprise, SpoiltError) else Status.FAILED
            is_end = not isinstance(surprise, LooseSeatError)
            return _Try(status, " ".join(str(surprise).split()), self._stderr(), is_end)

    def _add(self, step: _Step, done: _Try) -> None:
        is_warning = done.status is Status.FAILED and bool(step.beyond)
        status, remark = (Status.WARNING, step.beyond) if is_warning else (done.status, "")
        folder = "" if status is Status.NOT_TRIED else self._trials.kept_in
        number = len(self.results) + 1
        result = StepResult(number, step.title, step.expected, status, done.came, done.stderr, remark, folder)
        self.results.append(result)
        self._tell(result)

    def _stderr(self) -> str:
        """The last lines of what the program wrote to standard error."""
        files = [self._trials.folder / name for name in ("stderr.log", "program1.stderr.log")]
        lines = [line for file in files if file.exists() for line in file.read_text("utf-8", "replace").splitlines()]
        return "\n".join(lines[-_TAIL:])
