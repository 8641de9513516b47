"""Plays the games of a match, several at a time, until all are played or something ends it before.

Law: a finished game is in the journal before anybody hears of it; one that is cut off is not, and is played anew when
the match is resumed. The first signal to stop lets running games finish, the second one cuts them off. Whatever
happens, no process is left.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import trio

from spielleiter.match.errors import MatchError, SetupError
from spielleiter.match.fitness import unfit_programs
from spielleiter.match.games.match_server import MatchServer, open_match_server
from spielleiter.match.games.referee import play_game
from spielleiter.match.plan import PlannedGame
from spielleiter.match.programs.persistent_programs import PersistentPrograms, open_persistent_programs
from spielleiter.match.programs.processes import find_processes, kill_processes
from spielleiter.match.records.game_record import GameRecord, Verdict
from spielleiter.match.records.journal import Journal
from spielleiter.match.records.traces import Keep
from spielleiter.match.setup import MatchSetup
from spielleiter.server.runtime.signals import HANGUP, stop_signals
from spielleiter.server.text.counting import count_text

MACHINE_FAILURES: Final = 3
"""So many games in a row that server or machine spoilt end the match."""
GAMES_PER_CORE: Final = 4
"""With more games at a time, programs wait for a processor for longer than they think."""


class End(enum.Enum):
    """Why no more games are played."""

    DONE = "all games are played"
    DECIDED = "decided before all games were played"
    FAULT = "a program failed"
    INTERRUPTED = "interrupted"
    MACHINE = "server or machine failed"
    UNFIT = "a program cannot play"


Cores: TypeAlias = tuple[int, ...] | None
"""The processor cores that a program may use; None: any."""


class Progress(Protocol):
    """Is told how a match goes on; must return at once."""

    def game_started(self, planned: PlannedGame) -> None: ...

    def game_finished(self, record: GameRecord) -> None: ...

    def stopping(self) -> None:
        """The first signal has come: running games are finished."""
        ...


@dataclass(frozen=True, slots=True)
class Conditions:
    """How a match is played, which changes nothing in its games."""

    concurrency: int = 1
    is_fail_fast: bool = False
    """The first game in which a program fails is the last one."""
    is_pinned: bool = False
    """Each program has processor cores of its own: one, or its half of the game's."""
    cores_per_game: int | None = None
    """Each game has so many processor cores of its own; None: it may use all."""
    keep: Keep = Keep.ALL
    """Which games keep their folders."""
    is_restarting: bool = True
    """Programs are started anew for each game; else those that can play on are kept running."""


def never(_records: Sequence[GameRecord]) -> bool:
    """The match is never decided before its last game."""
    return False


def count_cores() -> int:
    """The processor cores this program may use."""
    return len(usable_cores())


