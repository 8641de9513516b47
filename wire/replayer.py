"""Sends the clients' side of a recording to a server again, and compares the answers.

The steps are taken in the recorded order: nothing is sent before every answer that was recorded before it has arrived,
on all connections. Waiting has a time limit. What the server sends is bounded in memory: it is read only as fast as it
is compared, apart from a bounded queue.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field
from typing import Final, NoReturn

import trio

from spielleiter.client.transport import reset_on_close
from spielleiter.common.errors import SetupError
from spielleiter.common.text import count_text
from spielleiter.server.tracing import CONNECTS
from spielleiter.wire.comparison import Comparison
from spielleiter.wire.conversation import MIB, Splitter
from spielleiter.wire.proxy import CONNECT_TIMEOUT, server_problem
from spielleiter.wire.trace_lines import NOTE, RESET, STAYS_OPEN, STREAM_ENDS
from spielleiter.wire.trace_reader import CLOSES, CUT, PASSWORD, Recording, Step

_NOT_REPEATED: Final = frozenset({NOTE, STAYS_OPEN})
"""Lines of a recording that are not steps of the conversation."""
_RECEIVE_BYTES: Final = 65536
_MOST_WAITING: Final = 256
"""Packets of one connection that wait to be compared."""
MOST_WAITING_BYTES: Final = 16 * MIB
"""Bytes of one connection that wait to be compared."""
_LONGEST_PACKET: Final = 8 * MIB
_QUIET: Final = 0.1
"""Seconds after the last step within which the server would send what the recording does not have."""
_MOST_LEFT_OUT: Final = 60.0
"""Seconds of pauses that are left out by which waiting is prolonged: longer than the time limits of a server."""
_ENDED: Final = None
"""Stands in the queue for the end of the server's stream."""


@dataclass(frozen=True, slots=True)
class Difference:
    """An answer that differs: `where` says which one, `what` says how in one line, `lines` show it."""

    where: str
    what: str
    lines: tuple[str, ...] = ()


