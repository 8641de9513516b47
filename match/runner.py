"""Plays a match: several games at a time, until all are played or something ends it early, and then the reports.

Invariants: a finished game is in the journal before the listener is notified; a game that is cut off is not in the
journal, and is played again when the match is resumed. The first signal to stop lets running games finish, the second
one cuts them off. However the match ends, its reports are written from the finished games, and no process is left.
"""

from __future__ import annotations

import dataclasses
import enum
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import trio

from spielleiter.common.errors import JournalError, MatchError, SetupError, first_error, unwrapped
from spielleiter.common.process import HANGUP, stop_signals
from spielleiter.common.text import count_text
from spielleiter.match.game_folder import KeepPolicy
from spielleiter.match.match_server import MatchServer, Watch, open_match_server
from spielleiter.match.plan import MatchSetup, PlannedGame, season_text
from spielleiter.match.preparation import unpacked_programs
from spielleiter.match.records import SETUP, GameRecord, Journal, load_setup, open_journal, save_setup
from spielleiter.match.referee import play_game
from spielleiter.match.reports.junit import BOTH
from spielleiter.match.reports.match_reports import PAGE, write_reports
from spielleiter.match.reports.texts import headline
from spielleiter.match.statistics import Estimate
from spielleiter.match.stopping import play_to_the_end, sprt_of, stop_rule, unfit_programs
from spielleiter.match.summary import Summary, summarise
from spielleiter.match.verdict import Verdict
from spielleiter.programs.persistent_programs import PersistentPrograms, open_persistent_programs
from spielleiter.programs.this_platform import PLATFORM

MACHINE_FAILURES: Final = 3
"""The match ends after this many games in a row in which the server or the machine failed."""
GAMES_PER_CORE: Final = 4
"""With more concurrent games per processor core, programs would spend more time waiting than thinking."""


class EndReason(enum.Enum):
    """Why a match has ended or was interrupted; the values are texts for people."""

    COMPLETED = "all games are played"
    DECIDED = "decided before all games were played"
    FAULT = "a program failed"
    INTERRUPTED = "interrupted"
    MACHINE_FAILURE = "server or machine failed"
    UNFIT = "a program cannot play"


Cores: TypeAlias = tuple[int, ...] | None
"""The processor cores that a program may use; None: any."""


class ProgressListener(Protocol):
    """Gets notified of a match's progress. Its methods are called in the event loop, so they must return quickly."""

    def game_started(self, planned: PlannedGame) -> None: ...

    def game_finished(self, record: GameRecord) -> None: ...

    def stopping(self) -> None:
        """The first signal to stop has arrived: running games are finished, and no new ones are started."""
        ...


class Venue(Protocol):
    """Other machines that games are played on (cluster)."""

    async def play(
        self,
        setup: MatchSetup,
        games: Sequence[PlannedGame],
        folder: Path,
        conditions: Conditions,
        progress: MatchRun,
    ) -> None:
        """Play `games` and return once all are finished, or `progress` is ending. Raises MatchError.

        The files of the games are in `folder`, the folder of the match, before they are reported as finished. If this
        is cancelled, running games are cut off.
        """
        ...


@dataclass(frozen=True, slots=True)
class Conditions:
    """How games are played. This is not part of a match's setup: a match can be resumed under other conditions."""

    concurrency: int = 1
    """How many games are played at a time."""
    is_fail_fast: bool = False
    """Whether the match ends after the first game in which a program is at fault."""
    is_pinned: bool = False
    """Whether each program has processor cores of its own: one, or half of its game's cores."""
    cores_per_game: int | None = None
    """How many processor cores each game has for itself; None: all games share all cores."""
    keep: KeepPolicy = KeepPolicy.ALL
    """Which games' folders are kept."""
    is_restarting: bool = True
    """Whether programs are started anew for each game; otherwise programs that can play several games keep running."""
    venue: Venue | None = None
    """Where the games are played; None: on this machine. Elsewhere, `concurrency` 0 means as many as possible."""
    keeps_playing: bool = False
    """Whether the match goes on although a program has failed in all of its games so far, or was never there."""
    watch: Watch | None = None
    """What shows the running games, which are played at the match's own server then; None: nothing."""


def fair_concurrency(wanted: int, cores_per_game: int | None = None) -> tuple[int, str | None]:
    """The number of concurrent games, `wanted` at most, at which time limits are fair, and the reason if it is lower.

    `cores_per_game` is the number of processor cores that each game has for itself; None: all games share all cores.
    """
    cores = len(PLATFORM.usable_cores())
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


