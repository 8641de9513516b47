"""The server's metrics, in the text format of Prometheus.

Invariants: values that the server keeps anyway are read when the metrics are requested; only think times, verdicts,
waiting results and the lag of the event loop are recorded as they happen. The registry belongs to this server, and
nothing is global. Labels come from fixed lists, never from a peer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

import trio
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from spielleiter.protocol.messages import Cause
from spielleiter.server import events
from spielleiter.server.runtime.garbage import PauseMeter
from spielleiter.server.status import Snapshot

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
LAG_INTERVAL: Final = 0.1  # seconds between two measurements of the event loop's lag
THINK_BUCKETS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 1.8, 1.9, 2.0, 5.0, 10.0)  # seconds
LAG_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)  # seconds


class Metrics:
    """The metrics of one server.

    They are derived from the events of `stream`, from the present state that `take_snapshot` returns, and from
    `pauses`, which measures the garbage collector.
    """

    def __init__(self, stream: events.EventStream, take_snapshot: Callable[[], Snapshot], pauses: PauseMeter) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_OnRequest(self, stream, take_snapshot, pauses))
        self._think_times = self._histogram("think", "How long players took for a move", THINK_BUCKETS)
        self._loop_lag = self._histogram("loop_lag", "How late the event loop was", LAG_BUCKETS)
        self.causes: Counter[str] = Counter({cause.value: 0 for cause in Cause})
        """How games ended: one cause for each player."""
        self.time_verdicts: Counter[tuple[str, str]] = Counter()
        """By limit (`soft`, `hard`) and source of the time stamp."""
        self.results_waiting = 0
        self.results_lost = 0
        stream.on(events.MovePlayed, self._count_move)
        stream.on(events.TimeVerdict, self._count_time_verdict)
        stream.on(events.GameEnded, self._count_causes)
        stream.on(events.ResultsWaiting, self._note_waiting_results)
        stream.on(events.ResultsWritten, self._note_written_results)
        stream.on(events.ResultsLost, self._count_lost_results)

    def _histogram(self, name: str, meaning: str, buckets: tuple[float, ...]) -> Histogram:
        full_name = f"spielleiter_{name}_seconds"
        return Histogram(full_name, f"{meaning}, in seconds.", buckets=buckets, registry=self._registry)

    def text(self) -> bytes:
        """Return all metrics with their present values, in the text format."""
        return generate_latest(self._registry)

    async def watch_loop(self) -> None:
        """Measure repeatedly how late the event loop wakes a task; runs until it is cancelled."""
        while True:
            due = trio.current_time() + LAG_INTERVAL
            await trio.sleep_until(due)
            self._loop_lag.observe(trio.current_time() - due)

    def _count_move(self, move: events.MovePlayed) -> None:
        self._think_times.observe(move.think_time)

    def _count_time_verdict(self, verdict: events.TimeVerdict) -> None:
        self._think_times.observe(verdict.think_time)
        self.time_verdicts["hard" if verdict.is_hard else "soft", verdict.source] += 1

    def _count_causes(self, game: events.GameEnded) -> None:
        self.causes.update(game.causes)

    def _note_waiting_results(self, waiting: events.ResultsWaiting) -> None:
        self.results_waiting = waiting.count

    def _note_written_results(self, _written: events.ResultsWritten) -> None:
        self.results_waiting = 0

    def _count_lost_results(self, lost: events.ResultsLost) -> None:
        self.results_lost += lost.count


class _OnRequest(Collector):
    """The metrics whose values are read when they are requested."""

    def __init__(
        self, metrics: Metrics, stream: events.EventStream, take_snapshot: Callable[[], Snapshot], pauses: PauseMeter
    ) -> None:
        self._metrics = metrics
        self._stream = stream
        self._take_snapshot = take_snapshot
        self._pauses = pauses

    def describe(self) -> Iterator[Metric]:
        """Return nothing: a registry must not take a snapshot only to find out their names."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics that are read on request, with their present values."""
        yield from self._gauges()
        yield from self._counters()
        pauses = self._pauses
        yield SummaryMetricFamily(
            "spielleiter_gc_pause_seconds", "The garbage collector's pauses.", pauses.count, pauses.total
        )
        yield GaugeMetricFamily(
            "spielleiter_gc_longest_pause_seconds", "The longest of these pauses so far.", pauses.longest
        )

    def _gauges(self) -> Iterator[Metric]:
        now = self._take_snapshot()
        rooms = GaugeMetricFamily("spielleiter_rooms", "Rooms by phase.", labels=("phase",))
        for phase, count in now.rooms.items():
            rooms.add_metric((phase,), count)
        yield rooms
        yield GaugeMetricFamily("spielleiter_connections", "Open connections.", now.connections)
        yield GaugeMetricFamily("spielleiter_administrators", "Open connections of administrators.", now.administrators)
        yield GaugeMetricFamily("spielleiter_outbox_bytes", "Bytes that wait to be read by peers.", now.queued_bytes)
        yield GaugeMetricFamily(
            "spielleiter_outbox_longest_bytes", "Bytes that wait to be read by the slowest peer.", now.longest_queue
        )

        yield GaugeMetricFamily(
            "spielleiter_results_waiting",
            "Results that could not be written to the results file yet.",
            self._metrics.results_waiting,
        )

    def _counters(self) -> Iterator[Metric]:
        counters = self._stream.counters
        yield CounterMetricFamily(
            "spielleiter_results_lost", "Results that will never be written.", self._metrics.results_lost
        )
        for name, kind, meaning in (
            ("connections_opened", events.ConnectionOpened, "Connections that were accepted and served."),
            ("moves", events.MovePlayed, "Moves that were played."),
            ("games_started", events.GameStarted, "Games that were started."),
            ("games_ended", events.GameEnded, "Games that have ended."),
            ("internal_errors", events.InternalError, "Bugs of the server that occurred."),
        ):
            yield CounterMetricFamily(f"spielleiter_{name}", meaning, counters[kind.__name__])
        verdicts = CounterMetricFamily("spielleiter_verdicts", "How games ended for each player.", labels=("cause",))
        for cause, count in self._metrics.causes.items():
            verdicts.add_metric((cause,), count)
        yield verdicts
        time_verdicts = CounterMetricFamily(
            "spielleiter_time_verdicts", "Time limits that players exceeded.", labels=("limit", "source")
        )
        for limit_and_source, count in self._metrics.time_verdicts.items():
            time_verdicts.add_metric(limit_and_source, count)
        yield time_verdicts
        refusals = CounterMetricFamily(
            "spielleiter_refusals", "Refusals by what was refused and why.", labels=("refused", "reason")
        )
        refused = {kind.__name__: refusal.refused for kind, refusal in events.REFUSALS.items()}
        for (kind_name, reason), count in self._stream.refusals.items():
            refusals.add_metric((refused[kind_name], reason), count)
        yield refusals
