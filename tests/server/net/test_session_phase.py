"""A session's phase follows the table, and what a real session goes through is in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.server import events
from spielleiter.server.net.session_phase import TRANSITIONS, Phase, SessionState, Trigger, next_phase
from tests.server.harness import Caller, ServerHarness, open_harness


@given(st.lists(st.sampled_from(Trigger)))
def test_phases_only_move_forward(triggers: list[Trigger]) -> None:
    order = list(Phase)
    state = SessionState()
    for trigger in triggers:
        before = state.phase
        state.advance(trigger)
        assert order.index(before) <= order.index(state.phase)
        assert (state.phase is before) == ((before, trigger) not in TRANSITIONS)


def test_closed_is_final_and_reachable_from_every_phase() -> None:
    for phase in Phase:
        closing = next_phase(phase, Trigger.STREAM_ENDED)
        assert next_phase(closing, Trigger.INPUT_ENDED) is Phase.CLOSED
    assert all(next_phase(Phase.CLOSED, trigger) is Phase.CLOSED for trigger in Trigger)


def test_input_that_ends_while_our_stream_is_open_changes_nothing() -> None:
    for phase in (Phase.SILENT, Phase.FIRST_PACKET, Phase.SERVING):
        assert next_phase(phase, Trigger.INPUT_ENDED) is phase


def phase_of(harness: ServerHarness, caller: Caller) -> Phase | None:
    """The phase of a caller's session; None once it is over."""
    sessions = {session.label: session for session in harness.server._sessions}
    return sessions[caller.label]._state.phase if caller.label in sessions else None


async def test_a_session_passes_through_all_phases(autojump_clock: object) -> None:
    async with open_harness() as harness:
        caller = await harness.call()
        assert phase_of(harness, caller) is Phase.SILENT
        await caller.send("<protocol><join")
        assert phase_of(harness, caller) is Phase.FIRST_PACKET
        await caller.send("/>")
        assert phase_of(harness, caller) is Phase.SERVING
        await caller.send("<close/>")
        assert phase_of(harness, caller) is Phase.CLOSING
        await caller.end_input()
        assert phase_of(harness, caller) is None


@pytest.mark.parametrize(("data", "was_silent"), [("", True), ("<", False), ("<protocol><join/>", False)])
async def test_a_peer_is_silent_until_its_first_byte(data: str, was_silent: bool, autojump_clock: object) -> None:
    async with open_harness() as harness:
        caller = await harness.call()
        await caller.send(data)
        await caller.close()
        (closed,) = harness.happened(events.ConnectionClosed)
        assert closed.was_silent == was_silent


async def test_a_peer_whose_stream_the_server_ends_first_was_not_silent(autojump_clock: object) -> None:
    async with open_harness(first_packet_timeout=5.0) as harness:
        caller = await harness.call()
        (session,) = harness.server._sessions
        session.end("the server stops")
        assert session._state.phase is Phase.CLOSING
        await caller.close()
        (closed,) = harness.happened(events.ConnectionClosed)
        assert (closed.was_silent, closed.reason) == (False, "the server stops")
