"""Running one game, from creating its folder and starting both programs to its record.

Invariants: whatever the programs do, the game ends, both programs and everything that they have started are ended, and
there is a record. Exceptions are raised only for problems of this machine. A process that does not even react to
SIGKILL is given up after a time limit, and is named in the record's remarks.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import trio

from spielleiter.client.client_errors import ClientError, plain_text
from spielleiter.common.errors import (
    MachineError,
    NotStartedError,
    SandboxError,
    SetupError,
    SupervisorError,
    first_error,
    os_error_text,
)
from spielleiter.common.text import count_text
from spielleiter.match.builtin_players import BuiltinPlayer, builtin_strategy
from spielleiter.match.evidence import Evidence, ExternalRoom, open_external_room, start_name
from spielleiter.match.game_folder import GAMES, GameLogs, KeepPolicy, write_replay, write_verdict
from spielleiter.match.match_server import (
    InternalRoom,
    MatchServer,
    encode_with_checkpoints,
    limits_of,
    match_server_config,
    open_match_server,
)
from spielleiter.match.plan import MatchSetup, PlannedGame
from spielleiter.match.records import GameRecord
from spielleiter.match.verdict import (
    FAILED_AS_WELL,
    STOPPED_SUPERVISOR,
    Judgement,
    has_failed_to_start,
    judge,
)
from spielleiter.programs.command import Command, content_of
from spielleiter.programs.contest_conditions import Condition
from spielleiter.programs.environment import added_variables
from spielleiter.programs.linux_processes import ProcessInfo, Usage
from spielleiter.programs.machine_delay import AnswerMeter, SchedulingDelayMeter
from spielleiter.programs.outputs import last_words
from spielleiter.programs.persistent_programs import PersistentPrograms
from spielleiter.programs.program import Program
from spielleiter.programs.sandbox.sandbox import DISK_LIMIT, FILE_LIMIT, MEMORY_LIMIT, PROCESS_LIMIT
from spielleiter.programs.sandbox.sandbox_run import Observations, SandboxRun
from spielleiter.programs.startable import require_startable
from spielleiter.programs.temporary_folders import remove_game_folder
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import Cause
from spielleiter.server.errors import StartError

NOT_ENDED: Final = "could not be ended, not even by SIGKILL"
"""The remark about processes that survive a game."""
VERDICT: Final = "verdict.json"

LEAVING_TIMEOUT: Final = 1.0
"""Seconds in which a process must end after it has left before the game, so that its exit code is known."""
_RESULT_TIMEOUT: Final = 5.0  # seconds for a server to send the result of a cancelled game

MEBIBYTE: Final = 1024 * 1024
_MEAN: Final = "∅ "
"""How some games begin the name of a part of the score that is averaged over several games."""

_EXCEEDED: Final = {
    Condition.MEMORY.key: f"it used more than the contest's {MEMORY_LIMIT // MEBIBYTE} MiB of memory",
    Condition.PROCESSES.key: f"it had more than {PROCESS_LIMIT} processes and threads",
    Condition.DISK.key: f"it wrote more than {DISK_LIMIT // MEBIBYTE} MiB or {FILE_LIMIT:,} files, or hid them",
}
"""Why a sandbox killed a program, by the limit that it has exceeded."""


def name_of(process: ProcessInfo) -> str:
    """Return the name of a process with its id, which is 0 if the process was in a sandbox."""
    return f"{process.name} ({process.pid})" if process.pid else process.name


def memory_text(limit: int | None, program: Program | BuiltinPlayer) -> str:
    """Return which limit a program that failed has exceeded; empty if it was not limited.

    `limit` is in mebibytes.
    """
    if isinstance(program, BuiltinPlayer):
        return ""
    if program.exceeded:
        return f"it was killed because {_EXCEEDED[program.exceeded]}"
    if limit is None or not program.returncode:
        return ""
    return f"it was allowed {limit} MiB of data and had up to {program.peak_memory // MEBIBYTE} MiB in memory"


def remarks_on(program: Program | BuiltinPlayer, observed: Observations | None) -> tuple[str, ...]:
    """Return the remarks on a program; `observed` is what was seen of it in its sandbox, None if it had none."""
    remarks = []
    if isinstance(program, BuiltinPlayer) and (interruptions := program.player.interruptions):
        times = count_text(interruptions, "time")
        remarks.append(f"{times} the process that computed its move ended, and another one computed the move again")
    if isinstance(program, BuiltinPlayer) and (cut := program.player.cut_searches):
        searches = count_text(cut, "search", "searches")
        remarks.append(f"{searches} ended early on this slow or busy machine, so it played weaker than usual")
    if program.supervisor_stops:
        remarks.append(STOPPED_SUPERVISOR)
    if program.survivors:
        remarks.append(f"{NOT_ENDED}: {', '.join(map(name_of, program.survivors))}")
    return (*remarks, *(() if observed is None else observed.remarks))


def output_files(folder: Path, index: int) -> tuple[Path, Path]:
    """Return the files in the game's folder for standard output and standard error of a program."""
    return folder / f"program{index + 1}.stdout.log", folder / f"program{index + 1}.stderr.log"


