"""Think times of programs that answer at once, in another process, over real sockets."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
import trio

from spielleiter.game.api import State
from spielleiter.game.blokus.state import BLOKUS_2021
from spielleiter.protocol.messages import MoveData, RoomMessage
from spielleiter.server.core.clock import SHORTEST
from tests.server.harness import GAME_TYPE
from tests.server.serving import DIALECT, serving

SCRIPT = Path(__file__).with_name("quick_answers.py")
GAMES = 12


def answers() -> list[list[bytes]]:
    """The packets of both players of a game in which everybody plays the first legal move."""
    packets: list[list[bytes]] = [[], []]
    state: State = BLOKUS_2021.with_options({"startPiece": "PENTO_U"}).new_state(random.Random(0))
    while state.outcome() is None:
        move = next(iter(state.generate_legal_moves()))
        encoded = DIALECT.encode(RoomMessage("ROOM", MoveData(move)))
        packets[state.seat_on_turn].append(encoded.replace(b"\n", b" "))
        state = state.play(move)
    return packets


@pytest.mark.slow
async def test_no_answer_takes_no_time_at_all(tmp_path: Path) -> None:
    """The start of a move is taken before its request is sent, so that the kernel cannot stamp the answer earlier."""
    files = [tmp_path / "0", tmp_path / "1"]
    packets = answers()
    for file, lines in zip(files, packets, strict=True):
        file.write_bytes(b"\n".join(lines))
    async with serving(start_piece="PENTO_U") as harness:

        async def play(codes: Sequence[str]) -> None:
            async with trio.open_nursery() as players:
                for code, file in zip(codes, files, strict=True):
                    command = [sys.executable, "-I", "-S", str(SCRIPT), str(harness.port), code, str(file)]
                    players.start_soon(partial(trio.run_process, command))

        async with harness.admin() as admin:
            for _ in range(GAMES):
                room = await admin.prepare(GAME_TYPE, ["Eins", "Zwei"])
                await play(room.reservations)
    times = [line["think_time"] for line in harness.logged("move_played")]
    assert len(times) == GAMES * sum(map(len, packets))
    assert len(times) > 500
    assert min(times) > 0
    # the shortest time stands for answers that seem to have arrived before they were asked for
    assert sum(time <= SHORTEST for time in times) < 0.01 * len(times)
