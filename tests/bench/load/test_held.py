"""A driver whose games stop at a given ply."""

from __future__ import annotations

import threading

from spielleiter.bench.load.held import Held
from spielleiter.bench.load.plan import Plan
from tests.bench.load.fake_server import POSITION, PREPARED, REQUEST, SCRIPT, Server, packet


def test_games_stop_before_the_move_at_the_ply(server: Server) -> None:
    held = Held(Plan(server.port, "swc_test", REQUEST, (SCRIPT,), 1, hold_ply=1))
    moves: list[bytes] = []

    def serve() -> None:
        """Prepare the room, and request two moves; the second one is not made."""
        server.accept().sendall(PREPARED)
        players = [server.accept(), server.accept()]
        for player in players:
            player.recv(4096)
        players[0].sendall(POSITION + REQUEST.encode())
        moves.append(players[0].recv(4096))
        players[1].sendall(POSITION + REQUEST.encode())

    thread = threading.Thread(target=serve)
    thread.start()
    held.begin()
    thread.join()
    (game,) = held.games
    assert moves == [packet(0)]
    assert (game.ply, held.held_count, held.moves) == (1, 1, 1)
    assert held.finish()["cut_off"] == [game.room.decode()]
    held.close()
