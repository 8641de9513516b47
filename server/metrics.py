"""The server's metrics, in the text format of Prometheus.

Values that the server keeps anyway are read when the metrics are requested; only think times, verdicts, waiting results
and the lag of the event loop are recorded as they happen. Labels come from fixed lists, never from a peer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import trio
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from spielleiter.protocol.messages import Cause
from spielleiter.server import events
from spielleiter.server.garbage import PauseMeter
from spielleiter.server.status import Snapshot

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
LAG_INTERVAL: Final = 0.1  # seconds between two measurements of the event loop's lag
THINK_BUCKETS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 1.8, 1.9, 2.0, 5.0, 10.0)  # seconds
LAG_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)  # seconds


class Metrics(Collector):
    """The metrics of one server; nothing is global.

    They are derived from the events of `stream`, from the present state that `take_snapshot` returns, and from
    `pauses`, which measures the garbage collector.
    """

    def __init__(self, stream: events.EventStream, take_snapshot: Callable[[], Snapshot], pauses: PauseMeter) -> None:
        self._stream = stream
        self._take_snapshot = take_snapshot
        self._pauses = pauses
        self._registry = CollectorRegistry()
        self._registry.register(self)
        self._think_times = self._histogram("think", "How long players took for a move", THINK_BUCKETS)
        self._loop_lag = self._histogram("loop_lag", "How late the event loop was", LAG_BUCKETS)
        self._causes: Counter[str] = Counter({cause.value: 0 for cause in Cause})
        self._time_verdicts: Counter[tuple[str, str]] = Counter()  # by limit and source of the time stamp
        self._results_waiting = self._results_lost = 0
        stream.on(events.MovePlayed, lambda move: self._think_times.observe(move.think_time))
        stream.on(events.GameEnded, lambda game: self._causes.update(game.causes))
        stream.on(events.TimeVerdict, self._count_time_verdict)
        stream.subscribe(self._count_results, (events.ResultsWaiting, events.ResultsWritten, events.ResultsLost))

    def _histogram(self, name: str, meaning: str, buckets: tuple[float, ...]) -> Histogram:
        full_name = f"spielleiter_{name}_seconds"
        return Histogram(full_name, f"{meaning}, in seconds.", buckets=buckets, registry=self._registry)

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
        return generate_latest(self._registry)

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
        """Yield all metrics that are read on request, with their present values."""
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
        yield _counters("verdicts", "How games ended for each player.", ("cause",), causes)
        yield _counters("time_verdicts", "Time limits that players exceeded.", ("limit", "source"), self._time_verdicts)
        refused = {kind.__name__: refusal.refused for kind, refusal in events.REFUSALS.items()}
        refusals = {(refused[kind], reason): count for (kind, reason), count in self._stream.refusals.items()}
        yield _counters("refusals", "Refusals by what was refused and why.", ("refused", "reason"), refusals)
        yield SummaryMetricFamily(
            "spielleiter_gc_pause_seconds", "The garbage collector's pauses.", pauses.count, pauses.total
        )


def _counters(name: str, meaning: str, labels: tuple[str, ...], counts: Mapping[Any, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(f"spielleiter_{name}", meaning, labels=labels)
    for values, count in counts.items():
        family.add_metric(values, count)
    return family
