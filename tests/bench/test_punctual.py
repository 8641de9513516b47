"""Verdicts depend on the times on the wire, however busy the server's event loop is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from spielleiter.bench.load.stamped_player import Answer
from spielleiter.bench.punctual import IN_TIME, LATE, Count, is_right, run, tally

ROOT = Path(__file__).parents[2]
REGULAR, TOO_SLOW = ["REGULAR", "LEFT"], ["SOFT_TIMEOUT", "REGULAR"]


def answer(think_time: float, delay: float = 0.0) -> Answer:
    return Answer(think_time, 100.0, 100.0 + think_time + delay, 100.001 + think_time + delay, 103.0)


def result(causes: list[str], think_time: float) -> dict[str, object]:
    return {"causes": causes, "think_times": [[think_time], []]}


def test_only_answers_sent_when_due_are_counted() -> None:
    answers = {"a": answer(IN_TIME), "b": answer(IN_TIME, 0.06), "c": answer(LATE), "d": answer(LATE, -0.05)}
    results = {"a": result(REGULAR, 1.95), "b": {}, "c": result(TOO_SLOW, 2.05), "d": {}}
    counts = tally(answers, results)
    for count in counts.values():
        assert (count.tried, count.left_out, count.counted, count.answered_after_limit) == (2, 1, 1, 1)
        assert count.differences == [pytest.approx(-0.001)]
    assert [counts[each].called_too_slow for each in (IN_TIME, LATE)] == [0, 1]
    assert is_right(counts)


@pytest.mark.parametrize(("think_time", "causes"), [(IN_TIME, TOO_SLOW), (LATE, REGULAR)])
def test_a_wrong_verdict_is_found(think_time: float, causes: list[str]) -> None:
    assert not is_right(tally({"a": answer(think_time)}, {"a": result(causes, think_time)}))


def test_without_answers_there_is_no_wrong_verdict() -> None:
    assert is_right({IN_TIME: Count(), LATE: Count()})


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux stamps what arrives on a TCP socket")
@pytest.mark.parametrize("stall", [0.0, 0.3], ids=["idle", "stalled"])
def test_only_answers_after_the_limit_lose(stall: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    counts = run(20, stall, 0.3)
    assert is_right(counts)
    assert all(count.tried == 20 for count in counts.values())
    assert any(count.counted for count in counts.values())
