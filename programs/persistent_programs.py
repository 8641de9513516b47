"""Programs that play several games in one process: standard input tells them about each further game.

A program is not blamed if it cannot do that. One that has ended, or does not connect for the next game, is started
anew; one that did not connect is not asked again in this match.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final

import trio

from spielleiter.programs.program import Program

GAME_LINE: Final = ("host", "port", "reservation", "seed")
"""The values in the line about the next game, by their names in a command line."""


class PersistentPrograms:
    """The processes of the two programs for games that are played one after the other.

    `excluded` are the programs that are not asked again; all games of a match share this set. `connect_timeout` is
    the number of seconds that a program has to connect for its next game, and to end after the last one.
    """

    def __init__(self, nursery: trio.Nursery, excluded: set[int], connect_timeout: float) -> None:
        self._nursery = nursery
        self._excluded = excluded
        self._connect_timeout = connect_timeout
        self._programs: list[_PersistentProgram | None] = [None, None]

    async def start(self, index: int, make: Callable[[int], Program]) -> Program:
        """Start a process for the program; `make` is called with the file descriptor for its standard input.

        Raises NotStartedError and OSError.
        """
        reading, writing = os.pipe()
        try:
            started = _PersistentProgram(make(reading), writing)
            await self._nursery.start(started.run)
        finally:
            os.close(reading)
        self._programs[index] = started
        return started.program

    async def reuse(
        self,
        index: int,
        values: Mapping[str, str],
        prepare: Callable[[Program], None],
        wait_until_connected: Callable[[Program], Awaitable[bool]],
    ) -> Program | None:
        """Tell the running process of a program about its next game; return it once it has connected.

        `prepare` is called before that. `wait_until_connected` waits until the program has connected or its process has
        ended, and returns whether it has connected. Returns None if the program has to be started anew.
        """
        current = self._programs[index]
        if current is None or current.program.exited.is_set():
            await self._end_program(index)
            return None
        prepare(current.program)
        if current.send_line(" ".join(values[name] for name in GAME_LINE)):
            with trio.move_on_after(self._connect_timeout) as waiting:
                if await wait_until_connected(current.program):
                    current.is_retained = False
                    return current.program
            if waiting.cancelled_caught:
                self._excluded.add(index)
        await self._end_program(index)
        return None

    def retain(self, index: int) -> bool:
        """Keep the process of a program for the next game, after a game without a fault; return whether it is kept."""
        current = self._programs[index]
        if current is None or index in self._excluded or self._connect_timeout <= 0:
            return False
        current.is_retained = True
        return True

    async def end_game(self) -> None:
        """End the processes that are not kept for the next game, no matter how the game has ended."""
        for index in (0, 1):
            current = self._programs[index]
            if current is not None and not current.is_retained:
                await self._end_program(index)

    def pause_outputs(self) -> None:
        """Close the files of all outputs until the next game, since Windows removes no folder with an open file."""
        for current in self._programs:
            if current is not None:
                current.program.pause_outputs()

    async def close(self) -> None:
        """Close the programs' inputs, as a sign that there are no more games, and give them time to end."""
        current = [each for each in self._programs if each is not None]
        for each in current:
            each.close_input()
        with trio.move_on_after(self._connect_timeout):
            for each in current:
                await each.program.exited.wait()
        for index in (0, 1):
            await self._end_program(index)

    async def _end_program(self, index: int) -> None:
        current = self._programs[index]
        if current is not None:
            self._programs[index] = None
            current.scope.cancel()
            await current.program.gone.wait()


class _PersistentProgram:
    """A process, and the other end of its standard input."""

    def __init__(self, program: Program, writing: int) -> None:
        self.program = program
        self.scope = trio.CancelScope()
        self.is_retained = False
        self._writing: int | None = writing

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run the process to its end. Raises NotStartedError."""
        try:
            with self.scope:
                await self.program.run(task_status)
        finally:
            self.close_input()

    def send_line(self, line: str) -> bool:
        """Write a line to the standard input; return whether that was possible.

        This does not block: a line is short, and the next one is written only after the last one was read.
        """
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
async def open_persistent_programs(excluded: set[int], connect_timeout: float) -> AsyncIterator[PersistentPrograms]:
    """Open a `PersistentPrograms`; leaving ends all its processes."""
    async with trio.open_nursery() as nursery:
        programs = PersistentPrograms(nursery, excluded, connect_timeout)
        yield programs
        await programs.close()
