"""Whoever listens hears everything in order, whatever others among them do."""

from __future__ import annotations

import dataclasses

import pytest

from server import events
from server.events import ConnectionOpened, EventStream, Happening, InternalError, RoomClosed

KINDS = [kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, Happening)]


def test_every_subscriber_hears_every_event_in_order_and_each_is_counted() -> None:
    stream = EventStream()
    first: list[Happening] = []
    second: list[Happening] = []
    stream.subscribe(first.append)
    stream.publish(RoomClosed("a"))
    stream.subscribe(second.append)
    stream.publish(RoomClosed("b"))
    stream.publish(ConnectionOpened("c1", "host:1"))
    assert first == [RoomClosed("a"), RoomClosed("b"), ConnectionOpened("c1", "host:1")]
    assert second == first[1:]
    assert stream.counters == {"RoomClosed": 2, "ConnectionOpened": 1}


def test_a_subscriber_that_raises_keeps_nobody_from_hearing_and_is_told_to_the_others() -> None:
    stream = EventStream()
    heard: list[Happening] = []

    def full_disk(_: Happening) -> None:
        raise OSError("No space left on device")

    stream.subscribe(full_disk)
    stream.subscribe(heard.append)
    stream.subscribe(full_disk)
    stream.publish(RoomClosed("a"))
    assert [type(each) for each in heard] == [InternalError, RoomClosed, InternalError]
    assert stream.counters == {"RoomClosed": 1, "InternalError": 2}


def test_a_bug_says_where_it_was() -> None:
    with pytest.raises(KeyError) as caught:
        _ = {"y": 1}["x"]
    bug = InternalError.of(caught.value, "c1")
    assert bug.connection == "c1"
    assert "test_events.py" in bug.error
    assert bug.error.endswith("KeyError: 'x'\n")
    assert InternalError.of(ValueError()).connection == ""


@pytest.mark.parametrize("kind", KINDS)
def test_events_are_values_that_nobody_can_change(kind: type[Happening]) -> None:
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert not hasattr(kind, "__dict__") or "__dict__" not in kind.__dict__
    assert not any("password" in field.name for field in dataclasses.fields(kind))
