"""Checking whether a program is fit for the contest, step by step; each step has an expectation and an observation.

Invariants: the first six steps share one game; every other step starts the program anew. If one of the first six fails,
the following steps are not tried, unless the program can play nevertheless. A step that this machine disturbed is
repeated, and is undecided if that does not help. Every step has a result, and no process is left at the end.

A step that demands more than the official server does is a warning if it fails, and so is a step in which the program
depends on something that the official server does not do, as long as no game is lost by that; `StepResult.remark` says
why. Warnings do not make a program unfit.
"""

from __future__ import annotations

import dataclasses
import enum
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from spielleiter.common.errors import MachineError
from spielleiter.common.text import count_text, escaped
from spielleiter.contest.scripted_server import (
    EARLY_ENDINGS,
    Answer,
    Confined,
    EarlyEnding,
    GameOver,
    InconclusiveError,
    PlainJoinError,
    ScriptedServer,
    ToleratedError,
    UnexpectedBehaviourError,
    open_scripted_server,
    result_by_rules,
    result_of,
    split_into_fragments,
    with_unknown_elements,
)
from spielleiter.game.api import Seat
from spielleiter.match.plan import Entrant, MatchSetup, ProgramTimeouts, plan_games
from spielleiter.match.referee import play_game
from spielleiter.match.reports.junit import Case, render_suite
from spielleiter.match.verdict import UNCOUNTED_VERDICTS, Verdict
from spielleiter.programs.command import Command, distinct_names, name_of
from spielleiter.protocol.messages import Cause, MoveData
from spielleiter.server.editions import choose_editions

OPPONENT: Final = "builtin:random"
_MOVE_COUNT: Final = 3  # in steps that do not need a whole game
ATTEMPTS: Final = 3
"""How often a step is tried if this machine disturbs it."""

_STDERR_LINES: Final = 10  # in the result of a step


@dataclass(frozen=True, slots=True)
class CheckSetup:
    """The program to check, and the time limits in seconds.

    `pause` is how long the script pauses the game in the step about pauses. `edition` is None for the default edition
    of the game, `game_end` None for the end of a game as in that edition. `confined` is the sandbox of the program;
    None for none. With one, the steps that play a whole game on the match's server are left out. `environment` are the
    program's variables beside those that every program gets.
    """

    command: str
    game_type: str
    soft_timeout: float = 2.0
    hard_timeout: float = 10.0
    pause: float = 3.0
    timeouts: ProgramTimeouts = field(default_factory=ProgramTimeouts)
    edition: str | None = None
    game_end: str | None = None
    confined: Confined | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


