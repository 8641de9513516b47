"""The traces of a server: one for each connection, with what the server says about the packets.

Invariants: without a folder for traces there is no `Tracer`, and connections cost nothing more. The text of a fault is
that of the event in the log.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import trio

from spielleiter.game.api import Seat
from spielleiter.server import events
from spielleiter.server.net.wire import Wire
from spielleiter.server.trace.form import CONNECTS, TO_SERVER
from spielleiter.server.trace.limits import TRACE_LIMITS, TraceLimits
from spielleiter.server.trace.recorder import Recorder, Trace
from spielleiter.server.trace.traced_wire import TracedWire

_BY_SERVER: Final = "recorded by the server"


class _Traced:
    """A connection that is traced; `packet_count` is the number of its packets that the server has handled."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.packet_count: Callable[[], int] = lambda: 0
        self.refused = 0
        """The number of the packet whose move was refused last."""


class Tracer:
    """Traces connections into `folder`, and publishes failures in `stream`. Raises StartError."""

    def __init__(self, folder: Path, stream: events.EventStream, limits: TraceLimits = TRACE_LIMITS) -> None:
        self._recorder = Recorder(folder, self._note_failure, limits)
        self._stream = stream
        self._token: trio.lowlevel.TrioToken | None = None
        self._connections: dict[str, _Traced] = {}
        self._seats: dict[tuple[str, Seat], str] = {}
        stream.on(events.ProtocolBroken, self._protocol_broken)
        stream.on(events.RequestRefused, self._request_refused)
        stream.on(events.ContentIgnored, self._content_ignored)
        stream.on(events.PlayerJoined, self._player_joined)
        stream.on(events.MoveRefused, self._move_refused)
        stream.on(events.TimeVerdict, self._time_verdict)
        stream.on(events.PeerTooSlow, lambda event: self._note(event.connection, event.why))
        stream.on(events.ConnectionClosed, self._connection_closed)
        stream.on(events.RoomClosed, self._room_closed)

    def trace(self, wire: Wire, label: str, address: str) -> Wire:
        """Begin the trace of a connection; return the wire that its session has to use."""
        self._token = trio.lowlevel.current_trio_token()
        instant = trio.current_time()
        trace = self._recorder.open(label, (f"connection {label} from {address}", _BY_SERVER), instant, holds=True)
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

    def _note(self, label: str, text: str, packet: int | None = None, position: int | None = None) -> None:
        if traced := self._connections.get(label):
            traced.trace.note(trio.current_time(), text, packet, position)

    def _note_packet(self, label: str, text: str, *, is_handled: bool = True, position: int | None = None) -> None:
        """Add a note about the packet that is being handled, or (if not `is_handled`) that could not be read."""
        if traced := self._connections.get(label):
            packet = traced.packet_count() + (not is_handled)
            traced.trace.note(trio.current_time(), text, packet, position)

    def _protocol_broken(self, event: events.ProtocolBroken) -> None:
        self._note_packet(event.connection, event.text, is_handled=False, position=event.position)

    def _request_refused(self, event: events.RequestRefused) -> None:
        traced = self._connections.get(event.connection)
        if traced is not None and traced.refused != traced.packet_count():  # otherwise the move was refused already
            self._note_packet(event.connection, f"refused ({event.fault.value}): {event.text}")

    def _content_ignored(self, event: events.ContentIgnored) -> None:
        self._note_packet(event.connection, f"ignored: {'; '.join(event.ignored)}")

    def _player_joined(self, event: events.PlayerJoined) -> None:
        self._seats[event.room, event.seat] = event.connection

    def _move_refused(self, event: events.MoveRefused) -> None:
        label = self._seats.get((event.room, event.seat), "")
        self._note_packet(label, f"refused ({event.fault.value}): {event.text}")
        if traced := self._connections.get(label):
            traced.refused = traced.packet_count()

    def _time_verdict(self, event: events.TimeVerdict) -> None:
        if label := self._seats.get((event.room, event.seat)):
            which = "no move came within the hard limit" if event.is_hard else "the move came after the soft limit"
            self._note(label, f"{which}: {event.think_time:.3f} s, the limit is {event.limit:g} s")

    def _connection_closed(self, event: events.ConnectionClosed) -> None:
        self._connections.pop(event.connection, None)

    def _room_closed(self, event: events.RoomClosed) -> None:
        for key in [key for key in self._seats if key[0] == event.room]:
            del self._seats[key]

    # -- failures ---------------------------------------------------------------------------------------------------

    def _note_failure(self, path: str, error: str) -> None:
        """Publish an event on the event loop; called from any thread."""
        if self._token is not None:
            with contextlib.suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._stream.publish, events.TraceFailed(path, error))
