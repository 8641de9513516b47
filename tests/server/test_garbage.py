"""Full collections run while no game is running, and the collector's settings are restored afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
import trio

import spielleiter.server.garbage
from spielleiter.server.garbage import (
    BUSY_INTERVAL,
    QUIET_INTERVAL,
    PauseMeter,
    collect_in_quiet,
    deferred_gc,
    keep_frozen,
)


@pytest.fixture
def nothing_frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No frozen objects and the usual thresholds, even if a server of another test is running in this process."""
    monkeypatch.setattr(spielleiter.server.garbage, "_is_frozen", False)
    thresholds = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    gc.unfreeze()
    yield
    gc.freeze()
    gc.set_threshold(*thresholds)


@pytest.mark.usefixtures("nothing_frozen")
def test_keep_frozen_outlasts_deferred_gc() -> None:
    keep_frozen()
    frozen = gc.get_freeze_count()
    with deferred_gc():
        assert 0 < gc.get_freeze_count() <= frozen  # other threads may let go of frozen objects
    assert 0 < gc.get_freeze_count() <= frozen


@pytest.mark.usefixtures("nothing_frozen")
def test_automatic_full_collections_are_off_inside_of_the_block_only() -> None:
    before = gc.get_threshold()
    with deferred_gc() as meter:
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold()[:2] == before[:2]
        assert gc.get_threshold()[2] > 1000 * before[2]
        gc.collect()
        frozen = gc.get_freeze_count()
        with deferred_gc():  # a nested block freezes and unfreezes nothing
            assert 0 < gc.get_freeze_count() <= frozen
        assert 0 < gc.get_freeze_count() <= frozen
    assert meter.count >= 1
    assert 0.0 < meter.longest <= meter.total
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
    assert meter not in gc.callbacks


async def collections_in(seconds: float, *, is_quiet: bool) -> int:
    meter = PauseMeter()
    gc.disable()  # only requested collections
    gc.callbacks.append(meter)
    try:
        with trio.move_on_after(seconds):
            await collect_in_quiet(lambda: is_quiet)
    finally:
        gc.callbacks.remove(meter)
        gc.enable()
    return meter.count


async def test_collections_are_frequent_when_it_is_quiet_and_rare_otherwise(autojump_clock: object) -> None:
    assert await collections_in(2.5 * QUIET_INTERVAL, is_quiet=True) == 2
    assert await collections_in(BUSY_INTERVAL - 1, is_quiet=False) == 0
    assert await collections_in(BUSY_INTERVAL + 1, is_quiet=False) == 1
