"""The bare wire: a trio program that passes on the bytes a real server would send, and knows nothing of the game.

Law: no parsing, no rules, no clock: for each piece a player sends, both players get the next position, and the other
one a request. It says on standard output which port it listens on.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys

import trio

from bench.scripts import ROOM

REQUEST = (
    f'\n  <room roomId="{ROOM}">\n    <data class="sc.framework.plugins.protocol.MoveRequest"/>\n  </room>'
).encode()
RESULT = (f'\n  <room roomId="{ROOM}">\n    <data class="result">\n    </data>\n  </room>').encode()
PREPARED = (
    b'\n  <prepared roomId="%s">\n    <reservation>a%d</reservation>\n    <reservation>b%d</reservation>\n  </prepared>'
)
CODE = re.compile(rb'reservationCode="([ab])(\d+)"')
JOINED = (f'<protocol>\n  <joined roomId="{ROOM}"/>').encode()


async def main() -> None:
    scripts = [([text.encode() for text in mementos], seats) for mementos, seats in json.load(sys.stdin)]
    waiting: dict[bytes, trio.SocketStream] = {}
    prepared = 0

    async def administrate(stream: trio.SocketStream, data: bytes) -> None:
        nonlocal prepared
        await stream.send_all(b"<protocol>")
        while data:
            for _ in range(data.count(b"</prepare>")):
                prepared += 1
                await stream.send_all(PREPARED % (ROOM.encode(), prepared, prepared))
            data = await stream.receive_some(65536)

    async def serve(stream: trio.SocketStream) -> None:
        data = await stream.receive_some(65536)
        code = CODE.search(data)
        if code is None:
            await administrate(stream, data)
            return
        await stream.send_all(JOINED)
        seat, game = code[1], code[2]
        other = waiting.pop(game, None)
        if other is None:
            waiting[game] = stream
            await trio.sleep_forever()
        first, second = (other, stream) if seat == b"b" else (stream, other)
        mementos, seats = scripts[0]
        for each in (first, second):
            await each.send_all(mementos[0])
        await first.send_all(REQUEST)
        players = (first, second)
        for ply, player in enumerate(seats):
            await players[player].receive_some(65536)
            for each in players:
                await each.send_all(mementos[ply + 1])
            if ply + 1 < len(seats):
                await players[seats[ply + 1]].send_all(REQUEST)
        for each in players:
            await each.send_all(RESULT)

    async def serve_until_gone(stream: trio.SocketStream) -> None:
        with contextlib.suppress(trio.BrokenResourceError):  # the driver closes as soon as it has seen the result
            await serve(stream)

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, serve_until_gone, 0)
        print(listeners[0].socket.getsockname()[1], flush=True)


if __name__ == "__main__":
    trio.run(main)
