"""A real site process, as the Dask worker sees it."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import psutil
import pytest

from spielleiter.cluster.messages import PairPlayed, Prepared, Ready
from spielleiter.cluster.site import Site, SiteGoneError
from tests.cluster.site_requests import pair_request, prepare_request
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


def test_an_answer_that_nobody_awaits_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPIELLEITER_SPEED", "1")
    site = Site()
    site.prepare(prepare_request()).result(HANG_TIMEOUT)
    assert site.play(pair_request(1)).cancel() is False
    assert isinstance(site.play(pair_request(2)).result(HANG_TIMEOUT), PairPlayed)
    site.close()


@pytest.mark.skipif(sys.platform == "win32", reason="the program is a shell script")
def test_a_site_that_is_killed_answers_nothing_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPIELLEITER_SPEED", "1")
    site = Site()
    site.ready.result(HANG_TIMEOUT)
    has_begun = tmp_path / "has-begun"
    bot = f"sh -c {shlex.quote(f'touch {shlex.quote(str(has_begun))}; while :; do sleep 0.1; done')} bot"
    prepared = site.prepare(prepare_request(bot))
    assert prepared.result(HANG_TIMEOUT) == Prepared()
    answer = site.play(pair_request())
    deadline = time.monotonic() + HANG_TIMEOUT
    while not has_begun.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    psutil.Process(site._process.pid).kill()
    with pytest.raises(SiteGoneError, match="has ended"):
        answer.result(HANG_TIMEOUT)
    site.cancel("key 1")  # no effect
    site.close()
    assert not site.scratch.exists()
    left = [each for each in psutil.process_iter(["cmdline"]) if str(has_begun) in " ".join(each.info["cmdline"] or ())]
    assert left == []  # the program that it had started
