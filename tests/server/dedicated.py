"""A room of a whole server, each of whose seats has a dedicated port."""

from __future__ import annotations

from dataclasses import dataclass

from trio.testing import memory_stream_pair, wait_all_tasks_blocked

from spielleiter.protocol.messages import Slot
from spielleiter.server import events
from spielleiter.server.core.lobby import DedicatedPort
from spielleiter.server.core.room import Room
from spielleiter.server.errors import Fault
from tests.server.harness import Caller, ServerHarness
from tests.server.wires import StreamWire


@dataclass
class DedicatedRoom:
    harness: ServerHarness
    room: Room
    ports: tuple[DedicatedPort, DedicatedPort]
    calls: int = 0

    async def call(self, seat: int) -> Caller:
        """Connect a caller to the port of `seat`."""
        near, far = memory_stream_pair()
        self.calls += 1
        caller = Caller(f"call {self.calls}", near)
        self.harness.nursery.start_soon(caller.listen)
        self.harness.nursery.start_soon(self._serve, StreamWire(far), caller.label, self.ports[seat])
        await wait_all_tasks_blocked()
        return caller

    async def begin(self) -> Caller:
        """Let both players join; return the side to move."""
        callers = [await self.call(0), await self.call(1)]
        for caller in callers:
            await caller.send("<protocol><join/>")
        return callers[self.room.state.seat_on_turn]

    async def _serve(self, wire: StreamWire, label: str, port: DedicatedPort) -> None:
        await self.harness.server.serve_wire(wire, "host:1", label=label, dedicated_port=port)

    def faults(self, label: str) -> list[Fault]:
        return [each.fault for each in self.harness.happened(events.RequestRefused, label)]


def open_room(harness: ServerHarness) -> DedicatedRoom:
    edition = harness.server.editions[harness.server.lobby.default_edition.game_type]
    slots = (Slot("Eins"), Slot("Zwei"))
    room = harness.server.lobby.open_prepared(edition, slots)
    return DedicatedRoom(harness, room, (DedicatedPort(room, 0), DedicatedPort(room, 1)))
