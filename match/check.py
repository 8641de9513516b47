"""Is a program fit for the contest? One step after the other, each with what was expected and what came.

Invariants: the first six steps share one game, and every other step starts the program anew. If one of the first six
fails, nothing after it is tried. Every step has a result, and no process is left at the end.

A step that tests more than the official server does is a warning when it fails, and says why in `StepResult.remark`.
It does not make a program unfit.
"""

from __future__ import annotations

import enum
import secrets
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from game.api import Seat, State
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
from protocol.messages import Cause, MoveData, Result
from server.counting import count_text
from server.editions import choose_editions
from server.ending import Ending
from server.policy import Edition

OPPONENT: Final = "builtin:random"
_MOVES: Final = 3  # in steps that need no whole game
_TAIL: Final = 10  # lines of standard error in a report
_NO_UNKNOWN_ELEMENTS: Final = "the official server sends no unknown elements, so the contest does not demand this"


class Status(enum.Enum):
    PASSED = "passed"
    FAILED = "failed"
    WARNING = "warning"  # failed, but the contest does not demand it
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step: what was expected, what came, and the end of the program's standard error at that point.

    `remark` says of a warning why it is no more than that; it is empty for every other status.
    """

    number: int
    title: str
    expected: str
    status: Status
    came: str = ""
    stderr: str = ""
    remark: str = ""


def is_fit(results: Iterable[StepResult]) -> bool:
    """Whether a program with these results is fit for the contest: nothing failed and everything was tried."""
    return all(result.status in {Status.PASSED, Status.WARNING} for result in results)


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
    """How a game can end: by the program's fault, by its opponent's, or without any."""

    text: str
    own: Cause = Cause.REGULAR
    other: Cause = Cause.REGULAR
    has_begun: bool = True


_ENDINGS: Final = (
    _Ending("the opponent leaves", other=Cause.LEFT),
    _Ending("the opponent breaks a rule", other=Cause.RULE_VIOLATION),
    _Ending("the opponent is too slow", other=Cause.SOFT_TIMEOUT),
    _Ending("the opponent never answers", other=Cause.HARD_TIMEOUT),
    _Ending("the program is told that it broke a rule", own=Cause.RULE_VIOLATION),
    _Ending("the program is told that it was too slow", own=Cause.SOFT_TIMEOUT),
    _Ending("the program is told that it never answered", own=Cause.HARD_TIMEOUT),
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
        for title, expected, act, beyond in (
            ("fragmented packets", "legal moves in time, however the packets are cut up", self._fragmented, ""),
            ("coalesced packets", "legal moves in time when several packets come at once", self._coalesced, ""),
            (
                "unknown elements",
                "legal moves in time, unknown elements and attributes ignored",
                self._unknown,
                _NO_UNKNOWN_ELEMENTS,
            ),
            (
                "a pause",
                f"silence for {self._setup.pause:g} s, then a legal move for the same position",
                self._pause,
                "",
            ),
            (
                "a whole game by the script",
                f"every request answered in {soft} by a legal move, and the process ends itself after the result",
                self._whole_game,
                "",
            ),
        ):
            await self._step(title, expected, act, beyond=beyond)
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
        self,
        title: str,
        expected: str,
        act: Callable[[], Awaitable[str]],
        *,
        is_basic: bool = False,
        beyond: str = "",
    ) -> None:
        """Try one step; `beyond` says why the contest does not demand it, and is empty if it does."""
        status, came, stderr, remark = Status.NOT_TRIED, "", "", ""
        if not self._is_abandoned:
            try:
                came, status = await act(), Status.PASSED
            except SurpriseError as surprise:
                came, stderr = " ".join(str(surprise).split()), self._stderr()
                status, remark = (Status.WARNING, beyond) if beyond else (Status.FAILED, "")
                self._is_abandoned = is_basic
        self._add(title, expected, status, came, stderr, remark)

    def _add(
        self, title: str, expected: str, status: Status, came: str = "", stderr: str = "", remark: str = ""
    ) -> None:
        result = StepResult(len(self.results) + 1, title, expected, status, came, stderr, remark)
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
            try:
                answers.append(await stage.ask(self._setup.hard_timeout))
            except GameOver:
                raise SurpriseError("the opponent's first move ended the game before a move was asked for") from None
            return f"an answer after {answers[0].seconds:.3f} s"

        async def judge_time(_stage: Stage) -> str:
            return self._in_time(answers[0])

        async def read(_stage: Stage) -> str:
            return str(_move_data(answers[0]).move)

        async def play(stage: Stage) -> str:
            move = _move_data(answers[0]).move
            with suppress(GameOver):  # a legal move all the same
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
        """A few moves as second player, fewer if the game is over sooner; the packets are treated somehow."""
        async with self._stage(seat=1) as stage:
            await self._join(stage)
            with suppress(GameOver):
                for _ in range(_MOVES):
                    await self._move(stage, **how)
            what = f"{count_text(stage.answers, 'move')}, the slowest after {stage.longest:.3f} s"
            return what if stage.state.outcome() is None else f"{what}; then the game was over"
        raise AssertionError("a stage hides no surprise")

    async def _pause(self) -> str:
        async with self._stage() as stage:
            await self._join(stage)
            try:
                await self._move(stage)
            except GameOver:
                return "the first move ended the game, which left nothing to pause"
            await stage.show()
            await stage.expect_silence(self._setup.pause)
            answers = stage.answers
            with suppress(GameOver):
                await self._move(stage)
            return "silence, and " + ("a legal move after it" if stage.answers > answers else "then the game was over")
        raise AssertionError("a stage hides no surprise")

    async def _whole_game(self) -> str:
        async with self._stage(seat=1) as stage:
            await self._join(stage)
            with suppress(GameOver):
                while True:
                    await self._move(stage)
            await stage.show()
            await stage.finish(self._result(stage, _by_rules(stage.state)))
            how = await stage.expect_exit(self._setup.patience.exit)
            return f"{count_text(stage.answers, 'move')}, the slowest after {stage.longest:.3f} s; {how}"
        raise AssertionError("a stage hides no surprise")

    async def _end(self, ending: _Ending) -> str:
        async with self._stage() as stage:
            await stage.wait_for_connection()
            await stage.take_seat()
            if not ending.has_begun:
                await stage.finish(self._result_before_start(stage))
                return await stage.expect_exit(self._setup.patience.exit)
            await stage.begin()
            with suppress(GameOver):
                await self._move(stage)
            await stage.show()
            if stage.state.outcome() is not None:
                await stage.finish(self._result(stage, _by_rules(stage.state)))
                how = await stage.expect_exit(self._setup.patience.exit)
                return f"the game was over by the rules before it could end so; {how}"
            if ending.own is Cause.RULE_VIOLATION:
                await stage.tell_violation()
            await stage.finish(self._result(stage, self._verdict(stage, ending)))
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

    def _verdict(self, stage: Stage, ending: _Ending) -> Ending:
        """What the edition's server says of such a game."""
        if ending.own is not Cause.REGULAR:
            return Ending.against(stage.seat, ending.own, f"cause {ending.own.value}", (1 - stage.seat,))
        if ending.other is not Cause.REGULAR:
            return Ending.against(1 - stage.seat, ending.other, f"cause {ending.other.value}", (stage.seat,))
        return Ending.by_command(self._edition.policy.cancel_winner, stage.state)

    def _result_before_start(self, stage: Stage) -> Result | None:
        """What the edition's server says if the opponent never comes; None: no result."""
        policy = self._edition.policy
        if not policy.sends_result_before_start:
            return None
        absent = {1 - stage.seat: "not connected"} if policy.absent_players_left else {}
        return self._result(stage, Ending.called_off(absent) if absent else Ending.cancelled(()))

    def _result(self, stage: Stage, ending: Ending) -> Result:
        dialect = self._edition.dialect
        points = ending.points(stage.state, zeroes_offenders=self._edition.policy.zeroes_offenders)
        return ending.result(dialect.score_definition, points, stage.names, dialect.player_details(stage.state))


def _by_rules(state: State) -> Ending:
    outcome = state.outcome()
    assert outcome is not None
    return Ending.by_rules(outcome)


def _move_data(answer: Answer) -> MoveData:
    if not isinstance(answer.data, MoveData):
        raise SurpriseError(answer.problem)
    return answer.data
