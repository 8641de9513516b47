"""A packet handler turns packets into calls of the lobby, and errors into replies, without waiting."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import trio

from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.messages import Departure
from spielleiter.server import events
from spielleiter.server.config import Config
from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.room import Peer
from spielleiter.server.net.fair_queue import FairQueue
from spielleiter.server.net.outbox import Outbox
from spielleiter.server.net.packet_handler import ENDED_BY_SERVER, PacketHandler
from spielleiter.server.net.packet_limits import player_limits, stranger_limits
from spielleiter.server.net.password_guard import PasswordGuard
from spielleiter.server.net.processor_budget import ProcessorBudget
from spielleiter.server.net.session_phase import Phase, SessionState, Trigger
from tests.server.answers import answered
from tests.server.harness import GAME_TYPE, GOODBYE, START
from tests.server.room_harness import RoomHarness
from tests.server.wires import ThrottledWire

CONFIG = Config()


@dataclass
class HandlerCase:
    """A handler with its connection, on a lobby in virtual time."""

    harness: RoomHarness = field(default_factory=RoomHarness)
    wire: ThrottledWire = field(default_factory=ThrottledWire)
    published: list[events.ServerEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        lobby, stream = self.harness.lobby, events.EventStream()
        stream.subscribe(self.published.append)
        self.state = SessionState()
        self.connection = Connection(Role.SERVER, lobby.initial_dialect, stranger_limits(CONFIG))
        outbox = Outbox(
            self.wire, self.connection, max_bytes=10_000, progress_timeout=10.0, on_ended=self.state.end_stream
        )
        self.member = lobby.connect(Peer("c1", outbox, self.harness.edition))
        budget = ProcessorBudget(FairQueue(), 1.0, lambda: 0.0)
        guard = PasswordGuard(attempts=1, window=60.0, longest_delay=30.0)
        self.guard = guard
        self.handler = PacketHandler(
            self.member, lobby, self.connection, outbox, stream, CONFIG, budget, guard, "host", self.state
        )

    def receive(self, data: bytes) -> None:
        """Handle all packets in `data` as a session does."""
        if data:
            self.state.advance(Trigger.DATA)
        self.connection.receive_data(data)
        while self.state.phase is not Phase.CLOSING and (event := self.handler.next_event()) is not None:
            now = trio.current_time()
            self.handler.handle(event, Arrival(now), now)
            if self.state.phase is Phase.CLOSED:
                break


async def test_a_granted_packet_changes_dialect_limits_and_phase() -> None:
    case = HandlerCase()
    case.receive(f'<protocol><join gameType="{GAME_TYPE}"><extra/></join>'.encode())
    assert case.state.phase is Phase.SERVING
    assert case.member.packets_received == 1
    assert len(case.member.rooms) == 1
    assert case.connection.limits == player_limits(CONFIG)
    assert case.connection.dialect is case.harness.edition.dialect
    assert case.published == [events.ContentIgnored("c1", ("<extra> in <join>",))]
    assert bytes(case.wire.taken).startswith(START + b"\n  <joined ")
    assert case.handler.reason == ENDED_BY_SERVER


async def test_a_wrong_password_counts_as_a_failure_of_its_host() -> None:
    case = HandlerCase()
    case.receive(b'<protocol><authenticate password="wrong"/>')
    assert case.guard.delay("host", trio.current_time()) == 1.0
    assert case.guard.delay("other", trio.current_time()) == 0.0


@pytest.mark.parametrize(
    ("received", "reason", "message"),
    [
        (b"", "first_packet", f"No packet came within {CONFIG.first_packet_timeout:g} s"),
        (b"<protocol>", "first_packet", f"No packet came within {CONFIG.first_packet_timeout:g} s"),
        (
            f'<protocol><join gameType="{GAME_TYPE}"/><room'.encode(),
            "packet_timeout",
            f"A packet was begun and not ended in {CONFIG.packet_timeout:g} s",
        ),
    ],
)
async def test_a_slow_packet_is_refused_by_the_phase_of_the_connection(
    received: bytes, reason: str, message: str
) -> None:
    case = HandlerCase()
    if received:
        case.receive(received)
    case.handler.refuse_slow_packet()
    assert bytes(case.wire.taken).endswith(answered(message) + GOODBYE)
    assert (case.handler.reason, case.handler.departure) == (reason, Departure.PROTOCOL_ERROR)
    assert case.published[-1] == events.ProtocolBroken("c1", reason, message)


@pytest.mark.parametrize(("received", "was_silent"), [(b"", True), (b"<protocol>", False)])
async def test_the_end_of_input_ends_both_sides(received: bytes, was_silent: bool) -> None:
    case = HandlerCase()
    if received:
        case.receive(received)
    case.receive(b"")
    assert case.state.phase is Phase.CLOSED
    assert (case.handler.reason, case.handler.was_silent) == ("end of input", was_silent)
    assert case.handler.departure is Departure.LOST_CONNECTION


async def test_the_first_reason_for_an_end_is_kept_when_the_connection_is_lost() -> None:
    case = HandlerCase()
    case.handler.end("the server stops")
    case.handler.end_lost("connection lost", with_end_tag=False)
    assert case.state.phase is Phase.CLOSED
    assert (case.handler.reason, case.handler.was_silent) == ("the server stops", False)
