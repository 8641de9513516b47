"""The analysis runs in a process of its own, which ends with its page; what it writes is bounded and checked."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.viewer.web.analysis_routes import TIMEOUT, analysis_routes
from spielleiter.viewer.web.replay_store import ReplayStore
from spielleiter.viewer.web.site import application
from tests.viewer.web.pages import JSON, Answer, Pages, call, open_pages
from tests.viewer.web.test_live_games import play_game

READS = "import sys; size = len(sys.stdin.buffer.read()); "
WORKS = READS + (
    'print(\'{"event":"progress","done":1,"of":2}\', flush=True); print("no event"); print(\'{"event":"other"}\'); '
    'print(\'{"event":"result","moments":[],"size":%d}\' % size)'
)
FAILS = READS + 'print(\'{"event":"failed","error":{"de":"x","en":"y"}}\'); sys.exit(2)'
CRASHES = "raise SystemExit(1)"
FLOODS = READS + "sys.stdout.write('x' * 10_000_000)"
HANGS = READS + 'print(\'{"event":"progress","done":1,"of":2}\', flush=True); import time; time.sleep(3600)'


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-P", "-c", code)


async def analyse(pages: Pages, code: str, form: Any) -> Answer:
    app = application(analysis_routes(ReplayStore(None, None), pages.site.hub, python(code)))
    return await call(app, "POST", "/api/analysis", JSON, form)


@pytest.mark.parametrize(
    ("code", "events"),
    [
        (WORKS, ["event: progress", 'data: {"done":1,"of":2}', "event: result"]),
        (FAILS, ["event: failed", 'data: {"error":{"de":"x","en":"y"}}']),
        (CRASHES, ["event: failed", '"en":"The analysis has failed."']),
        (FLOODS, ["event: failed", '"en":"The analysis has failed."']),
    ],
    ids=["works", "fails", "crashes", "floods"],
)
async def test_the_events_of_the_process_are_passed_on(code: str, events: list[str]) -> None:
    async with open_pages() as pages:
        room_id = await play_game(pages)
        answer = await analyse(pages, code, b'{"room":"%b"}' % room_id.encode())
        text = answer.body.decode()
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert [event in text for event in events] == [True] * len(events)
        assert text.count("event: ") == len([event for event in events if event.startswith("event: ")])
        assert pages.site.hub.stream_count == 0
        if code is WORKS:
            assert '"size":0' not in text


async def test_an_analysis_that_takes_too_long_is_given_up(mock_clock: MockClock) -> None:
    async with open_pages() as pages:
        room_id = await play_game(pages)
        answers: list[Answer] = []

        async def ask() -> None:
            answers.append(await analyse(pages, HANGS, b'{"room":"%b"}' % room_id.encode()))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            while not pages.site.hub.stream_count:
                await trio.lowlevel.checkpoint()
            await wait_all_tasks_blocked(0.2)
            mock_clock.jump(TIMEOUT + 1)
        assert b"took too long" in answers[0].body


@pytest.mark.parametrize(
    ("form", "status"),
    [
        (b"{}", 400),
        (b'{"room":"x","replay":"y"}', 400),
        (b'{"room":"x"}', 404),
        (b'{"replay":"x"}', 404),
        (b'{"room":1}', 400),
    ],
)
async def test_wishes_that_cannot_be_granted_are_refused(form: bytes, status: int) -> None:
    async with open_pages() as pages:
        assert (await analyse(pages, WORKS, form)).status == status


async def test_a_game_that_is_not_over_is_refused() -> None:
    async with open_pages() as pages:
        room = pages.open_room("A", "B")
        assert (await analyse(pages, WORKS, b'{"room":"%b"}' % room.id.encode())).status == 409


@pytest.mark.slow
async def test_the_real_analysis_names_the_moves_that_cost_most() -> None:
    async with open_pages() as pages:
        room_id = await play_game(pages, "first", "greedy")
        answer = await pages.post("/api/analysis", {"room": room_id})
        assert b"event: progress" in answer.body
        assert b"event: result" in answer.body
        assert b'"moments":[{' in answer.body
