"""A server that is stopped or killed during many games: no announced result is lost, no file is damaged."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import trio
from lxml import etree

from spielleiter.bench.scripted_games import ROOM, play_script
from spielleiter.game.blokus.state import BLOKUS_2021, BlokusGame
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from tests.timeouts import HANG_TIMEOUT

PROJECT = Path(__file__).parents[2]
GAME_TYPE = "swc_2021_blokus"
START_PIECE = "PENTO_L"
REQUEST = b'<data class="sc.framework.plugins.protocol.MoveRequest"/>'
JOINED = b"<joined "
RESULT = b'<data class="result">'
_ROOM_ID = re.compile(rb'roomId="([^"]+)"')
GAMES = 12
GRACE = 1.0
END = b"\n</protocol>"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals"),
]


@cache
def moves() -> tuple[bytes, ...]:
    """The packets of one whole game, with ROOM in place of the room's id."""
    game = BLOKUS_2021.with_options({"startPiece": START_PIECE})
    assert isinstance(game, BlokusGame)
    return play_script(game, BLOKUS_2021_R3, 1).packets


@dataclass
class ServerProcess:
    port: int
    process: trio.Process


@asynccontextmanager
async def server_process(folder: Path, *options: str) -> AsyncIterator[ServerProcess]:
    """`spielleiter serve` with its replays in `folder`; killed at the end if it is still running."""
    port_file = folder.parent / f"{folder.name}.port"
    port_file.unlink(missing_ok=True)
    settings = ("--port", "0", "--port-file", str(port_file), "--save-replay", str(folder), "--log-level", "error")
    limits = ("--soft-timeout", "60000", "--hard-timeout", "60000", "--start-piece", START_PIECE)
    command = [sys.executable, "-m", "spielleiter", "serve", *settings, *limits, *options]
    process = await trio.lowlevel.open_process(command, cwd=PROJECT)
    try:
        while not port_file.exists():
            assert process.poll() is None, "the server has not started"
            await trio.sleep(0.02)
        yield ServerProcess(int(port_file.read_text(encoding="ascii")), process)
    finally:
        if process.poll() is None:
            process.kill()
            await process.wait()


@dataclass
class ScriptedGame:
    """One game: two players that answer by the script, `delay` seconds after a request; None: never.

    They answer only after `may_answer` is set.
    """

    delay: float | None
    may_answer: trio.Event
    received: list[bytearray] = field(default_factory=lambda: [bytearray(), bytearray()])
    has_begun: trio.Event = field(default_factory=trio.Event)
    is_over: trio.Event = field(default_factory=trio.Event)
    """Set when a player has read the result."""
    ply: int = 0

    @property
    def room(self) -> str:
        found = _ROOM_ID.search(self.received[0])
        assert found
        return found[1].decode()

    async def play(self, port: int) -> None:
        """Run both players until the server has ended its streams, or they are broken."""
        async with trio.open_nursery() as nursery:
            for number in range(2):
                await nursery.start(self._player, port, number)

    async def _player(self, port: int, number: int, task_status: trio.TaskStatus[None]) -> None:
        received = self.received[number]
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(f'<protocol>\n  <join gameType="{GAME_TYPE}"/>'.encode())
            has_joined = False
            try:
                while data := await stream.receive_some():
                    new = received[-len(REQUEST) + 1 :] + data  # the request may arrive in two pieces
                    received += data
                    if not has_joined and JOINED in received:
                        has_joined = True
                        task_status.started()
                    if REQUEST in new:
                        self.has_begun.set()
                        await self._answer(stream)
                    if RESULT in new:
                        self.is_over.set()
            except trio.BrokenResourceError:
                pass  # the server was killed

    async def _answer(self, stream: trio.SocketStream) -> None:
        if self.delay is None:
            return
        await self.may_answer.wait()
        await trio.sleep(self.delay)
        packet = moves()[self.ply]
        self.ply += 1
        await stream.send_all(packet.replace(ROOM.encode(), self.room.encode()))


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
