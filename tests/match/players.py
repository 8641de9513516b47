"""Players for the lightweight programs of tests/match/light.py; they run in the process of the tests.

Starting ``spielleiter play`` takes half a second of processor time. Tests of how programs are run, and not of that
command, use `LIGHT` instead: the same player, the same bytes, and a process that starts at once.
"""

from __future__ import annotations

import os
import queue
import shlex
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import trio

from spielleiter.cli.options import recogniser
from spielleiter.client.client_errors import ClientError
from spielleiter.client.player import GameEnd, Player
from spielleiter.client.responders import DEFAULT_DELAY, make_responder
from spielleiter.client.transport import Transport
from spielleiter.game.api import State
from spielleiter.server.editions import EDITIONS
from tests.timeouts import HANG_TIMEOUT

PORT_FILE: Final = Path(tempfile.gettempdir(), f"spielleiter-players-{os.getpid()}")
"""Tells lightweight programs the port; the environment of programs does not have the variables of the tests."""
LIGHT: Final = shlex.join([sys.executable, "-I", "-S", str(Path(__file__).with_name("light.py")), str(PORT_FILE)])
"""The beginning of a command line, followed by a strategy and the options of light.py or of the player.

These are ``--edition``, ``--delay``, and ``--sends NAME`` for bytes in `PAYLOADS` that precede the first move.
"""
PAYLOADS: Final = {
    "cancel": b'<authenticate password="examplepassword"/><cancel roomId="ROOM"/>',
    "everything": b'<authenticate password="examplepassword"/><cancel roomId="ROOM"/>',
    "pause": b'<authenticate password="examplepassword"/><pause roomId="ROOM" pause="true"/>',
    "observe": b'<authenticate password="examplepassword"/><observe roomId="ROOM"/>',
    "undeclared-prefix": b'<joinRoom xmlns="u"><p:b/></joinRoom>',
    "flood": b" " * 700_000,
}


@contextmanager
def listening_players() -> Iterator[None]:
    """Provide the players of lightweight programs within this context."""
    ready: queue.Queue[tuple[int, Callable[[], None]]] = queue.Queue()

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            [listener] = await nursery.start(partial(trio.serve_tcp, _play, 0, host="127.0.0.1"))
            token, stop = trio.lowlevel.current_trio_token(), nursery.cancel_scope.cancel
            ready.put((listener.socket.getsockname()[1], lambda: token.run_sync_soon(stop)))

    thread = threading.Thread(target=trio.run, args=(main,), daemon=True)
    thread.start()
    port, stop = ready.get(timeout=HANG_TIMEOUT)
    PORT_FILE.write_text(str(port), encoding="ascii")
    try:
        yield
    finally:
        PORT_FILE.unlink()
        stop()
        thread.join(timeout=HANG_TIMEOUT)
        assert not thread.is_alive(), "the players do not stop"


async def _play(stream: trio.SocketStream) -> None:
    """Play one game; the first line has the arguments of the lightweight program."""
    head = b""
    while not head.endswith(b"\n"):
        byte = await stream.receive_some(1)  # the player reads what follows
        if not byte:
            return
        head += byte
    strategy, *words = head.decode().rstrip("\n").split("\0")
    options = dict(zip(words[::2], words[1::2], strict=True))
    edition = EDITIONS[options.get("--edition", next(iter(EDITIONS)))]
    transport = Transport(stream, recogniser(edition, is_sure=False).dialect)
    player = Player(transport)
    try:
        reservation = options.get("-r")
        await (player.join(edition.game_type) if reservation is None else player.join_prepared(reservation))
        delay = float(options.get("--delay", DEFAULT_DELAY))
        responder, payload = make_responder(strategy, seed=1, delay=delay), PAYLOADS.get(options.get("--sends", ""))

        async def respond(player: Player, state: State) -> None:
            if payload is not None and player.moves_played == 0:
                await player.send_bytes(payload.replace(b"ROOM", str(player.room_id).encode()))
            await responder(player, state)

        report = await player.play_with(respond)
        if report.end is GameEnd.RESULT:
            await transport.aclose()
    except ClientError:
        pass
    if not transport.is_closed:
        await transport.abort()
