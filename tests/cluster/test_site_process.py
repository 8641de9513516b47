"""The process on a machine that plays pairs: in the process of the tests, and as the Dask worker sees it."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
import trio
import trio.testing

import spielleiter.cluster.site_process
from spielleiter.cluster.shipment import setup_to_send
from spielleiter.cluster.site_messages import (
    CancelPair,
    FromSite,
    Item,
    PairPlayed,
    PairRefused,
    PlayPair,
    Prepare,
    Ready,
    SitePrepared,
    ToSite,
    Unable,
    decode_from_site,
    framed,
)
from spielleiter.cluster.site_process import (
    CATCH_UP_TIMEOUT,
    INTERVAL,
    MAX_LAG,
    MEMORY,
    SPEED_VARIABLE,
    LoopLag,
    PairSite,
    describe_machine,
    main,
)
from spielleiter.cluster.worker import SiteGoneError, SiteProcess
from spielleiter.common.errors import MachineError
from spielleiter.contest.calibration import Speed
from spielleiter.match import prepare_match
from tests.match.sample_records import game
from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.slow


def prepare_request(first: str = "builtin:first", **changes: Any) -> Prepare:
    setup = prepare_match(
        first,
        "builtin:random",
        games=4,
        seed=1,
        soft_timeout=HANG_TIMEOUT,
        hard_timeout=HANG_TIMEOUT,
        is_played_elsewhere=True,
    )
    values: dict[str, Any] = {
        "setup": setup_to_send(setup, ()).to_json(),
        "slots": 1,
        "cores_per_game": None,
        "is_pinned": False,
        "first_core": 0,
        "keep": "all",
        "is_restarting": True,
    }
    return Prepare(**{**values, **changes})


def pair_request(pair: int = 1, **changes: Any) -> PlayPair:
    values: dict[str, Any] = {"seed": 5, "games": ((2 * pair - 1, (0, 1)), (2 * pair, (1, 0)))}
    return PlayPair(key=f"key {pair}", pair=pair, **{**values, **changes})


async def test_a_single_lag_is_waited_for(autojump_clock: object) -> None:
    lag, started = LoopLag(), trio.current_time()
    assert await lag.catch_up() == 0
    lag.add(trio.current_time(), 5.0)
    assert await lag.catch_up() == 0
    assert MEMORY <= trio.current_time() - started < CATCH_UP_TIMEOUT


async def test_a_lag_that_goes_on_is_reported(autojump_clock: object) -> None:
    lag = LoopLag()

    async def be_late() -> None:
        while True:
            lag.add(trio.current_time(), MAX_LAG + 0.1)
            await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(be_late)
        await trio.testing.wait_all_tasks_blocked()
        started = trio.current_time()
        assert await lag.catch_up() == MAX_LAG + 0.1
        assert trio.current_time() - started < CATCH_UP_TIMEOUT + 2 * INTERVAL
        nursery.cancel_scope.cancel()


def is_empty(folder: Path) -> bool:
    return not any(folder.iterdir())


class RunningSite:
    """A site, its requests and its answers."""

    def __init__(self, scratch: Path) -> None:
        self.requests, requests = trio.open_memory_channel[ToSite](10)
        answers, self.answers = trio.open_memory_channel[FromSite](10)
        self.site = PairSite(scratch, answers)
        self._from_test = requests

    async def run(self) -> None:
        await self.site.run(self._from_test)

    async def ask(self, request: ToSite) -> FromSite:
        await self.requests.send(request)
        return await self.answers.receive()


@asynccontextmanager
async def running_site(scratch: Path) -> AsyncIterator[RunningSite]:
    running = RunningSite(scratch)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(running.run)
        yield running
        await running.requests.aclose()


async def test_a_pair_is_played_and_its_files_are_sent(tmp_path: Path) -> None:
    async with running_site(tmp_path) as running:
        assert await running.ask(prepare_request()) == SitePrepared()
        answer = await running.ask(pair_request(2))
    assert isinstance(answer, PairPlayed)
    assert [(each["game"], each["verdict"]) for each in answer.records] == [(3, "regular"), (4, "regular")]
    assert {file.name for file in answer.files if file.game == 3} >= {"replay.xml.gz", "verdict.json"}
    assert is_empty(tmp_path)


async def test_games_begin_from_the_opening_that_is_sent(tmp_path: Path, late_book: Path) -> None:
    opening = ("book", 1, ".xml", late_book.read_bytes())  # noqa: ASYNC240
    async with running_site(tmp_path) as running:
        await running.ask(prepare_request(keep="none", is_restarting=False))
        answer = await running.ask(pair_request(opening=opening))
        again = await running.ask(pair_request(2, opening=opening))
    assert isinstance(answer, PairPlayed)
    assert isinstance(again, PairPlayed)
    assert {each["start"] for each in (*answer.records, *again.records)} == {"book"}
    assert answer.files == ()


async def test_a_busy_machine_refuses_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.cluster.site_process, "CATCH_UP_TIMEOUT", 0.0)
    async with running_site(tmp_path) as running:
        await running.ask(prepare_request())
        running.site.lag.add(trio.current_time(), MAX_LAG + 0.5)
        answer = await running.ask(pair_request())
    assert isinstance(answer, PairRefused)
    assert answer.is_overloaded
    assert answer.reason.startswith("its event loop was 0.7 s late")


async def test_a_pair_can_be_called_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = trio.Event()

    async def never_ends(*_: object) -> None:
        begun.set()
        await trio.sleep_forever()

    monkeypatch.setattr(spielleiter.cluster.site_process, "play_game", never_ends)
    async with running_site(tmp_path) as running:
        await running.ask(prepare_request())
        await running.requests.send(pair_request(1))
        await running.requests.send(pair_request(2))
        await begun.wait()
        await running.requests.send(CancelPair("unknown"))
        await running.requests.send(CancelPair("key 2"))  # it is waiting
        answer = await running.ask(CancelPair("key 1"))
        assert answer == PairRefused("key 1", "the pair was called off")
        assert await running.answers.receive() == PairRefused("key 2", "the pair was called off")
    assert is_empty(tmp_path)


@pytest.mark.parametrize("is_raised", [True, False])
async def test_what_fails_on_this_machine_is_a_refusal(
    is_raised: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> object:
        await trio.lowlevel.checkpoint()
        if is_raised:
            raise MachineError("no space left")
        return game(1, None, verdict="server failed", reason="no space left", is_counted=False)

    monkeypatch.setattr(spielleiter.cluster.site_process, "play_game", fail)
    async with running_site(tmp_path) as running:
        await running.ask(prepare_request())
        assert await running.ask(pair_request()) == PairRefused("key 1", "no space left")


async def test_a_machine_that_cannot_play_says_why(tmp_path: Path) -> None:
    async with running_site(tmp_path) as running:
        answer = await running.ask(prepare_request("nowhere-at-all"))
        assert isinstance(answer, Unable)
        assert "there is no command nowhere-at-all" in answer.reason
        (tmp_path / "incoming-0").write_bytes(b"x")
        item = Item("bot", hashlib.sha256(b"y").hexdigest(), False)
        assert await running.ask(prepare_request(items=(item,))) == Unable("bot: it was damaged on its way")
        (tmp_path / "incoming-0").unlink()
        assert isinstance(await running.ask(prepare_request(items=(item,))), Unable)
        assert isinstance(await running.ask(prepare_request(cores_per_game=10_000)), Unable)


@pytest.mark.parametrize(("given", "speed"), [("0.5", 0.5), ("3", 3.0)])
def test_the_speed_of_a_machine_can_be_given(given: str, speed: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SPEED_VARIABLE, given)
    assert describe_machine().speed == speed


@pytest.mark.parametrize("given", ["fast", "0", "1000", ""])
def test_otherwise_it_is_measured(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SPEED_VARIABLE, given)
    monkeypatch.setattr(spielleiter.cluster.site_process, "measure_speed", lambda: Speed(0.75, is_measured=True))
    ready = describe_machine()
    assert ready.speed == 0.75
    assert ready.cores >= 1


async def test_the_process_ends_with_its_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SPEED_VARIABLE, "1")
    read_requests, write_requests = os.pipe()
    read_answers, write_answers = os.pipe()
    with (
        os.fdopen(read_requests, "rb", 0) as requests,
        os.fdopen(write_answers, "wb") as answers,
        os.fdopen(read_answers, "rb", 0) as received,
    ):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(main, tmp_path, requests, answers)
            data = framed(prepare_request())
            os.write(write_requests, data[:7])  # messages may arrive in pieces
            os.write(write_requests, data[7:])
            messages = []
            for _ in range(2):
                size = int.from_bytes(await trio.to_thread.run_sync(received.read, 4))
                messages.append(decode_from_site(await trio.to_thread.run_sync(received.read, size)))
            assert isinstance(messages[0], Ready)
            assert messages[1] == SitePrepared()
            os.close(write_requests)


def test_a_site_plays_and_is_closed(monkeypatch: pytest.MonkeyPatch, late_book: Path) -> None:
    monkeypatch.setenv("SPIELLEITER_SPEED", "1")
    site = SiteProcess()
    ready = site.ready.result(HANG_TIMEOUT)
    assert isinstance(ready, Ready)
    assert ready.speed == 1
    assert site.prepare(prepare_request()).result(HANG_TIMEOUT) == SitePrepared()
    request = pair_request(opening=("book", 1, ".xml", late_book.read_bytes()))
    assert isinstance(site.play(request).result(HANG_TIMEOUT), PairPlayed)
    site.close()
    assert not site.is_running
    assert not site.scratch.exists()
    with pytest.raises(SiteGoneError):
        site.play(pair_request()).result(HANG_TIMEOUT)


@pytest.mark.skipif(sys.platform == "win32", reason="the program is a shell script")
def test_a_site_that_is_killed_answers_nothing_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPIELLEITER_SPEED", "1")
    site = SiteProcess()
    site.ready.result(HANG_TIMEOUT)
    has_begun = tmp_path / "has-begun"
    bot = f"sh -c {shlex.quote(f'touch {shlex.quote(str(has_begun))}; while :; do sleep 0.1; done')} bot"
    prepared = site.prepare(prepare_request(bot))
    assert prepared.result(HANG_TIMEOUT) == SitePrepared()
    answer = site.play(pair_request())
    deadline = time.monotonic() + HANG_TIMEOUT
    while not has_begun.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    [process] = [each for each in psutil.Process().children() if str(site.scratch) in each.cmdline()]
    process.kill()
    with pytest.raises(SiteGoneError, match="has ended"):
        answer.result(HANG_TIMEOUT)
    site.cancel("key 1")  # no effect
    site.close()
    assert not site.scratch.exists()
    left = [each for each in psutil.process_iter(["cmdline"]) if str(has_begun) in " ".join(each.info["cmdline"] or ())]
    assert left == []  # the program that it had started