@dataclass(slots=True)
class ReplayReport:
    """What a replay has found."""

    sent: int = 0
    compared: int = 0
    not_compared: int = 0
    """Recorded answers after the end of the replay, or of their connection."""
    gaps: list[str] = field(default_factory=list)
    """What could not be repeated or compared, since the recording lacks it; each is one line."""
    differences: list[Difference] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What a reader has to know beside the differences."""
    ids: int = 0
    passwords: int = 0


class UnreachableError(SetupError):
    """The server cannot be reached; the text is one line that says why, and what to do."""


class _Stop(Exception):  # noqa: N818 - not an error
    """The replay ends here."""


class ReplayConnection:
    """One connection to the server, which is read while `read` runs."""

    def __init__(self, name: str, stream: trio.SocketStream) -> None:
        self.name = name
        self.stream = stream
        self.is_closed = False
        self._put, self._answers = trio.open_memory_channel[bytes | None](_MOST_WAITING)
        self._waiting_bytes = 0
        self._taken = trio.Event()
        self._splitter = Splitter(_LONGEST_PACKET, _RECEIVE_BYTES)

    async def read(self) -> None:
        """Read until the server ends its stream."""
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while data := await self.stream.receive_some(_RECEIVE_BYTES):
                for part in self._splitter.feed(data, 0.0):
                    await self._add(part.data)
        for part in self._splitter.finish():
            await self._add(part.data)
        await self._put.send(_ENDED)

    async def _add(self, packet: bytes) -> None:
        while self._waiting_bytes and self._waiting_bytes + len(packet) > MOST_WAITING_BYTES:
            await self._taken.wait()
        self._waiting_bytes += len(packet)
        await self._put.send(packet)

    async def next_packet(self) -> bytes | None:
        """Return the next packet of the server; _ENDED after the last one."""
        packet = await self._answers.receive()
        self._waiting_bytes -= len(packet or b"")
        self._taken.set()
        self._taken = trio.Event()
        return packet


class Replayer:
    """Replays `recording` to the server at `address`.

    `timeout` is the time in seconds for each answer, in addition to the recorded one, and for each packet to be sent.
    `password` takes the place of every password. With `keeps_times`, the clients pause as long as they did in the
    recording.

    The recorded time of an answer is that since the step before it, and since every other step of the last minute: the
    server may answer what happened before that step, for example with a timeout of another player. So the pauses that
    are left out count as well.
    """

    def __init__(
        self,
        recording: Recording,
        address: tuple[str, int],
        *,
        timeout: float,
        password: str,
        keeps_times: bool = False,
    ) -> None:
        self._recording = recording
        self._address = address
        self._timeout = timeout
        self._keeps_times = keeps_times
        self._comparison = Comparison(password.encode())
        self._connections: dict[str, ReplayConnection] = {}
        self._report = ReplayReport()
        self._lag = -math.inf
        """The most seconds by which the replay was behind the recording, on the clocks of both."""

    async def run(self) -> ReplayReport:
        """Replay everything; return what was found. Raises UnreachableError."""
        report = self._report
        unreachable: UnreachableError | None = None
        async with trio.open_nursery() as nursery:
            try:
                await self._take_all(nursery)
            except _Stop:
                pass
            except UnreachableError as error:  # raised below: the nursery would wrap it in a group
                unreachable = error
            else:
                async with trio.open_nursery() as reading:
                    for connection in self._connections.values():
                        if not connection.is_closed:
                            reading.start_soon(self._note_more, connection)
            nursery.cancel_scope.cancel()
        for connection in self._connections.values():
            with trio.CancelScope(shield=True):
                await trio.aclose_forcefully(connection.stream)
        if unreachable is not None:
            raise unreachable
        answers = sum(not step.is_to_server and bool(step.data) for step in self._recording.steps)
        report.not_compared = answers - report.compared
        report.ids = self._comparison.id_count
        if self._comparison.start_pieces is not None:
            recorded, present = self._comparison.start_pieces
            report.notes.append(
                f"the recorded game begins with {recorded}, this one with {present}, so the moves do not fit; "
                f"start the server with `--start-piece {recorded}`"
            )
        return report

    # -- steps ------------------------------------------------------------------------------------------------------

    async def _take_all(self, nursery: trio.Nursery) -> None:
        previous = 0.0
        for step in self._recording.steps:
            connection = self._connections.get(step.connection)
            if step.event in _NOT_REPEATED or (connection is not None and connection.is_closed):
                continue  # its instant must not count as one at which something happened
            since = max(0.0, step.instant - previous)
            if self._keeps_times and step.is_to_server:
                await trio.sleep(since)
            if connection is None:
                try:
                    with trio.fail_after(CONNECT_TIMEOUT):
                        stream = await trio.open_tcp_stream(*self._address)
                except (OSError, UnicodeError, trio.TooSlowError) as error:
                    raise UnreachableError(server_problem(self._address, error)) from None
                connection = self._connections[step.connection] = ReplayConnection(step.connection, stream)
                nursery.start_soon(connection.read)
            if step.event == CUT:
                self._stop(step, f"the recording ends early ({step.text})")
            if step.is_to_server:
                if step.event != CONNECTS:
                    await self._send(connection, step)
            elif step.event in {STREAM_ENDS, RESET}:
                answer = await self._answer(connection, step, since)
                if answer is not _ENDED:
                    what = "the server has sent something instead of closing the connection"
                    self._differ(step, what, (self._first_line(answer),))
                connection.is_closed = True
            elif not step.event:
                await self._compare(connection, step, since)
            previous = step.instant
            self._lag = max(self._lag, trio.current_time() - previous)

    async def _send(self, connection: ReplayConnection, step: Step) -> None:
        report, stream = self._report, connection.stream
        if step.left_out:
            self._stop(step, f"the recording lacks {count_text(step.left_out, 'byte')} that the client sent")
        try:
            if step.event == STREAM_ENDS:
                await stream.send_eof()
            elif step.event in {CLOSES, RESET}:
                connection.is_closed = True
                if step.event == RESET:
                    reset_on_close(stream.socket)
                await stream.aclose()
            else:
                report.passwords += step.data.count(PASSWORD)
                with trio.fail_after(self._timeout):
                    await stream.send_all(self._comparison.translated(step.data))
                report.sent += 1
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._differ(step, "the server has closed the connection already; this could not be sent")
        except trio.TooSlowError:
            what = f"the server did not take this within {self._timeout:.1f} s; stopped here"
            self._differ(step, what, (self._first_line(step.data),))
            raise _Stop from None

    async def _compare(self, connection: ReplayConnection, step: Step, since: float) -> None:
        lacks = f"the recording lacks {count_text(step.left_out, 'byte')} that the server sent"
        if not step.data:
            self._stop(step, lacks)
        answer = await self._answer(connection, step, since)
        self._report.compared += 1
        if answer is _ENDED:
            connection.is_closed = True
            self._differ(
                step, "the server has closed the connection instead of this answer", (self._first_line(step.data),)
            )
        elif self._comparison.is_equal(step.data, answer, is_whole=not step.left_out):
            if step.left_out:
                self._report.gaps.append(f"{_where(step)}: {lacks}; only what is there was compared")
        elif step.may_be_incomplete and self._comparison.is_equal(step.data, answer, is_whole=False):
            self._report.compared -= 1
            self._stop(step, "the recording lacks the end of this answer")
        else:
            self._differ(step, "the answer differs", tuple(self._comparison.difference(step.data, answer)))

    async def _answer(self, connection: ReplayConnection, step: Step, since: float) -> bytes | None:
        has_left_out = max(0.0, self._lag - (trio.current_time() - (step.instant - since)))
        limit = self._timeout + since + min(_MOST_LEFT_OUT, has_left_out)
        with trio.move_on_after(limit):
            return await connection.next_packet()
        self._differ(step, f"no answer came within {limit:.1f} s; stopped here", (self._first_line(step.data),))
        raise _Stop

    async def _note_more(self, connection: ReplayConnection) -> None:
        """Say what the server sends after the last recorded answer."""
        first = None
        with trio.move_on_after(_QUIET):
            first = await connection.next_packet()
        if first:
            self._report.notes.append(
                f"{connection.name}: the server has sent more after the last recorded answer, first of all "
                f"`{self._first_line(first).removeprefix('- ')}`"
            )

    def _first_line(self, data: bytes) -> str:
        shown = self._comparison.shown(data).decode("utf-8", "replace")
        return "- " + " ".join(shown.split())[:120] if data else "- the end of the connection"

    def _differ(self, step: Step, what: str, lines: tuple[str, ...] = ()) -> None:
        self._report.differences.append(Difference(_where(step), what, lines))

    def _stop(self, step: Step, why: str) -> NoReturn:
        """End the replay, since something is missing in the recording."""
        self._report.gaps.append(f"{_where(step)}: {why}; stopped here")
        raise _Stop


def _where(step: Step) -> str:
    return f"line {step.line} ({step.connection}, {step.instant:.3f} s)"
