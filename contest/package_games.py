"""The games of a package's check, and what they show: a finding for each fault, a result for each condition.

Invariants: a game that only this machine spoiled is played again, up to ATTEMPTS times. The checked program is the
first one of its match, its opponent is a built-in player. A fault of the machine is never a finding. A crash whose
output names the cause gives the finding of that cause instead of a general one. Every game keeps its files in a folder
of its own below that of the check. All times are in seconds.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import trio

from spielleiter.common.text import count_text
from spielleiter.contest.check import ATTEMPTS
from spielleiter.contest.crash_causes import crash_cause, fault_of_name, wheel_version
from spielleiter.contest.package_report import PlayedGame
from spielleiter.contest.runtime_faults import CODE_OF_VERDICT, FAULTS, fault
from spielleiter.contest.scripted_server import is_delayed
from spielleiter.match.match_server import MatchServer, open_match_server
from spielleiter.match.plan import Entrant, MatchSetup, PlannedGame, ProgramTimeouts, plan_games
from spielleiter.match.records import GameRecord
from spielleiter.match.referee import output_files, play_game
from spielleiter.match.verdict import CRASH_VERDICTS, UNCOUNTED_VERDICTS, Verdict
from spielleiter.programs.command import distinct_names
from spielleiter.programs.contest_conditions import Condition
from spielleiter.programs.machine_delay import AnswerMeter, AnswerTimes
from spielleiter.programs.packages.faults import Finding
from spielleiter.programs.sandbox.sandbox import (
    DISK_LIMIT,
    FILE_LIMIT,
    MEMORY_LIMIT,
    PROCESS_LIMIT,
    Sandbox,
    SandboxSettings,
)
from spielleiter.programs.sandbox.sandbox_run import Observations

PROGRAM: Final = 0
"""The index of the checked program in its match."""
_MEGABYTE: Final = 1024 * 1024
_SEED: Final = 1
_SEATS: Final = ("first", "second")
_OF_NAMES: Final = frozenset({"missing-when-run", "not-executable-when-run", "writes-elsewhere"})
"""The causes of a crash that name a file."""


@dataclass(frozen=True, slots=True)
class PackageCheckSetup:
    """The package at `path`, the game that it plays, and the limits.

    `main` is the main file, None for the one that is found; `parameters` are the further ones that were given with the
    upload. `edition` is None for the default one of the game. `speed` is how many times as fast as that of the contest
    a core of this machine is, None to measure it. `pause` is how long the game pauses in the step about pauses.
    `game_end` is None for the end of a game as in that edition.
    """

    path: Path
    game_type: str
    edition: str | None = None
    main: str | None = None
    parameters: tuple[str, ...] = ()
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    speed: float | None = None
    soft_timeout: float = 2.0
    hard_timeout: float = 10.0
    pause: float = 1.0
    timeouts: ProgramTimeouts = field(default_factory=ProgramTimeouts)
    game_end: str | None = None


def is_machines_fault(record: GameRecord) -> bool:
    """Return whether the game says nothing about the program, because this machine or the opponent failed."""
    return record.verdict in UNCOUNTED_VERDICTS or record.offender not in {None, PROGRAM}


def was_delayed(record: GameRecord, answers: Sequence[AnswerTimes], limit: float) -> bool:
    """Return whether the program lost by an answer that would have been in time if it had waited for no processor.

    `answers` are those of the program, `limit` is the time for each in seconds.
    """
    if record.verdict != Verdict.TIMEOUT or record.offender != PROGRAM or not answers:
        return False
    return is_delayed(answers[-1].seconds, answers[-1].waited, limit)


def game_findings(
    record: GameRecord,
    observed: Observations | None,
    title: str,
    folder: Path,
    *,
    program_folder: Path | None = None,
    python: str = "the Python of this machine",
) -> tuple[Finding, ...]:
    """Return what is wrong with the program according to one game.

    `observed` is what the sandbox saw of the program, `title` names the game in sentences, and `folder` is that of the
    match, in which the record names the folder of the game. `program_folder` is that of the unpacked package, None if
    there is none; `python` is what the program found as `python3`.
    """
    if record.offender != PROGRAM or is_machines_fault(record):
        return ()
    if record.verdict in CRASH_VERDICTS and (cause := _cause(record, observed, folder, program_folder, python)):
        return (cause,)
    place = f"{folder.name}/{record.folder}"
    return (fault(CODE_OF_VERDICT[record.verdict], place, game=title, reason=record.reason),)


def _cause(
    record: GameRecord, observed: Observations | None, folder: Path, program_folder: Path | None, python: str
) -> Finding | None:
    """Return why the program crashed, if that is known."""
    place = f"{folder.name}/{record.folder}"
    if observed is not None and observed.exceeded_memory:
        peak = size_text(observed.peak_memory or MEMORY_LIMIT)
        return fault("too-much-memory", place, peak=peak, limit=size_text(MEMORY_LIMIT))
    if observed is not None and observed.exceeded_processes:
        return fault("too-many-processes", place, limit=PROCESS_LIMIT)
    if observed is not None and observed.exceeded_disk:
        return fault("too-much-disk", place, size=size_text(DISK_LIMIT), files=f"{FILE_LIMIT:,}")
    if observed is not None and observed.window_attempts:
        return fault("needs-window", place, reason=observed.window_attempts[0])
    out, error = output_files(folder / record.folder, PROGRAM)
    cause = crash_cause(out, error)
    if cause is None:
        return None
    values: dict[str, object] = {"reason": cause.line, "python": python}
    if cause.code in _OF_NAMES and program_folder is not None:
        if found := fault_of_name(cause, program_folder):
            code, name, there = found
            return fault(code, place, name=name, there=there, **values)
    elif cause.code == "wheel-for-other-python":
        wheel = values["wheel"] = wheel_version(cause.line)
        if not wheel or python.startswith(f"Python {wheel}."):  # in the second case, it is for another system
            return None
    return fault(cause.code, place, **values)


def affects_game(finding: Finding) -> bool:
    """Return whether a finding of a game concerns its course, and not only what happens after its end."""
    return FAULTS[finding.code].condition is not Condition.END


def size_text(size: int) -> str:
    """Return a size in bytes as text for people, such as ``12 MB``; a MB has 1024 times 1024 bytes."""
    if size >= 1024 * _MEGABYTE:
        return f"{size / (1024 * _MEGABYTE):.2f} GB"
    if size >= _MEGABYTE:
        return f"{size / _MEGABYTE:.0f} MB"
    return f"{size / 1024:.0f} kB" if size >= 1024 else count_text(size, "byte")


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return one finding for each code: the first one, which says how often the same happened again."""
    first: dict[str, Finding] = {}
    counts: Counter[str] = Counter()
    for each in findings:
        first.setdefault(each.code, each)
        counts[each.code] += 1
    for code, count in counts.items():
        if count > 1:
            again = "once more" if count == 2 else count_text(count - 1, "more time")
            first[code] = dataclasses.replace(first[code], text=f"{first[code].text}; the same happened {again}")
    return tuple(first.values())