async def play_game(
    setup: MatchSetup,
    planned: PlannedGame,
    folder: Path,
    cores: tuple[tuple[int, ...] | None, tuple[int, ...] | None] = (None, None),
    match_server: MatchServer | None = None,
    keep: KeepPolicy = KeepPolicy.ALL,
    persistent_programs: PersistentPrograms | None = None,
    answer_meter: AnswerMeter | None = None,
) -> GameRecord:
    """Play `planned` and return its record.

    The game's files are in a folder of its own below `folder`. `keep` says whether that folder is kept; if not, the
    record does not name it. `cores` are the processor cores of each program; None for any. `match_server` is the server
    for all games of the match; None for one that serves only this game. `persistent_programs` are the programs that
    play several games in one process; None if each program is started for this game only. `answer_meter` measures the
    answers of the first program, if the game is not played at another server. Raises MachineError.
    """
    relative = f"{GAMES}/{planned.game:04d}"
    game_folder = folder / relative
    try:
        if game_folder.exists():  # left by an interrupted run
            await trio.to_thread.run_sync(remove_game_folder, game_folder)
        if keep is KeepPolicy.ALL:
            game_folder.mkdir(parents=True)
        referee = _Referee(setup, planned, game_folder, cores, persistent_programs, answer_meter, keep)
        record = await referee.run(relative, match_server)
        if keep.keeps(record):
            game_folder.mkdir(parents=True, exist_ok=True)
            return await referee.save(record)
        referee.logs.discard()
        if persistent_programs is not None:
            persistent_programs.pause_outputs()
        if game_folder.exists():
            await trio.to_thread.run_sync(remove_game_folder, game_folder)
        return dataclasses.replace(record, folder="")
    except OSError as error:
        raise MachineError(f"{game_folder}: {error.strerror or error}") from None


