"""A real site process, as the Dask worker sees it."""

from __future__ import annotations

import psutil
import pytest

from spielleiter.match.cluster.messages import PairPlayed, Prepared, Ready
from spielleiter.match.cluster.site import Site, SiteGoneError
from tests.match.cluster.site_requests import pair_request, prepare_request
from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.slow


def test_a_site_plays_and_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPIELLEITER_SPEED", "1")
    site = Site()
    ready = site.ready.result(HANG_TIMEOUT)
    assert isinstance(ready, Ready)
    assert ready.speed == 1
    assert site.prepare(prepare_request()).result(HANG_TIMEOUT) == Prepared()
    assert isinstance(site.play(pair_request()).result(HANG_TIMEOUT), PairPlayed)
    site.close()
    assert not site.is_running
    assert not site.scratch.exists()
    with pytest.raises(SiteGoneError):
        site.play(pair_request()).result(HANG_TIMEOUT)


def test_a_site_that_is_killed_answers_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPIELLEITER_SPEED", "1")
    site = Site()
    site.ready.result(HANG_TIMEOUT)
    prepared = site.prepare(prepare_request("builtin:greedy"))
    prepared.result(HANG_TIMEOUT)
    answer = site.play(pair_request())
    psutil.Process(site._process.pid).kill()
    with pytest.raises(SiteGoneError, match="has ended"):
        answer.result(HANG_TIMEOUT)
    site.cancel("key 1")  # no effect
    site.close()
    assert not site.scratch.exists()
