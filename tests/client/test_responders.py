"""Each built-in strategy sends what its name says."""

from __future__ import annotations

import random
import threading
from functools import partial

import pytest
import trio
from trio.testing import MockClock

from spielleiter.client.player import Player
from spielleiter.client.responders import GARBAGE, make_responder
from spielleiter.game.api import Move, State
from spielleiter.players.choosers import first_move
from spielleiter.players.search_budget import LadderLevel
from tests.client.fake import ROOM, SENT_MOVE, START, FakeServer, Step, connected, script, together
from tests.timeouts import HANG_TIMEOUT


def test_an_unknown_strategy_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        make_responder("clever")


FIRST_MOVE = SENT_MOVE.replace(f' roomId="{ROOM}"', "")


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("first", ("<protocol>" + FIRST_MOVE,)),
        ("crash", (FakeServer.expect_eof,)),  # without a goodbye
        ("garbage", (GARBAGE.decode(),)),
    ],
)
async def test_a_strategy_sends_what_its_name_says(name: str, steps: tuple[Step, ...]) -> None:
    transport, server = connected()
    await together(partial(make_responder(name), Player(transport), START), partial(script(*steps), server))


async def test_slow_answers_late_and_silent_never(autojump_clock: MockClock) -> None:
    transport, server = connected()
    started = trio.current_time()

    async def serve() -> None:
        await server.expect("<protocol>\n  <room>")
        assert trio.current_time() - started == pytest.approx(3.5)

    await together(partial(make_responder("slow", seed=1, delay=3.5), Player(transport), START), serve)
    with trio.move_on_after(1000) as waited:
        await make_responder("silent")(Player(transport), START)
    assert waited.cancelled_caught


async def test_a_level_thinks_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its chooser returns only when the event loop has run in the meantime."""
    thinking, may_move = trio.Event(), threading.Event()
    token = trio.lowlevel.current_trio_token()

    def choose(state: State, _rng: random.Random, _budget: object = None) -> Move:
        token.run_sync_soon(thinking.set)
        assert may_move.wait(HANG_TIMEOUT)
        return first_move(state, _rng)

    monkeypatch.setattr("spielleiter.players.choosers.ladder_of", lambda _state: (LadderLevel("waits", choose),))
    transport, server = connected()

    async def play() -> None:
        await make_responder("level-1", seed=1)(Player(transport), START)

    async def serve() -> None:
        await thinking.wait()
        may_move.set()
        await server.expect("<protocol>" + FIRST_MOVE)

    await together(play, serve)
