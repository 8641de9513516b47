"""The metrics count what happened, and the parser of Prometheus can read them."""

from __future__ import annotations

import trio
from prometheus_client.parser import text_string_to_metric_families
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.protocol.messages import Cause, Result
from spielleiter.server import events
from spielleiter.server.errors import Fault
from spielleiter.server.events import ThinkStats
from spielleiter.server.garbage import PauseMeter
from spielleiter.server.metrics import LAG_INTERVAL, Metrics
from spielleiter.server.status import Snapshot

NOBODY = Snapshot({"open": 0, "running": 0, "paused": 0}, 0, 0, 0, 0)


class MetricsHarness:
    def __init__(self, snapshot: Snapshot = NOBODY) -> None:
        self.stream = events.EventStream()
        self.pauses = PauseMeter(iter([1.0, 1.5, 2.0, 2.25]).__next__)
        self.metrics = Metrics(self.stream, lambda: snapshot, self.pauses)

    def read(self) -> dict[str, float]:
        """The value of every metric by its name and labels."""
        return {
            sample.name + "".join(f" {value}" for value in sample.labels.values()): sample.value
            for family in text_string_to_metric_families(self.metrics.text())
            for sample in family.samples
        }


def moved(think_time: float) -> events.MovePlayed:
    return events.MovePlayed("room", 0, "Ada", 0, 1, "move", think_time, ())


def test_the_present_state_is_read_on_request() -> None:
    read = MetricsHarness(Snapshot({"open": 3, "running": 2, "paused": 1}, 11, 4, 5000, 3000)).read()
    assert read["spielleiter_rooms open"] == 3
    assert read["spielleiter_rooms running"] == 2
    assert read["spielleiter_rooms paused"] == 1
    assert read["spielleiter_connections"] == 11
    assert read["spielleiter_administrators"] == 4
    assert read["spielleiter_outbox_bytes"] == 5000
    assert read["spielleiter_outbox_longest_bytes"] == 3000


def test_waiting_and_lost_results_are_counted() -> None:
    harness = MetricsHarness()
    harness.stream.publish(events.ResultsWaiting("results.jsonl", 2, "full"))
    harness.stream.publish(events.ResultsWaiting("results.jsonl", 3, "full"))
    assert harness.read()["spielleiter_results_waiting"] == 3
    harness.stream.publish(events.ResultsWritten("results.jsonl"))
    harness.stream.publish(events.ResultsLost("results.jsonl", 2, "full"))
    read = harness.read()
    assert (read["spielleiter_results_waiting"], read["spielleiter_results_lost_total"]) == (0, 2)


def test_events_are_counted() -> None:
    harness = MetricsHarness()
    stats = ThinkStats()
    ended = events.GameEnded(
        "room", "edition", ("", ""), ("REGULAR", "SOFT_TIMEOUT"), ("", ""), ((), ()), (0,), 2, (stats, stats), ((), ()),
        Result((), (), ()), (),
    )  # fmt: skip
    for event in (
        events.ConnectionOpened("c1", "host:1"),
        moved(0.02),
        moved(0.3),
        events.TimeVerdict("room", 0, "Ada", 2, 2, 2.5, 2.0, False, "kernel", 0.0),
        events.TimeVerdict("room", 1, "Bo", 2, 2, 10.5, 10.0, True, "monotonic", 0.0),
        ended,
        events.RequestRefused("c1", Fault.ROOM_FULL, "no"),
        events.MoveRefused("room", 0, "Ada", 3, 3, Fault.ILLEGAL_MOVE, "no"),
        events.MoveRefused("room", 0, "Ada", 3, 3, Fault.ILLEGAL_MOVE, "no"),
    ):
        harness.stream.publish(event)
    for phase in ("start", "stop", "start", "stop"):
        harness.pauses(phase, {})
    read = harness.read()
    assert read["spielleiter_connections_opened_total"] == 1
    assert read["spielleiter_moves_total"] == 2
    assert read["spielleiter_games_ended_total"] == 1
    assert {name: read[f"spielleiter_verdicts_total {name}"] for name in Cause.__members__} == {
        **dict.fromkeys(Cause.__members__, 0.0),
        "REGULAR": 1.0,
        "SOFT_TIMEOUT": 1.0,
    }
    assert read["spielleiter_time_verdicts_total soft kernel"] == 1
    assert read["spielleiter_time_verdicts_total hard monotonic"] == 1
    refusals = {key: value for key, value in read.items() if key.startswith("spielleiter_refusals_total")}
    assert list(refusals.values()) == [1, 2]
    assert list(refusals) == [
        f"spielleiter_refusals_total {each}" for each in ("room_full request", "illegal_move move")
    ]
    assert read["spielleiter_think_seconds_count"] == 4
    assert [read[f"spielleiter_think_seconds_bucket {bound}"] for bound in ("0.01", "0.05", "0.5", "2.0", "5.0")] == [
        0, 1, 2, 2, 3,
    ]  # fmt: skip
    assert (read["spielleiter_gc_pause_seconds_count"], read["spielleiter_gc_pause_seconds_sum"]) == (2, 0.75)
    assert read["spielleiter_gc_longest_pause_seconds"] == 0.5


async def test_the_lag_of_the_event_loop_is_measured(mock_clock: MockClock) -> None:
    harness = MetricsHarness()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(harness.metrics.watch_loop)
        for late in (0.0, 0.2):
            await wait_all_tasks_blocked()
            mock_clock.jump(LAG_INTERVAL + late)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    read = harness.read()
    assert read["spielleiter_loop_lag_seconds_count"] == 2
    assert read["spielleiter_loop_lag_seconds_bucket 0.0005"] == 1
    assert 0.199 < read["spielleiter_loop_lag_seconds_sum"] < 0.201
