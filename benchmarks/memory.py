"""The memory of the server: idle, for each additional connection, and for each additional game in the middle of play.

Run it as `python -m benchmarks.memory [CONNECTIONS GAMES]`. The memory of a game is the difference between a server
with a fifth of the games and one with all, so that it does not include what every server needs.
"""

from __future__ import annotations

import socket
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from spielleiter.bench.driver import PASSWORD, Driver, Plan, ScriptedGame, Seat, plan_of
from spielleiter.bench.driver import main as run_driver
from spielleiter.bench.drivers import running_drivers
from spielleiter.bench.scripted_games import load_of
from spielleiter.bench.subprocesses import running_server
from spielleiter.server.net.sockets import connections_possible

EDITION: Final = "blokus-2027"
MIDDLE: Final = 30  # the ply at which games are held
QUIET: Final = 0.5  # seconds that the server is given to finish what has just begun
NO_LIMIT: Final = "600000"  # milliseconds; no clock runs out while other games have not reached that ply
AUTHENTICATE: Final = f'\n  <authenticate password="{PASSWORD}"/>\n  <status/>'.encode()


class HeldGame(ScriptedGame):
    """A game that stops before its move at MIDDLE."""

    def answer(self, seat: Seat) -> None:
        if self.ply != MIDDLE:
            super().answer(seat)


class HoldingDriver(Driver):
    """Starts its games, and is ready when all of them have stopped."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, HeldGame)

    def begin(self) -> None:
        self.games = [self.make_game(self, number) for number in range(self.plan.games)]
        while not all(game.ply == MIDDLE for game in self.games):
            self.play()


def with_connections(count: int, opening: bytes) -> tuple[int, int]:
    """Return the memory in KiB without clients, and with `count` of them that have sent `opening`."""
    with TemporaryDirectory() as name, running_server(Path(name)) as server, ExitStack() as stack:
        time.sleep(QUIET)
        idle = server.kib("VmRSS:")
        clients = [stack.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(count + 1)]
        for client in clients[:-1]:
            client.sendall(b"<protocol>" + opening)
        clients[-1].sendall(b"<protocol>" + AUTHENTICATE)
        data = b""
        while b"</status>" not in data:  # by then the server has handled the clients before it, too
            data += clients[-1].recv(1 << 16)
        time.sleep(QUIET)
        return idle, server.kib("VmRSS:")


def with_games(count: int) -> int:
    """Return the memory in KiB with `count` games that are held."""
    load, options = load_of(EDITION), ("--soft-timeout", NO_LIMIT, "--hard-timeout", NO_LIMIT)
    with (
        TemporaryDirectory() as name,
        running_server(Path(name), *options) as server,
        running_drivers(plan_of(load, server.port, count), arguments=(__file__, "--driver")),
    ):
        time.sleep(QUIET)
        return server.kib("VmRSS:")


def main(connections: int = 500, games: int = 500) -> None:
    connections_possible(1 << 14)
    for name, opening in (("connection", b""), ("administrator", AUTHENTICATE)):
        idle, more = with_connections(connections, opening)
        print(f"idle {idle / 1024:.1f} MiB, each {name} more {(more - idle) / connections:.1f} KiB", flush=True)
    few = max(1, games // 5)
    print(f"each game more {(with_games(games) - with_games(few)) / (games - few):.1f} KiB", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--driver"]:
        run_driver(HoldingDriver)
    else:
        main(*map(int, sys.argv[1:]))
