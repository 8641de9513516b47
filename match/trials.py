"""What the steps of a check do with a program.

Invariants: each trial starts the program anew and leaves nothing of it. A trial gives what came, in words, or raises
SurpriseError for what the program did wrong and SpoiltError for what this machine spoilt.
"""

from __future__ import annotations

import secrets
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, Final

from game.api import Seat
from match.endings import EarlyEnd, result_by_rules, result_of
from match.names import distinct_names, name_of
from match.packets import in_fragments, with_unknown_elements
from match.plan import plan_games
from match.program import Command
from match.records import UNCOUNTED_VERDICTS, Verdict
from match.referee import play_game
from match.setup import Entrant, MatchSetup, Patience
from match.stage import Answer, GameOver, Stage, open_stage
from match.surprise import SpoiltError, SurpriseError
from protocol.messages import Cause, MoveData
from server.counting import count_text
from server.policy import Edition

OPPONENT: Final = "builtin:random"
_MOVES: Final = 3  # in steps that need no whole game


class LooseSeatError(SurpriseError):
    """The program has a seat, but did not ask for the one that it was given a reservation for."""


class Trials:
    """The trials of one program; all times are seconds."""

    def __init__(
        self,
        edition: Edition,
        command: Command,
        folder: Path,
        *,
        soft_timeout: float,
        hard_timeout: float,
        patience: Patience,
    ) -> None:
        self.folder = folder
        """Where what is tried now keeps its files."""
        self.soft_timeout = soft_timeout
        self.hard_timeout = hard_timeout
        self.patience = patience
        self._edition = edition
        self._command = command
        self._parent = folder
        self._run_id = secrets.token_hex(8)
        self._label = ""

    def begin(self, step: int, attempt: int) -> None:
        """What follows is for this step; each attempt has a folder of its own."""
        self._label = f"step{step:02d}" + (f"-attempt{attempt}" if attempt > 1 else "")
        self.folder = self._parent / self._label

    @property
    def kept_in(self) -> str:
        """`folder`, relative to that of all trials."""
        return self.folder.relative_to(self._parent).as_posix()

    def stage(self, seat: Seat = 0) -> AbstractAsyncContextManager[Stage]:
        """The program before a scripted server."""
        self.folder.mkdir(parents=True, exist_ok=True)
        mark = f"{self._run_id}/{self._label}"
        return open_stage(self._edition, self._command, seat, self.folder, mark, self.patience.start)

    # -- trials -------------------------------------------------------------------------------------------------------

    async def fragmented(self) -> str:
        return await self._moves(cut=in_fragments)

    async def coalesced(self) -> str:
        return await self._moves(is_coalesced=True)

    async def unknown(self) -> str:
        return await self._moves(spoil=with_unknown_elements)

    async def _moves(self, **how: Any) -> str:
        """A few moves as second player, fewer if the game is over sooner; the packets are treated somehow."""
        async with self.stage(seat=1) as stage:
            await self._join(stage)
            with suppress(GameOver):
                for _ in range(_MOVES):
                    await self._move(stage, **how)
            what = f"{count_text(stage.answers, 'move')}, the slowest after {stage.longest:.3f} s"
            return what if stage.state.outcome() is None else f"{what}; then the game was over"
        raise AssertionError("a stage hides no surprise")

    async def pause(self, seconds: float) -> str:
        """A move, a pause of so many seconds, and another move."""
        async with self.stage() as stage:
            await self._join(stage)
            try:
                await self._move(stage)
            except GameOver:
                return "the first move ended the game, which left nothing to pause"
            await stage.show()
            await stage.expect_silence(seconds)
            answers = stage.answers
            with suppress(GameOver):
                await self._move(stage)
            return "silence, and " + ("a legal move after it" if stage.answers > answers else "then the game was over")
        raise AssertionError("a stage hides no surprise")

    async def whole_game(self) -> str:
        """A game to its end against random moves."""
        async with self.stage(seat=1) as stage:
            await self._join(stage)
            with suppress(GameOver):
                while True:
                    await self._move(stage)
            await stage.show()
            await stage.finish(result_by_rules(self._edition, stage))
            how = await stage.expect_exit(self.patience.exit)
            return f"{count_text(stage.answers, 'move')}, the slowest after {stage.longest:.3f} s; {how}"
        raise AssertionError("a stage hides no surprise")

    async def early_end(self, end: EarlyEnd) -> str:
        """A game that ends so, after one move if it has begun."""
        async with self.stage() as stage:
            await stage.wait_for_connection()
            await stage.take_seat()
            if not end.has_begun:
                await stage.finish(result_of(self._edition, stage, end))
                return await stage.expect_exit(self.patience.exit)
            await stage.begin()
            with suppress(GameOver):
                await self._move(stage)
            await stage.show()
            if stage.state.outcome() is not None:
                await stage.finish(result_by_rules(self._edition, stage))
                how = await stage.expect_exit(self.patience.exit)
                return f"the game was over by the rules before it could end so; {how}"
            if end.own is Cause.RULE_VIOLATION:
                await stage.tell_violation()
            await stage.finish(result_of(self._edition, stage, end))
            return await stage.expect_exit(self.patience.exit)
        raise AssertionError("a stage hides no surprise")

    async def real_game(self, game: int) -> str:
        """A game as in a match: as first player if `game` is 1, as second if it is 2."""
        own, other = distinct_names(name_of(self._command), "random")
        setup = MatchSetup(
            entrants=(Entrant(own, self._command.text), Entrant(other, OPPONENT)),
            game_type=self._edition.game_type,
            games=2,
            seed=1,
            run_id=self._run_id,
            server_options={"soft_timeout": self.soft_timeout, "hard_timeout": self.hard_timeout},
            patience=self.patience,
            edition=self._edition.name,
        )
        planned = plan_games(setup.games, setup.seed)[game - 1]
        record = await play_game(setup, planned, self.folder)
        self.folder = self.folder / record.folder
        points = ":".join(str(point) for point in record.points)
        if record.verdict in UNCOUNTED_VERDICTS:
            raise SpoiltError(f"{record.verdict}: {record.reason}")
        if record.verdict != Verdict.REGULAR:
            raise SurpriseError(f"{record.verdict}: {record.reason}")
        if record.reason:
            raise SurpriseError(record.reason)
        slowest = max(record.think_times[0], default=0.0)
        return f"{points} after {count_text(record.plies, 'move')}, the slowest after {slowest:.3f} s"

    # -- what they share ----------------------------------------------------------------------------------------------

    async def _join(self, stage: Stage) -> None:
        await stage.wait_for_connection()
        await stage.take_seat()
        await stage.begin()

    async def _move(self, stage: Stage, **how: Any) -> None:
        answer = await stage.ask(self.hard_timeout, limit=self.soft_timeout, **how)
        data = move_data(answer)
        answer.require_within(self.soft_timeout)
        stage.play(data.move)


