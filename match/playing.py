"""Playing a prepared match, and its result.

Invariants: whether a match ends, is interrupted or fails, its reports are written from all games that are finished, and
no process is left running. A match that is resumed continues as it began.
"""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import trio

from spielleiter.common.errors import JournalError, unwrapped
from spielleiter.match.plan import PlannedGame
from spielleiter.match.records.game_record import GameRecord
from spielleiter.match.records.journal import SETUP, Journal, extend_setup, load_setup, open_journal, save_setup
from spielleiter.match.reports import PAGE, write_reports
from spielleiter.match.reports.junit import BOTH
from spielleiter.match.reports.words import headline
from spielleiter.match.runner import (
    Conditions,
    EndReason,
    ProgressListener,
    allocate_cores,
    fair_concurrency,
    play_games,
)
from spielleiter.match.season import season_text
from spielleiter.match.setup import MatchSetup
from spielleiter.match.stats.counts import Estimate
from spielleiter.match.stopping import sprt_of, stop_rule
from spielleiter.match.summary import Summary, summarise
from spielleiter.programs.platforms import PLATFORM


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
    `folder` takes the
    journal, the reports and a folder for each game; it is created if it does not exist. `conditions` says for example
    how many games are played at a time (one by default); a number too high for the processor cores is lowered.
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
        run_match,
        setup,
        folder,
        conditions=conditions,
        on_game_finished=on_game_finished,
        handles_signals=is_main,
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
    _begin_or_continue(setup, path)
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
        extend_setup(folder, setup.to_json())
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


def _begin_or_continue(setup: MatchSetup, folder: Path) -> None:
    if not (folder / SETUP).exists():
        save_setup(folder, setup.to_json())
        return
    known = MatchSetup.from_json(load_setup(folder), setup.password)
    if dataclasses.replace(known, games=max(known.games, setup.games)) != setup:
        raise JournalError(f"{folder}: holds another match; continue that one (load_match) or choose another folder")


class _CallbackListener:
    """Calls a function with the record of each finished game."""

    def __init__(self, on_game_finished: Callable[[GameRecord], object] | None) -> None:
        self._on_game_finished = on_game_finished

    def game_started(self, planned: PlannedGame) -> None: ...

    def game_finished(self, record: GameRecord) -> None:
        if self._on_game_finished is not None:
            self._on_game_finished(record)

    def stopping(self) -> None: ...
