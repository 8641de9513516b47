"""A server that is stopped or killed during many games: no announced result is lost, no file is damaged."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import trio
from lxml import etree

from tests.cli.server_process import RESULT, ScriptedGame, ServerProcess, server_process
from tests.timeouts import HANG_TIMEOUT

GAMES = 50
GRACE = 2.0
END = b"\n</protocol>"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals"),
]


def results_in(folder: Path) -> list[dict[str, Any]]:
    """All lines of the results; a line that is not JSON fails here."""
    return [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]


def require_whole(folder: Path) -> None:
    """Check that every replay with a final name is a complete document with the positions of a game."""
    for path in folder.glob("*.xml"):
        kinds = [data.get("class") for data in etree.parse(path).iterfind("room/data")]
        assert (kinds[0], kinds[-1]) == ("memento", "result")
    for path in folder.glob("*.json"):
        assert json.loads(path.read_text(encoding="utf-8"))["replay"] == path.with_suffix(".xml").name


async def started_games(server: ServerProcess, nursery: trio.Nursery, *delays: float | None) -> list[ScriptedGame]:
    """Start GAMES games with these delays in turn; when all have begun, the players may answer."""
    may_answer = trio.Event()
    games = [ScriptedGame(delays[number % len(delays)], may_answer) for number in range(GAMES)]
    for game in games:
        nursery.start_soon(game.play, server.port)
        await game.has_begun.wait()
    may_answer.set()
    return games


async def test_every_player_gets_a_result_and_every_game_is_saved(tmp_path: Path) -> None:
    """Half of the games go on in the grace period and may end in it; in the others a player never answers."""
    folder = tmp_path / "replays"
    with trio.fail_after(HANG_TIMEOUT):
        async with server_process(folder, "--grace", str(GRACE)) as server, trio.open_nursery() as nursery:
            games = await started_games(server, nursery, None, 0.005)
            await trio.sleep(0.1)
            server.process.send_signal(signal.SIGTERM)
            stopped_at = trio.current_time()
            status = await server.process.wait()
            took = trio.current_time() - stopped_at
    assert status == 0
    assert GRACE <= took < GRACE + 5.0  # writing the files afterwards takes a moment on a busy machine
    for game in games:
        for received in game.received:
            assert received.count(RESULT) == 1
            assert received.endswith(f'\n  <left roomId="{game.room}"/>'.encode() + END)
    lines = results_in(folder)
    assert sorted(line["room"] for line in lines) == sorted(game.room for game in games)
    plies = {line["room"]: line["plies"] for line in lines}
    assert {plies[game.room] for game in games[0::2]} == {0}
    assert min(plies[game.room] for game in games[1::2]) > 0
    assert {line["replay"] for line in lines} == {path.name for path in folder.glob("*.xml")}
    assert len(list(folder.glob("*.xml"))) == len(list(folder.glob("*.json"))) == GAMES
    assert list(folder.glob(".replay-*")) == []
    require_whole(folder)


async def test_a_killed_server_loses_no_announced_result(tmp_path: Path) -> None:
    folder = tmp_path / "replays"
    with trio.fail_after(HANG_TIMEOUT):
        async with server_process(folder) as server, trio.open_nursery() as nursery:
            games = await started_games(server, nursery, 0.5, 0.0)
            for game in games[1 : GAMES // 2 : 2]:  # meanwhile the other games end one by one
                await game.is_over.wait()
            server.process.kill()
            await server.process.wait()
        known = {game.room for game in games if any(RESULT in received for received in game.received)}
        assert len(known) >= GAMES // 4
        assert len(known) < GAMES
        require_whole(folder)
        async with server_process(folder) as server:
            again = ScriptedGame(0.0, trio.Event())
            again.may_answer.set()
            await again.play(server.port)
            server.process.send_signal(signal.SIGTERM)
            assert await server.process.wait() == 0
    lines = results_in(folder)
    assert known <= {line["room"] for line in lines}
    assert lines[-1]["room"] == again.room
    assert len(lines) == len({line["room"] for line in lines})
    require_whole(folder)
