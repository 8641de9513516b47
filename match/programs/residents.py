"""Programs that play several games in a row: they are told the next one on standard input and need no new start.

Invariants: nobody is blamed for not being able to. A program that has ended, or does not connect for the game it was
told of, is started anew; one that did not connect is not asked again in this match. Two games never have the same
process at a time. Once `open_residents` is left, nothing is alive.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final

import trio

from spielleiter.match.programs.program import Program

LINE: Final = ("host", "port", "reservation", "seed")
"""The words of a line, by their names in a command line."""


class Residents:
    """The processes of the two programs in one place where games are played one after the other.

    `unable` holds the programs that are not asked again, and is shared by all places of a match. `patience` are the
    seconds that a program has to connect after it was told.
    """

    def __init__(self, nursery: trio.Nursery, unable: set[int], patience: float) -> None:
        self._nursery = nursery
        self._unable = unable
        self._patience = patience
        self._present: list[_Resident | None] = [None, None]

    async def start(self, index: int, make: Callable[[int], Program]) -> Program:
        """Start a process for the program; `make` is given the descriptor for its standard input.

        Raises NotStartedError and OSError.
        """
        reading, writing = os.pipe()
        try:
            resident = _Resident(make(reading), writing)
            await self._nursery.start(resident.run)
        finally:
            os.close(reading)
        self._present[index] = resident
        return resident.program

    async def invite(
        self,
        index: int,
        places: Mapping[str, str],
        prepare: Callable[[Program], None],
        until_connected: Callable[[Program], Awaitable[bool]],
    ) -> Program | None:
        """Tell the process of a program that is still there of its next game, and return it once it has connected.

        `prepare` is called before it is told. `until_connected` waits until the program has connected or its process
        has ended, and says whether it has connected. None: it has to be started anew.
        """
        resident = self._present[index]
        if resident is None or resident.program.exited.is_set():
            await self._drop(index)
            return None
        prepare(resident.program)
        if resident.tell(" ".join(places[name] for name in LINE)):
            with trio.move_on_after(self._patience) as waiting:
                if await until_connected(resident.program):
                    resident.may_stay = False
                    return resident.program
            if waiting.cancelled_caught:
                self._unable.add(index)
        await self._drop(index)
        return None

    def keep(self, index: int) -> bool:
        """Let the process of a program stay for the next game, after one it has played well; whether it can."""
        resident = self._present[index]
        if resident is None or index in self._unable or self._patience <= 0:
            return False
        resident.may_stay = True
        return True

    async def end_game(self) -> None:
        """End what is not to stay, however the game has ended."""
        for index in (0, 1):
            resident = self._present[index]
            if resident is not None and not resident.may_stay:
                await self._drop(index)

    async def say_goodbye(self) -> None:
        """Tell all that there are no more games, and give them time to end by themselves."""
        present = [resident for resident in self._present if resident is not None]
        for resident in present:
            resident.close_input()
        with trio.move_on_after(self._patience):
            for resident in present:
                await resident.program.exited.wait()
        for index in (0, 1):
            await self._drop(index)

    async def _drop(self, index: int) -> None:
        resident = self._present[index]
        if resident is not None:
            self._present[index] = None
            resident.scope.cancel()
            await resident.program.gone.wait()


class _Resident:
    """A process, and the other end of its standard input."""

    def __init__(self, program: Program, writing: int) -> None:
        self.program = program
        self.scope = trio.CancelScope()
        self.may_stay = False
        self._writing: int | None = writing

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Raises NotStartedError."""
        try:
            with self.scope:
                await self.program.run(task_status)
        finally:
            self.close_input()

    def tell(self, line: str) -> bool:
        """Whether it could be told. A line is short, and no second one is written before the first is read."""
        if self._writing is None:
            return False
        with suppress(OSError):
            os.write(self._writing, line.encode() + b"\n")
            return True
        return False

    def close_input(self) -> None:
        if self._writing is not None:
            os.close(self._writing)
            self._writing = None


@asynccontextmanager
async def open_residents(unable: set[int], patience: float) -> AsyncIterator[Residents]:
    """See `Residents`."""
    async with trio.open_nursery() as nursery:
        residents = Residents(nursery, unable, patience)
        yield residents
        await residents.say_goodbye()