class _Referee:
    def __init__(
        self,
        setup: MatchSetup,
        planned: PlannedGame,
        folder: Path,
        cores: tuple[tuple[int, ...] | None, tuple[int, ...] | None],
        persistent_programs: PersistentPrograms | None,
        answer_meter: AnswerMeter | None,
        keep: KeepPolicy,
    ) -> None:
        self._setup = setup
        self._planned = planned
        self._folder = folder
        self._persistent_programs = persistent_programs if setup.server is None else None
        """None at another server, since it is not known there which program has connected."""
        self._retained: set[int] = set()  # programs whose processes play the next game, too
        self._exits: set[int] = set()  # programs whose return code is known
        self._gone: set[int] = set()  # programs of which nothing is left, and whose last words are known
        config = match_server_config(setup)
        first, second = (limits_of(setup, config, program).soft_timeout or 0.0 for program in (0, 1))
        self._evidence = Evidence(planned.seats, setup.names, (first, second))
        self._evidence.start = planned.opening.name if planned.opening else None
        self._facts = self._evidence.facts
        self._cores = cores
        self._cpu_seconds_before = [0.0, 0.0]
        """By program: the processor time in seconds that its process had used before this game."""
        self.logs = GameLogs(folder)
        if keep is KeepPolicy.NONE:
            self.logs.discard()  # so they collect nothing
        self._has_lazy_outputs = keep is not KeepPolicy.ALL
        """Whether an output of a program becomes a file only with its first byte: mostly, the folder is not kept."""
        self._dialect: Dialect | None = None
        """The dialect of the replay; set once there is a room."""
        self._programs: list[Program | BuiltinPlayer | None] = [None, None]
        self._observations: list[Observations | None] = [None, None]
        self._match_server: MatchServer | None = None
        core_count = len(cores[0]) if cores[0] is not None else os.cpu_count() or 1
        self._meter = SchedulingDelayMeter(self._programs, (first, second), core_count)
        self._answer_meter = answer_meter
        self._room: InternalRoom | None = None
        self._evidence.on_request = self._start_request
        self._evidence.on_answer = self._note_answer
        self._evidence.seconds_waiting = self._seconds_waiting

    async def run(self, relative: str, match_server: MatchServer | None) -> GameRecord:
        started_at = datetime.now().astimezone().isoformat(timespec="milliseconds")
        started = trio.current_time()
        try:
            await self._play_at_server(match_server)
        except* (ClientError, StartError, SandboxError, SupervisorError, OSError) as group:
            error = first_error(group)
            text = os_error_text(error) if isinstance(error, OSError) else plain_text(str(error))
            self._facts.machine_problem = self._facts.machine_problem or text
        finally:
            self._evidence.detach()
        if self._persistent_programs is not None:
            await self._persistent_programs.end_game()
        for index, (program, known) in enumerate(zip(self._programs, self._facts.programs, strict=True)):
            if program is not None:
                known.leftovers = tuple(map(name_of, program.leftovers))
                known.has_stopped_supervisor = program.has_stopped_supervisor
                for text in remarks_on(program, self._observations[index]):
                    self._evidence.add_remark(index, text)
        return self._record(judge(self._facts), relative, started_at, started)

    async def _play_at_server(self, match_server: MatchServer | None) -> None:
        """Play at the server that the setup names, or at `match_server`, or at a server for this game only."""
        evidence = self._evidence
        if self._setup.server is not None:
            self._facts.sees_connections = False
            async with open_external_room(self._setup, self._planned, self.logs.wire) as room:
                self._dialect = room.dialect
                evidence.has_ended = room.has_ended
                async with trio.open_nursery() as watching:
                    watching.start_soon(evidence.follow, room.observation)
                    await self._play(room)
                    watching.cancel_scope.cancel()
        elif match_server is None:
            async with open_match_server(self._setup) as match_server:
                await self._play_at_match_server(match_server)
        else:
            await self._play_at_match_server(match_server)

    async def _play_at_match_server(self, match_server: MatchServer) -> None:
        async with match_server.open_room(self._planned, self.logs, self._evidence.handle_event) as room:
            self._room, self._match_server = room, match_server
            self._dialect = room.dialect
            self._evidence.received = room.received
            self._evidence.start = self._evidence.start or start_name(room.state)
            await self._play(room)
            for program, known in enumerate(self._facts.programs):
                if room.has_doubtful_connection[program]:
                    known.doubtful_connections = room.connections[program]
                known.was_turned_away = room.has_turned_away[program]

    # -- the course of a game ---------------------------------------------------------------------------------------

    async def _play(self, room: InternalRoom | ExternalRoom) -> None:
        evidence = self._evidence
        async with trio.open_nursery() as nursery:
            for program in (0, 1):
                own = self._programs[program] = await self._provide_program(program, room, nursery)
                if own is not None:
                    nursery.start_soon(self._follow_process, program, own)
            nursery.start_soon(self._meter.run)
            with trio.move_on_after(self._setup.timeouts.start) as start_time:
                await evidence.wait_until(self._is_start_decided)
            if start_time.cancelled_caught:  # a program may have waited for a processor instead of starting
                with trio.move_on_after(self._seconds_waiting_at_start()):
                    await evidence.wait_until(self._is_start_decided)
            self._facts.is_start_over = not self._is_start_decided()
            for program, known in enumerate(self._facts.programs):
                if not known.has_joined:
                    evidence.note_unread(program)
            if self._facts.has_begun:
                with trio.move_on_after(self._setup.timeouts.game) as game_time:
                    await evidence.wait_until(lambda: evidence.is_over)
                self._facts.is_game_over = game_time.cancelled_caught
            else:
                # the return codes of programs that have left are part of the verdict
                with trio.move_on_after(LEAVING_TIMEOUT):
                    await evidence.wait_until(
                        lambda: all(
                            self._programs[index] is None or index in self._exits or not known.has_left
                            for index, known in enumerate(self._facts.programs)
                        )
                    )
                evidence.is_cancelled = True
            if not evidence.is_over:
                await self._cancel(room)
            if isinstance(room, ExternalRoom) and self._facts.is_start_over:
                # a program that ends now that the other server has closed the room had taken its seat
                with trio.move_on_after(self._setup.timeouts.exit):
                    await evidence.wait_until(lambda: any(known.has_followed_the_end for known in self._facts.programs))
            async with trio.open_nursery() as ending:
                for index in (0, 1):
                    ending.start_soon(self._end_program, index)
            # the programs' tasks end by themselves, now that the processes have ended
            await evidence.wait_until(
                lambda: all(
                    each is None or index in self._retained or index in self._gone
                    for index, each in enumerate(self._programs)
                )
            )
            if isinstance(room, InternalRoom):
                for index, own in enumerate(self._programs):
                    run = room.ports[index].run
                    if run is not None and isinstance(own, Program):
                        self._observations[index] = await trio.to_thread.run_sync(
                            run.observe,
                            output_files(self._folder, index),
                            own.output_size,
                            None if run.sandbox.has_helper else own.peak_memory,
                        )
            nursery.cancel_scope.cancel()

    async def _cancel(self, room: InternalRoom | ExternalRoom) -> None:
        """Cancel a game that will not end by itself."""
        self._evidence.is_cancelled = True
        if isinstance(room, InternalRoom):
            if self._facts.has_begun:
                self._facts.on_turn = self._planned.seats[room.state.seat_on_turn]
            room.cancel()
            return
        with trio.move_on_after(_RESULT_TIMEOUT):
            await room.cancel()
            await self._evidence.wait_until(lambda: self._evidence.is_over or self._facts.result is not None)

    def _is_start_decided(self) -> bool:
        """Return whether the game has begun, or it is known for both programs whether they could have played it."""
        facts = self._facts
        if facts.has_begun or self._evidence.is_over:
            return True
        failed = [has_failed_to_start(facts, program) for program in (0, 1)]
        return any(failed) and all(failed[each] or facts.programs[each].has_joined for each in (0, 1))

    async def _follow_process(self, index: int, program: Program | BuiltinPlayer) -> None:
        await program.exited.wait()
        known = self._facts.programs[index]
        # a quick program ends before the request to cancel is answered
        known.has_followed_the_end = self._evidence.is_cancelled and not program.was_ended
        has_ended_by_itself = not program.was_ended and not self._evidence.is_cancelled
        if has_ended_by_itself:
            known.returncode = program.returncode
            known.memory = memory_text(self._setup.entrants[index].memory, program)
        self._exits.add(index)
        self._evidence.notify()
        await program.gone.wait()  # only then, everything that it has written is in its files
        if isinstance(program, BuiltinPlayer):
            known.last_words = program.problem if has_ended_by_itself else ""
        elif program.was_ended or (
            has_ended_by_itself and (program.returncode or not self._has_played_without_fault(index))
        ):
            known.last_words = last_words(*reversed(output_files(self._folder, index)))
        self._gone.add(index)
        self._evidence.notify()

    async def _end_program(self, index: int) -> None:
        program, known = self._programs[index], self._facts.programs[index]
        if program is None:
            return
        # a program that has not played, or did not answer any more, is ended at once
        facts, may_end_by_itself = self._facts, False
        if facts.has_begun and facts.result is not None and not (facts.is_game_over and facts.on_turn == index):
            cause = facts.result.scores[self._planned.seats.index(index)].cause
            may_end_by_itself = cause is not Cause.HARD_TIMEOUT
        if may_end_by_itself and self._is_retained(index, program):
            self._retained.add(index)
            return
        grace_period = self._setup.timeouts.exit if may_end_by_itself else 0.0
        await program.end(grace_period)
        if program.was_ended:
            known.missed_exit_timeout = grace_period or None

    def _start_request(self) -> None:
        """Note that the program on turn is asked for a move next."""
        assert self._room is not None
        if self._answer_meter is not None:
            self._answer_meter.start_request(self._programs[0])
        self._meter.start_request(self._planned.seats[self._room.state.seat_on_turn])

    def _note_answer(self, index: int, think_time: float) -> None:
        if self._answer_meter is not None and index == 0:
            self._answer_meter.end_request(self._programs[0], think_time, self._seconds_waiting(0, think_time))

    def _seconds_waiting(self, index: int, think_time: float) -> float:
        """Return for how many of the last `think_time` seconds this machine delayed a program."""
        program = self._programs[index]
        lost = 0.0 if program is None else program.seconds_lost
        return max(lost, self._meter.seconds_waiting(index, think_time))

    def _seconds_waiting_at_start(self) -> float:
        """Return for how long this machine delayed the start of the programs that have not taken their seats."""
        late = [
            program
            for program, known in zip(self._programs, self._facts.programs, strict=True)
            if isinstance(program, Program) and not known.has_joined
        ]
        limit, cores = self._setup.timeouts.start, os.cpu_count() or 1
        return max((Usage.of(each.pids).seconds_lost(Usage({}), limit, cores) for each in late), default=0.0)

    def _has_played_without_fault(self, index: int) -> bool:
        result = self._facts.result
        return result is not None and result.scores[self._planned.seats.index(index)].cause is Cause.REGULAR

    def _is_retained(self, index: int, program: Program | BuiltinPlayer) -> bool:
        """Return whether the process plays the next game, too; after a fault it is started anew."""
        if self._persistent_programs is None or isinstance(program, BuiltinPlayer):
            return False
        is_usable = not program.exited.is_set() and not program.supervisor_stops
        return is_usable and self._has_played_without_fault(index) and self._persistent_programs.retain(index)

    # -- providing the programs: new processes, processes kept from the last game, or built-in players --------------

    async def _provide_program(
        self, index: int, room: InternalRoom | ExternalRoom, nursery: trio.Nursery
    ) -> Program | BuiltinPlayer | None:
        """Return the program, which is about to take its seat in `room` or has taken it.

        Returns None if it cannot be started; the facts of the game say why. Tasks for this game run in `nursery`.
        Raises OSError.
        """
        command, seed = self._setup.entrants[index].command, self._planned.program_seed(index)
        strategy = builtin_strategy(command)
        if strategy is not None and isinstance(room, InternalRoom):
            assert self._match_server is not None
            player = self._match_server.new_player(room, index, strategy, seed)
            await nursery.start(player.run)
            return player
        host, port = room.addresses[index]
        values = {
            "host": host,
            "port": str(port),
            "reservation": room.reservations[index],
            "seed": str(seed),
            "game": self._setup.game_type,
        }
        run = room.ports[index].run if isinstance(room, InternalRoom) else None
        program = None if run is not None else await self._reuse_process(index, values, room)
        if program is None:
            try:
                program = await self._start_process(index, values, run, nursery)
            except (NotStartedError, SetupError) as error:  # without its file, a command line may not even be one
                known = self._facts.programs[index]
                known.not_started = str(error)
                known.has_lost_its_file = await trio.to_thread.run_sync(self._has_lost_its_file, index)
                return None
        if isinstance(room, InternalRoom):
            room.set_processes(index, program)
        return program

    def _has_lost_its_file(self, index: int) -> bool:
        """Return whether the file that a program was started from when the match began cannot be started any more."""
        entrant, cwd = self._setup.entrants[index], self._setup.cwd_of(index)
        try:
            if entrant.content and content_of(entrant.command, cwd) == entrant.content:
                require_startable(Command.parse(entrant.command, cwd), cwd)
                return False
        except SetupError:
            pass
        return bool(entrant.content)

    async def _start_process(
        self, index: int, values: Mapping[str, str], run: SandboxRun | None, nursery: trio.Nursery
    ) -> Program:
        """Start a new process for the program, in `run` if it has a sandbox. Raises NotStartedError."""
        entrant, cwd = self._setup.entrants[index], self._setup.cwd_of(index)
        command = Command.parse(entrant.command, cwd)
        arguments = command.arguments(values)
        if command.is_builtin and self._setup.edition is not None:
            arguments += ["--edition", self._setup.edition]

        def make(stdin: int | None) -> Program:
            program = Program(
                arguments,
                f"{self._setup.run_id}/{self._planned.game}/{index + 1}",
                *output_files(self._folder, index),
                self._cores[index],
                cwd,
                environment=added_variables(entrant.passed_variables, entrant.environment),
                is_own=command.is_builtin,
                memory=None if entrant.memory is None else entrant.memory * MEBIBYTE,
                stdin=stdin,
                confinement=run,
                has_lazy_outputs=self._has_lazy_outputs,
            )
            self._listen_to(index, program)
            return program

        if self._persistent_programs is not None and run is None:
            return await self._persistent_programs.start(index, make)
        program = make(None)
        await nursery.start(program.run)
        return program

    async def _reuse_process(
        self, index: int, values: Mapping[str, str], room: InternalRoom | ExternalRoom
    ) -> Program | None:
        """Return the program's process of the last game, if there is one and it has connected for this game."""
        if self._persistent_programs is None or not isinstance(room, InternalRoom):
            return None
        known = self._facts.programs[index]

        def prepare(program: Program) -> None:
            program.redirect_outputs(*output_files(self._folder, index))
            self._listen_to(index, program)
            self._cpu_seconds_before[index] = program.cpu_seconds_so_far
            room.set_processes(index, program)

        async def wait_until_connected(program: Program) -> bool:
            async def notify_at_exit() -> None:
                await program.exited.wait()
                self._evidence.notify()

            async with trio.open_nursery() as nursery:
                nursery.start_soon(notify_at_exit)
                await self._evidence.wait_until(lambda: known.has_connected or program.exited.is_set())
                nursery.cancel_scope.cancel()
            return known.has_connected

        program = await self._persistent_programs.reuse(index, values, prepare, wait_until_connected)
        if program is None:
            self._cpu_seconds_before[index] = 0.0
            if known.has_joined:  # just when it was given up, which is not its fault; but its seat is taken now
                self._facts.machine_problem = "a program that was kept running joined its game too late"
            known.has_connected = False
        return program

    def _listen_to(self, index: int, program: Program) -> None:
        """Tell those who watch the game what the program says about its moves."""
        thinking = None if self._room is None else self._room.thinking
        program.listen_to_errors(None if thinking is None else thinking.reader(self._planned.seats.index(index)))

    # -- what is kept -----------------------------------------------------------------------------------------------

    async def save(self, record: GameRecord) -> GameRecord:
        """Write the files of the game other than the programs' outputs, and return the record with the replay's name.

        Raises OSError.
        """
        replay = None
        if self._facts.has_begun:
            assert self._dialect is not None
            recorded = None if self._room is None else self._room.recorder.content(self._evidence.replay)
            replay = recorded or await encode_with_checkpoints(self._dialect, self._evidence.replay)

        with_outputs = [index for index, program in enumerate(self._programs) if isinstance(program, Program)]

        def write() -> GameRecord:  # in a thread, since compressing takes some milliseconds
            for index in with_outputs if self._has_lazy_outputs else ():
                for path in output_files(self._folder, index):
                    path.touch()
            named = record if replay is None else dataclasses.replace(record, replay=write_replay(self._folder, replay))
            self.logs.save()
            write_verdict(self._folder / VERDICT, named)
            return named

        return await trio.to_thread.run_sync(write)

    def _record(self, judgement: Judgement, relative: str, started_at: str, started: float) -> GameRecord:
        """Return the record of a game that began at `started_at` (wall clock), which is `started` on trio's clock."""
        planned, evidence = self._planned, self._evidence
        result = self._facts.result if self._facts.has_begun else None
        points: list[int | None] = [None, None]
        causes = ["", ""]
        figures: list[dict[str, int]] = [{}, {}]
        for seat, score in enumerate(result.scores if result else ()):
            program = planned.seats[seat]
            points[program] = score.parts[1] if len(score.parts) > 1 else None
            causes[program] = score.cause.value
            # the first part says who won
            named = zip(result.definition[1:] if result else (), score.parts[1:], strict=False)
            figures[program] = {fragment.name.removeprefix(_MEAN): value for fragment, value in named}
        reasons = [" ".join(judgement.reason.split())]
        if result is not None:  # the programs that had to be ended after a game that they had played
            reasons += [
                f"{self._setup.names[index]} had to be ended after the game"
                for index, each in enumerate(self._programs)
                if each is not None and each.was_ended and index != judgement.offender
            ]
        remarks = list(evidence.remarks)
        if judgement.also is not None:
            program, how = judgement.also
            remarks[program] = (FAILED_AS_WELL + " ".join(how.split()), *remarks[program])
        first, second = self._programs
        return GameRecord(
            game=planned.game,
            pair=planned.pair,
            game_type=self._setup.game_type,
            seed=planned.seed,
            start=evidence.start,
            seats=planned.seats,
            names=self._setup.names,
            verdict=judgement.verdict,
            offender=judgement.offender,
            reason="; ".join(each for each in reasons if each),
            winner=judgement.winner,
            is_counted=judgement.is_counted,
            points=(points[0], points[1]),
            causes=(causes[0], causes[1]),
            plies=evidence.plies,
            think_times=(_rounded(evidence.think_times[0]), _rounded(evidence.think_times[1])),
            cpu_seconds=(self._cpu_seconds(0), self._cpu_seconds(1)),
            wall_seconds=round(trio.current_time() - started, 6),
            started_at=started_at,
            folder=relative,
            replay=None,
            exit_codes=(_exit_code(first), _exit_code(second)),
            remarks=(remarks[0], remarks[1]),
            observations=(self._observations[0], self._observations[1]),
            program_starts=(_start_of(first, started), _start_of(second, started)),
            attempts=(dict(evidence.attempts[0]), dict(evidence.attempts[1])),
            figures=(figures[0], figures[1]),
            foreign_connections=evidence.foreign_connections,
        )

    def _cpu_seconds(self, index: int) -> float:
        """Return the processor time that the program's process has used in this game."""
        program = self._programs[index]
        if program is None:
            return 0.0
        return round(max(0.0, program.cpu_seconds_so_far - self._cpu_seconds_before[index]), 6)


def _exit_code(program: Program | BuiltinPlayer | None) -> int | None:
    return None if program is None or program.was_ended else program.returncode


def _start_of(program: Program | BuiltinPlayer | None, started: float) -> float | None:
    """Return the seconds from `started` to the start of a program's process; None if it has none."""
    if not isinstance(program, Program) or program.started_at is None:
        return None
    return round(program.started_at - started, 6)


def _rounded(times: Sequence[float]) -> tuple[float, ...]:
    return tuple(round(time, 6) for time in times)