class Status(enum.Enum):
    """How a step ended; the values are texts for people."""

    PASSED = "passed"
    FAILED = "failed"
    WARNING = "warning"  # failed, but not required for the contest
    UNDECIDED = "undecided"  # this machine was too busy to tell
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of one step: what was expected, what happened, and the end of the program's standard error.

    `remark` says why a warning is not a failure; it is empty for every other status. `folder` contains the files of the
    step, relative to the folder of the check; it is empty for a step that was not tried.
    """

    number: int
    title: str
    expected: str
    status: Status
    came: str = ""
    stderr: str = ""
    remark: str = ""
    folder: str = ""


def is_fit(results: Iterable[StepResult]) -> bool:
    """Return whether a program with these results is fit: nothing failed, and everything was tried and decided."""
    return all(result.status in {Status.PASSED, Status.WARNING} for result in results)


def is_undecided(results: Iterable[StepResult]) -> bool:
    """Return whether this machine was too busy to decide; never if a step has failed."""
    statuses = {result.status for result in results}
    return Status.UNDECIDED in statuses and Status.FAILED not in statuses


def render_junit(command: str, results: Sequence[StepResult], season: str) -> str:
    """The steps as a test suite in JUnit XML; its name contains `season`.

    A step that this machine was too busy for is a test with an error. A warning is a skipped test, which neither
    Jenkins nor GitLab counts as failed; its message says what happened and why that is only a warning, and its standard
    output and error contain the rest.
    """
    cases = []
    for result in results:
        title, expected = f"{result.number:02d} {result.title}", f"expected: {escaped(result.expected)}"
        match result.status:
            case Status.FAILED:
                case = Case(title, "failure", result.came, details=expected, error_output=result.stderr)
            case Status.UNDECIDED:
                message = f"this machine was too busy: {result.came}"
                case = Case(title, "error", message, result.status.value, expected, error_output=result.stderr)
            case Status.WARNING:
                message = f"warning: {result.came} ({result.remark})"
                case = Case(title, "skipped", message, output=expected, error_output=result.stderr)
            case Status.NOT_TRIED:
                case = Case(title, "skipped", "an earlier step that this one depends on was not passed")
            case _:
                case = Case(title)
        cases.append(case)
    return render_suite(f"spielleiter check {command}, {season}", cases, class_name="check")


def move_data(answer: Answer) -> MoveData:
    """Return the move in an answer. Raises UnexpectedBehaviourError if there is no complete one."""
    if not isinstance(answer.data, MoveData):
        raise UnexpectedBehaviourError(answer.problem)
    if answer.data.problem is not None:
        raise UnexpectedBehaviourError(f"{answer.data.move}: {answer.data.problem}")
    return answer.data


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The outcome of one attempt at a step.

    `is_final` means that the program cannot play any more; `remark` says why a warning is not a failure.
    """

    status: Status
    came: str = ""
    stderr: str = ""
    is_final: bool = False
    remark: str = ""


