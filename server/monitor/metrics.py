"""The server's figures, in the words of Prometheus.

Law: what the server keeps anyway is read when somebody asks; only think times, verdicts and the loop's lag are noted as
they happen. The registry is this server's own, nothing is global. Labels come from fixed lists, never from a peer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import trio
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from spielleiter.protocol.messages import Cause
from spielleiter.server import events
from spielleiter.server.monitor.status import Snapshot
from spielleiter.server.runtime.garbage import PauseMeter

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
LAG_INTERVAL: Final = 0.1  # seconds between two looks at how late the loop is
THINK_BUCKETS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 1.8, 1.9, 2.0, 5.0, 10.0)  # seconds
LAG_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)  # seconds

REFUSED: Final[Mapping[type[events.ServerEvent], str]] = {
    events.RequestRefused: "request",
    events.MoveRefused: "move",
    events.ProtocolBroken: "bytes",
    events.ConnectionRefused: "connection",
    events.PeerTooSlow: "receiver",
    events.AnswerDelayed: "password",
    events.ReservationExpired: "reservation",
}
"""What was refused, by kind of event: the label beside the reason."""


class Metrics:
    """Listens to `stream`; `look` takes a snapshot, `pauses` measures the garbage collector."""

    def __init__(self, stream: events.EventStream, look: Callable[[], Snapshot], pauses: PauseMeter) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Kept(self, stream, look, pauses))
        self._think_times = self._histogram("think", "How long players took for a move", THINK_BUCKETS)
        self._loop_lag = self._histogram("loop_lag", "How late the event loop was", LAG_BUCKETS)
        self.causes: Counter[str] = Counter({cause.value: 0 for cause in Cause})
        """Why games ended, one for each player."""
        self.time_verdicts: Counter[tuple[str, str]] = Counter()
        """By limit (`soft`, `hard`) and source of the time."""
        self.results_waiting = 0
        self.results_lost = 0
        stream.subscribe(
            self._note,
            [
                events.MovePlayed,
                events.TimeVerdict,
                events.GameEnded,
                events.ResultsWaiting,
                events.ResultsWritten,
                events.ResultsLost,
            ],
        )

    def _histogram(self, name: str, meaning: str, buckets: tuple[float, ...]) -> Histogram:
        full_name = f"spielleiter_{name}_seconds"
        return Histogram(full_name, f"{meaning}, in seconds.", buckets=buckets, registry=self._registry)

    def text(self) -> bytes:
        """All figures as they are now."""
        return generate_latest(self._registry)

    async def watch_loop(self) -> None:
        """Measure for ever how late the loop wakes a task."""
        while True:
            due = trio.current_time() + LAG_INTERVAL
            await trio.sleep_until(due)
            self._loop_lag.observe(trio.current_time() - due)

    def _note(self, event: events.ServerEvent) -> None:
        if isinstance(event, events.MovePlayed):
            self._think_times.observe(event.think_time)
        elif isinstance(event, events.TimeVerdict):
            self._think_times.observe(event.think_time)
            self.time_verdicts["hard" if event.is_hard else "soft", event.source] += 1
        elif isinstance(event, events.GameEnded):
            self.causes.update(event.causes)
        elif isinstance(event, events.ResultsWaiting):
            self.results_waiting = event.count
        elif isinstance(event, events.ResultsWritten):
            self.results_waiting = 0
        elif isinstance(event, events.ResultsLost):
            self.results_lost += event.count


class _Kept(Collector):
    """What is read, not noted."""

    def __init__(
        self, metrics: Metrics, stream: events.EventStream, look: Callable[[], Snapshot], pauses: PauseMeter
    ) -> None:
        self._metrics = metrics
        self._stream = stream
        self._look = look
        self._pauses = pauses

    def describe(self) -> Iterator[Metric]:
        """Nothing needs to be looked at for that."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        yield from self._present()
        yield from self._past()
        pauses = self._pauses
        yield SummaryMetricFamily(
            "spielleiter_gc_pause_seconds", "The garbage collector's pauses.", pauses.count, pauses.total
        )
        yield GaugeMetricFamily(
            "spielleiter_gc_longest_pause_seconds", "The longest of these pauses so far.", pauses.longest
        )

    def _present(self) -> Iterator[Metric]:
        now = self._look()
        rooms = GaugeMetricFamily("spielleiter_rooms", "Rooms by phase.", labels=("phase",))
        for phase, count in now.rooms.items():
            rooms.add_metric((phase,), count)
        yield rooms
        yield GaugeMetricFamily("spielleiter_connections", "Open connections.", now.connections)
        yield GaugeMetricFamily("spielleiter_administrators", "Those of administrators.", now.administrators)
        yield GaugeMetricFamily("spielleiter_outbox_bytes", "Bytes that peers have not taken yet.", now.queued_bytes)
        yield GaugeMetricFamily(
            "spielleiter_outbox_longest_bytes", "Bytes that the slowest peer has not taken yet.", now.longest_queue
        )

        yield GaugeMetricFamily(
            "spielleiter_results_waiting",
            "Results that could not be written into the file yet.",
            self._metrics.results_waiting,
        )

    def _past(self) -> Iterator[Metric]:
        counters = self._stream.counters
        yield CounterMetricFamily(
            "spielleiter_results_lost", "Results that will never be written.", self._metrics.results_lost
        )
        for name, kind, meaning in (
            ("connections_opened", events.ConnectionOpened, "Connections that were served."),
            ("moves", events.MovePlayed, "Moves that were played."),
            ("games_started", events.GameStarted, "Games that have begun."),
            ("games_ended", events.GameEnded, "Games that are over."),
            ("internal_errors", events.InternalError, "Bugs of the server that were met."),
        ):
            yield CounterMetricFamily(f"spielleiter_{name}", meaning, counters[kind.__name__])
        verdicts = CounterMetricFamily("spielleiter_verdicts", "How games ended for each player.", labels=("cause",))
        for cause, count in self._metrics.causes.items():
            verdicts.add_metric((cause,), count)
        yield verdicts
        time_verdicts = CounterMetricFamily(
            "spielleiter_time_verdicts", "Players that were too slow.", labels=("limit", "source")
        )
        for limit_and_source, count in self._metrics.time_verdicts.items():
            time_verdicts.add_metric(limit_and_source, count)
        yield time_verdicts
        refusals = CounterMetricFamily(
            "spielleiter_refusals", "What was refused to somebody, and why.", labels=("refused", "reason")
        )
        refused = {kind.__name__: what for kind, what in REFUSED.items()}
        for (kind_name, reason), count in self._stream.refusals.items():
            refusals.add_metric((refused[kind_name], reason), count)
        yield refusals
