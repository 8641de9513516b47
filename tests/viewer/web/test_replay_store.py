"""Replays of the replay folder, of matches and from the user's disk; names that lead elsewhere, and hostile files."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.web import replay_store
from spielleiter.viewer.web.answers import WebError
from spielleiter.viewer.web.replay_store import MOST_WAITING, NEWEST_AGE, REST, ReplayStore
from tests.viewer.replay_files import played, replay_of
from tests.viewer.web.pages import GAME_TYPE, Answer, Pages, call, open_pages
from tests.viewer.web.test_live_games import play_game

BINARY = {"content-type": "application/octet-stream"}


def saved_replay(folder: Path, plies: int = 1000) -> Path:
    """Write the replay of a game to `folder`, by default a whole one; return the file."""
    folder.mkdir(exist_ok=True)
    path = folder / "game.xml"
    path.write_bytes(replay_of("blokus-2027", plies=plies))
    return path


async def drop(pages: Pages, content: bytes, **headers: str) -> Answer:
    return await call(pages.site.app, "POST", "/api/replays", {**BINARY, **headers}, content)


def make_match(folder: Path, replay: Path) -> None:
    game = folder / "games" / "0001"
    game.mkdir(parents=True)
    (folder / "match.json").write_text("{}", encoding="utf-8")
    (game / "replay.xml.gz").write_bytes(gzip.compress(replay.read_bytes()))
    verdict = {"names": ["new", "old"], "seats": [1, 0], "winner": 0, "points": [80, 60], "replay": "replay.xml.gz"}
    results = {"wins": 2, "draws": 1, "losses": 0}
    summary = {"names": ["new", "old"], "results": results, "planned": 4}
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    (game / "verdict.json").write_text(json.dumps(verdict), encoding="utf-8")


@pytest.mark.slow
async def test_replays_of_the_replay_folder_are_listed_and_shown(tmp_path: Path) -> None:
    edition = EDITIONS["blokus-2027"]
    state = played(edition, plies=44)[-1]  # from here on, a game is short
    async with open_pages(replay_directory=tmp_path) as pages:
        room_id = await play_game(pages, names=("Alice", "Bob"), state=state)
        while not pages.logged("replay_saved"):  # noqa: ASYNC110 - the log has no event to wait for
            await trio.sleep(0.01)
        (listed,) = (await pages.get("/api/replays")).json["replays"]
        assert listed["players"] == ["Alice", "Bob"]
        assert listed["gameType"] == GAME_TYPE
        live = (await pages.get(f"/api/rooms/{room_id}")).json
        assert listed["plies"] == len(live["plies"])
        game = (await pages.get(f"/api/replays/{listed['name']}")).json
        assert game["replay"] == listed["name"]
        assert game["positions"] == live["positions"]
        assert listed["points"] == [player["points"] for player in game["positions"][-1]["players"]]
        think_times = [ply["thinkSeconds"] for ply in live["plies"]]
        assert [ply["thinkSeconds"] for ply in game["plies"]] == pytest.approx(think_times, abs=1e-3)
        legal = (await pages.get(f"/api/replays/{listed['name']}/legal?ply=46")).json
        assert legal == (await pages.get(f"/api/rooms/{room_id}/legal?ply=46")).json
        assert (await pages.get(f"/api/replays/{listed['name']}/legal?ply=999")).status == 404


@pytest.mark.slow
async def test_a_game_starts_from_a_position_of_a_replay_which_is_read_again_if_it_has_changed(tmp_path: Path) -> None:
    replay = saved_replay(tmp_path)
    store = ReplayStore(tmp_path, None)
    first = await store.find(replay.name)
    assert await store.find(replay.name) is first
    replay.write_bytes(replay.read_bytes() + b"\n")
    assert await store.find(replay.name) is not first
    async with open_pages(replay_directory=tmp_path) as pages:
        form = {"opponent": {"strategy": "first"}, "from": {"replay": replay.name, "ply": 6}}
        seat = (await pages.post("/api/seat", form)).json
        stream = await pages.open(f"/api/rooms/{seat['room']}/events")
        while not (shown := await stream.until("position"))["positions"]:
            pass
        game = (await pages.get(f"/api/replays/{replay.name}")).json
        assert shown["positions"][0]["board"] == game["positions"][6]["board"]
        last = len(game["positions"]) - 1
        over = await pages.post("/api/seat", {**form, "from": {"replay": replay.name, "ply": last}})
        assert over.status == 409


@pytest.mark.slow
async def test_matches_and_tournaments_are_listed_and_their_games_shown(tmp_path: Path) -> None:
    replay = saved_replay(tmp_path / "replays", plies=4)
    places, cup = tmp_path / "all", tmp_path / "all" / "cup"
    for folder in (places / "first", cup / "matches" / "001_new_old", cup / "matches" / "002_new_last"):
        make_match(folder, replay)
    line = {"name": "new", "points": 5, "games": 3, "wins": 2, "draws": 1, "losses": 0}
    content = {"season": "swc_2027_blokus", "kind": "round-robin", "table": [line, {"name": 3, "points": -1}, "line"]}
    (cup / "tournament.json").write_text(json.dumps(content), encoding="utf-8")
    unknown = dict.fromkeys(line, None) | {"name": ""}
    # all of them, or the folder of one
    for folder, has_match, has_cup in ((places, 1, 1), (places / "first", 1, 0), (cup, 0, 1)):
        async with open_pages(viewer_matches=folder) as pages:
            listed = (await pages.get("/api/replays")).json
            assert (len(listed["matches"]), len(listed["tournaments"])) == (has_match, has_cup)
            for match in listed["matches"]:
                game = {"name": "first:0001", "number": 1, "players": ["old", "new"], "winner": 1, "points": [60, 80]}
                assert match == {
                    "name": "first", "players": ["new", "old"], "score": [2.5, 0.5], "planned": 4, "games": [game]
                }  # fmt: skip
                assert (await pages.get("/api/replays/first:0001")).json["positions"][0]["ply"] == 0
            for tournament in listed["tournaments"]:
                assert (tournament["name"], tournament["kind"]) == ("cup", "round-robin")
                assert tournament["table"] == [line, unknown, unknown]
                assert [match["name"] for match in tournament["matches"]] == ["cup:001_new_old", "cup:002_new_last"]
                (game,) = tournament["matches"][0]["games"]
                assert game["name"] == "cup:001_new_old:0001"
                assert (await pages.get(f"/api/replays/{game['name']}")).json["positions"][0]["ply"] == 0
            for name in ("cup:..:0001", "cup:001_new_old/..:0001", "other:001_new_old:0001", "cup::0001"):
                assert (await pages.get(f"/api/replays/{name}")).status == 404


@pytest.mark.slow
async def test_a_dropped_file_is_shown_and_remembered_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_store, "MOST_OPEN", 2)
    content = replay_of("blokus-2027", plies=4)
    async with open_pages() as pages:
        names = []
        for packed in (content, gzip.compress(content), content):
            answer = await drop(pages, packed, **{"x-file-name": "mein%20Spiel.xml"})
            assert answer.status == 200
            assert answer.json["source"] == "mein Spiel.xml"
            names.append(answer.json["replay"])
        assert (await pages.get(f"/api/replays/{names[2]}")).json["replay"] == names[2]
        assert (await pages.get(f"/api/replays/{names[0]}")).status == 404  # forgotten
        assert (await pages.get(f"/api/replays/{names[2]}/legal?ply=0")).status == 200
        assert (await call(pages.site.app, "POST", "/api/replays", {}, content)).status == 415
        monkeypatch.setattr(replay_store, "MOST_DROPPED_BYTES", len(content) - 1)
        assert (await drop(pages, content)).status == 413


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no XML at all",
        b"<protocol>",
        b"\x1f\x8b broken",
        gzip.compress(b" " * 20_000_000, mtime=0),  # 20 kB that unpack to 20 MB
        b'<!DOCTYPE x [<!ENTITY a "b">]><protocol>&a;</protocol>',
    ],
    ids=["empty", "no XML", "truncated", "broken gzip", "huge when unpacked", "entities"],
)
async def test_a_file_that_is_no_replay_is_one_sentence(content: bytes) -> None:
    async with open_pages() as pages:
        answer = await drop(pages, content)
        assert answer.status == 422
        assert all("\n" not in text and len(text) < 300 for text in answer.json["error"].values())
        assert pages.logged("internal_error") == []


@pytest.mark.parametrize(
    "name",
    [
        *("..", ".", "..%2Fsecret.xml", "%2Fetc%2Fpasswd", "..%5Csecret.xml", "secret.xml%00.xml"),
        *("first:..", "first:..%2Fgames", ":0001", "no:such", "nothing.xml", "match.json"),
        *("x" * 5000 + ".xml", "first:" + "x" * 5000),
    ],
)
async def test_names_that_lead_elsewhere_are_unknown(name: str, tmp_path: Path) -> None:
    for folder in ("replays", "matches"):
        (tmp_path / folder).mkdir()
    replay = tmp_path / "secret.xml"
    replay.write_bytes(b"<protocol/>")
    make_match(tmp_path / "matches" / "first", replay)
    async with open_pages(replay_directory=tmp_path / "replays", viewer_matches=tmp_path / "matches") as pages:
        store = ReplayStore(tmp_path / "replays", tmp_path / "matches")
        assert (await pages.get(f"/api/replays/{name}")).status == 404
        for plain in (name, name.replace("%2F", "/").replace("%5C", "\\").replace("%00", "\0")):
            with pytest.raises(WebError):
                await store.find(plain)


@pytest.mark.parametrize("key", ["names", "seats", "winner", "parts", "plies", "ended_at", "edition", None])
async def test_a_strange_value_beside_a_replay_leaves_the_list_complete(key: str | None, tmp_path: Path) -> None:
    game = tmp_path / "games" / "0001"
    game.mkdir(parents=True)
    for path in (tmp_path / "a.xml", tmp_path / "match.json", game / "replay.xml.gz"):
        path.write_text("", encoding="utf-8")
    values: list[Any] = [
        1,
        [[1], 2],
        ["a", 1],
        [0.0, 1.0],
        [{}, []],
        10**400,
        "\ud800",
        ["\ud800", "b"],
        [[0, 10**400]],
    ]
    texts = [json.dumps({"names": ["a", "b"], "seats": [0, 1], "winner": 0, key or "x": value}) for value in values]
    async with open_pages(replay_directory=tmp_path, viewer_matches=tmp_path) as pages:
        for text in texts if key else ("[]", "{", "[" * 9999):
            for path in (tmp_path / "a.json", game / "verdict.json"):
                path.write_text(text, encoding="utf-8")
            answer = await pages.get("/api/replays")
            assert answer.status == 200
            assert [replay["name"] for replay in answer.json["replays"]] == ["a.xml"]
            assert len(answer.json["matches"][0]["games"]) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, every name of a file is text")
async def test_a_file_whose_name_is_no_text_is_left_out(tmp_path: Path) -> None:
    for name in (b"\xff.xml", b"a.xml", b"\xff"):
        os.close(os.open(os.fsencode(tmp_path) + b"/" + name, os.O_CREAT))
    async with open_pages(replay_directory=tmp_path) as pages:
        answer = await pages.get("/api/replays")
    assert [replay["name"] for replay in answer.json["replays"]] == ["a.xml"]


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no named pipes in its file system")
async def test_a_named_pipe_is_no_replay(tmp_path: Path) -> None:
    if sys.platform != "win32":  # for mypy
        os.mkfifo(tmp_path / "a.xml")
    for store in (ReplayStore(tmp_path, None), ReplayStore(None, None, tmp_path / "a.xml")):
        with pytest.raises(WebError):
            await store.find("a.xml")


async def test_missing_folders_have_no_replays(tmp_path: Path) -> None:
    nowhere = ReplayStore(tmp_path / "a", tmp_path / "b")
    nothing: dict[str, Any] = {"replays": [], "matches": [], "tournaments": []}
    assert await nowhere.listed() == {"isKept": True, **nothing}
    assert await ReplayStore(None, None).listed() == {"isKept": False, **nothing}


async def test_a_class_that_opens_its_pages_at_once_reads_the_folder_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    store = ReplayStore(tmp_path, None)
    found: list[dict[str, Any]] = []

    async def open_page() -> None:
        found.append(await store.newest(20))

    (tmp_path / "a.xml").touch()
    async with trio.open_nursery() as pages:
        for _ in range(4 * MOST_WAITING):  # nobody is sent away
            pages.start_soon(open_page)
    assert [[replay["name"] for replay in each["replays"]] for each in found] == [["a.xml"]] * 4 * MOST_WAITING
    (tmp_path / "b.xml").touch()
    await trio.sleep(NEWEST_AGE)
    assert len((await store.newest(20))["replays"]) == 2


async def test_a_game_is_found_by_its_room_and_called_by_what_is_known(tmp_path: Path) -> None:
    line = {"names": ["", "<b>"], "causes": ["SOFT_TIMEOUT", "REGULAR"], "winners": [1], "room": "r1", "turn": 7}
    lines: dict[str, dict[str, Any]] = {
        "a": {**line, "addresses": ["192.0.2.7:5000", "192.0.2.8:5000"]},
        "b": {**line, "addresses": ["x" * 1000, 5], "causes": ["SOFT_TIMEOUT", "<svg>"], "room": "r2", "turn": -1},
        "c": {**line, "names": ["", 7], "winners": [0, 1, 0], "room": 3},
    }
    for number, (name, content) in enumerate(lines.items()):
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
        (tmp_path / f"{name}.xml.gz").touch()
        os.utime(tmp_path / f"{name}.xml.gz", (number, number))
    async with open_pages(recent_directory=tmp_path) as pages:
        c, b = (await pages.get("/api/replays?newest=2")).json["replays"]
        (a,) = (await pages.get("/api/replays?room=r1")).json["replays"]
        assert (await pages.get("/api/replays?room=r0")).json == {"replays": []}
        assert (await pages.get("/api/replays?newest=-1")).status == 400
    assert (a["players"], a["turn"], a["outcome"]) == (
        ["192.0.2.7:5000", "<b>"],
        7,
        {
            "winner": 1,
            "isDraw": False,
            "words": {
                "de": "192.0.2.7:5000 hat für einen Zug zu lange gebraucht; <b> gewinnt",
                "en": "192.0.2.7:5000 took too long for a move; <b> wins",
            },
        },
    )
    assert (b["players"], b["turn"], b["outcome"]) == (["", "<b>"], None, None)
    assert (c["players"], c["room"], c["outcome"]) == (["", ""], None, None)


async def test_reading_takes_a_bounded_share_of_the_time(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    instants: list[float] = []

    async def in_no_time(work: Callable[[], Any], limiter: Any = None) -> Any:
        instants.append(trio.current_time())
        return work()

    monkeypatch.setattr(trio.to_thread, "run_sync", in_no_time)
    ticks = iter(range(100))
    store = ReplayStore(tmp_path, None, clock=lambda: float(next(ticks)))  # each reading takes one second
    for _ in range(3):
        await store.listed()
    assert instants == [instants[0], instants[0] + REST, instants[0] + 2 * REST]


async def test_the_number_of_waiting_requests_is_bounded(tmp_path: Path, autojump_clock: MockClock) -> None:
    store = ReplayStore(tmp_path, None, clock=trio.current_time)
    refused: list[int] = []

    async def ask() -> None:
        try:
            await store.listed()
        except WebError as error:
            refused.append(error.status)

    async with trio.open_nursery() as nursery:
        for _ in range(replay_store.MOST_WAITING + 3):
            nursery.start_soon(ask)
    assert refused == [429, 429]  # one is being read, and `MOST_WAITING` wait
