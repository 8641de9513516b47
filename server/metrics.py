"""The server's metrics, in the text format of Prometheus.

Values that the server keeps anyway are read when the metrics are requested; only think times, verdicts, waiting results
and the lag of the event loop are recorded as they happen, in plain numbers: the library that writes the format is
loaded when somebody asks. Labels come from fixed lists, never from a peer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import trio

from spielleiter.protocol.messages import Cause
from spielleiter.server import events
from spielleiter.server.garbage import PauseMeter
from spielleiter.server.status import Snapshot

if TYPE_CHECKING:
    from prometheus_client.core import Metric

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
LAG_INTERVAL: Final = 0.1  # seconds between two measurements of the event loop's lag
THINK_BUCKETS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 1.8, 1.9, 2.0, 5.0, 10.0)  # seconds
LAG_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)  # seconds


class Histogram:
    """How many values were at most as large as each of `bounds`, and their sum."""

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count `value`."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def buckets(self) -> tuple[list[tuple[str, float]], float]:
        """Return each bound as a text with the number of values up to it, and the sum of all values."""
        names = [*map(str, self._bounds), "+Inf"]
        return list(zip(names, map(float, accumulate(self._counts)), strict=True)), self._sum


class Metrics:
    """The metrics of one server; nothing is global.

    They are derived from the events of `stream`, from the present state that `take_snapshot` returns, and from
    `pauses`, which measures the garbage collector.
    """

    def __init__(self, stream: events.EventStream, take_snapshot: Callable[[], Snapshot], pauses: PauseMeter) -> None:
        self._stream = stream
        self._take_snapshot = take_snapshot
        self._pauses = pauses
        self._think_times = Histogram(THINK_BUCKETS)
        self._loop_lag = Histogram(LAG_BUCKETS)
        self._causes: Counter[str] = Counter({cause.value: 0 for cause in Cause})
        self._time_verdicts: Counter[tuple[str, str]] = Counter()  # by limit and source of the time stamp
        self._results_waiting = self._results_lost = 0
        stream.on(events.MovePlayed, lambda move: self._think_times.observe(move.think_time))
        stream.on(events.GameEnded, lambda game: self._causes.update(game.causes))
        stream.on(events.TimeVerdict, self._count_time_verdict)
        stream.subscribe(self._count_results, (events.ResultsWaiting, events.ResultsWritten, events.ResultsLost))

    def _count_time_verdict(self, verdict: events.TimeVerdict) -> None:
        self._think_times.observe(verdict.think_time)
        self._time_verdicts["hard" if verdict.is_hard else "soft", verdict.source] += 1

    def _count_results(self, event: events.ResultsWaiting | events.ResultsWritten | events.ResultsLost) -> None:
        if isinstance(event, events.ResultsLost):
            self._results_lost += event.count
        else:
            self._results_waiting = event.count if isinstance(event, events.ResultsWaiting) else 0

    def text(self) -> bytes:
        """Return all metrics with their present values, in the text format."""
        from prometheus_client import CollectorRegistry, generate_latest

        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)

    async def watch_loop(self) -> None:
        """Measure repeatedly how late the event loop wakes a task; runs until it is cancelled."""
        while True:
            due = trio.current_time() + LAG_INTERVAL
            await trio.sleep_until(due)
            self._loop_lag.observe(trio.current_time() - due)

    def describe(self) -> Iterator[Metric]:
        """Return nothing: a registry must not take a snapshot only to find out their names."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics with their present values."""
        from prometheus_client.core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
            SummaryMetricFamily,
        )

        for name, meaning, histogram in (
            ("think", "How long players took for a move", self._think_times),
            ("loop_lag", "How late the event loop was", self._loop_lag),
        ):
            buckets, total = histogram.buckets()
            yield HistogramMetricFamily(f"spielleiter_{name}_seconds", f"{meaning}, in seconds.", buckets, total)
        now, pauses, counters = self._take_snapshot(), self._pauses, self._stream.counters
        rooms = GaugeMetricFamily("spielleiter_rooms", "Rooms by phase.", labels=("phase",))
        for phase, count in now.rooms.items():
            rooms.add_metric((phase,), count)
        yield rooms
        for name, meaning, value in (
            ("connections", "Open connections.", now.connections),
            ("administrators", "Open connections of administrators.", now.administrators),
            ("outbox_bytes", "Bytes that wait to be read by peers.", now.queued_bytes),
            ("outbox_longest_bytes", "Bytes that wait to be read by the slowest peer.", now.longest_queue),
            ("results_waiting", "Results that could not be written to the results file yet.", self._results_waiting),
            ("gc_longest_pause_seconds", "The longest of the garbage collector's pauses so far.", pauses.longest),
        ):
            yield GaugeMetricFamily(f"spielleiter_{name}", meaning, value)
        for name, meaning, value in (
            ("results_lost", "Results that will never be written.", self._results_lost),
            ("connections_opened", "Connections that were accepted and served.", counters["ConnectionOpened"]),
            ("moves", "Moves that were played.", counters["MovePlayed"]),
            ("games_started", "Games that were started.", counters["GameStarted"]),
            ("games_ended", "Games that have ended.", counters["GameEnded"]),
            ("internal_errors", "Bugs of the server that occurred.", counters["InternalError"]),
        ):
            yield CounterMetricFamily(f"spielleiter_{name}", meaning, value)
        causes = {(cause,): count for cause, count in self._causes.items()}
        refused = {kind.__name__: refusal.refused for kind, refusal in events.REFUSALS.items()}
        refusals = {(refused[kind], reason): count for (kind, reason), count in self._stream.refusals.items()}
        for name, meaning, labels, counts in (
            ("verdicts", "How games ended for each player.", ("cause",), causes),
            ("time_verdicts", "Time limits that players exceeded.", ("limit", "source"), self._time_verdicts),
            ("refusals", "Refusals by what was refused and why.", ("refused", "reason"), refusals),
        ):
            counter = CounterMetricFamily(f"spielleiter_{name}", meaning, labels=labels)
            for values, count in counts.items():
                counter.add_metric(values, count)
            yield counter
        yield SummaryMetricFamily(
            "spielleiter_gc_pause_seconds", "The garbage collector's pauses.", pauses.count, pauses.total
        )
