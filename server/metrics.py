"""The server's metrics, in the text format of Prometheus.

Values that the server keeps anyway are read when the metrics are requested; only think times, verdicts, waiting results
and the lag of the event loop are recorded as they happen, in plain numbers. The format is written here: loading the
library for it takes longer than the games on this server may wait. Labels come from fixed lists, never from a peer, so
nothing has to be escaped.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Final

import trio

from spielleiter.protocol.messages import Cause
from spielleiter.server import events
from spielleiter.server.garbage import PauseMeter
from spielleiter.server.status import Snapshot

REFUSALS_NAME: Final = "spielleiter_refusals_total"
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

    def lines(self, name: str) -> Iterator[str]:
        """Yield how many values there are up to each bound, how many at all, and their sum."""
        counts = list(accumulate(self._counts))
        for bound, count in zip((*map(str, self._bounds), "+Inf"), counts, strict=True):
            yield _line(f"{name}_bucket", {"le": bound}, count)
        yield _line(f"{name}_count", {}, counts[-1])
        yield _line(f"{name}_sum", {}, self._sum)


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    shown = ",".join(f'{label}="{labels[label]}"' for label in sorted(labels))
    return f"{name}{{{shown}}} {float(value)}" if shown else f"{name} {float(value)}"


def _family(name: str, kind: str, meaning: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"
    yield from lines


def _refusal_line(kind: str, reason: str, count: float) -> str:
    """Return the line for refusals by events of the class `kind`."""
    refused = next(refusal.refused for each, refusal in events.REFUSALS.items() if each.__name__ == kind)
    return _line(REFUSALS_NAME, {"refused": refused, "reason": reason}, count)


def with_more_refusals(text: str, refusals: Mapping[tuple[str, str], int]) -> str:
    """Return the metrics in `text` with the refusals of another process, by class of event and reason."""
    lines = text.splitlines()
    for (kind, reason), more in refusals.items():
        start = _refusal_line(kind, reason, 0).removesuffix("0.0")
        found = next((number for number, line in enumerate(lines) if line.startswith(start)), None)
        if found is None:
            lines.insert(lines.index(f"# TYPE {REFUSALS_NAME} counter") + 1, f"{start}{float(more)}")
        else:
            lines[found] = f"{start}{float(lines[found].removeprefix(start)) + more}"
    return "\n".join(lines) + "\n"


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

    def text(self) -> str:
        """Return all metrics with their present values, in the text format."""
        return "\n".join(self._lines()) + "\n"

    async def watch_loop(self) -> None:
        """Measure repeatedly how late the event loop wakes a task; runs until it is cancelled."""
        while True:
            due = trio.current_time() + LAG_INTERVAL
            await trio.sleep_until(due)
            self._loop_lag.observe(trio.current_time() - due)

    def _lines(self) -> Iterator[str]:
        for name, meaning, histogram in (
            ("spielleiter_think_seconds", "How long players took for a move, in seconds.", self._think_times),
            ("spielleiter_loop_lag_seconds", "How late the event loop was, in seconds.", self._loop_lag),
        ):
            yield from _family(name, "histogram", meaning, histogram.lines(name))
        now, pauses, counters = self._take_snapshot(), self._pauses, self._stream.counters
        rooms = [_line("spielleiter_rooms", {"phase": phase}, count) for phase, count in now.rooms.items()]
        yield from _family("spielleiter_rooms", "gauge", "Rooms by phase.", rooms)
        for name, meaning, value in (
            ("connections", "Open connections.", now.connections),
            ("administrators", "Open connections of administrators.", now.administrators),
            ("outbox_bytes", "Bytes that wait to be read by peers.", now.queued_bytes),
            ("outbox_longest_bytes", "Bytes that wait to be read by the slowest peer.", now.longest_queue),
            ("results_waiting", "Results that could not be written to the results file yet.", self._results_waiting),
            ("gc_longest_pause_seconds", "The longest of the garbage collector's pauses so far.", pauses.longest),
        ):
            yield from _family(f"spielleiter_{name}", "gauge", meaning, [_line(f"spielleiter_{name}", {}, value)])
        for name, meaning, value in (
            ("results_lost", "Results that will never be written.", self._results_lost),
            ("connections_opened", "Connections that were accepted and served.", counters["ConnectionOpened"]),
            ("moves", "Moves that were played.", counters["MovePlayed"]),
            ("games_started", "Games that were started.", counters["GameStarted"]),
            ("games_ended", "Games that have ended.", counters["GameEnded"]),
            ("internal_errors", "Bugs of the server that occurred.", counters["InternalError"]),
        ):
            total = f"spielleiter_{name}_total"
            yield from _family(total, "counter", meaning, [_line(total, {}, value)])
        verdicts, late = "spielleiter_verdicts_total", "spielleiter_time_verdicts_total"
        causes = [_line(verdicts, {"cause": cause}, count) for cause, count in self._causes.items()]
        limits = [
            _line(late, {"limit": limit, "source": source}, count)
            for (limit, source), count in self._time_verdicts.items()
        ]
        refusals = [_refusal_line(kind, reason, count) for (kind, reason), count in self._stream.refusals.items()]
        yield from _family(verdicts, "counter", "How games ended for each player.", causes)
        yield from _family(late, "counter", "Time limits that players exceeded.", limits)
        yield from _family(REFUSALS_NAME, "counter", "Refusals by what was refused and why.", refusals)
        name = "spielleiter_gc_pause_seconds"
        values = [_line(f"{name}_count", {}, pauses.count), _line(f"{name}_sum", {}, pauses.total)]
        yield from _family(name, "summary", "The garbage collector's pauses.", values)
