"""Is a program fit for the contest? One step after the other, each with what was expected and what came.

Law: every step starts the program anew, but for the first six, which are one game; where one of those fails, nothing
that builds on it is tried. Whatever the program does, it is gone in the end, and every step has a result.
"""

from __future__ import annotations

import enum
import secrets
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from game.api import Seat
from match.plan import plan_games
from match.program import Command
from match.records import Verdict
from match.referee import play_game
from match.setup import Entrant, MatchSetup, Patience
from match.stage import (
    Answer,
    GameOver,
    Stage,
    SurpriseError,
    in_fragments,
    open_stage,
    with_unknown_elements,
)
from protocol.messages import Cause, MoveData, Result, Score
from server.counting import count_text
from server.editions import choose_editions
from server.policy import Edition

OPPONENT: Final = "builtin:random"
_MOVES: Final = 3  # in steps that need no whole game
_TAIL: Final = 10  # lines of standard error in a report


class Status(enum.Enum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step: what was expected, what came, and the end of the program's standard error at that point."""

    number: int
    title: str
    expected: str
    status: Status
    came: str = ""
    stderr: str = ""


@dataclass(frozen=True, slots=True)
class CheckSetup:
    """What is checked, and how long things may take, in seconds."""

    command: str
    game_type: str
    soft_timeout: float = 2.0
    hard_timeout: float = 10.0
    pause: float = 3.0
    patience: Patience = field(default_factory=Patience)


@dataclass(frozen=True, slots=True)
class _Ending:
    """How a game can end: the causes of the program and of its opponent, and who wins (0: the program)."""

    text: str
    own: Cause = Cause.REGULAR
    other: Cause = Cause.REGULAR
    winners: tuple[int, ...] = ()
    has_begun: bool = True


_ENDINGS: Final = (
    _Ending("the opponent leaves", other=Cause.LEFT, winners=(0,)),
    _Ending("the opponent breaks a rule", other=Cause.RULE_VIOLATION, winners=(0,)),
    _Ending("the opponent is too slow", other=Cause.SOFT_TIMEOUT, winners=(0,)),
    _Ending("the opponent never answers", other=Cause.HARD_TIMEOUT, winners=(0,)),
    _Ending("the program is told that it broke a rule", own=Cause.RULE_VIOLATION, winners=(1,)),
    _Ending("the program is told that it was too slow", own=Cause.SOFT_TIMEOUT, winners=(1,)),
    _Ending("the program is told that it never answered", own=Cause.HARD_TIMEOUT, winners=(1,)),
    _Ending("the game is called off"),
    _Ending("the room closes before the game begins", has_begun=False),
)


async def check_program(
    setup: CheckSetup, folder: Path, tell: Callable[[StepResult], None] = lambda _: None
) -> tuple[StepResult, ...]:
    """Try every step; `tell` hears of each as it is done. `folder` keeps the outputs. Raises MatchError."""
    check = _Check(setup, folder, tell)
    await check.run()
    return tuple(check.results)


class _Check:
    def __init__(self, setup: CheckSetup, folder: Path, tell: Callable[[StepResult], None]) -> None:
        self.results: list[StepResult] = []
        self._setup = setup
        self._folder = folder
        self._tell = tell
        self._command = Command.parse(setup.command)
        self._edition: Edition = choose_editions({}, {})[setup.game_type]
        self._run_id = secrets.token_hex(8)
        self._is_abandoned = False
        self._scenes = 0
        self._scene_folder = folder

    async def run(self) -> None:
        soft = f"{self._setup.soft_timeout:g} s"
        await self._basics(soft)
        for title, expected, act in (
            ("fragmented packets", "legal moves in time, however the packets are cut up", self._fragmented),
            ("coalesced packets", "legal moves in time when several packets come at once", self._coalesced),
            ("unknown elements", "legal moves in time, unknown elements and attributes ignored", self._unknown),
            ("a pause", f"silence for {self._setup.pause:g} s, then a legal move for the same position", self._pause),
            (
                "a whole game by the script",
                f"every request answered in {soft} by a legal move, and the process ends itself after the result",
                self._whole_game,
            ),
        ):
            await self._step(title, expected, act)
        for ending in _ENDINGS:
            await self._step(
                f"the end: {ending.text}",
                f"the process ends itself within {self._setup.patience.exit:g} s, not by a signal",
                partial(self._end, ending),
            )
        for game, side in ((1, "first"), (2, "second")):
            await self._step(
                f"a whole game against random as {side} player",
                "played to its end without a fault, and nothing left behind",
                partial(self._real_game, game),
            )

    async def _step(
        self, title: str, expected: str, act: Callable[[], Awaitable[str]], *, is_basic: bool = False
    ) -> None:
        status, came, stderr = Status.NOT_TRIED, "", ""
        if not self._is_abandoned:
            try:
                came, status = await act(), Status.PASSED
            except SurpriseError as surprise:
                came, status, stderr = " ".join(str(surprise).split()), Status.FAILED, self._stderr()
                self._is_abandoned = is_basic
        self._add(title, expected, status, came, stderr)

    def _add(self, title: str, expected: str, status: Status, came: str = "", stderr: str = "") -> None:
        result = StepResult(len(self.results) + 1, title, expected, status, came, stderr)
        self.results.append(result)
        self._tell(result)

    def _stage(self, seat: Seat = 0) -> AbstractAsyncContextManager[Stage]:
        self._scenes += 1
        self._scene_folder = self._folder / f"scene{self._scenes:02d}"
        self._scene_folder.mkdir(parents=True, exist_ok=True)
        return open_stage(
            self._edition,
            self._command,
            seat,
            self._scene_folder,
            f"{self._run_id}/{self._scenes}",
            self._setup.patience.start,
        )

    def _stderr(self) -> str:
        """The last lines of what the program wrote to standard error."""
        files = [self._scene_folder / name for name in ("stderr.log", "program1.stderr.log")]
        lines = [line for file in files if file.exists() for line in file.read_text("utf-8", "replace").splitlines()]
        return "\n".join(lines[-_TAIL:])

    # -- the first six steps, one game ------------------------------------------------------------------------------

    async def _basics(self, soft: str) -> None:
        answers: list[Answer] = []

        async def start(stage: Stage) -> str:
            await stage.wait_for_connection()
            return "connected"

        async def take_seat(stage: Stage) -> str:
            await stage.take_seat()
            await stage.begin()
            return "joinPrepared"

        async def ask(stage: Stage) -> str:
            answers.append(await stage.ask(self._setup.hard_timeout))
            return f"an answer after {answers[0].seconds:.3f} s"

        async def judge_time(_stage: Stage) -> str:
            return self._in_time(answers[0])

        async def read(_stage: Stage) -> str:
            return str(_move_data(answers[0]).move)

        async def play(stage: Stage) -> str:
            move = _move_data(answers[0]).move
            stage.play(move)
            return str(move)

        steps: tuple[tuple[str, str, Callable[[Stage], Awaitable[str]]], ...] = (
            ("starts", f"the process starts and connects in {self._setup.patience.start:g} s", start),
            ("takes its seat", "<protocol> and joinPrepared with the reservation code that it was given", take_seat),
            ("answers a request", f"an answer within {self._setup.hard_timeout:g} s", ask),
            ("is in time", f"the answer within {soft}", judge_time),
            ("can be understood", "a move that can be read", read),
            ("keeps the rules", "a legal move", play),
        )
        try:
            async with self._stage() as stage:
                for title, expected, act in steps:
                    await self._step(title, expected, partial(act, stage), is_basic=True)
        except SurpriseError as surprise:  # the process could not even be started
            title, expected, _ = steps[0]
            self._is_abandoned = True
            self._add(title, expected, Status.FAILED, str(surprise))
            for title, expected, _ in steps[1:]:
                self._add(title, expected, Status.NOT_TRIED)

    # -- the others -------------------------------------------------------------------------------------------------

    async def _fragmented(self) -> str:
        return await self._moves(cut=in_fragments)

    async def _coalesced(self) -> str:
        return await self._moves(is_coalesced=True)

    async def _unknown(self) -> str:
        return await self._moves(spoil=with_unknown_elements)

    async def _moves(self, **how: Any) -> str:
        """A few moves as second player, the packets treated somehow."""
        async with self._stage(seat=1) as stage:
            await self._join(stage)
            for _ in range(_MOVES):
                await self._move(stage, **how)
            return f"{count_text(_MOVES, 'move')}, the slowest after {stage.longest:.3f} s"
        raise AssertionError("a stage hides no surprise")

    async def _pause(self) -> str:
        async with self._stage() as stage:
            await self._join(stage)
            await self._move(stage)
            await stage.show()
            await stage.expect_silence(self._setup.pause)
            await self._move(stage)
            return "silence, and a legal move after it"
        raise AssertionError("a stage hides no surprise")

    async def _whole_game(self) -> str:
        async with self._stage(seat=1) as stage:
            await self._join(stage)
            moves = 0
            try:
                while True:
                    await self._move(stage)
                    moves += 1
            except GameOver:
                pass
            await stage.show()
            outcome = stage.state.outcome()
            assert outcome is not None
            winners = (0, 1) if outcome.winner is None else (outcome.winner,)
            await stage.finish(self._result(stage, Cause.REGULAR, Cause.REGULAR, winners))
            how = await stage.expect_exit(self._setup.patience.exit)
            return f"{count_text(moves, 'move')}, the slowest after {stage.longest:.3f} s; {how}"
        raise AssertionError("a stage hides no surprise")

    async def _end(self, ending: _Ending) -> str:
        async with self._stage() as stage:
            await stage.wait_for_connection()
            await stage.take_seat()
            if not ending.has_begun:
                await stage.finish(None)
            else:
                await stage.begin()
                await self._move(stage)
                await stage.show()
                winners = tuple(winner if stage.seat == 0 else 1 - winner for winner in ending.winners)
                await stage.finish(self._result(stage, ending.own, ending.other, winners))
            return await stage.expect_exit(self._setup.patience.exit)
        raise AssertionError("a stage hides no surprise")

    async def _real_game(self, game: int) -> str:
        setup = MatchSetup(
            entrants=(Entrant("program", self._setup.command), Entrant("random", OPPONENT)),
            game_type=self._setup.game_type,
            games=2,
            seed=1,
            run_id=self._run_id,
            server_options={"soft_timeout": self._setup.soft_timeout, "hard_timeout": self._setup.hard_timeout},
            patience=self._setup.patience,
        )
        planned = plan_games(setup.games, setup.seed)[game - 1]
        record = await play_game(setup, planned, self._folder)
        self._scene_folder = self._folder / record.folder
        points = ":".join(str(point) for point in record.points)
        if record.verdict != Verdict.REGULAR:
            raise SurpriseError(f"{record.verdict}: {record.reason}")
        if record.reason:
            raise SurpriseError(record.reason)
        slowest = max(record.think_times[0], default=0.0)
        return f"{points} after {count_text(record.plies, 'move')}, the slowest after {slowest:.3f} s"

    # -- what they share --------------------------------------------------------------------------------------------

    async def _join(self, stage: Stage) -> None:
        await stage.wait_for_connection()
        await stage.take_seat()
        await stage.begin()

    async def _move(self, stage: Stage, **how: Any) -> None:
        answer = await stage.ask(self._setup.hard_timeout, **how)
        data = _move_data(answer)
        self._in_time(answer)
        stage.play(data.move)

    def _in_time(self, answer: Answer) -> str:
        if answer.seconds > self._setup.soft_timeout:
            raise SurpriseError(f"the answer came after {answer.seconds:.3f} s")
        return f"{answer.seconds:.3f} s"

    def _result(self, stage: Stage, own: Cause, other: Cause, winners: tuple[Seat, ...]) -> Result:
        scores = []
        for seat in (0, 1):
            cause = own if seat == stage.seat else other
            first = 0 if seat not in winners else 2 if len(winners) == 1 else 1
            reason = "" if cause is Cause.REGULAR else f"cause {cause.value}"
            scores.append(Score(cause, reason, (first, *stage.state.points(seat))))
        dialect = self._edition.dialect
        details = dialect.player_details(stage.state)
        return Result(dialect.score_definition, tuple(scores), winners, stage.names, details)


def _move_data(answer: Answer) -> MoveData:
    if not isinstance(answer.data, MoveData):
        raise SurpriseError(answer.problem)
    return answer.data
