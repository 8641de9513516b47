"""Many scripted players and a server in a separate process: real sockets, real signals."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import trio

from spielleiter.bench.scripted_games import ROOM, play_script
from spielleiter.game.blokus.state import BLOKUS_2021, BlokusGame
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3

PROJECT = Path(__file__).parents[2]
GAME_TYPE = "swc_2021_blokus"
START_PIECE = "PENTO_L"
REQUEST = b'<data class="sc.framework.plugins.protocol.MoveRequest"/>'
JOINED = b"<joined "
RESULT = b'<data class="result">'
_ROOM_ID = re.compile(rb'roomId="([^"]+)"')


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
