"""Wrong verdicts of every kind are found."""

from __future__ import annotations

import pytest

from spielleiter.bench.soak_report import Conduct, Report, Tally

FAIR, LATE, ILLEGAL, GONE = Conduct.FAIR, Conduct.LATE, Conduct.ILLEGAL, Conduct.VANISHING


@pytest.mark.parametrize(
    ("conduct", "causes", "found"),
    [
        (FAIR, ["REGULAR", "REGULAR"], (0, 0, 0)),
        (FAIR, ["REGULAR", "SOFT_TIMEOUT"], (1, 0, 0)),
        (FAIR, ["HARD_TIMEOUT", "REGULAR"], (1, 0, 0)),
        (FAIR, ["REGULAR", "LEFT"], (0, 0, 1)),
        (LATE, ["SOFT_TIMEOUT", "REGULAR"], (0, 0, 0)),
        (LATE, ["HARD_TIMEOUT", "REGULAR"], (1, 0, 0)),
        (LATE, ["REGULAR", "REGULAR"], (0, 1, 0)),
        (ILLEGAL, ["RULE_VIOLATION", "REGULAR"], (0, 0, 0)),
        (ILLEGAL, ["REGULAR", "REGULAR"], (0, 0, 1)),
        (GONE, ["REGULAR", "LEFT"], (0, 0, 0)),
        (GONE, ["REGULAR", "SOFT_TIMEOUT"], (1, 0, 0)),
        (None, ["REGULAR", "SOFT_TIMEOUT"], (0, 0, 0)),
        (None, ["REGULAR", "REGULAR"], (0, 0, 0)),
    ],
)
def test_verdicts(conduct: Conduct | None, causes: list[str], found: tuple[int, int, int]) -> None:
    report = Report()
    report.judge({"room": conduct}, {"room": causes})
    assert (report.false_timeouts, report.missed_late, len(report.other_verdicts)) == found
    assert report.is_right == (found == (0, 0, 0))


def test_a_game_without_a_result_and_a_result_without_a_game_are_wrong() -> None:
    report = Report()
    report.judge({"played": FAIR}, {"unknown": ["REGULAR", "REGULAR"]})
    assert sorted(report.other_verdicts) == ["played: no result", "unknown: not one of these games"]


def test_usage_is_compared_with_the_start_and_memory_with_the_warm_up() -> None:
    pauses = {"count": 3, "total": 0.5, "longest": 0.25}
    usage = [
        {"tasks": 9, "descriptors": 11, "bytes": size, "collected": 0, "pauses": pauses}
        for size in (30 << 20, 100 << 20, 105 << 20)
    ]
    usage[-1]["descriptors"] = 12
    report = Report(warm_up=50, usage=usage)
    report.add(
        Tally(
            moves=640,
            slow_moves=2,
            bad_clients=7,
            seconds=2.0,
            in_play_seconds=5.0,
            expected={"a": FAIR, "b": LATE, "c": None},
        )
    )
    assert report.leaks == {"tasks": 0, "descriptors": 1}
    assert report.growth == pytest.approx(0.05)
    text = str(report)
    assert "3, 640 moves, 320 a second" in text
    assert "on average             2.5\n" in text
    assert "105.0 MiB (+5.0%)" in text
    assert "250.0 ms the longest" in text