class ProgramCheck:
    """Tries the steps for one program in order, and collects their results; all times are in seconds."""

    def __init__(
        self, setup: CheckSetup, folder: Path, on_result: Callable[[StepResult], None] = lambda _: None
    ) -> None:
        self.results: list[StepResult] = []
        self._setup = setup
        self._check_folder = folder
        self._on_result = on_result
        self._command = Command.parse(setup.command)
        editions = {} if setup.edition is None else {setup.game_type: setup.edition}
        options = {} if setup.game_end is None else {"gameEnd": setup.game_end}
        self.edition = choose_editions(editions, options)[setup.game_type]
        self._run_id = secrets.token_hex(8)
        self._label = ""
        """The folder of this attempt, which each one has for itself."""
        self._folder = folder
        """The folder for the files of the current step."""
        self._is_abandoned = False
        """Whether the program cannot play at all."""
        self._answer: Answer | None = None
        """The one of the first game."""
        self._remark = ""
        """Why a program that ends only at the end of its stream is tolerated; empty until one has done so."""

    async def run(self) -> None:
        """Try all steps."""
        setup, soft = self._setup, f"{self._setup.soft_timeout:g} s"
        for attempt in range(1, ATTEMPTS + 1):
            if await self._play_first_game(soft, attempt):
                break
        await self._step("fragmented packets", "legal moves in time, however the packets are cut up", self.fragmented)
        await self._step("coalesced packets", "legal moves in time when several packets come at once", self.coalesced)
        await self._step(
            "unknown elements",
            "legal moves in time, unknown elements and attributes ignored",
            self.unknown,
            not_required="the official server sends no unknown elements, so the contest does not demand this",
        )
        await self._step(
            "a pause", f"silence for {setup.pause:g} s, then a legal move for the same position", self.pause
        )
        await self._step(
            "a whole game by the script",
            f"every request answered in {soft} by a legal move, and the process ends itself after the result",
            self.whole_game,
        )
        for ending in EARLY_ENDINGS:
            await self._step(
                f"the end: {ending.text}",
                f"the process ends itself within {setup.timeouts.exit:g} s, not by a signal",
                partial(self.early_end, ending),
            )
        for game, side in ((1, "first"), (2, "second")) if setup.confined is None else ():
            await self._step(
                f"a whole game against random as {side} player",
                "played to its end without a fault, and nothing left behind",
                partial(self.real_game, game),
            )

    async def _step(
        self, title: str, expected: str, act: Callable[[], Awaitable[str]], *, not_required: str = ""
    ) -> None:
        """Try a step that starts the program anew; repeat it if this machine disturbs it.

        `not_required` says why the contest does not require it, and is empty if it does.
        """
        done = _Attempt(Status.NOT_TRIED)
        for attempt in range(1, ATTEMPTS + 1) if not self._is_abandoned else ():
            self._begin(len(self.results) + 1, attempt)
            done = await self._try(act)
            if done.status is not Status.UNDECIDED:
                break
        if done.status is Status.FAILED and not_required:
            done = dataclasses.replace(done, status=Status.WARNING, remark=not_required)
        self._add(title, expected, done)

    async def _play_first_game(self, soft: str, attempt: int) -> bool:
        """Try the first six steps once, which share a game; return whether they were decided.

        Steps that passed in an earlier attempt keep their results.
        """
        hard, start = f"{self._setup.hard_timeout:g} s", f"{self._setup.timeouts.start:g} s"
        parts: tuple[tuple[str, str, Callable[[ScriptedServer], Awaitable[str]]], ...] = (
            (
                "starts",
                f"the process starts and connects in {start}, to the host and port it was given (-h, -p)",
                self.start,
            ),
            (
                "takes its seat",
                "<protocol> and joinPrepared with the reservation code that it was given",
                self.take_seat,
            ),
            ("answers a request", f"an answer within {hard}", self.ask),
            ("is in time", f"the answer within {soft}", self.judge_time),
            ("can be understood", "a move that can be read", self.parse),
            ("keeps the rules", "a legal move", self.play),
        )
        self._begin(1, attempt)
        try:
            async with self.scripted_server() as scripted_server:
                for number, (*_, act) in enumerate(parts, 1):
                    done = await self._try(partial(act, scripted_server))
                    if done.status is Status.UNDECIDED and attempt < ATTEMPTS:
                        return False
                    if number > len(self.results) or done.is_final:
                        # a step may fail although it passed in an earlier attempt: then the next one is to blame
                        self._add(*parts[len(self.results)][:2], done)
                    if done.is_final:
                        self._is_abandoned = True
                        break
        except UnexpectedBehaviourError as error:  # the process could not even be started, or this machine failed
            is_undecided = isinstance(error, InconclusiveError)
            if is_undecided and attempt < ATTEMPTS:
                return False
            if len(self.results) < len(parts):
                self._is_abandoned = True
                status = Status.UNDECIDED if is_undecided else Status.FAILED
                self._add(*parts[len(self.results)][:2], _Attempt(status, str(error)))
        for title, expected, _ in parts[len(self.results) :]:
            self._add(title, expected, _Attempt(Status.NOT_TRIED))
        return True

    def _begin(self, step: int, attempt: int) -> None:
        self._label = f"step{step:02d}" + (f"-attempt{attempt}" if attempt > 1 else "")
        self._folder = self._check_folder / self._label

    async def _try(self, act: Callable[[], Awaitable[str]]) -> _Attempt:
        try:
            return _Attempt(Status.PASSED, await act())
        except ToleratedError as error:
            return _Attempt(Status.WARNING, str(error), self._stderr(), remark=error.remark)
        except UnexpectedBehaviourError as error:
            status = Status.UNDECIDED if isinstance(error, InconclusiveError) else Status.FAILED
            is_final = not isinstance(error, PlainJoinError)
            return _Attempt(status, " ".join(str(error).split()), self._stderr(), is_final)

    def _add(self, title: str, expected: str, done: _Attempt) -> None:
        folder = ""
        if done.status is not Status.NOT_TRIED:
            folder = self._folder.relative_to(self._check_folder).as_posix()
        number = len(self.results) + 1
        result = StepResult(number, title, expected, done.status, done.came, done.stderr, done.remark, folder)
        self.results.append(result)
        self._on_result(result)

    def _stderr(self) -> str:
        """Return the last lines that the program wrote to standard error."""
        files = [self._folder / name for name in ("stderr.log", "program1.stderr.log")]
        lines = [line for file in files if file.exists() for line in file.read_text("utf-8", "replace").splitlines()]
        return "\n".join(lines[-_STDERR_LINES:])

    def scripted_server(self, seat: Seat = 0) -> AbstractAsyncContextManager[ScriptedServer]:
        """Start the program with a scripted server to connect to."""
        return open_scripted_server(
            self.edition,
            self._command,
            seat,
            self._folder,
            f"{self._run_id}/{self._label}",
            self._setup.timeouts.start,
            self._setup.confined,
            self._setup.environment,
        )

    # -- the steps of the first game, in this order

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
            self._answer = await scripted_server.ask(self._setup.hard_timeout, limit=self._setup.soft_timeout)
        except GameOver:
            raise UnexpectedBehaviourError(
                "the opponent's first move ended the game before a move was asked for"
            ) from None
        return f"an answer after {self._answer.seconds:.3f} s"

    async def judge_time(self, _scripted_server: ScriptedServer) -> str:
        answer = self._received_answer
        answer.require_within(self._setup.soft_timeout)
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

    # -- the other steps

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

    async def pause(self) -> str:
        """Have the program make a move, pause, and have it make another move."""
        async with self.scripted_server() as scripted_server:
            await self._join(scripted_server)
            try:
                await self._make_move(scripted_server)
            except GameOver:
                return "the first move ended the game, which left nothing to pause"
            await scripted_server.send_position()
            await scripted_server.expect_silence(self._setup.pause)
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
            await scripted_server.finish(result_by_rules(self.edition, scripted_server))
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
                await scripted_server.finish(result_of(self.edition, scripted_server, ending))
                return await self._expect_exit(scripted_server)
            await scripted_server.begin()
            with suppress(GameOver):
                await self._make_move(scripted_server)
            await scripted_server.send_position()
            if scripted_server.state.outcome() is not None:
                await scripted_server.finish(result_by_rules(self.edition, scripted_server))
                how = await self._expect_exit(scripted_server)
                return f"the game was over by the rules before it could end so; {how}"
            result = result_of(self.edition, scripted_server, ending)
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
            entrants=(Entrant(own, self._command.text, environment=self._setup.environment), Entrant(other, OPPONENT)),
            game_type=self.edition.game_type,
            games=2,
            seed=1,
            run_id=self._run_id,
            server_options={
                "soft_timeout": self._setup.soft_timeout,
                "hard_timeout": self._setup.hard_timeout,
                **({} if self._setup.game_end is None else {"game_end": self._setup.game_end}),
            },
            timeouts=self._setup.timeouts,
            edition=self.edition.name,
        )
        planned = plan_games(setup.games, setup.seed)[game - 1]
        try:
            record = await play_game(setup, planned, self._folder)
        except MachineError as error:
            raise InconclusiveError(str(error)) from None
        self._folder = self._folder / record.folder
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

    # -- parts of steps

    async def _expect_exit(self, scripted_server: ScriptedServer) -> str:
        try:
            return await scripted_server.expect_exit(self._setup.timeouts.exit)
        except ToleratedError as error:
            self._remark = error.remark
            raise

    async def _join(self, scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        await scripted_server.take_seat()
        await scripted_server.begin()

    async def _make_move(self, scripted_server: ScriptedServer, **options: Any) -> None:
        answer = await scripted_server.ask(self._setup.hard_timeout, limit=self._setup.soft_timeout, **options)
        data = move_data(answer)
        answer.require_within(self._setup.soft_timeout)
        scripted_server.play(data.move)


async def check_program(
    setup: CheckSetup, folder: Path, on_result: Callable[[StepResult], None] = lambda _: None
) -> tuple[StepResult, ...]:
    """Try every step and return the results; `on_result` is called with each result as soon as it is known.

    The program's outputs and the bytes on the wire are kept below `folder`, in a folder for each step. Raises
    MatchError if the check cannot be carried out.
    """
    check = ProgramCheck(setup, folder, on_result)
    await check.run()
    return tuple(check.results)
