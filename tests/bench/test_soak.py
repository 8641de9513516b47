"""A short soak with a real server, stalls and bad clients: no wrong verdict, and no leak."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from spielleiter.bench.soak import Shares, soak
from spielleiter.bench.soak_report import Conduct

ROOT = Path(__file__).parents[2]
GAMES = 50


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux stamps what arrives on a TCP socket")
def test_there_is_no_wrong_verdict_and_no_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    report = soak(GAMES, 25, 0.3, 1.0, Shares(slow=0.3, late=0.1, illegal=0.1, vanishing=0.1, bad=0.05, pace=0.005))
    assert (report.false_timeouts, report.missed_late, report.other_verdicts) == (0, 0, [])
    assert report.is_right
    assert report.leaks == {"tasks": 0, "descriptors": 0}
    assert report.counted.total() == report.games == GAMES
    assert report.slow_moves
    assert report.bad_clients
    assert {Conduct.LATE, Conduct.ILLEGAL, Conduct.VANISHING} <= set(report.counted)
