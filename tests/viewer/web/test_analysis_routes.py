"""The analysis runs in a process of its own, which ends with its page; what it writes is bounded and checked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.web import analysis_routes as analysis_module
from spielleiter.viewer.web.analysis_routes import analysis_routes
from spielleiter.viewer.web.replay_store import ReplayStore
from spielleiter.viewer.web.site import application
from tests.viewer.replay_files import played, replay_of
from tests.viewer.web.pages import JSON, Answer, Pages, call, open_pages
from tests.viewer.web.test_live_games import play_game

READS = "import sys; size = len(sys.stdin.buffer.read()); "
PROGRESS = 'print(\'{"event":"progress","done":1,"of":2}\', flush=True); '
WORKS = (
    READS + PROGRESS + 'print("no event"); print(\'{"event":"other"}\'); print(\'{"event":"result","size":%d}\' % size)'
)
FAILS = READS + 'print(\'{"event":"failed","error":{"de":"x","en":"y"}}\'); sys.exit(2)'
CRASHES = "raise SystemExit(1)"
FLOODS = READS + "sys.stdout.write('x' * 10_000_000)"
HANGS = READS + PROGRESS + "import time; time.sleep(3600)"


async def analyse(pages: Pages, code: str, form: bytes, folder: Path | None = None) -> Answer:
    command = (sys.executable, "-P", "-c", code)
    app = application(analysis_routes(ReplayStore(folder, None), pages.site.hub, command))
    return await call(app, "POST", "/api/analysis", JSON, form)


@pytest.mark.slow
async def test_the_events_of_the_process_are_passed_on_and_checked() -> None:
    async with open_pages() as pages:
        end = played(EDITIONS["blokus-2027"], plies=48)[-1]  # the analysis of a whole game takes ten seconds
        room_id = await play_game(pages, "first", "greedy", state=end)
        form = b'{"room":"%b"}' % room_id.encode()
        for code, ends in (
            (WORKS, ["event: progress", "event: result"]),
            (FAILS, ["event: failed", '"en":"y"']),
            (CRASHES, ["event: failed", '"en":"The analysis has failed."']),
            (FLOODS, ["event: failed", '"en":"The analysis has failed."']),
        ):
            answer = await analyse(pages, code, form)
            text = answer.body.decode()
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert [end for end in ends if end not in text] == []
            assert text.count("event: ") == sum(end.startswith("event: ") for end in ends)
            assert '"size":0' not in text
        real = (await pages.post("/api/analysis", {"room": room_id})).body
        assert b"event: progress" in real
        assert b'event: result\ndata: {"moments":[{' in real
        assert pages.site.hub.stream_count == 0


@pytest.mark.slow
async def test_a_replay_is_given_to_the_process_as_it_is(tmp_path: Path) -> None:
    content = replay_of("blokus-2027", plies=4)
    (tmp_path / "a.xml").write_bytes(content)
    async with open_pages() as pages:
        answer = await analyse(pages, WORKS, b'{"replay":"a.xml"}', tmp_path)
    assert f'"size":{len(content)}' in answer.body.decode()


async def test_an_analysis_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis_module, "TIMEOUT", 0.2)
    async with open_pages() as pages:
        room_id = await play_game(pages, "first", "illegal")
        answer = await analyse(pages, HANGS, b'{"room":"%b"}' % room_id.encode())
        assert b"took too long" in answer.body


async def test_what_cannot_be_analysed_is_refused() -> None:
    async with open_pages() as pages:
        room = pages.open_room("A", "B")
        await pages.caught_up()
        forms: list[tuple[Any, int]] = [({}, 400), ({"room": "x", "replay": "y"}, 400), ({"room": 1}, 400)]
        forms += [({"room": "x"}, 404), ({"replay": "x"}, 404), ({"room": room.id}, 409)]  # that game is not over
        for form, status in forms:
            assert (await pages.post("/api/analysis", form)).status == status
