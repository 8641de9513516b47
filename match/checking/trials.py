"""What the steps of a check do with a program.

Invariants: each trial starts the program anew and leaves nothing of it. A trial gives what came, in words, or raises
SurpriseError for what the program did wrong and SpoiltError for what this machine spoilt.
"""

from __future__ import annotations

import secrets
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, Final

from spielleiter.game.api import Seat
from spielleiter.match.checking.early_endings import EarlyEnd, result_by_rules, result_of
from spielleiter.match.checking.packet_variants import in_fragments, with_unknown_elements
from spielleiter.match.checking.scripted_server import Answer, GameOver, ScriptedServer, open_scripted_server
from spielleiter.match.checking.surprise import SpoiltError, SurpriseError
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
        patience: ProgramTimeouts,
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

    def scripted_server(self, seat: Seat = 0) -> AbstractAsyncContextManager[ScriptedServer]:
        """The program before a scripted server."""
        self.folder.mkdir(parents=True, exist_ok=True)
        mark = f"{self._run_id}/{self._label}"
        return open_scripted_server(self._edition, self._command, seat, self.folder, mark, self.patience.start)

    # -- trials -------------------------------------------------------------------------------------------------------

    async def fragmented(self) -> str:
        return await self._moves(cut=in_fragments)

    async def coalesced(self) -> str:
        return await self._moves(is_coalesced=True)

    async def unknown(self) -> str:
        return await self._moves(spoil=with_unknown_elements)

    async def _moves(self, **how: Any) -> str:
        """A few moves as second player, fewer if the game is over sooner; the packets are treated somehow."""
        async with self.scripted_server(seat=1) as scripted_server:
            await self._join(scripted_server)
            with suppress(GameOver):
                for _ in range(_MOVES):
                    await self._move(scripted_server, **how)
            what = f"{count_text(scripted_server.answers, 'move')}, the slowest after {scripted_server.longest:.3f} s"
            return what if scripted_server.state.outcome() is None else f"{what}; then the game was over"
        raise AssertionError("a scripted server suppresses no exception")

    async def pause(self, seconds: float) -> str:
        """A move, a pause of so many seconds, and another move."""
        async with self.scripted_server() as scripted_server:
            await self._join(scripted_server)
            try:
                await self._move(scripted_server)
            except GameOver:
                return "the first move ended the game, which left nothing to pause"
            await scripted_server.show()
            await scripted_server.expect_silence(seconds)
            answers = scripted_server.answers
            with suppress(GameOver):
                await self._move(scripted_server)
            return "silence, and " + (
                "a legal move after it" if scripted_server.answers > answers else "then the game was over"
            )
        raise AssertionError("a scripted server suppresses no exception")

    async def whole_game(self) -> str:
        """A game to its end against random moves."""
        async with self.scripted_server(seat=1) as scripted_server:
            await self._join(scripted_server)
            with suppress(GameOver):
                while True:
                    await self._move(scripted_server)
            await scripted_server.show()
            await scripted_server.finish(result_by_rules(self._edition, scripted_server))
            how = await scripted_server.expect_exit(self.patience.exit)
            moves = count_text(scripted_server.answers, "move")
            return f"{moves}, the slowest after {scripted_server.longest:.3f} s; {how}"
        raise AssertionError("a scripted server suppresses no exception")

    async def early_end(self, end: EarlyEnd) -> str:
        """A game that ends so, after one move if it has begun."""
        async with self.scripted_server() as scripted_server:
            await scripted_server.wait_for_connection()
            await scripted_server.take_seat()
            if not end.has_begun:
                await scripted_server.finish(result_of(self._edition, scripted_server, end))
                return await scripted_server.expect_exit(self.patience.exit)
            await scripted_server.begin()
            with suppress(GameOver):
                await self._move(scripted_server)
            await scripted_server.show()
            if scripted_server.state.outcome() is not None:
                await scripted_server.finish(result_by_rules(self._edition, scripted_server))
                how = await scripted_server.expect_exit(self.patience.exit)
                return f"the game was over by the rules before it could end so; {how}"
            if end.own is Cause.RULE_VIOLATION:
                await scripted_server.tell_violation()
            await scripted_server.finish(result_of(self._edition, scripted_server, end))
            return await scripted_server.expect_exit(self.patience.exit)
        raise AssertionError("a scripted server suppresses no exception")

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
            timeouts=self.patience,
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

    async def _join(self, scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        await scripted_server.take_seat()
        await scripted_server.begin()

    async def _move(self, scripted_server: ScriptedServer, **how: Any) -> None:
        answer = await scripted_server.ask(self.hard_timeout, limit=self.soft_timeout, **how)
        data = move_data(answer)
        answer.require_within(self.soft_timeout)
        scripted_server.play(data.move)


class FirstGame:
    """The first game of a check, whose parts are steps of their own: to be called in this order."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self._answer: Answer | None = None

    async def start(self, scripted_server: ScriptedServer) -> str:
        await scripted_server.wait_for_connection()
        return "connected"

    async def take_seat(self, scripted_server: ScriptedServer) -> str:
        """Raises LooseSeatError for a seat that was taken by a plain join; the game can go on then."""
        how = await scripted_server.take_seat()
        await scripted_server.begin()
        if how != "joinPrepared":
            raise LooseSeatError(
                f"{how} came instead of joinPrepared: it takes any free seat and not the one whose code it was given "
                "by -r, so that it would not get its seat in the contest"
            )
        return how

    async def ask(self, scripted_server: ScriptedServer) -> str:
        try:
            self._answer = await scripted_server.ask(self._trials.hard_timeout, limit=self._trials.soft_timeout)
        except GameOver:
            raise SurpriseError("the opponent's first move ended the game before a move was asked for") from None
        return f"an answer after {self._answer.seconds:.3f} s"

    async def judge_time(self, _scripted_server: ScriptedServer) -> str:
        answer = self._given
        answer.require_within(self._trials.soft_timeout)
        return f"{answer.seconds:.3f} s"

    async def read(self, _scripted_server: ScriptedServer) -> str:
        return str(move_data(self._given).move)

    async def play(self, scripted_server: ScriptedServer) -> str:
        move = move_data(self._given).move
        with suppress(GameOver):  # a legal move all the same
            scripted_server.play(move)
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
