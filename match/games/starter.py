"""Providing the two programs of a game: new processes, processes kept from the last game, or built-in players.

Invariants: a program that cannot be started is a fact about the game and not an error. If its file was there when the
match began, and is gone or is another one now, the game is lost: otherwise a program could void all later games. A
process that was kept from the last game and does not connect is not held against its program: the program is started
anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import trio

from spielleiter.common.errors import NotStartedError, SetupError
from spielleiter.match.games.builtin_players import BuiltinPlayer, builtin_strategy
from spielleiter.match.games.evidence import Evidence
from spielleiter.match.games.external_server import ExternalRoom
from spielleiter.match.games.match_server import InternalRoom, MatchServer
from spielleiter.match.plan import PlannedGame
from spielleiter.match.setup import MatchSetup
from spielleiter.programs.content import content_of
from spielleiter.programs.environment import added_variables
from spielleiter.programs.persistent_programs import PersistentPrograms
from spielleiter.programs.program import Command, Program
from spielleiter.programs.sandbox.run import SandboxRun
from spielleiter.programs.startable import require_startable

MEBIBYTE: Final = 1024 * 1024


def output_files(folder: Path, index: int) -> tuple[Path, Path]:
    """Return the files in the game's folder for standard output and standard error of a program."""
    return folder / f"program{index + 1}.stdout.log", folder / f"program{index + 1}.stderr.log"


class ProgramStarter:
    """Starts the programs of one game, whose files are in `folder`.

    `cores` are the processor cores of each program; None for any. `persistent_programs` is None if every game has new
    processes.
    """

    def __init__(
        self,
        setup: MatchSetup,
        planned: PlannedGame,
        folder: Path,
        cores: tuple[tuple[int, ...] | None, tuple[int, ...] | None],
        persistent_programs: PersistentPrograms | None,
        evidence: Evidence,
    ) -> None:
        self._setup = setup
        self._planned = planned
        self._folder = folder
        self._cores = cores
        self._persistent_programs = persistent_programs
        self._evidence = evidence
        self._facts = evidence.facts
        self.cpu_seconds_before = [0.0, 0.0]
        """By program: the processor time in seconds that its process had used before this game."""

    async def start(
        self, index: int, room: InternalRoom | ExternalRoom, match_server: MatchServer | None, nursery: trio.Nursery
    ) -> Program | BuiltinPlayer | None:
        """Return the program, which is about to take its seat in `room` or has taken it.

        Returns None if it cannot be started; the facts of the game say why. Tasks for this game run in `nursery`.
        Raises OSError.
        """
        command, seed = self._setup.entrants[index].command, self._planned.program_seed(index)
        strategy = builtin_strategy(command)
        if strategy is not None and isinstance(room, InternalRoom):
            assert match_server is not None
            player = match_server.new_player(room, index, strategy, seed)
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
            return Program(
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
            )

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
            self.cpu_seconds_before[index] = program.cpu_seconds_so_far
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
            self.cpu_seconds_before[index] = 0.0
            if known.has_joined:  # just when it was given up, which is not its fault; but its seat is taken now
                self._facts.machine_problem = "a program that was kept running joined its game too late"
            known.has_connected = False
        return program
