"""Subscribers receive their events in order, even if others fail; summaries, faults and events are what a log needs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.server import events
from spielleiter.server.events import ConnectionOpened, EventStream, InternalError, RoomClosed, ServerEvent, ThinkStats


def test_a_subscriber_to_some_kinds_receives_no_others() -> None:
    stream = EventStream()
    received: list[ServerEvent] = []
    everything: list[ServerEvent] = []
    stream.publish(RoomClosed("no subscriber yet"))
    stream.on(RoomClosed, received.append)
    stream.publish(ConnectionOpened("c1", "host:1"))
    stream.publish(RoomClosed("a"))
    stream.subscribe(everything.append)
    stream.publish(RoomClosed("b"))
    assert received == [RoomClosed("a"), RoomClosed("b")]
    assert everything == [RoomClosed("b")]
    assert stream.counters == {"RoomClosed": 3, "ConnectionOpened": 1}


def test_a_failing_subscriber_is_reported_to_the_others_which_receive_the_event_too() -> None:
    stream = EventStream()
    received: list[ServerEvent] = []

    def full_disk(_: ServerEvent) -> None:
        raise OSError("No space left on device")

    stream.subscribe(full_disk)
    stream.subscribe(received.append)
    stream.subscribe(full_disk)
    stream.publish(RoomClosed("a"))
    assert [type(each) for each in received] == [InternalError, RoomClosed, InternalError]
    assert stream.counters == {"RoomClosed": 1, "InternalError": 2}


@pytest.mark.parametrize("kind", sorted(events.KINDS, key=repr))
def test_events_are_immutable_and_carry_no_password(kind: type[ServerEvent]) -> None:
    assert kind.__struct_config__.frozen
    assert not hasattr(kind, "__dict__") or "__dict__" not in kind.__dict__
    assert not any("password" in name for name in kind.__struct_fields__)


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_every_value_was_measured_and_they_are_in_order(times: list[float]) -> None:
    assert ThinkStats.of([]) == ThinkStats(0, 0.0, 0.0, 0.0)
    stats = ThinkStats.of(times)
    assert {stats.median, stats.p95, stats.maximum} <= set(times)
    assert stats.median <= stats.p95 <= stats.maximum == max(times)
    assert 2 * sum(time <= stats.median for time in times) >= len(times)
