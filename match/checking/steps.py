"""The steps of a check: what each of them does with the program.

Invariants: each step of `CheckSteps` starts the program anew and leaves no process behind. A step returns a description
of what happened. It raises UnexpectedBehaviourError if the program did something wrong, and InconclusiveError if this
machine was too busy.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, Final

from spielleiter.game.api import Seat
from spielleiter.match.checking.answer import Answer
from spielleiter.match.checking.early_endings import EarlyEnding, result_by_rules, result_of
from spielleiter.match.checking.errors import (
    InconclusiveError,
    PlainJoinError,
    ToleratedError,
    UnexpectedBehaviourError,
)
from spielleiter.match.checking.packet_variants import split_into_fragments, with_unknown_elements
from spielleiter.match.checking.scripted_server import GameOver, ScriptedServer
from spielleiter.match.checking.scripted_start import Confined, open_scripted_server
from spielleiter.match.errors import MachineError
from spielleiter.match.games.referee import play_game
from spielleiter.match.plan import plan_games
from spielleiter.match.programs.program import Command
from spielleiter.match.programs.program_names import distinct_names, name_of
from spielleiter.match.records.game_record import UNCOUNTED_VERDICTS, Verdict
from spielleiter.match.setup import Entrant, MatchSetup, ProgramTimeouts
from spielleiter.protocol.messages import Cause, MoveData
from spielleiter.server.core.policy import Edition
from spielleiter.server.text.counting import count_text

OPPONENT: Final = "builtin:random"
_MOVE_COUNT: Final = 3  # in steps that do not need a whole game


class CheckSteps:
    """The steps for one program; all times are in seconds."""

    def __init__(
        self,
        edition: Edition,
        command: Command,
        folder: Path,
        *,
        soft_timeout: float,
        hard_timeout: float,
        patience: ProgramTimeouts,
        game_end: str | None = None,
        confined: Confined | None = None,
        environment: Mapping[str, str],
    ) -> None:
        self.folder = folder
        """The folder for the files of the current step."""
        self.soft_timeout = soft_timeout
        self.hard_timeout = hard_timeout
        self.patience = patience
        self._edition = edition
        self._game_end = game_end
        self._command = command
        self._confined = confined
        self._environment = environment
        self._check_folder = folder
        self._run_id = secrets.token_hex(8)
        self._label = ""
        self._remark = ""
        """Why a program that ends only at the end of its stream is tolerated; empty until one has done so."""

    def begin(self, step: int, attempt: int) -> None:
        """Start an attempt at a step: it gets a folder of its own."""
        self._label = f"step{step:02d}" + (f"-attempt{attempt}" if attempt > 1 else "")
        self.folder = self._check_folder / self._label

    @property
    def relative_folder(self) -> str:
        """`folder`, relative to the folder of the check."""
        return self.folder.relative_to(self._check_folder).as_posix()

    def scripted_server(self, seat: Seat = 0) -> AbstractAsyncContextManager[ScriptedServer]:
        """Start the program with a scripted server to connect to."""
        tag = f"{self._run_id}/{self._label}"
        return open_scripted_server(
            self._edition,
            self._command,
            seat,
            self.folder,
            tag,
            self.patience.start,
            self._confined,
            self._environment,
        )

    # -- steps --------------------------------------------------------------------------------------------------------

    async def fragmented(self) -> str:
        """Send packets in pieces."""
        return await self._make_moves(split=split_into_fragments)

    async def coalesced(self) -> str:
        """Send several packets at once."""
        return await self._make_moves(is_coalesced=True)

    async def unknown(self) -> str:
        """Send positions with unknown elements and attributes."""
        return await self._make_moves(change=with_unknown_elements)

    async def _make_moves(self, **options: Any) -> str:
        """Have the program make a few moves as second player; fewer if the game ends before that.

        `options` are those of `ScriptedServer.ask`.
        """
        async with self.scripted_server(seat=1) as scripted_server:
            await self._join(scripted_server)
            with suppress(GameOver):
                for _ in range(_MOVE_COUNT):
                    await self._make_move(scripted_server, **options)
            moves = f"{count_text(scripted_server.answers, 'move')}, the slowest after {scripted_server.longest:.3f} s"
            return moves if scripted_server.state.outcome() is None else f"{moves}; then the game was over"
        raise AssertionError("a scripted server suppresses no exception")

    async def pause(self, seconds: float) -> str:
        """Have the program make a move, pause for `seconds`, and have it make another move."""
        async with self.scripted_server() as scripted_server:
            await self._join(scripted_server)
            try:
                await self._make_move(scripted_server)
            except GameOver:
                return "the first move ended the game, which left nothing to pause"
            await scripted_server.send_position()
            await scripted_server.expect_silence(seconds)
            answers = scripted_server.answers
            with suppress(GameOver):
                await self._make_move(scripted_server)
            return "silence, and " + (
                "a legal move after it" if scripted_server.answers > answers else "then the game was over"
            )
        raise AssertionError("a scripted server suppresses no exception")

    async def whole_game(self) -> str:
        """Play a game to its end against random moves."""
        async with self.scripted_server(seat=1) as scripted_server:
            await self._join(scripted_server)
            with suppress(GameOver):
                while True:
                    await self._make_move(scripted_server)
            await scripted_server.send_position()
            await scripted_server.finish(result_by_rules(self._edition, scripted_server))
            how = await self._expect_exit(scripted_server)
            moves = count_text(scripted_server.answers, "move")
            return f"{moves}, the slowest after {scripted_server.longest:.3f} s; {how}"
        raise AssertionError("a scripted server suppresses no exception")

    async def early_end(self, ending: EarlyEnding) -> str:
        """Play a game that ends early, after one move if it has begun at all."""
        async with self.scripted_server() as scripted_server:
            await scripted_server.wait_for_connection()
            await scripted_server.take_seat()
            if not ending.has_begun:
                await scripted_server.finish(result_of(self._edition, scripted_server, ending))
                return await self._expect_exit(scripted_server)
            await scripted_server.begin()
            with suppress(GameOver):
                await self._make_move(scripted_server)
            await scripted_server.send_position()
            if scripted_server.state.outcome() is not None:
                await scripted_server.finish(result_by_rules(self._edition, scripted_server))
                how = await self._expect_exit(scripted_server)
                return f"the game was over by the rules before it could end so; {how}"
            result = result_of(self._edition, scripted_server, ending)
            if ending.own is Cause.RULE_VIOLATION:
                await scripted_server.finish_violation(result)
            else:
                await scripted_server.finish(result)
            return await self._expect_exit(scripted_server)
        raise AssertionError("a scripted server suppresses no exception")

    async def real_game(self, game: int) -> str:
        """Play a game as in a match: as first player if `game` is 1, as second player if it is 2."""
        own, other = distinct_names(name_of(self._command), "random")
        setup = MatchSetup(
            entrants=(Entrant(own, self._command.text, environment=self._environment), Entrant(other, OPPONENT)),
            game_type=self._edition.game_type,
            games=2,
            seed=1,
            run_id=self._run_id,
            server_options={
                "soft_timeout": self.soft_timeout,
                "hard_timeout": self.hard_timeout,
                **({} if self._game_end is None else {"game_end": self._game_end}),
            },
            timeouts=self.patience,
            edition=self._edition.name,
        )
        planned = plan_games(setup.games, setup.seed)[game - 1]
        try:
            record = await play_game(setup, planned, self.folder)
        except MachineError as error:
            raise InconclusiveError(str(error)) from None
        self.folder = self.folder / record.folder
        points = ":".join(str(point) for point in record.points)
        if record.verdict in UNCOUNTED_VERDICTS:
            raise InconclusiveError(f"{record.verdict}: {record.reason}")
        if record.verdict == Verdict.NEVER_ENDS and self._remark:
            raise ToleratedError(f"{record.verdict}: {record.reason}", self._remark)
        if record.verdict != Verdict.REGULAR:
            raise UnexpectedBehaviourError(f"{record.verdict}: {record.reason}")
        if record.reason:
            raise UnexpectedBehaviourError(record.reason)
        slowest = max(record.think_times[0], default=0.0)
        return f"{points} after {count_text(record.plies, 'move')}, the slowest after {slowest:.3f} s"

    # -- parts of steps -----------------------------------------------------------------------------------------------

    async def _expect_exit(self, scripted_server: ScriptedServer) -> str:
        try:
            return await scripted_server.expect_exit(self.patience.exit)
        except ToleratedError as error:
            self._remark = error.remark
            raise

    async def _join(self, scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        await scripted_server.take_seat()
        await scripted_server.begin()

    async def _make_move(self, scripted_server: ScriptedServer, **options: Any) -> None:
        answer = await scripted_server.ask(self.hard_timeout, limit=self.soft_timeout, **options)
        data = move_data(answer)
        answer.require_within(self.soft_timeout)
        scripted_server.play(data.move)


class FirstGameSteps:
    """The first game of a check, whose parts are steps of their own; call them in this order."""

    def __init__(self, steps: CheckSteps) -> None:
        self._steps = steps
        self._answer: Answer | None = None

    async def start(self, scripted_server: ScriptedServer) -> str:
        await scripted_server.wait_for_connection()
        return "connected"

    async def take_seat(self, scripted_server: ScriptedServer) -> str:
        """Raise PlainJoinError if the program used a plain join; the game can continue in that case."""
        how = await scripted_server.take_seat()
        await scripted_server.begin()
        if how != "joinPrepared":
            raise PlainJoinError(
                f"{how} came instead of joinPrepared: it takes any free seat instead of the one that is reserved by "
                "the code after -r, so it would not get its seat in the contest"
            )
        return how

    async def ask(self, scripted_server: ScriptedServer) -> str:
        try:
            self._answer = await scripted_server.ask(self._steps.hard_timeout, limit=self._steps.soft_timeout)
        except GameOver:
            raise UnexpectedBehaviourError(
                "the opponent's first move ended the game before a move was asked for"
            ) from None
        return f"an answer after {self._answer.seconds:.3f} s"

    async def judge_time(self, _scripted_server: ScriptedServer) -> str:
        answer = self._received_answer
        answer.require_within(self._steps.soft_timeout)
        return f"{answer.seconds:.3f} s"

    async def parse(self, _scripted_server: ScriptedServer) -> str:
        return str(move_data(self._received_answer).move)

    async def play(self, scripted_server: ScriptedServer) -> str:
        move = move_data(self._received_answer).move
        with suppress(GameOver):  # a legal move as well
            scripted_server.play(move)
        return str(move)

    @property
    def _received_answer(self) -> Answer:
        assert self._answer is not None
        return self._answer


def move_data(answer: Answer) -> MoveData:
    """Return the move in an answer. Raises UnexpectedBehaviourError if there is no complete one."""
    if not isinstance(answer.data, MoveData):
        raise UnexpectedBehaviourError(answer.problem)
    if answer.data.problem is not None:
        raise UnexpectedBehaviourError(f"{answer.data.move}: {answer.data.problem}")
    return answer.data
