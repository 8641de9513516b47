"""Subscribers receive their events in order, even if others fail; summaries, faults and events are what a log needs."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.server import events
from spielleiter.server.errors import Fault
from spielleiter.server.events import ConnectionOpened, EventStream, InternalError, RoomClosed, ServerEvent, ThinkStats


def test_subscribers_receive_events_in_order_and_events_are_counted() -> None:
    stream = EventStream()
    first: list[ServerEvent] = []
    second: list[ServerEvent] = []
    stream.subscribe(first.append)
    stream.publish(RoomClosed("a"))
    stream.subscribe(second.append)
    stream.publish(RoomClosed("b"))
    stream.publish(ConnectionOpened("c1", "host:1"))
    assert first == [RoomClosed("a"), RoomClosed("b"), ConnectionOpened("c1", "host:1")]
    assert second == first[1:]
    assert stream.counters == {"RoomClosed": 2, "ConnectionOpened": 1}


def test_a_subscriber_to_some_kinds_receives_no_others() -> None:
    stream = EventStream()
    received: list[ServerEvent] = []
    everything: list[ServerEvent] = []
    stream.publish(RoomClosed("no subscriber yet"))
    stream.subscribe(received.append, [RoomClosed])
    stream.publish(ConnectionOpened("c1", "host:1"))
    stream.publish(RoomClosed("a"))
    stream.subscribe(everything.append)
    stream.publish(RoomClosed("b"))
    assert received == [RoomClosed("a"), RoomClosed("b")]
    assert everything == [RoomClosed("b")]
    assert stream.counters == {"RoomClosed": 3, "ConnectionOpened": 1}


def test_a_callback_for_one_kind_receives_events_of_that_type() -> None:
    stream = EventStream()
    rooms: list[str] = []
    connections: list[str] = []
    stream.on(RoomClosed, lambda closed: rooms.append(closed.room))
    stream.on(ConnectionOpened, lambda opened: connections.append(opened.address))
    stream.on(RoomClosed, lambda closed: rooms.append(closed.room * 2))
    stream.publish(ConnectionOpened("c1", "host:1"))
    stream.publish(RoomClosed("a"))
    assert (rooms, connections) == (["a", "aa"], ["host:1"])


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (events.RequestRefused("c1", Fault.ROOM_FULL, "no"), "room_full"),
        (events.MoveRefused("room", 0, "Ada", 3, 3, Fault.ILLEGAL_MOVE, "no"), "illegal_move"),
        (events.ProtocolBroken("c1", "packet_timeout", "no"), "packet_timeout"),
        (events.ConnectionRefused("host:1", "connections", "no more than 7"), "connections"),
        (events.PeerTooSlow("c1", "outbox_bytes", 9, "too much"), "outbox_bytes"),
        (events.AnswerDelayed("c1", 3.0), "password_guessing"),
        (events.ReservationExpired("room"), "reservation_timeout"),
    ],
)
def test_refusals_are_counted_by_reason(event: ServerEvent, reason: str) -> None:
    stream = EventStream()
    for each in (event, RoomClosed("a"), event):
        stream.publish(each)
    assert stream.refusals == {(type(event).__name__, reason): 2}


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


def test_an_internal_error_has_the_traceback() -> None:
    with pytest.raises(KeyError) as caught:
        _ = {"y": 1}["x"]
    bug = InternalError.of(caught.value, "c1")
    assert bug.connection == "c1"
    assert "test_events.py" in bug.error
    assert bug.error.endswith("KeyError: 'x'\n")
    assert InternalError.of(ValueError()).connection == ""


@pytest.mark.parametrize("kind", sorted(events.KINDS, key=repr))
def test_events_are_immutable_and_carry_no_password(kind: type[ServerEvent]) -> None:
    assert kind.__struct_config__.frozen
    assert not hasattr(kind, "__dict__") or "__dict__" not in kind.__dict__
    assert not any("password" in name for name in kind.__struct_fields__)


def test_the_summary_of_a_player() -> None:
    times = [float(number) for number in range(100, 0, -1)]
    assert ThinkStats.of(times) == ThinkStats(100, 50.0, 95.0, 100.0)


def test_without_requests_all_values_are_zero() -> None:
    assert ThinkStats.of([]) == ThinkStats(0, 0.0, 0.0, 0.0)


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_every_value_was_measured_and_they_are_in_order(times: list[float]) -> None:
    stats = ThinkStats.of(times)
    assert {stats.median, stats.p95, stats.maximum} <= set(times)
    assert stats.median <= stats.p95 <= stats.maximum == max(times)
    assert 2 * sum(time <= stats.median for time in times) >= len(times)


def test_the_dictionary_has_every_field() -> None:
    stats = ThinkStats(3, 0.1, 0.2, 0.3)
    assert stats.as_dict() == dataclasses.asdict(stats)


@pytest.mark.parametrize("fault", Fault)
def test_faults_are_valid_names_of_counters(fault: Fault) -> None:
    assert re.fullmatch("[a-z_]+", fault.value)
    assert fault.value == fault.name.lower()