@dataclass(frozen=True, slots=True)
class GameResult:
    """One game: its record, what was observed of the program, and what is wrong with it."""

    record: GameRecord
    game: PlayedGame
    findings: tuple[Finding, ...]
    observations: Observations | None
    is_undecided: bool
    """Whether only this machine or the opponent failed, in every attempt."""
    answers: tuple[AnswerTimes, ...] = ()
    """The program's answers, in order."""


class PackageGames:
    """Plays games of the program in `program_folder`, which was unpacked there and is never changed.

    `command` starts it in that folder. `speed` is that of this machine compared with the contest's; on a slower one,
    the time limits are longer. `python` is what programs find as `python3` in the sandbox.
    """

    def __init__(
        self,
        setup: PackageCheckSetup,
        command: str,
        program_folder: Path,
        folder: Path,
        speed: float,
        python: str = Sandbox.python_description,
    ) -> None:
        self._setup = setup
        self._command = command
        self._program_folder = program_folder
        self._folder = folder
        self._python = python
        self.time_factor = max(1.0, 1 / speed)
        """What the time limits are extended by here."""

    async def play(
        self, condition: str, opponent: str, count: int, tell: Callable[[str], None]
    ) -> tuple[GameResult, ...]:
        """Play `count` games for this condition one after the other; `tell` is called with each game's title."""
        results = []
        setup = self._match_setup(opponent)
        async with open_match_server(setup) as match_server:
            for planned in plan_games(count, _SEED):
                tell(f"{_title(planned)}, against {opponent}")
                results.append(await self._play(condition, setup, planned, match_server))
        return tuple(results)

    async def play_two_at_once(self, condition: str, opponent: str) -> tuple[GameResult, ...]:
        """Play two games at the same time."""
        results: dict[int, GameResult] = {}
        setup = self._match_setup(opponent)

        async def play(planned: PlannedGame, match_server: MatchServer) -> None:
            results[planned.game] = await self._play(condition, setup, planned, match_server)

        async with open_match_server(setup) as match_server, trio.open_nursery() as nursery:
            for planned in plan_games(2, _SEED):
                nursery.start_soon(play, planned, match_server)
        return results[1], results[2]

    async def _play(
        self, condition: str, setup: MatchSetup, planned: PlannedGame, match_server: MatchServer
    ) -> GameResult:
        """Play a game, and again if only this machine has spoiled it."""
        result = await self._play_once(condition, setup, planned, match_server, condition)
        for attempt in range(2, ATTEMPTS + 1):
            if not result.is_undecided:
                break
            result = await self._play_once(condition, setup, planned, match_server, f"{condition}-attempt{attempt}")
        return result

    async def _play_once(
        self, condition: str, setup: MatchSetup, planned: PlannedGame, match_server: MatchServer, relative: str
    ) -> GameResult:
        folder, title, meter = self._folder / relative, _title(planned), AnswerMeter()
        record = await play_game(setup, planned, folder, match_server=match_server, answer_meter=meter)
        own = record.think_times[PROGRAM]
        game = PlayedGame(
            condition=condition,
            title=f"{title}, against {setup.entrants[1].command}",
            verdict=record.verdict,
            reason=record.reason,
            points=record.points,
            moves=len(own),
            slowest=max(own, default=0.0),
            folder=f"{relative}/{record.folder}",
            replay=record.replay or "",
        )
        observed = record.observations[PROGRAM]
        limit = setup.server_options["soft_timeout"] * self.time_factor
        is_undecided = is_machines_fault(record) or was_delayed(record, meter.answers, limit)
        findings: tuple[Finding, ...] = ()
        if not is_undecided:
            findings = game_findings(
                record, observed, title, folder, program_folder=self._program_folder, python=self._python
            )
        return GameResult(record, game, findings, observed, is_undecided, tuple(meter.answers))

    def _match_setup(self, opponent: str) -> MatchSetup:
        setup = self._setup
        own, other = distinct_names(setup.path.name, opponent.removeprefix("builtin:"))
        return MatchSetup(
            entrants=(
                Entrant(
                    own,
                    self._command,
                    cwd=str(self._program_folder.absolute()),
                    time_factor=self.time_factor,
                    sandbox=setup.sandbox,
                ),
                Entrant(other, opponent),
            ),
            game_type=setup.game_type,
            games=2,
            seed=_SEED,
            run_id=secrets.token_hex(8),
            server_options={
                "soft_timeout": setup.soft_timeout,
                "hard_timeout": setup.hard_timeout,
                **({} if setup.game_end is None else {"game_end": setup.game_end}),
            },
            timeouts=setup.timeouts,
            edition=setup.edition,
        )


def _title(planned: PlannedGame) -> str:
    return f"game {planned.game} as {_SEATS[planned.seats.index(PROGRAM)]} player"