def usable_cores() -> list[int]:
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def fair_concurrency(wanted: int, cores_per_game: int | None = None) -> tuple[int, str | None]:
    """How many games at a time can be judged fairly, `wanted` at most; and why that is fewer, if it is.

    `cores_per_game`: each has so many processor cores of its own; None: all games share all of them.
    """
    cores = count_cores()
    most = GAMES_PER_CORE * cores if cores_per_game is None else max(1, cores // cores_per_game)
    if wanted <= most:
        return wanted, None
    have = count_text(cores, "processor core")
    if cores_per_game is not None:
        return most, f"{have}, {cores_per_game} for each game: {count_text(most, 'game')} at a time, not {wanted}"
    return most, (
        f"{wanted} games at a time are too many for {have}: {most} are played at a time, since programs that mostly "
        "wait for a processor cannot be judged"
    )


def places(conditions: Conditions) -> list[tuple[Cores, Cores]]:
    """For each game at a time, the cores of its programs. Raises SetupError if there are not enough."""
    count, size = conditions.concurrency, conditions.cores_per_game
    if size is None and not conditions.is_pinned:
        return [(None, None)] * count
    cores = usable_cores()
    if size is None:
        size = 2
        if len(cores) < 2 * count:
            games = f"{count_text(count, 'game')} at a time with a core for each program"
            raise SetupError(f"{games} need {2 * count} cores, there are {len(cores)}")
    if len(cores) < size:
        raise SetupError(f"{count_text(size, 'core')} for each game cannot be had, there are {len(cores)}")
    if conditions.is_pinned and size % 2:
        raise SetupError(f"{size} cores for each game cannot be halved for its programs, expected an even number")
    if not hasattr(os, "sched_setaffinity"):
        raise SetupError("this system binds no program to processor cores, expected none for each game or program")
    most = min(count, len(cores) // size)
    own = [tuple(cores[size * place : size * (place + 1)]) for place in range(most)]
    half = size // 2 if conditions.is_pinned else 0
    return [(each[:half] or each, each[half:]) for each in own]


async def play_match(
    setup: MatchSetup,
    folder: Path,
    journal: Journal,
    progress: Progress,
    conditions: Conditions = Conditions(),
    is_decided: Callable[[Sequence[GameRecord]], bool] = never,
) -> End:
    """Play every game of the plan that is not in the journal yet. Raises MatchError.

    `is_decided` is asked after each game, with all records in the order of finishing.
    """
    kill_processes(find_processes(f"{setup.run_id}/"))  # of a run that was cut off
    runner = _Runner(setup, folder, journal, progress, conditions, is_decided)
    try:
        return await runner.run()
    except BaseExceptionGroup as group:
        ours, others = group.split(MatchError)
        if ours is None or others is not None:
            raise
        raise _first(ours) from None
    finally:
        kill_processes(find_processes(f"{setup.run_id}/"))  # what was becoming another program when it was looked for


class _Runner:
    def __init__(
        self,
        setup: MatchSetup,
        folder: Path,
        journal: Journal,
        progress: Progress,
        conditions: Conditions,
        is_decided: Callable[[Sequence[GameRecord]], bool],
    ) -> None:
        self._setup = setup
        self._folder = folder
        self._journal = journal
        self._progress = progress
        self._conditions = conditions
        self._is_decided = is_decided
        self._end: End | None = None
        self._failures = 0
        self._unable: set[int] = set()
        """Programs that cannot play several games in a row."""

    async def run(self) -> End:
        if self._is_decided(tuple(self._journal.records.values())):
            return End.DECIDED
        games = iter([each for each in self._setup.plan() if each.game not in self._journal.records])
        async with trio.open_nursery() as nursery:
            await nursery.start(self._watch_signals, nursery.cancel_scope)
            async with open_match_server(self._setup) as match_server, trio.open_nursery() as workers:
                for cores in places(self._conditions):
                    workers.start_soon(self._work, games, cores, match_server, nursery.cancel_scope)
            nursery.cancel_scope.cancel()
        return self._end or End.DONE

    async def _work(
        self,
        games: Iterator[PlannedGame],
        cores: tuple[Cores, Cores],
        match_server: MatchServer,
        scope: trio.CancelScope,
    ) -> None:
        async with self._open_persistent_programs() as persistent_programs:
            while self._end is None and (planned := next(games, None)) is not None:
                self._progress.game_started(planned)
                keep = self._conditions.keep
                record = await play_game(
                    self._setup, planned, self._folder, cores, match_server, keep, persistent_programs
                )
                self._journal.append(record)
                self._progress.game_finished(record)
                self._consider(record, scope)

    def _open_persistent_programs(self) -> AbstractAsyncContextManager[PersistentPrograms | None]:
        if self._conditions.is_restarting:
            return nullcontext()
        return open_persistent_programs(self._unable, self._setup.patience.exit)

    def _consider(self, record: GameRecord, scope: trio.CancelScope) -> None:
        """Whether the match goes on after this game."""
        self._failures = self._failures + 1 if record.verdict == Verdict.SERVER_FAILED else 0
        if self._is_decided(tuple(self._journal.records.values())):
            self._end = End.DECIDED
            scope.cancel()
        elif self._failures >= MACHINE_FAILURES:
            self._end = End.MACHINE
        elif unfit_programs(self._journal.records.values()):
            self._end = self._end or End.UNFIT
        elif self._conditions.is_fail_fast and record.offender is not None:
            self._end = self._end or End.FAULT

    async def _watch_signals(
        self, scope: trio.CancelScope, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        with trio.open_signal_receiver(*stop_signals()) as signals:
            task_status.started()
            async for number in signals:
                if self._end is not End.INTERRUPTED:
                    self._end = End.INTERRUPTED
                    self._progress.stopping()
                elif number != HANGUP:
                    scope.cancel()


def _first(group: BaseExceptionGroup[MatchError]) -> MatchError:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, MatchError)
    return error
