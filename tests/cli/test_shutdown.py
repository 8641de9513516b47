"""A server that is stopped or killed in the middle of many games: nothing anybody knows of is lost or damaged."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import trio
from lxml import etree

from tests.cli.server_process import RESULT, ServerProcess, Table, server_process
from tests.patience import PATIENCE

GAMES = 50
GRACE = 2.0
END = b"\n</protocol>"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals"),
]


def results_in(folder: Path) -> list[dict[str, Any]]:
    """Every line of the results; one that is no JSON fails here."""
    return [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]


def require_whole(folder: Path) -> None:
    """Every replay with its name is a whole document with a game's positions in it."""
    for path in folder.glob("*.xml"):
        kinds = [data.get("class") for data in etree.parse(path).iterfind("room/data")]
        assert (kinds[0], kinds[-1]) == ("memento", "result")
    for path in folder.glob("*.json"):
        assert json.loads(path.read_text(encoding="utf-8"))["replay"] == path.with_suffix(".xml").name


async def begun(server: ServerProcess, nursery: trio.Nursery, *paces: float | None) -> list[Table]:
    """Games that have all begun, one of each pace after the other; their first moves are on their way."""
    gate = trio.Event()
    tables = [Table(paces[number % len(paces)], gate) for number in range(GAMES)]
    for table in tables:
        nursery.start_soon(table.play, server.port)
        await table.has_begun.wait()
    gate.set()
    return tables


async def test_every_player_gets_a_result_and_every_game_is_saved(tmp_path: Path) -> None:
    """Every other game goes on in its grace, and may end in it; in the others somebody thinks for ever."""
    folder = tmp_path / "replays"
    with trio.fail_after(PATIENCE):
        async with server_process(folder, "--grace", str(GRACE)) as server, trio.open_nursery() as nursery:
            tables = await begun(server, nursery, None, 0.005)
            await trio.sleep(0.1)
            server.process.send_signal(signal.SIGTERM)
            told_at = trio.current_time()
            status = await server.process.wait()
            took = trio.current_time() - told_at
    assert status == 0
    assert GRACE <= took < GRACE + 5.0  # what is to be written afterwards takes a moment on a busy machine
    for table in tables:
        for heard in table.heard:
            assert heard.count(RESULT) == 1
            assert heard.endswith(f'\n  <left roomId="{table.room}"/>'.encode() + END)
    lines = results_in(folder)
    assert sorted(line["room"] for line in lines) == sorted(table.room for table in tables)
    plies = {line["room"]: line["plies"] for line in lines}
    assert {plies[table.room] for table in tables[0::2]} == {0}
    assert min(plies[table.room] for table in tables[1::2]) > 0
    assert {line["replay"] for line in lines} == {path.name for path in folder.glob("*.xml")}
    assert len(list(folder.glob("*.xml"))) == len(list(folder.glob("*.json"))) == GAMES
    assert list(folder.glob(".replay-*")) == []
    require_whole(folder)


async def test_a_killed_server_loses_no_announced_result(tmp_path: Path) -> None:
    folder = tmp_path / "replays"
    with trio.fail_after(PATIENCE):
        async with server_process(folder) as server, trio.open_nursery() as nursery:
            tables = await begun(server, nursery, 0.5, 0.0)
            for table in tables[1 : GAMES // 2 : 2]:  # by now some others are over, and some just ending
                await table.is_over.wait()
            server.process.kill()
            await server.process.wait()
        known = {table.room for table in tables if any(RESULT in heard for heard in table.heard)}
        assert len(known) >= GAMES // 4
        assert len(known) < GAMES
        require_whole(folder)
        async with server_process(folder) as server:
            again = Table(0.0, trio.Event())
            again.gate.set()
            await again.play(server.port)
            server.process.send_signal(signal.SIGTERM)
            assert await server.process.wait() == 0
    lines = results_in(folder)
    assert known <= {line["room"] for line in lines}
    assert lines[-1]["room"] == again.room
    assert len(lines) == len({line["room"] for line in lines})
    require_whole(folder)
