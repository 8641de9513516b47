"""The process on a machine that plays pairs, in the process of the tests, with built-in players."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

import spielleiter.cluster.loop_lag
import spielleiter.cluster.site_process
from spielleiter.cluster.loop_lag import MAX_LAG
from spielleiter.cluster.messages import (
    CancelPair,
    FromSite,
    Item,
    PairPlayed,
    PairRefused,
    Prepared,
    Ready,
    ToSite,
    Unable,
    decode_from_site,
    framed,
)
from spielleiter.cluster.site_process import SPEED_VARIABLE, Site, describe_machine, main
from spielleiter.common.errors import MachineError
from tests.cluster.site_requests import pair_request, prepare_request
from tests.match.sample_records import game

pytestmark = pytest.mark.slow


def is_empty(folder: Path) -> bool:
    return not any(folder.iterdir())


class RunningSite:
    """A site, its requests and its answers."""

    def __init__(self, scratch: Path) -> None:
        self.requests, requests = trio.open_memory_channel[ToSite](10)
        answers, self.answers = trio.open_memory_channel[FromSite](10)
        self.site = Site(scratch, answers)
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
        assert await running.ask(prepare_request()) == Prepared()
        answer = await running.ask(pair_request(2))
    assert isinstance(answer, PairPlayed)
    assert [(each["game"], each["verdict"]) for each in answer.records] == [(3, "regular"), (4, "regular")]
    assert {file.name for file in answer.files if file.game == 3} >= {"replay.xml.gz", "verdict.json"}
    assert is_empty(tmp_path)


async def test_games_begin_from_the_opening_that_is_sent(tmp_path: Path, replay: bytes) -> None:
    async with running_site(tmp_path) as running:
        await running.ask(prepare_request(keep="none", is_restarting=False))
        answer = await running.ask(pair_request(opening=("book", 1, ".xml", replay)))
        again = await running.ask(pair_request(2, opening=("book", 1, ".xml", replay)))
    assert isinstance(answer, PairPlayed)
    assert isinstance(again, PairPlayed)
    assert {each["start"] for each in (*answer.records, *again.records)} == {"book"}
    assert answer.files == ()


async def test_a_busy_machine_refuses_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.cluster.loop_lag, "PATIENCE", 0.0)
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
        (tmp_path / "incoming").write_bytes(b"x")
        item = Item(str(tmp_path / "incoming"), "bot", hashlib.sha256(b"y").hexdigest(), False)
        assert await running.ask(prepare_request(items=(item,))) == Unable("bot: it was damaged on its way")
        missing = Item(str(tmp_path / "missing"), "bot", "", False)
        assert isinstance(await running.ask(prepare_request(items=(missing,))), Unable)
        assert isinstance(await running.ask(prepare_request(cores_per_game=10_000)), Unable)


@pytest.mark.parametrize(("given", "speed"), [("0.5", 0.5), ("3", 3.0)])
def test_the_speed_of_a_machine_can_be_given(given: str, speed: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SPEED_VARIABLE, given)
    assert describe_machine().speed == speed


@pytest.mark.parametrize("given", ["fast", "0", "1000", ""])
def test_otherwise_it_is_measured(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SPEED_VARIABLE, given)
    ready = describe_machine()
    assert ready.speed > 0
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
            assert messages[1] == Prepared()
            os.close(write_requests)
