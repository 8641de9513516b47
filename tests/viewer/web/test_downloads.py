"""Files to keep: each form of a game, made by a process of its own, a bounded number at once and within a time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.web.answers import Application
from spielleiter.viewer.web.downloads import MOST_MAKING, download_routes
from spielleiter.viewer.web.replay_store import ReplayStore
from spielleiter.viewer.web.site import application
from tests.viewer.replay_files import played, replay_of
from tests.viewer.web.pages import Answer, Pages, call, open_pages
from tests.viewer.web.test_live_games import play_game

GIVES_BACK = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"
HANGS = "import sys, time; sys.stdin.buffer.read(); time.sleep(3600)"


def app_of(pages: Pages, folder: Path, code: str) -> Application:
    """The routes, with a process that runs `code`."""
    return application(download_routes(ReplayStore(folder, None), pages.site.hub, (sys.executable, "-P", "-c", code)))


async def ask(app: Application, path: str, client: str = "127.0.0.1") -> Answer:
    return await call(app, "GET", path, client=client)


@pytest.mark.slow
async def test_a_replay_and_a_room_can_be_kept_in_each_form(tmp_path: Path) -> None:
    content = replay_of("blokus-2027", plies=3)
    (tmp_path / 'a"\r\nSet-Cookie: b.xml').write_bytes(content)
    async with open_pages(replay_directory=tmp_path) as pages:
        path = "/api/replays/a%22%0D%0ASet-Cookie%3A%20b.xml/file"
        files = {form: await pages.get(f"{path}/{form}") for form in ("replay", "html", "png?ply=1", "gif")}
        assert files["replay"].body == content
        assert b"<!doctype html>" in files["html"].body
        assert files["png?ply=1"].body.startswith(b"\x89PNG")
        assert files["gif"].body.startswith(b"GIF8")
        names = {answer.headers["content-disposition"] for answer in files.values()}
        # a browser keeps them, whatever they are called, and shows none as a page of this server
        suffixes = ("xml", "html", "png", "gif")
        assert names == {
            f'attachment; filename="a_Set-Cookie_b{"-1" if suffix == "png" else ""}.{suffix}"' for suffix in suffixes
        }
        assert {answer.headers["content-security-policy"] for answer in files.values()} == {"sandbox"}
        assert (await pages.get(f"{path}/png?ply=4")).status == 404
        assert (await pages.get(f"{path}/exe")).status == 404
        assert (await pages.get("/api/replays/other.xml/file/gif")).status == 404

        end = played(EDITIONS["blokus-2027"], plies=50)[-1]
        room_id = await play_game(pages, state=end)
        assert (await pages.get(f"/api/rooms/{room_id}/file/png")).body.startswith(b"\x89PNG")
        assert b"<protocol>" in (await pages.get(f"/api/rooms/{room_id}/file/replay")).body
        room = pages.open_room("A", "B")
        await pages.caught_up()
        for form in ("replay", "gif"):
            assert (await pages.get(f"/api/rooms/{room.id}/file/{form}")).status == 409  # that game is not over
            assert (await pages.get(f"/api/rooms/x/file/{form}")).status == 404


@pytest.mark.slow
async def test_a_process_that_fails_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(replay_of("blokus-2027", plies=2))
    async with open_pages() as pages:
        path = "/api/replays/a.xml/file/gif"
        assert (await ask(app_of(pages, tmp_path, GIVES_BACK), path)).body.startswith(b"{")  # it gets the game alone
        for code, status in (("raise SystemExit(3)", 501), ("raise SystemExit(1)", 500), ("", 500)):
            answer = await ask(app_of(pages, tmp_path, code), path)
            assert answer.status == status
            shown = ["pip install" in text for text in answer.json["error"].values()]
            assert shown == [status == 501] * 2


async def test_few_files_are_made_at_once_each_within_a_time(tmp_path: Path, autojump_clock: MockClock) -> None:
    (tmp_path / "a.xml").write_bytes(replay_of("blokus-2027", plies=2))
    statuses: list[int] = []
    waiting = MOST_MAKING // 2
    async with open_pages() as pages:
        app = app_of(pages, tmp_path, HANGS)

        async def download(client: str) -> None:
            statuses.append((await ask(app, "/api/replays/a.xml/file/gif", client)).status)

        async with trio.open_nursery() as nursery:
            autojump_clock.autojump_threshold = float("inf")
            for client in MOST_MAKING * ["10.0.0.1"] + ["10.0.0.2"]:  # which has room all the same
                nursery.start_soon(download, client)
                await wait_all_tasks_blocked()
            assert statuses == [429] * (MOST_MAKING - waiting)
            autojump_clock.autojump_threshold = 0
        assert statuses[MOST_MAKING - waiting :] == [503] * (waiting + 1)
        await download("10.0.0.1")  # the places are free again
        assert statuses[-1] == 503
