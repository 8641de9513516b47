"""The connection of a check to a program, and the end of the program's process.

Invariants: the connection is as strict as an official server: content at which such a server ends the connection is
refused. It is left open after a game, and ended when the program has said goodbye. All bytes are logged. Unexpected
behaviour of the program is raised as UnexpectedBehaviourError; as InconclusiveError if something took too long only
because this machine was busy.

The stream is closed as soon as the program is found to have left; whatever is read or written after that has the same
outcome as the first attempt.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import trio

from spielleiter.match.checking.errors import (
    UNFINISHED_SHARE,
    InconclusiveError,
    ToleratedError,
    UnexpectedBehaviourError,
    too_slow,
)
from spielleiter.match.games.stopwatch import Stopwatch
from spielleiter.match.programs.program import Program
from spielleiter.match.records.wire_log import WireLog
from spielleiter.protocol.connection import Connection, ConnectionClosed, Event, Role, StreamEnd
from spielleiter.protocol.connection_phase import OutputPhase
from spielleiter.protocol.errors import RemoteProtocolError
from spielleiter.protocol.messages import CloseConnection
from spielleiter.server.config.config import Config
from spielleiter.server.core.policy import Edition
from spielleiter.server.net.packet_limits import player_limits

_STREAM_STAYS_OPEN: Final = (
    "the official server leaves the stream open after a game until the program says goodbye, so the program would not "
    "end there; the game counts nevertheless. It should end as soon as `result` or `left` has arrived"
)
_READ_SIZE: Final = 64 * 1024
_EXIT_TIMEOUT: Final = 1.0  # seconds for a process to end after it has closed its connection


class ProgramConnection:
    """The connection to one program in the form of `edition`; `_stream` is None until the program has connected."""

    def __init__(self, edition: Edition, program: Program, log: WireLog) -> None:
        self.program = program
        self._edition = edition
        self._log = log
        self._connection = Connection(Role.SERVER, edition.dialect.evolve(is_strict=True))
        self._connection.limits = player_limits(Config())
        self._stream: trio.SocketStream | None = None

    # -- the end of the process -------------------------------------------------------------------------------------

    async def expect_exit(self, exit_timeout: float) -> str:
        """Wait until the process has ended by itself; return how it ended.

        If it still runs after `exit_timeout` seconds, the stream is ended, unless it has ended already. Raises
        ToleratedError if the process ends within as many seconds after that.
        """
        is_needless = await self._wait_for_exit(exit_timeout, "the game")
        text = self.exit_text()
        if self.program.returncode is not None and self.program.returncode < 0:
            raise UnexpectedBehaviourError(text)
        if is_needless:
            return text
        raise ToleratedError(f"{text}, but not before the server had ended the stream", _STREAM_STAYS_OPEN)

    async def _wait_for_exit(self, exit_timeout: float, event: str) -> bool:
        """Wait until the process has ended; return False if it ended only after the server had ended the stream."""
        stopwatch = Stopwatch(self.program.pids)
        with trio.move_on_after(exit_timeout):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._answer_goodbye)
                await self.program.exited.wait()
                nursery.cancel_scope.cancel()
        if self.program.exited.is_set():
            return True
        is_open = self._connection.output_phase is not OutputPhase.CLOSED
        late = self._late(
            f"the process still runs {exit_timeout:g} s after the end of {event}", stopwatch, exit_timeout
        )
        if not is_open or isinstance(late, InconclusiveError):
            raise late
        await self._end_stream()
        await self._wait_for_exit(exit_timeout, "the stream")
        return False

    async def _answer_goodbye(self) -> None:
        """End the stream when the program has ended its own or has said goodbye, as every server does."""
        try:
            while not isinstance(await self._next_event(), StreamEnd | ConnectionClosed | CloseConnection):
                pass
        except RemoteProtocolError:
            pass
        except UnexpectedBehaviourError:
            self._connection.close()  # the program has reset the connection, so there is no stream to end
            return
        await self._end_stream()

    def exit_text(self) -> str:
        """Return how the process ended; empty while it is running."""
        code = self.program.returncode
        if code is None:
            return ""
        return f"the process ended by signal {-code}" if code < 0 else f"the process ended with exit code {code}"

    def _late(self, text: str, stopwatch: Stopwatch, limit: float) -> UnexpectedBehaviourError:
        """Return the error for something that has not happened since the stopwatch was started."""
        return too_slow(text, stopwatch.seconds, stopwatch.seconds_lost(self.program.pids), limit, UNFINISHED_SHARE)

    # -- bytes ------------------------------------------------------------------------------------------------------

    async def _next_event(self) -> Event:
        assert self._stream is not None
        while True:
            event = self._connection.next_event()
            if event is not None:
                return event
            try:
                data = bytes(await self._stream.receive_some(_READ_SIZE))
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                raise UnexpectedBehaviourError(await self._reason_for_leaving()) from None
            self._log.write("program >", data)
            self._connection.receive_data(data)

    async def _reason_for_leaving(self) -> str:
        await self.aclose()  # some programs end only after that
        with trio.move_on_after(_EXIT_TIMEOUT):  # a crashing process closes its connection first
            await self.program.exited.wait()
        return "it ended its connection; " + (self.exit_text() or "the process runs on")

    async def _write(self, data: bytes) -> None:
        assert self._stream is not None
        self._log.write("program <", data)
        try:
            await self._stream.send_all(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise UnexpectedBehaviourError(await self._reason_for_leaving()) from None

    async def _end_stream(self) -> None:
        """End the stream, unless it has ended already; a program that has left by now is judged by its exit code."""
        if self._connection.output_phase is OutputPhase.CLOSED:
            return
        with suppress(UnexpectedBehaviourError, trio.BrokenResourceError, trio.ClosedResourceError):
            await self._write(self._connection.close())
            assert self._stream is not None
            await self._stream.send_eof()

    async def aclose(self) -> None:
        if self._stream is not None:
            await trio.aclose_forcefully(self._stream)