def allocate_cores(conditions: Conditions, usable: Sequence[int] | None = None) -> list[tuple[Cores, Cores]]:
    """The cores of both programs, for each of the concurrent games. Raises SetupError if there are too few cores.

    `usable` are the numbers of the cores to choose from; None: all that this process may use.
    """
    count, size = conditions.concurrency, conditions.cores_per_game
    if size is None and not conditions.is_pinned:
        return [(None, None)] * count
    cores = PLATFORM.usable_cores() if usable is None else usable
    if size is None:
        size = 2
        if len(cores) < 2 * count:
            games = f"{count_text(count, 'game')} at a time with a core for each program"
            raise SetupError(f"{games} need {2 * count} cores, there are {len(cores)}")
    if len(cores) < size:
        raise SetupError(f"each game needs {count_text(size, 'core')}, there are {len(cores)}")
    if conditions.is_pinned and size % 2:
        raise SetupError(f"{size} cores for each game cannot be divided between two programs, expected an even number")
    if not PLATFORM.can_bind_cores:
        raise SetupError(
            f"{PLATFORM.name} cannot bind programs to processor cores, so games and programs cannot have their own"
        )
    most = min(count, len(cores) // size)
    own = [tuple(cores[size * index : size * (index + 1)]) for index in range(most)]
    half = size // 2 if conditions.is_pinned else 0
    return [(each[:half] or each, each[half:]) for each in own]


async def play_games(
    setup: MatchSetup,
    folder: Path,
    journal: Journal,
    listener: ProgressListener,
    conditions: Conditions = Conditions(),
    is_decided: Callable[[Sequence[GameRecord]], bool] = play_to_the_end,
    *,
    handles_signals: bool = True,
) -> EndReason:
    """Play every game of the plan that is not in the journal yet. Raises MatchError.

    `is_decided` is called after each game, with all records in the order of finishing. With `handles_signals`, the
    signals to stop (Ctrl-C, SIGTERM, SIGHUP) end the match in good order, which is possible in the main thread only.
    """
    PLATFORM.kill(PLATFORM.find_tagged(f"{setup.run_id}/"))  # left by a run that was cut off
    try:
        unpacked = unpacked_programs(setup) if conditions.venue is None else nullcontext(setup)
        async with unpacked as playable:
            runner = MatchRun(playable, folder, journal, listener, conditions, is_decided)
            return await runner.run(handles_signals=handles_signals)
    except BaseExceptionGroup as group:
        expected, others = group.split(MatchError)
        if expected is None or others is not None:
            raise
        raise first_error(expected) from None
    finally:
        # again, since a process may have been hidden while it was calling exec
        PLATFORM.kill(PLATFORM.find_tagged(f"{setup.run_id}/"))


class MatchRun:
    """Plays the remaining games of a match: at a venue, or here, with one worker task for each concurrent game."""

    def __init__(
        self,
        setup: MatchSetup,
        folder: Path,
        journal: Journal,
        listener: ProgressListener,
        conditions: Conditions,
        is_decided: Callable[[Sequence[GameRecord]], bool],
    ) -> None:
        self._setup = setup
        self._folder = folder
        self._journal = journal
        self._listener = listener
        self._conditions = conditions
        self._is_decided = is_decided
        self._end: EndReason | None = None
        self._failures = 0
        self._unable: set[int] = set()
        """Programs (0, 1) that turned out to be unable to play several games in one process."""
        self._scope = trio.CancelScope()
        """Cancelling it cuts off running games."""

    async def run(self, *, handles_signals: bool) -> EndReason:
        if self._is_decided(tuple(self._journal.records.values())):
            return EndReason.DECIDED
        games = [each for each in self._setup.plan() if each.game not in self._journal.records]
        async with trio.open_nursery() as nursery:
            self._scope = nursery.cancel_scope
            if handles_signals:
                await nursery.start(self._watch_signals)
            venue = self._conditions.venue
            if venue is None:
                remaining = iter(games)
                async with (
                    open_match_server(self._setup, self._conditions.watch) as match_server,
                    trio.open_nursery() as workers,
                ):
                    for cores in allocate_cores(self._conditions):
                        workers.start_soon(self._work, remaining, cores, match_server)
            else:
                await venue.play(self._setup, games, self._folder, self._conditions, self)
            nursery.cancel_scope.cancel()
        return self._end or EndReason.COMPLETED

    @property
    def is_ending(self) -> bool:
        """Whether no further game may be started; running games are finished."""
        return self._end is not None

    def start(self, planned: PlannedGame) -> None:
        """Report that a game was started."""
        self._listener.game_started(planned)

    def finish(self, records: Sequence[GameRecord]) -> None:
        """Add the finished games of a pair to the journal. May cancel the match. Raises JournalError."""
        self._journal.extend(records)
        for record in records:
            self._listener.game_finished(record)
            self._failures = self._failures + 1 if record.verdict == Verdict.SERVER_FAILED else 0
            if self._is_decided(tuple(self._journal.records.values())):
                self._end = EndReason.DECIDED
                self._scope.cancel()
            elif self._failures >= MACHINE_FAILURES:
                self._end = EndReason.MACHINE_FAILURE
            elif not self._conditions.keeps_playing and unfit_programs(self._journal.records.values()):
                self._end = self._end or EndReason.UNFIT
            elif self._conditions.is_fail_fast and record.offender is not None:
                self._end = self._end or EndReason.FAULT

    # -- games on this machine --------------------------------------------------------------------------------------

    async def _work(
        self,
        games: Iterator[PlannedGame],
        cores: tuple[Cores, Cores],
        match_server: MatchServer,
    ) -> None:
        opening: AbstractAsyncContextManager[PersistentPrograms | None] = nullcontext()
        if not self._conditions.is_restarting:
            opening = open_persistent_programs(self._unable, self._setup.timeouts.exit)
        async with opening as persistent_programs:
            while self._end is None and (planned := next(games, None)) is not None:
                self.start(planned)
                keep = self._conditions.keep
                record = await play_game(
                    self._setup, planned, self._folder, cores, match_server, keep, persistent_programs
                )
                self.finish([record])

    async def _watch_signals(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        with trio.open_signal_receiver(*stop_signals()) as signals:
            task_status.started()
            async for number in signals:
                if self._end is not EndReason.INTERRUPTED:
                    self._end = EndReason.INTERRUPTED
                    self._listener.stopping()
                elif number != HANGUP:
                    self._scope.cancel()


@dataclass(frozen=True, slots=True)
class MatchResult:
    """How a match ended, with all its finished games; Elo and score are those of the first program."""

    setup: MatchSetup
    folder: Path
    """Where the journal, the reports and the games' folders are."""
    end: EndReason
    records: tuple[GameRecord, ...]
    """The finished games in the order of finishing."""
    summary: Summary

    @property
    def is_complete(self) -> bool:
        """Whether the match is over: all games are played, or a test has decided it. False: it can be resumed."""
        return self.end in {EndReason.COMPLETED, EndReason.DECIDED}

    @property
    def elo(self) -> Estimate | None:
        """The first program's Elo difference with its 95 % interval; None without a complete pair of games."""
        return self.summary.elo

    @property
    def better(self) -> str | None:
        """The name of the program that is better; None if that is not decided."""
        return None if self.summary.better is None else self.setup.names[self.summary.better]

    @property
    def faults(self) -> tuple[int, int]:
        """For each program, the number of games in which it was at fault (crash, timeout, illegal move and so on)."""
        first, second = self.summary.programs
        return first.faults, second.faults

    @property
    def headline(self) -> str:
        """The answer in one sentence, as the reports give it."""
        return headline(self.summary)

    @property
    def report(self) -> Path:
        """The page with tables and plots."""
        return self.folder / PAGE


def play_match(
    setup: MatchSetup,
    folder: str | os.PathLike[str],
    *,
    conditions: Conditions | None = None,
    on_game_finished: Callable[[GameRecord], object] | None = None,
) -> MatchResult:
    """Play a match to its end, or continue the one in `folder`, and return its result.

        setup = prepare_match("./new", "builtin:greedy", games=20)
        result = play_match(setup, "result", on_game_finished=lambda record: print(record.game, record.verdict))
        print(result.headline, result.elo, result.faults, result.report)

    `setup` comes from `prepare_match`, or from `load_match` for a match that was interrupted or is to have more games.
    `folder` takes the journal, the reports and a folder for each game; it is created if it does not exist. `conditions`
    says for example how many games are played at a time (one by default); a number too high for the processor cores is
    lowered.
    `on_game_finished` is called with the record of each finished game, in this thread; it must return quickly, since
    the clocks of other games do not stop for it.

    In the main thread, the first Ctrl-C lets running games finish, and the result then has the end
    `EndReason.INTERRUPTED`; a second one cuts them off.

    Raises JournalError if the folder holds another match, is in use by another process or cannot be written to;
    SetupError if the conditions cannot be met; MachineError and SupervisorError if the server or this machine fails.
    Exceptions of `on_game_finished` are passed on. A program that misbehaves raises nothing: that is a verdict in the
    record of its game. In a program that already runs trio, use `run_match`.
    """
    is_main = threading.current_thread() is threading.main_thread()
    run = partial(
        run_match, setup, folder, conditions=conditions, on_game_finished=on_game_finished, handles_signals=is_main
    )
    try:
        return trio.run(run)
    except BaseExceptionGroup as group:
        raise unwrapped(group) from None


async def run_match(
    setup: MatchSetup,
    folder: str | os.PathLike[str],
    *,
    conditions: Conditions | None = None,
    on_game_finished: Callable[[GameRecord], object] | None = None,
    handles_signals: bool = False,
) -> MatchResult:
    """Play a match in a program that runs trio; otherwise the same as `play_match`.

        async with trio.open_nursery() as nursery:
            result = await run_match(setup, "result")

    `setup`, `folder`, `conditions` and `on_game_finished` are those of `play_match`. With `handles_signals`, Ctrl-C and
    SIGTERM end the match in good order, which is possible in the main thread only; otherwise they are left to the
    caller. The match can be cancelled; then its finished games are in the journal and the reports.

    Raises the same errors as `play_match`; exceptions of `on_game_finished` are raised in exception groups.
    """
    path = Path(folder)
    conditions = conditions or Conditions()
    if conditions.venue is None:
        allocate_cores(conditions)
        concurrency, _ = fair_concurrency(conditions.concurrency, conditions.cores_per_game)
        conditions = dataclasses.replace(conditions, concurrency=concurrency)
    if not (path / SETUP).exists():
        save_setup(path, setup.to_json())
    else:
        known = MatchSetup.from_json(load_setup(path), setup.password)
        if dataclasses.replace(known, games=max(known.games, setup.games)) != setup:
            raise JournalError(f"{path}: holds another match; continue that one (load_match) or choose another folder")
    with open_journal(path) as journal:
        listener = _CallbackListener(on_game_finished)
        return await play_and_report(setup, path, journal, listener, conditions, handles_signals=handles_signals)


async def play_and_report(
    setup: MatchSetup,
    folder: Path,
    journal: Journal,
    listener: ProgressListener,
    conditions: Conditions,
    *,
    handles_signals: bool = True,
    faults_of: Collection[int] = BOTH,
) -> MatchResult:
    """Play the games that are not in `journal` yet, and write the reports whatever happens. Raises MatchError.

    The match is in `folder` already. If `setup` has more games than it has there, it is extended. junit.xml reports the
    faults of the programs `faults_of`.
    """
    is_decided = stop_rule(setup)
    if load_setup(folder)["games"] < setup.games:
        save_setup(folder, setup.to_json(), is_new=False)
    try:
        end = await play_games(
            setup, folder, journal, listener, conditions, is_decided, handles_signals=handles_signals
        )
    finally:
        records = tuple(journal.records.values())
        summary = write_match_reports(setup, folder, records, faults_of)
    return MatchResult(setup, folder, end, records, summary)


def write_match_reports(
    setup: MatchSetup, folder: Path, records: Sequence[GameRecord], faults_of: Collection[int] = BOTH
) -> Summary:
    """Write the reports of a match, and return their summary. Raises JournalError.

    `records` are those of the finished games, in the order of finishing. junit.xml reports the faults of the programs
    `faults_of`.
    """
    season = season_text(setup.game_type, setup.edition)
    summary = summarise(records, setup.names, setup.games, sprt_of(setup), setup.significance, season, PLATFORM.gaps)
    write_reports(folder, summary, records, faults_of)
    return summary


class _CallbackListener:
    """Calls a function with the record of each finished game."""

    def __init__(self, on_game_finished: Callable[[GameRecord], object] | None) -> None:
        self._on_game_finished = on_game_finished

    def game_started(self, planned: PlannedGame) -> None: ...

    def game_finished(self, record: GameRecord) -> None:
        if self._on_game_finished is not None:
            self._on_game_finished(record)

    def stopping(self) -> None: ...
