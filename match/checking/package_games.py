"""The games of a package's check: played one after the other or two at once, each in a sandbox of its own.

Invariants: a game that only this machine spoiled is played again, up to ATTEMPTS times. Every game keeps its files in a
folder of its own below that of the check. All times are in seconds.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import trio

from spielleiter.match.checking.check import ATTEMPTS
from spielleiter.match.checking.game_faults import PROGRAM, game_findings, is_machines_fault, was_delayed
from spielleiter.match.checking.package_report import PlayedGame
from spielleiter.match.checking.package_setup import PackageCheckSetup
from spielleiter.match.games.match_server import MatchServer, open_match_server
from spielleiter.match.games.referee import play_game
from spielleiter.match.packages.finding import Finding
from spielleiter.match.plan import PlannedGame, plan_games
from spielleiter.match.programs.answer_meter import AnswerMeter, AnswerTimes
from spielleiter.match.programs.program_names import distinct_names
from spielleiter.match.records.game_record import GameRecord
from spielleiter.match.sandbox.observations import Observations
from spielleiter.match.sandbox.sandbox import Sandbox
from spielleiter.match.setup import Entrant, MatchSetup

_SEED: Final = 1
_SEATS: Final = ("first", "second")


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
        python: str = Sandbox.python,
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
                results.append(await self._play_repeatedly(condition, setup, planned, match_server))
        return tuple(results)

    async def play_two_at_once(self, condition: str, opponent: str) -> tuple[GameResult, ...]:
        """Play two games at the same time."""
        results: list[GameResult | None] = [None, None]
        setup = self._match_setup(opponent)

        async def play(index: int, planned: PlannedGame, match_server: MatchServer) -> None:
            results[index] = await self._play_repeatedly(condition, setup, planned, match_server)

        async with open_match_server(setup) as match_server, trio.open_nursery() as nursery:
            for index, planned in enumerate(plan_games(2, _SEED)):
                nursery.start_soon(play, index, planned, match_server)
        return tuple(each for each in results if each is not None)

    async def _play_repeatedly(
        self, condition: str, setup: MatchSetup, planned: PlannedGame, match_server: MatchServer
    ) -> GameResult:
        result = await self._play(condition, setup, planned, match_server)
        for attempt in range(2, ATTEMPTS + 1):
            if not result.is_undecided:
                break
            result = await self._play(condition, setup, planned, match_server, attempt)
        return result

    async def _play(
        self, condition: str, setup: MatchSetup, planned: PlannedGame, match_server: MatchServer, attempt: int = 1
    ) -> GameResult:
        relative = condition if attempt == 1 else f"{condition}-attempt{attempt}"
        meter = AnswerMeter()
        record = await play_game(setup, planned, self._folder / relative, match_server=match_server, answer_meter=meter)
        game_folder = f"{relative}/{record.folder}"
        title = _title(planned)
        own = record.think_times[PROGRAM]
        game = PlayedGame(
            condition=condition,
            title=f"{title}, against {setup.entrants[1].command}",
            verdict=record.verdict,
            reason=record.reason,
            points=record.points,
            moves=len(own),
            slowest=max(own, default=0.0),
            folder=game_folder,
            replay=record.replay or "",
        )
        observed = record.observations[PROGRAM]
        limit = setup.server_options["soft_timeout"] * self.time_factor
        is_undecided = is_machines_fault(record) or was_delayed(record, meter.answers, limit)
        findings = game_findings(
            record,
            observed,
            title,
            self._folder / relative,
            program_folder=self._program_folder,
            python=self._python,
        )
        return GameResult(
            record, game, () if is_undecided else findings, observed, is_undecided, tuple(meter.answers)
        )

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
            timeouts=setup.patience,
            edition=setup.edition,
        )


def _title(planned: PlannedGame) -> str:
    return f"game {planned.game} as {_SEATS[planned.seats.index(PROGRAM)]} player"