class FirstGame:
    """The first game of a check, whose parts are steps of their own: to be called in this order."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self._answer: Answer | None = None

    async def start(self, stage: Stage) -> str:
        await stage.wait_for_connection()
        return "connected"

    async def take_seat(self, stage: Stage) -> str:
        """Raises LooseSeatError for a seat that was taken by a plain join; the game can go on then."""
        how = await stage.take_seat()
        await stage.begin()
        if how != "joinPrepared":
            raise LooseSeatError(
                f"{how} came instead of joinPrepared: it takes any free seat and not the one whose code it was given "
                "by -r, so that it would not get its seat in the contest"
            )
        return how

    async def ask(self, stage: Stage) -> str:
        try:
            self._answer = await stage.ask(self._trials.hard_timeout, limit=self._trials.soft_timeout)
        except GameOver:
            raise SurpriseError("the opponent's first move ended the game before a move was asked for") from None
        return f"an answer after {self._answer.seconds:.3f} s"

    async def judge_time(self, _stage: Stage) -> str:
        answer = self._given
        answer.require_within(self._trials.soft_timeout)
        return f"{answer.seconds:.3f} s"

    async def read(self, _stage: Stage) -> str:
        return str(move_data(self._given).move)

    async def play(self, stage: Stage) -> str:
        move = move_data(self._given).move
        with suppress(GameOver):  # a legal move all the same
            stage.play(move)
        return str(move)

    @property
    def _given(self) -> Answer:
        assert self._answer is not None
        return self._answer


def move_data(answer: Answer) -> MoveData:
    """The move that came. Raises SurpriseError if none can be read."""
    if not isinstance(answer.data, MoveData):
        raise SurpriseError(answer.problem)
    return answer.data
