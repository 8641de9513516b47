"""How the two programs of a game come to it: started for it, kept running since the last one, or inside this process.

Invariants: a program that cannot be started is a fact about it and not an error. Nothing is held against a program that
was kept running and does not come: it is started anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import trio

from spielleiter.match.errors import NotStartedError
from spielleiter.match.games.builtin_players import BuiltinPlayer, builtin_strategy
from spielleiter.match.games.evidence import Evidence
from spielleiter.match.games.external_server import ExternalRoom
from spielleiter.match.games.match_server import InternalRoom, MatchServer
from spielleiter.match.plan import PlannedGame
from spielleiter.match.programs.program import BUILTIN, Command, Program
from spielleiter.match.programs.residents import Residents
from spielleiter.match.setup import MatchSetup

MEBIBYTE: Final = 1024 * 1024


def output_files(folder: Path, index: int) -> tuple[Path, Path]:
    """Where standard output and standard error of a program are kept in the game's folder."""
    return folder / f"program{index + 1}.stdout.log", folder / f"program{index + 1}.stderr.log"


class Starter:
    """Starts the programs of one game in `folder`; `residents`: None if every game has new processes."""

    def __init__(
        self,
        setup: MatchSetup,
        planned: PlannedGame,
        folder: Path,
        cores: tuple[tuple[int, ...] | None, tuple[int, ...] | None],
        residents: Residents | None,
        evidence: Evidence,
    ) -> None:
        self._setup = setup
        self._planned = planned
        self._folder = folder
        self._cores = cores
        self._residents = residents
        self._evidence = evidence
        self._facts = evidence.facts
        self.spent_before = [0.0, 0.0]
        """By program: seconds of processor that its process had used before this game."""

    async def start(
        self, index: int, room: InternalRoom | ExternalRoom, match_server: MatchServer | None, nursery: trio.Nursery
    ) -> Program | BuiltinPlayer | None:
        """The program that sits on this place, or is about to; None: it cannot be started, and the facts say why.

        What has to run for this game only runs in `nursery`. Raises OSError.
        """
        command, seed = self._setup.entrants[index].command, self._planned.program_seed(index)
        strategy = builtin_strategy(command)
        if strategy is not None and isinstance(room, InternalRoom):
            assert match_server is not None
            player = await match_server.new_player(room, index, strategy, seed)
            await nursery.start(player.run)
            return player
        host, port = room.addresses[index]
        places = {
            "host": host,
            "port": str(port),
            "reservation": room.reservations[index],
            "seed": str(seed),
            "game": self._setup.game_type,
        }
        program = await self._invite(index, places, room)
        if program is None:
            try:
                program = await self._start_process(index, places, nursery)
            except NotStartedError as error:
                self._facts.programs[index].not_started = str(error)
                return None
        if isinstance(room, InternalRoom):
            room.members[index] = program
        return program

    async def _start_process(self, index: int, places: Mapping[str, str], nursery: trio.Nursery) -> Program:
        """Raises NotStartedError."""
        entrant, cwd = self._setup.entrants[index], self._setup.cwd_of(index)
        arguments = Command.parse(entrant.command, cwd).arguments(places)
        if entrant.command.startswith(BUILTIN) and self._setup.edition is not None:
            arguments += ["--edition", self._setup.edition]

        def make(stdin: int | None) -> Program:
            return Program(
                arguments,
                f"{self._setup.run_id}/{self._planned.game}/{index + 1}",
                *output_files(self._folder, index),
                self._cores[index],
                cwd,
                environment=entrant.environment,
                memory=None if entrant.memory is None else entrant.memory * MEBIBYTE,
                stdin=stdin,
            )

        if self._residents is not None:
            return await self._residents.start(index, make)
        program = make(None)
        await nursery.start(program.run)
        return program

    async def _invite(self, index: int, places: Mapping[str, str], room: InternalRoom | ExternalRoom) -> Program | None:
        """The program's process of the last game, if there is one and it has come to this one."""
        if self._residents is None or not isinstance(room, InternalRoom):
            return None
        known = self._facts.programs[index]

        def prepare(program: Program) -> None:
            program.turn_outputs(*output_files(self._folder, index))
            self.spent_before[index] = program.seconds_spent
            room.members[index] = program

        async def until_connected(program: Program) -> bool:
            async def note_end() -> None:
                await program.exited.wait()
                self._evidence.note()

            async with trio.open_nursery() as nursery:
                nursery.start_soon(note_end)
                await self._evidence.until(lambda: known.has_connected or program.exited.is_set())
                nursery.cancel_scope.cancel()
            return known.has_connected

        program = await self._residents.invite(index, places, prepare, until_connected)
        if program is None:
            self.spent_before[index] = 0.0
            if known.has_joined:  # in the moment in which it was given up: nobody's fault, but its seat is gone
                self._facts.machine_problem = "a program that had been kept running came too late for its game"
            known.has_connected = False
        return program
