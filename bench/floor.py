"""The bare wire ("floor"): a trio program that sends the bytes of a real server without knowing the game.

It has no parser, no rules and no clock. For each piece of data from a player, both players and the
observers get the next position, and the player on turn gets a request. The packets of the clients are searched only
while a game is being prepared and joined. The program reads the bytes of the games from standard input, and writes the
port on which it listens to standard output.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import trio

ROOM = "00000000-0000-4000-8000-%012d"
RESULT = '\n  <room roomId="%s">\n    <data class="result">\n    </data>\n  </room>'
PREPARED = (
    '\n  <prepared roomId="%s">\n    <reservation>%d-%d-0</reservation>\n    <reservation>%d-%d-1</reservation>\n'
    "  </prepared>"
)
PREPARE = re.compile(rb'<prepare .*?displayName="(\d+)".*?</prepare>')
OBSERVE = re.compile(rb'<observe roomId="[^"]*-0*(\d+)"')
CODE = re.compile(rb'reservationCode="(\d+)-(\d+)-([01])"')
JOINED = '<protocol>\n  <joined roomId="%s"/>'
RECEIVE_BYTES = 65536


class Floor:
    """The server of the bare wire.

    `scripts` are the positions of each scripted game, with the seat of the player who moves in each; `request` is the
    packet that requests a move, and `observers` the number of observers of each game.
    """

    def __init__(
        self, scripts: Sequence[tuple[Sequence[bytes], Sequence[int]]], request: bytes, observers: int
    ) -> None:
        self._scripts = scripts
        self._request = request
        self._observer_count = observers
        self._result = (RESULT % (ROOM % 0)).encode()
        self._waiting: dict[int, tuple[trio.SocketStream, trio.Event]] = {}
        self._observers: defaultdict[int, list[trio.SocketStream]] = defaultdict(list)
        self._prepared = 0

    async def serve(self, stream: trio.SocketStream) -> None:
        """Serve one connection to its end."""
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):  # a client may close at any time
            data = await stream.receive_some(RECEIVE_BYTES)
            if code := CODE.search(data):
                game, script, seat = map(int, code.groups())
                await stream.send_all((JOINED % (ROOM % game)).encode())
                other = self._waiting.pop(game, None)
                if other is None:
                    is_over = trio.Event()
                    self._waiting[game] = stream, is_over
                    await is_over.wait()
                    return
                try:
                    await self._play((other[0], stream) if seat else (stream, other[0]), game, script)
                finally:
                    other[1].set()
                return
            await stream.send_all(b"<protocol>")
            while data:  # the requests of an administrator
                for script in PREPARE.findall(data):
                    self._prepared += 1
                    names = (self._prepared, int(script))
                    await stream.send_all((PREPARED % (ROOM % self._prepared, *names, *names)).encode())
                for game in OBSERVE.findall(data):
                    self._observers[int(game)].append(stream)
                data = await stream.receive_some(RECEIVE_BYTES)

    async def _play(self, players: tuple[trio.SocketStream, trio.SocketStream], game: int, script: int) -> None:
        mementos, seats = self._scripts[script]
        request = self._request
        while len(self._observers[game]) < self._observer_count:
            await trio.lowlevel.checkpoint()  # the observers' requests were sent before the players joined
        receivers = (*players, *self._observers.pop(game))
        for each in receivers:
            await each.send_all(mementos[0])
        await players[seats[0]].send_all(request)
        for ply, player in enumerate(seats):
            if not await players[player].receive_some(RECEIVE_BYTES):
                return
            for each in receivers:
                await each.send_all(mementos[ply + 1])
            if ply + 1 < len(seats):
                await players[seats[ply + 1]].send_all(request)
        for each in receivers:
            await each.send_all(self._result)


async def main() -> None:
    """Serve until this process is terminated."""
    content: Any = json.load(sys.stdin)
    scripts = [([text.encode() for text in mementos], seats) for mementos, seats in content["scripts"]]
    floor = Floor(scripts, content["request"].encode(), content["observers"])
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, floor.serve, 0)
        sys.stdout.write(f"{listeners[0].socket.getsockname()[1]}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    trio.run(main)
