"""Traces of a server's connections, with what the server says about the packets.

How a trace is written is the matter of a recorder that is passed in (`spielleiter.wire.trace_writer`). Without a folder
for traces there is no `Tracer`, and connections cost nothing more. The text of a fault is that of the event in the log.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import trio

from spielleiter.game.api import Seat
from spielleiter.server import events
from spielleiter.server.core.clock import Arrival
from spielleiter.server.net.wire import Wire

TO_SERVER: Final = "->"
FROM_SERVER: Final = "<-"
CONNECTS: Final = "(connects)"


class ConnectionTrace(Protocol):
    """The trace of one connection. Its methods never wait and never raise; instants are in seconds."""

    def add(self, direction: str, instant: float, data: bytes) -> None:
        """Record bytes that were sent in `direction` at `instant`; ``b""``: the end of the stream."""
        ...

    def event(self, direction: str, instant: float, text: str) -> None: ...

    def note(self, instant: float, text: str, packet: int | None = None, position: int | None = None) -> None:
        """Record what the server says about the packet with this number, and the byte at `position` in it."""
        ...

    def reset(self, direction: str, instant: float) -> None: ...

    def close(self, instant: float) -> None: ...


class TraceRecorder(Protocol):
    """Writes traces into a folder."""

    def open(self, name: str, title: Iterable[str], instant: float, *, holds: bool = False) -> ConnectionTrace | None:
        """Begin the trace of a connection; None if there are too many. `title` are lines about it.

        With `holds`, a packet of the client waits for what the server says about it.
        """
        ...

    def close(self) -> None: ...


RecorderFactory: TypeAlias = Callable[[Path, Callable[[str, str], None]], TraceRecorder]
"""Makes a recorder for a folder; it calls the function with a path and a reason if a trace ends. Raises StartError."""


class TracedWire:
    """A `Wire` that passes everything on to `wire` and records it in `trace`."""

    def __init__(self, wire: Wire, trace: ConnectionTrace) -> None:
        self._wire = wire
        self._trace = trace

    async def receive(self) -> tuple[bytes, Arrival]:
        try:
            data, arrival = await self._wire.receive()
        except trio.BrokenResourceError:
            self._trace.reset(TO_SERVER, trio.current_time())
            raise
        self._trace.add(TO_SERVER, arrival.instant, data)
        return data, arrival

    def try_send(self, data: bytes | memoryview) -> int:
        return self._sent(data, self._wire.try_send(data))

    async def send_some(self, data: memoryview) -> int:
        return self._sent(data, await self._wire.send_some(data))

    def _sent(self, data: bytes | memoryview, size: int) -> int:
        if size:
            self._trace.add(FROM_SERVER, trio.current_time(), bytes(data[:size]))
        return size

    async def send_eof(self) -> None:
        await self._wire.send_eof()
        self._trace.add(FROM_SERVER, trio.current_time(), b"")

    def has_unread_input(self) -> bool:
        return self._wire.has_unread_input()

    def is_peer_stalled(self) -> bool:
        return self._wire.is_peer_stalled()

    def has_left(self) -> bool:
        return self._wire.has_left()

    async def aclose(self) -> None:
        self._trace.close(trio.current_time())
        await self._wire.aclose()


class _Traced:
    """A connection that is traced; `packet_count` is the number of its packets that the server has handled."""

    def __init__(self, trace: ConnectionTrace) -> None:
        self.trace = trace
        self.packet_count: Callable[[], int] = lambda: 0
        self.refused = 0
        """The number of the packet whose move was refused last."""


_NOTED: Final = (
    events.ProtocolBroken,
    events.RequestRefused,
    events.ContentIgnored,
    events.PlayerJoined,
    events.MoveRefused,
    events.TimeVerdict,
    events.PeerTooSlow,
    events.ConnectionClosed,
    events.RoomClosed,
)


class Tracer:
    """Traces connections into `folder`, and publishes failures in `stream`. Raises StartError."""

    def __init__(self, folder: Path, stream: events.EventStream, recorder: RecorderFactory) -> None:
        self._recorder = recorder(folder, self._note_failure)
        self._stream = stream
        self._token: trio.lowlevel.TrioToken | None = None
        self._connections: dict[str, _Traced] = {}
        self._seats: dict[tuple[str, Seat], str] = {}
        stream.subscribe(self._note_event, _NOTED)

    def trace(self, wire: Wire, label: str, address: str) -> Wire:
        """Begin the trace of a connection; return the wire that its session has to use."""
        self._token = trio.lowlevel.current_trio_token()
        instant = trio.current_time()
        trace = self._recorder.open(
            label, (f"connection {label} from {address}", "recorded by the server"), instant, holds=True
        )
        if trace is None:
            return wire
        self._connections[label] = _Traced(trace)
        trace.event(TO_SERVER, instant, CONNECTS)
        return TracedWire(wire, trace)

    def count_packets(self, label: str, packet_count: Callable[[], int]) -> None:
        """Let `packet_count` say how many packets of a connection the server has handled."""
        if label in self._connections:
            self._connections[label].packet_count = packet_count

    def close(self) -> None:
        """Write what is left."""
        self._recorder.close()

    # -- what the server says ---------------------------------------------------------------------------------------

    def _note_event(self, event: events.ServerEvent) -> None:
        match event:
            case events.ProtocolBroken():
                if traced := self._connections.get(event.connection):  # about the packet that could not be read
                    self._note(event.connection, event.text, traced.packet_count() + 1, event.position)
            case events.RequestRefused():
                traced = self._connections.get(event.connection)
                if traced is not None and traced.refused != traced.packet_count():  # else the move was refused already
                    self._note_packet(event.connection, f"refused ({event.fault.value}): {event.text}")
            case events.ContentIgnored():
                self._note_packet(event.connection, f"ignored: {'; '.join(event.ignored)}")
            case events.PlayerJoined():
                self._seats[event.room, event.seat] = event.connection
            case events.MoveRefused():
                label = self._seats.get((event.room, event.seat), "")
                self._note_packet(label, f"refused ({event.fault.value}): {event.text}")
                if traced := self._connections.get(label):
                    traced.refused = traced.packet_count()
            case events.TimeVerdict():
                which = "no move came within the hard limit" if event.is_hard else "the move came after the soft limit"
                text = f"{which}: {event.think_time:.3f} s, the limit is {event.limit:g} s"
                self._note(self._seats.get((event.room, event.seat), ""), text)
            case events.PeerTooSlow():
                self._note(event.connection, event.why)
            case events.ConnectionClosed():
                self._connections.pop(event.connection, None)
            case events.RoomClosed():
                for key in [key for key in self._seats if key[0] == event.room]:
                    del self._seats[key]

    def _note(self, label: str, text: str, packet: int | None = None, position: int | None = None) -> None:
        if traced := self._connections.get(label):
            traced.trace.note(trio.current_time(), text, packet, position)

    def _note_packet(self, label: str, text: str) -> None:
        """Add a note about the packet that is being handled."""
        if traced := self._connections.get(label):
            self._note(label, text, traced.packet_count())

    # -- failures ---------------------------------------------------------------------------------------------------

    def _note_failure(self, path: str, error: str) -> None:
        """Publish an event on the event loop; called from any thread."""
        if self._token is not None:
            with contextlib.suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._stream.publish, events.TraceFailed(path, error))
