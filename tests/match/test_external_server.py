"""Games at a server that runs already."""

from __future__ import annotations

import dataclasses
import gzip
import random
from pathlib import Path

import pytest
import trio

from spielleiter.client.player import Player
from spielleiter.client.strategies import make_responder
from spielleiter.game.api import State
from spielleiter.match.evidence import is_over_by_any_options, open_external_room
from spielleiter.match.game_folder import WIRE_LOG, WireLog
from spielleiter.match.plan import Entrant, MatchSetup, PlannedGame
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.protocol.messages import Memento, Result
from spielleiter.server.editions import choose_editions
from tests.cli.background import background_server
from tests.timeouts import HANG_TIMEOUT

SETUP = MatchSetup(
    entrants=(Entrant("new", "new"), Entrant("old", "old")), game_type=DEFAULT_GAME_TYPE, games=2, seed=1, run_id="run"
)
GAME = PlannedGame(1, 1, 7, (1, 0))


def test_a_game_is_over_if_any_options_say_so() -> None:
    """A game that the server ends by another option than the default is over by the rules, and was not cancelled."""
    game = choose_editions({}, {})["swc_2021_blokus"].game
    state: State = game.with_options({"gameEnd": "noMovesLeft"}).new_state(random.Random(1))
    is_over = is_over_by_any_options(game)
    answers = []
    while state.outcome() is None:
        answers.append(is_over(state))
        state = state.play(next(iter(state.generate_legal_moves())))
    assert is_over(game.resume(state))
    assert not any(answers[: len(answers) // 2])


@pytest.mark.slow
async def test_a_game_at_another_server_is_observed(tmp_path: Path) -> None:
    with background_server() as server:
        setup = dataclasses.replace(SETUP, server=("127.0.0.1", server.port), password="examplepassword")
        wire_log = WireLog(tmp_path / WIRE_LOG)
        async with open_external_room(setup, GAME, wire_log) as room, trio.open_nursery() as nursery:

            async def take_part(program: int, strategy: str) -> None:
                async with Player.connect(*room.addresses[program], dialect=room.dialect) as player:
                    await player.join_prepared(room.reservations[program])
                    await player.play_with(make_responder(strategy, seed=1))

            nursery.start_soon(take_part, 0, "first")
            nursery.start_soon(take_part, 1, "illegal")
            with trio.fail_after(HANG_TIMEOUT):
                seen = [event async for event in room.observation if isinstance(event, Memento | Result)]
    assert isinstance(seen[0], Memento)
    assert isinstance(seen[-1], Result)
    wire_log.close()
    log = gzip.decompress((tmp_path / WIRE_LOG).read_bytes())
    assert log.startswith(b"\n--- 0.")
    assert b" observer < " in log
    assert b'class="result"' in log


async def test_a_game_at_another_server_can_be_cancelled(tmp_path: Path) -> None:
    with background_server() as server:
        setup = dataclasses.replace(SETUP, server=("127.0.0.1", server.port), password="examplepassword")
        async with open_external_room(setup, GAME, WireLog(tmp_path / WIRE_LOG)) as room:
            await room.cancel()
            with trio.fail_after(HANG_TIMEOUT):
                assert not [event async for event in room.observation if isinstance(event, Memento)]
