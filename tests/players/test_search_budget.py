"""The time for a search: processor time, and wall-clock time only against the game's own limit."""

from __future__ import annotations

import math
import threading
import time

import pytest

from spielleiter.players.search_budget import LONGEST_SEARCH, SearchBudget


@pytest.mark.parametrize(
    ("thinks", "waits", "wait", "is_cut"),
    [
        (LONGEST_SEARCH - 0.01, 1.7, 1.8, False),  # much of the time others had the processor
        (LONGEST_SEARCH, 1.0, 1.8, True),
        (0.1, 1.8, 1.8, True),  # the game's limit would pass
        (0.1, 100.0, math.inf, False),  # there is none
        (0.1, 0.5, 0.45, True),
    ],
)
def test_a_search_is_cut_by_its_own_work_or_the_limit_of_the_game(
    thinks: float, waits: float, wait: float, is_cut: bool
) -> None:
    times = {"processor": 50.0, "wall": 900.0}
    budget = SearchBudget(wait, lambda: times["processor"], lambda: times["wall"])
    assert not budget.is_used_up()
    times["processor"] += thinks
    times["wall"] += waits
    assert (budget.is_used_up(), budget.was_cut) == (is_cut, is_cut)


@pytest.mark.parametrize(
    ("thinks", "waits", "share", "is_cut"),
    [
        (0.0, 0.0, 0.0, False),
        (0.5, 1.7, 0.25, False),  # much of the time others had the processor
        (2.0, 1.7, 1.0, False),
        (3.0, 1.7, 1.0, False),
        (0.5, 1.72, 1.0, True),  # the game's limit would pass
    ],
)
def test_the_share_of_the_given_time_is_1_when_a_search_must_end(
    thinks: float, waits: float, share: float, is_cut: bool
) -> None:
    times = {"processor": 50.0, "wall": 900.0}
    budget = SearchBudget(1.8, lambda: times["processor"], lambda: times["wall"])
    budget.seconds = 2.0
    times["processor"] += thinks
    times["wall"] += waits
    assert budget.share_taken() == pytest.approx(share)
    assert budget.was_cut == is_cut


def test_neither_waiting_nor_the_work_of_others_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spielleiter.players.search_budget.LONGEST_SEARCH", 0.1)
    stop = threading.Event()
    thread = threading.Thread(target=lambda: [None for _ in iter(stop.is_set, True)])
    budget, begin = SearchBudget(math.inf), time.process_time()
    thread.start()
    try:
        while time.process_time() - begin < 0.2:
            time.sleep(0.05)
        assert not budget.is_used_up()
    finally:
        stop.set()
        thread.join()
