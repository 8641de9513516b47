"""One game, from the folder that is made for it to the record that is kept of it.

Law: whatever the programs do, the game ends, both programs and all they have started are gone, and there is a record.
Only what is wrong with this machine is raised.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import trio

from client.admin import Observation
from client.errors import ClientError
from client.refusals import plain_text
from match.errors import MachineError, NotStartedError
from match.house import House, open_house, own_config
from match.plan import PlannedGame
from match.processes import Usage
from match.program import Command, Program
from match.records import GameRecord
from match.setup import MatchSetup
from match.verdict import GameFacts, Judgement, has_failed_to_start, judge
from protocol.messages import Cause, ErrorMessage, Memento, Result, RoomData, Slot, UnreadableData
from server import events
from server.errors import Fault, StartError, os_error_text
from server.replay import encode_replay

REPLAY: Final = "replay.xml"
VERDICT: Final = "verdict.json"
GAMES: Final = "games"

_LAST_WORD: Final = 5.0  # seconds for the server to give the result of a game that was called off
_STAMP_LENGTH: Final = 11  # of the time before each line of a program's output
_LAST_WORDS_LENGTH: Final = 200
_TAIL: Final = 4096
_PLIES_WITH_NEW_PROCESSES: Final = 4  # later ones are not looked for

_OUR_FAULT: Final = frozenset({Fault.ILLEGAL_MOVE, Fault.UNREADABLE_MOVE})
"""Refusals of moves, which the result tells of."""


async def play_game(
    setup: MatchSetup, planned: PlannedGame, folder: Path, cores: tuple[int | None, int | None] = (None, None)
) -> GameRecord:
    """Play `planned` in a folder of its own below `folder`; `cores` by program, None: any. Raises MachineError."""
    relative = f"{GAMES}/{planned.game:04d}"
    place = folder / relative
    try:
        if place.exists():  # of a run that was cut off
            shutil.rmtree(place)
        place.mkdir(parents=True)
        referee = _Referee(setup, planned, place, cores)
        record = await referee.run(relative)
        text = json.dumps(record.to_json(), indent=2, ensure_ascii=False) + "\n"
        (place / VERDICT).write_text(text, encoding="utf-8", errors="backslashreplace")  # an escape of JSON, too
    except OSError as error:
        raise MachineError(f"{place}: {error.strerror or error}") from None
    return record


class _Referee:
    def __init__(
        self, setup: MatchSetup, planned: PlannedGame, folder: Path, cores: tuple[int | None, int | None]
    ) -> None:
        self._setup = setup
        self._planned = planned
        self._folder = folder
        self._cores = cores
        self._facts = GameFacts(planned.seats, setup.names)
        self._programs: list[Program | None] = [None, None]
        self._changed = trio.Event()
        self._is_watched_to_the_end = False
        self._start = planned.opening.name if planned.opening else None
        self._replay: list[RoomData] = []
        self._plies = 0
        self._think_times: tuple[list[float], list[float]] = ([], [])
        self._asked_at: float | None = None
        self._pids: list[tuple[int, ...]] = [(), ()]
        self._usages: list[Usage] = [Usage({}), Usage({})]
        self._core_count = 1 if cores[0] is not None else os.cpu_count() or 1

    async def run(self, relative: str) -> GameRecord:
        started_at = datetime.now().astimezone().isoformat(timespec="milliseconds")
        started = trio.current_time()
        replay: str | None = None
        try:
            async with open_house(self._setup, self._planned, self._folder, self._hear) as house:
                await self._play(house)
                replay = self._save_replay(house)
        except* (ClientError, StartError, OSError) as group:
            self._facts.machine_problem = self._facts.machine_problem or _first_text(group)
        for program, known in zip(self._programs, self._facts.programs, strict=True):
            if program is not None:
                known.leftovers = tuple(f"{each.name} ({each.pid})" for each in program.leftovers)
        return self._record(judge(self._facts), relative, started_at, trio.current_time() - started, replay)

    # -- the course of a game ---------------------------------------------------------------------------------------

    async def _play(self, house: House) -> None:
        slots = [
            Slot(self._setup.names[program], can_timeout=self._setup.entrants[program].can_timeout)
            for program in self._planned.seats
        ]
        room = await house.admin.prepare(self._setup.game_type, slots)
        observation = await house.admin.observe(room.room_id)
        reservation_of = dict(zip(self._planned.seats, room.reservations, strict=True))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch, observation)
            for program in (0, 1):
                await self._start_program(program, house.addresses[program], reservation_of[program], nursery)
            with trio.move_on_after(self._setup.patience.start):
                await self._until(self._is_settled)
            self._facts.is_start_over = not self._is_settled()
            if self._facts.has_begun:
                with trio.move_on_after(self._setup.patience.game) as game_time:
                    await self._until(lambda: self._is_watched_to_the_end)
                self._facts.is_game_over = game_time.cancelled_caught
            if not self._is_watched_to_the_end:
                with trio.move_on_after(_LAST_WORD):
                    await house.admin.cancel(room.room_id)
                    await self._until(lambda: self._is_watched_to_the_end or self._facts.result is not None)
            async with trio.open_nursery() as ending:
                for index in (0, 1):
                    ending.start_soon(self._end_program, index)
            # the programs' tasks end by themselves now that the processes have; the observation might not
            await self._until(lambda: all(each is None or each.gone.is_set() for each in self._programs))
            nursery.cancel_scope.cancel()

    def _is_settled(self) -> bool:
        """The game has begun, or it is clear for both programs whether they could have played it."""
        facts = self._facts
        if facts.has_begun or (self._is_watched_to_the_end and facts.machine_problem is not None):
            return True
        failed = [has_failed_to_start(facts, program) for program in (0, 1)]
        return any(failed) and all(failed[each] or facts.programs[each].has_joined for each in (0, 1))

    async def _start_program(
        self, index: int, address: tuple[str, int], reservation: str, nursery: trio.Nursery
    ) -> None:
        host, port = address
        places = {
            "host": host,
            "port": str(port),
            "reservation": reservation,
            "seed": str(self._planned.program_seed(index)),
            "game": self._setup.game_type,
        }
        program = Program(
            Command.parse(self._setup.entrants[index].command).arguments(places),
            f"{self._setup.run_id}/{self._planned.game}/{index + 1}",
            self._output(index, "stdout"),
            self._output(index, "stderr"),
            self._cores[index],
        )
        try:
            await nursery.start(program.run)
        except NotStartedError as error:
            self._facts.programs[index].not_started = str(error)
            return
        self._programs[index] = program
        nursery.start_soon(self._follow_process, index, program)

    async def _follow_process(self, index: int, program: Program) -> None:
        await program.exited.wait()
        known = self._facts.programs[index]
        if not program.was_ended:
            known.last_words = self._last_words(index)
            known.returncode = program.returncode
        self._notify()
        await program.gone.wait()
        self._notify()

    async def _end_program(self, index: int) -> None:
        program, known = self._programs[index], self._facts.programs[index]
        if program is None:
            return
        # who has not played, or hangs, is not waited for
        is_patient = self._facts.has_begun and self._facts.result is not None and not self._hangs(index)
        patience = self._setup.patience.exit if is_patient else 0.0
        await program.end(patience)
        if program.was_ended:
            known.last_words = self._last_words(index)
            known.overstay = patience or None

    def _hangs(self, index: int) -> bool:
        """Of a program in a game that has a result."""
        facts = self._facts
        assert facts.result is not None
        is_silent = facts.result.scores[self._planned.seats.index(index)].cause is Cause.HARD_TIMEOUT
        return is_silent or (facts.is_game_over and facts.on_turn == index)

    # -- what is seen and heard -------------------------------------------------------------------------------------

    async def _watch(self, observation: Observation) -> None:
        """What an observer sees: all there is to know at a server that is not ours."""
        try:
            async for event in observation:
                match event:
                    case Memento(state=state):
                        self._see_position(event)
                        self._facts.on_turn = self._planned.seats[state.seat_on_turn]
                    case Result():
                        self._facts.result = event
                        self._replay.append(event)
                    case ErrorMessage(message, original):
                        self._replay.append(event)
                        program = self._facts.on_turn
                        if isinstance(original, UnreadableData) and program is not None:
                            self._facts.programs[program].bad_message = " ".join(message.split())
                    case _:
                        pass
                self._notify()
        except ClientError as error:
            self._facts.machine_problem = self._facts.machine_problem or str(error)
        self._is_watched_to_the_end = True
        self._notify()

    def _see_position(self, memento: Memento) -> None:
        now = trio.current_time()
        if self._asked_at is None:
            self._facts.has_begun = True
            for known in self._facts.programs:
                known.has_joined = True
            if self._start is None:
                shape = getattr(memento.state, "start_shape", None)  # not something the rules ask of every game
                self._start = getattr(shape, "name", None)
        elif self._facts.on_turn is not None:
            self._plies += 1
            self._think_times[self._facts.on_turn].append(now - self._asked_at)
        self._asked_at = now
        self._replay.append(memento)

    def _hear(self, happening: events.Happening, program: int | None) -> None:
        """What our own server tells; `program`: at whose connection it happened."""
        known = None if program is None else self._facts.programs[program]
        match happening:
            case events.ConnectionOpened() if known:
                known.has_connected = True
            case events.PlayerJoined(seat=seat):
                self._facts.programs[self._planned.seats[seat]].has_joined = True
            case events.PlayerLeft(seat=seat) if not self._facts.has_begun:
                self._facts.programs[self._planned.seats[seat]].has_left = True
            case events.GameStarted():
                self._facts.has_begun = True
                self._take_usage(0)
            case events.MovePlayed(ply=ply):
                self._take_usage(ply + 1)
            case events.MoveRefused(seat=seat, fault=fault, text=text) if fault is not Fault.ILLEGAL_MOVE:
                self._facts.programs[self._planned.seats[seat]].bad_message = text
            case events.RequestRefused(fault=fault, text=text) if known and fault not in _OUR_FAULT:
                known.refusal = text
            case events.ProtocolBroken(text=text) if known:
                known.nonsense = text
            case events.TimeVerdict(seat=seat, think_time=think_time):
                self._note_slow(self._planned.seats[seat], think_time)
            case events.GameEnded(plies=plies, think_times=think_times, record=record):
                self._plies = plies
                for seat, times in enumerate(think_times):
                    self._think_times[self._planned.seats[seat]][:] = times
                self._replay = list(record)
            case events.InternalError(error=error):
                self._facts.machine_problem = f"a bug of the server: {error.strip().splitlines()[-1]}"
            case _:
                pass
        self._notify()

    def _take_usage(self, ply: int) -> None:
        """Remember how long each program has waited for a processor before the next move."""
        for index, program in enumerate(self._programs):
            if program is not None:
                if ply < _PLIES_WITH_NEW_PROCESSES:
                    self._pids[index] = program.pids
                self._usages[index] = Usage.of(self._pids[index])

    def _note_slow(self, program: int, think_time: float) -> None:
        known = self._facts.programs[program]
        known.too_slow, known.limit = think_time, own_config(self._setup).soft_timeout
        usage = Usage.of(self._pids[program])
        known.seconds_waiting = usage.seconds_lost(self._usages[program], think_time, self._core_count)

    def _notify(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def _until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            await self._changed.wait()

    # -- what is kept -----------------------------------------------------------------------------------------------

    def _output(self, index: int, stream: str) -> Path:
        return self._folder / f"program{index + 1}.{stream}.log"

    def _last_words(self, index: int) -> str:
        for stream in ("stderr", "stdout"):
            with contextlib.suppress(OSError), self._output(index, stream).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
                lines = file.read().decode(errors="replace").splitlines()
                words = [line[_STAMP_LENGTH:].strip() for line in lines]
                if said := [line for line in words if line]:
                    return said[-1][:_LAST_WORDS_LENGTH]
        return ""

    def _save_replay(self, house: House) -> str | None:
        if not self._facts.has_begun:
            return None
        (self._folder / REPLAY).write_bytes(encode_replay(house.dialect, "", self._replay))
        return REPLAY

    def _record(
        self, judgement: Judgement, relative: str, started_at: str, wall_seconds: float, replay: str | None
    ) -> GameRecord:
        planned, result = self._planned, self._facts.result if self._facts.has_begun else None
        points: list[int | None] = [None, None]
        causes = ["", ""]
        for seat, score in enumerate(result.scores if result else ()):
            program = planned.seats[seat]
            points[program] = score.parts[1] if len(score.parts) > 1 else None
            causes[program] = score.cause.value
        cpu = [0.0 if program is None else program.cpu_seconds for program in self._programs]
        return GameRecord(
            game=planned.game,
            pair=planned.pair,
            game_type=self._setup.game_type,
            seed=planned.seed,
            start=self._start,
            seats=planned.seats,
            names=self._setup.names,
            verdict=judgement.verdict,
            offender=judgement.offender,
            reason=self._full_reason(judgement),
            winner=judgement.winner,
            is_counted=judgement.is_counted,
            points=(points[0], points[1]),
            causes=(causes[0], causes[1]),
            plies=self._plies,
            think_times=(_rounded(self._think_times[0]), _rounded(self._think_times[1])),
            cpu_seconds=(round(cpu[0], 6), round(cpu[1], 6)),
            wall_seconds=round(wall_seconds, 6),
            started_at=started_at,
            folder=relative,
            replay=replay,
        )

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


def _rounded(times: Sequence[float]) -> tuple[float, ...]:
    return tuple(round(time, 6) for time in times)


def _first_text(group: BaseExceptionGroup[Exception]) -> str:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, OSError):
        return os_error_text(error)
    return plain_text(str(error))
