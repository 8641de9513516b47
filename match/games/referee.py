"""One game, from the folder that is made for it to the record that is kept of it.

Invariants: whatever the programs do, the game ends, both programs and all they have started are gone, and there is a
record. Only what is wrong with this machine is raised.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import trio

from spielleiter.client.errors import ClientError
from spielleiter.client.exception_groups import first_error
from spielleiter.client.refusals import plain_text
from spielleiter.match.errors import KeeperError, MachineError
from spielleiter.match.games.builtin_players import BuiltinPlayer
from spielleiter.match.games.evidence import Evidence, start_name
from spielleiter.match.games.external_server import ExternalRoom, open_external_room
from spielleiter.match.games.match_server import InternalRoom, MatchServer, limits_of, open_match_server, own_config
from spielleiter.match.games.verdict import STOPPED_KEEPER, Judgement, ProgramFacts, has_failed_to_start, judge
from spielleiter.match.plan import PlannedGame
from spielleiter.match.programs.last_words import last_words
from spielleiter.match.programs.machine_delay import WaitingMeter
from spielleiter.match.programs.program import Program
from spielleiter.match.programs.residents import Residents
from spielleiter.match.programs.starter import MEBIBYTE, Starter, output_files
from spielleiter.match.records.game_files import GameLogs, KeepPolicy, write_replay
from spielleiter.match.records.game_record import FAILED_AS_WELL, GameRecord
from spielleiter.match.setup import MatchSetup
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import Cause
from spielleiter.server.errors import StartError, os_error_text
from spielleiter.server.record.replay import replay_pieces

VERDICT: Final = "verdict.json"
GAMES: Final = "games"

_LAST_BREATH: Final = 1.0  # seconds for a process to end that has left the game
_LAST_WORD: Final = 5.0  # seconds for a server to give the result of a game that was called off
_PIECES: Final = 8  # packets of a replay that are encoded before other games have their turn


async def play_game(
    setup: MatchSetup,
    planned: PlannedGame,
    folder: Path,
    cores: tuple[tuple[int, ...] | None, tuple[int, ...] | None] = (None, None),
    match_server: MatchServer | None = None,
    keep: KeepPolicy = KeepPolicy.ALL,
    residents: Residents | None = None,
) -> GameRecord:
    """Play `planned` in a folder of its own below `folder`; `cores` by program, None: any. Raises MachineError.

    `match_server` is the server of all games of the match; None: one for this game alone. `keep` says whether the
    folder stays; the record of a game that leaves none names no folder. `residents` are programs that play on; None:
    each is started for this game alone.
    """
    relative = f"{GAMES}/{planned.game:04d}"
    place = folder / relative
    try:
        if place.exists():  # of a run that was cut off
            shutil.rmtree(place)
        place.mkdir(parents=True)
        referee = _Referee(setup, planned, place, cores, residents)
        record = await referee.run(relative, match_server)
        if keep.keeps(record):
            return await referee.save(record)
        referee.traces.discard()
        await trio.to_thread.run_sync(shutil.rmtree, place)
        return dataclasses.replace(record, folder="")
    except OSError as error:
        raise MachineError(f"{place}: {error.strerror or error}") from None


class _Referee:
    def __init__(
        self,
        setup: MatchSetup,
        planned: PlannedGame,
        folder: Path,
        cores: tuple[tuple[int, ...] | None, tuple[int, ...] | None],
        residents: Residents | None,
    ) -> None:
        self._setup = setup
        self._planned = planned
        self._folder = folder
        self._residents = residents if setup.server is None else None
        """At another server it is not known who connects."""
        self._staying: set[int] = set()
        config = own_config(setup)
        first, second = (limits_of(setup, config, program).soft_timeout or 0.0 for program in (0, 1))
        self._evidence = Evidence(planned.seats, setup.names, (first, second))
        self._evidence.start = planned.opening.name if planned.opening else None
        self._facts = self._evidence.facts
        self._starter = Starter(setup, planned, folder, cores, self._residents, self._evidence)
        self.traces = GameLogs(folder)
        self._dialect: Dialect | None = None
        """What the replay is written in, once there is a room."""
        self._programs: list[Program | BuiltinPlayer | None] = [None, None]
        self._match_server: MatchServer | None = None
        self._meter = WaitingMeter(len(cores[0]) if cores[0] is not None else os.cpu_count() or 1)
        self._evidence.on_request = self._meter.mark
        self._evidence.seconds_waiting = self._meter.seconds_waiting

    async def run(self, relative: str, match_server: MatchServer | None) -> GameRecord:
        started_at = datetime.now().astimezone().isoformat(timespec="milliseconds")
        started = trio.current_time()
        try:
            await self._play_somewhere(match_server)
        except* (ClientError, StartError, KeeperError, OSError) as group:
            self._facts.machine_problem = self._facts.machine_problem or _first_text(group)
        if self._residents is not None:
            await self._residents.end_game()
        for index, (program, known) in enumerate(zip(self._programs, self._facts.programs, strict=True)):
            if program is not None:
                known.leftovers = tuple(f"{each.name} ({each.pid})" for each in program.leftovers)
                known.has_stopped_keeper = program.has_stopped_keeper
                if program.keeper_stops:
                    self._evidence.remark(index, STOPPED_KEEPER)
        return self._record(judge(self._facts), relative, started_at, trio.current_time() - started)

    async def _play_somewhere(self, match_server: MatchServer | None) -> None:
        """At the server that the setup names, in `match_server`, or in a match server of its own."""
        evidence = self._evidence
        if self._setup.server is not None:
            async with open_external_room(self._setup, self._planned, self.traces.wire) as foreign:
                self._dialect = foreign.dialect
                evidence.has_ended = foreign.has_ended
                async with trio.open_nursery() as watching:
                    watching.start_soon(evidence.watch, foreign.observation)
                    await self._play(foreign)
                    watching.cancel_scope.cancel()
        elif match_server is None:
            async with open_match_server(self._setup) as match_server:
                await self._play_in(match_server)
        else:
            await self._play_in(match_server)

    async def _play_in(self, match_server: MatchServer) -> None:
        async with match_server.open_room(self._planned, self.traces, self._evidence.hear) as own:
            self._match_server, self._dialect = match_server, own.dialect
            self._evidence.start = self._evidence.start or start_name(own.state)
            await self._play(own)

    # -- the course of a game ---------------------------------------------------------------------------------------

    async def _play(self, room: InternalRoom | ExternalRoom) -> None:
        evidence = self._evidence
        async with trio.open_nursery() as nursery:
            for program in (0, 1):
                await self._start_program(program, room, nursery)
            nursery.start_soon(self._meter.run, self._programs)
            with trio.move_on_after(self._setup.timeouts.start):
                await evidence.until(self._is_settled)
            self._facts.is_start_over = not self._is_settled()
            if self._facts.has_begun:
                with trio.move_on_after(self._setup.timeouts.game) as game_time:
                    await evidence.until(lambda: evidence.is_over)
                self._facts.is_game_over = game_time.cancelled_caught
            else:
                await self._let_end(self._facts.programs)
                evidence.call_off()
            if not evidence.is_over:
                await self._call_off(room)
            async with trio.open_nursery() as ending:
                for index in (0, 1):
                    ending.start_soon(self._end_program, index)
            # the programs' tasks end by themselves now that the processes have
            await evidence.until(
                lambda: all(
                    each is None or index in self._staying or each.gone.is_set()
                    for index, each in enumerate(self._programs)
                )
            )
            nursery.cancel_scope.cancel()

    async def _let_end(self, programs: Sequence[ProgramFacts]) -> None:
        """Wait a moment for programs that left before the game began: how they end belongs to the verdict."""
        with trio.move_on_after(_LAST_BREATH):
            await self._evidence.until(
                lambda: all(
                    each is None or each.exited.is_set() or not known.has_left
                    for each, known in zip(self._programs, programs, strict=True)
                )
            )

    async def _call_off(self, room: InternalRoom | ExternalRoom) -> None:
        """End a game that will not end by itself."""
        self._evidence.call_off()
        if isinstance(room, InternalRoom):
            if self._facts.has_begun:
                self._facts.on_turn = self._planned.seats[room.state.seat_on_turn]
            room.cancel()
            return
        with trio.move_on_after(_LAST_WORD):
            await room.cancel()
            await self._evidence.until(lambda: self._evidence.is_over or self._facts.result is not None)

    def _is_settled(self) -> bool:
        """The game has begun, or it is clear for both programs whether they could have played it."""
        facts = self._facts
        if facts.has_begun or self._evidence.is_over:
            return True
        failed = [has_failed_to_start(facts, program) for program in (0, 1)]
        return any(failed) and all(failed[each] or facts.programs[each].has_joined for each in (0, 1))

    async def _start_program(self, index: int, room: InternalRoom | ExternalRoom, nursery: trio.Nursery) -> None:
        program = self._programs[index] = await self._starter.start(index, room, self._match_server, nursery)
        if program is not None:
            nursery.start_soon(self._follow_process, index, program)

    async def _follow_process(self, index: int, program: Program | BuiltinPlayer) -> None:
        await program.exited.wait()
        known = self._facts.programs[index]
        if not program.was_ended and not self._evidence.is_called_off:
            if isinstance(program, BuiltinPlayer):
                known.last_words = program.problem
            elif program.returncode or not self._has_played_to_the_end(index):
                known.last_words = self._last_words(index)
            known.returncode = program.returncode
            known.memory = self._memory_text(index, program)
        self._evidence.note()
        await program.gone.wait()
        self._evidence.note()

    async def _end_program(self, index: int) -> None:
        program, known = self._programs[index], self._facts.programs[index]
        if program is None:
            return
        # who has not played, or hangs, is not waited for
        is_patient = self._facts.has_begun and self._facts.result is not None and not self._hangs(index)
        if is_patient and self._stays(index, program):
            self._staying.add(index)
            return
        patience = self._setup.timeouts.exit if is_patient else 0.0
        await program.end(patience)
        if program.was_ended:
            known.last_words = self._last_words(index)
            known.overstay = patience or None

    def _has_played_to_the_end(self, index: int) -> bool:
        result = self._facts.result
        return result is not None and result.scores[self._planned.seats.index(index)].cause is Cause.REGULAR

    def _stays(self, index: int, program: Program | BuiltinPlayer) -> bool:
        """Whether the process plays the next game, too; after a fault it is started anew."""
        if self._residents is None or isinstance(program, BuiltinPlayer):
            return False
        if program.exited.is_set() or program.keeper_stops:
            return False
        return self._has_played_to_the_end(index) and self._residents.keep(index)

    def _hangs(self, index: int) -> bool:
        """Of a program in a game that has a result."""
        facts = self._facts
        assert facts.result is not None
        is_silent = facts.result.scores[self._planned.seats.index(index)].cause is Cause.HARD_TIMEOUT
        return is_silent or (facts.is_game_over and facts.on_turn == index)

    # -- what is kept -----------------------------------------------------------------------------------------------

    def _last_words(self, index: int) -> str:
        out, error = output_files(self._folder, index)
        return last_words(error, out)

    def _memory_text(self, index: int, program: Program | BuiltinPlayer) -> str:
        """What a program that failed had of the memory that it was allowed."""
        limit = self._setup.entrants[index].memory
        if limit is None or not program.returncode or isinstance(program, BuiltinPlayer):
            return ""
        return f"it was allowed {limit} MiB of data and had up to {program.peak_memory // MEBIBYTE} MiB in memory"

    async def save(self, record: GameRecord) -> GameRecord:
        """Write what is kept of the game beside the programs' outputs; the record then names the replay.

        Raises OSError.
        """
        replay = await self._encode_replay() if self._facts.has_begun else None
        return await trio.to_thread.run_sync(self._write, record, replay)

    async def _encode_replay(self) -> bytes:
        assert self._dialect is not None
        pieces = []
        for number, piece in enumerate(replay_pieces(self._dialect, "", self._evidence.replay)):
            pieces.append(piece)
            if number % _PIECES == 0:
                await trio.lowlevel.checkpoint()
        return b"".join(pieces)

    def _write(self, record: GameRecord, replay: bytes | None) -> GameRecord:
        """Compressing takes some milliseconds, which the loop does not wait for."""
        if replay is not None:
            record = dataclasses.replace(record, replay=write_replay(self._folder, replay))
        self.traces.save()
        fields = (
            f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in record.to_json().items()
        )
        text = "{\n" + ",\n".join(fields) + "\n}\n"  # a line for each
        # a lone surrogate becomes an escape of JSON, too
        (self._folder / VERDICT).write_text(text, encoding="utf-8", errors="backslashreplace")
        return record

    def _record(self, judgement: Judgement, relative: str, started_at: str, wall_seconds: float) -> GameRecord:
        planned, evidence = self._planned, self._evidence
        result = self._facts.result if self._facts.has_begun else None
        points: list[int | None] = [None, None]
        causes = ["", ""]
        for seat, score in enumerate(result.scores if result else ()):
            program = planned.seats[seat]
            points[program] = score.parts[1] if len(score.parts) > 1 else None
            causes[program] = score.cause.value
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
            reason=self._full_reason(judgement),
            winner=judgement.winner,
            is_counted=judgement.is_counted,
            points=(points[0], points[1]),
            causes=(causes[0], causes[1]),
            plies=evidence.plies,
            think_times=(_rounded(evidence.think_times[0]), _rounded(evidence.think_times[1])),
            cpu_seconds=(self._cpu_seconds(0), self._cpu_seconds(1)),
            wall_seconds=round(wall_seconds, 6),
            started_at=started_at,
            folder=relative,
            replay=None,
            exit_codes=(_exit_code(first), _exit_code(second)),
            remarks=self._remarks(judgement),
        )

    def _remarks(self, judgement: Judgement) -> tuple[tuple[str, ...], tuple[str, ...]]:
        remarks = list(self._evidence.remarks)
        if judgement.also is not None:
            program, how = judgement.also
            remarks[program] = (FAILED_AS_WELL + " ".join(how.split()), *remarks[program])
        return remarks[0], remarks[1]

    def _cpu_seconds(self, index: int) -> float:
        """What the program's process has used in this game."""
        program = self._programs[index]
        if program is None:
            return 0.0
        return round(max(0.0, program.seconds_spent - self._starter.spent_before[index]), 6)

    def _full_reason(self, judgement: Judgement) -> str:
        """The reason, and which programs had to be ended after a game they had played."""
        texts = [" ".join(judgement.reason.split())]
        if self._facts.has_begun and self._facts.result is not None:
            texts += [
                f"{self._setup.names[index]} had to be ended after the game"
                for index, program in enumerate(self._programs)
                if program is not None and program.was_ended and index != judgement.offender
            ]
        return "; ".join(text for text in texts if text)


def _exit_code(program: Program | BuiltinPlayer | None) -> int | None:
    return None if program is None or program.was_ended else program.returncode


def _rounded(times: Sequence[float]) -> tuple[float, ...]:
    return tuple(round(time, 6) for time in times)


def _first_text(group: BaseExceptionGroup[Exception]) -> str:
    error = first_error(group)
    if isinstance(error, OSError):
        return os_error_text(error)
    return plain_text(str(error))
