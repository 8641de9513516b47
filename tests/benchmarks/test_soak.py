"""A short soak with a real server, stalls and bad clients: no wrong verdict, and no leak."""

from __future__ import annotations

import sys

import pytest

from benchmarks.soak import (
    Conduct,
    Shares,
    SoakReport,
    soak,
)

FAIR, LATE, ILLEGAL, GONE = Conduct.FAIR, Conduct.LATE, Conduct.ILLEGAL, Conduct.VANISHING
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux stamps what arrives on a TCP socket")
GAMES = 50


@pytest.mark.slow
@linux_only
def test_there_is_no_wrong_verdict_and_no_leak() -> None:
    report = soak(GAMES, 25, 0.3, 1.0, Shares(slow=0.3, late=0.1, illegal=0.1, vanishing=0.1, bad=0.05, pace=0.005))
    assert (report.false_timeouts, report.missed_late, report.other_verdicts) == (0, 0, [])
    assert report.is_right
    assert report.leaks == {"tasks": 0, "descriptors": 0}
    assert report.counted.total() == report.games == GAMES
    assert report.slow_moves
    assert report.bad_clients
    assert {LATE, ILLEGAL, GONE} <= set(report.counted)


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
    report = SoakReport()
    report.judge({"room": conduct}, {"room": causes})
    assert (report.false_timeouts, report.missed_late, len(report.other_verdicts)) == found
    assert report.is_right == (found == (0, 0, 0))
