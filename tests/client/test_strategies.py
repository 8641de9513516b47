"""Each built-in strategy sends what its name says."""

from __future__ import annotations

import random
import threading

import pytest
import trio
from trio.testing import MockClock

from spielleiter.client.choosers import first_move
from spielleiter.client.player import Player
from spielleiter.client.search_budget import Level
from spielleiter.client.strategies import (
    GARBAGE,
    STRATEGIES,
    make_responder,
)
from spielleiter.game.api import Move, State
from spielleiter.game.blokus.state import BLOKUS_2021
from spielleiter.game.hase_und_igel.state import HASE_UND_IGEL_2018
from tests.client.fake import START, connected, together
from tests.timeouts import HANG_TIMEOUT


def test_the_table_lists_the_good_strategies_first() -> None:
    are_bad = [kind.is_bad for kind in STRATEGIES.values()]
    assert are_bad == sorted(are_bad)


def test_an_unknown_strategy_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        make_responder("clever")


FIRST_MOVE = (
    '\n  <room>\n    <data class="sc.plugin2021.SetMove">\n'
    '      <piece color="BLUE" kind="PENTO_V" rotation="NONE" isFlipped="false">\n'
    '        <position x="0" y="0"/>\n      </piece>\n    </data>\n  </room>'
)


async def test_a_good_strategy_answers_with_its_move() -> None:
    transport, server = connected()
    player = Player(transport)

    async def play() -> None:
        await make_responder("first")(player, START)

    async def serve() -> None:
        await server.expect("<protocol>" + FIRST_MOVE)

    await together(play, serve)
    assert player.moves_played == 1


async def test_a_level_thinks_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its chooser returns only when the event loop has run in the meantime."""
    thinking, may_move = trio.Event(), threading.Event()
    token = trio.lowlevel.current_trio_token()

    def choose(state: State, _rng: random.Random, _budget: object = None) -> Move:
        token.run_sync_soon(thinking.set)
        assert may_move.wait(HANG_TIMEOUT)
        return first_move(state, _rng)

    monkeypatch.setattr("spielleiter.client.choosers.LADDERS", {type(START): (Level("waits", choose),)})
    transport, server = connected()

    async def play() -> None:
        await make_responder("level-1", seed=1)(Player(transport), START)

    async def serve() -> None:
        await thinking.wait()
        may_move.set()
        await server.expect("<protocol>" + FIRST_MOVE)

    await together(play, serve)


async def test_slow_answers_late(autojump_clock: MockClock) -> None:
    transport, server = connected()
    started = trio.current_time()

    async def play() -> None:
        await make_responder("slow", seed=1, delay=3.5)(Player(transport), START)

    async def serve() -> None:
        await server.expect("<protocol>\n  <room>")
        assert trio.current_time() - started == pytest.approx(3.5)

    await together(play, serve)


async def test_crash_closes_the_connection_without_a_goodbye() -> None:
    transport, server = connected()

    async def play() -> None:
        await make_responder("crash")(Player(transport), START)

    await together(play, server.expect_eof)


async def test_garbage_sends_broken_xml() -> None:
    transport, server = connected()

    async def play() -> None:
        await make_responder("garbage")(Player(transport), START)

    async def serve() -> None:
        await server.expect(GARBAGE)

    await together(play, serve)


async def test_silent_never_answers(autojump_clock: MockClock) -> None:
    transport, _ = connected()
    with trio.move_on_after(1000) as waited:
        await make_responder("silent")(Player(transport), START)
    assert waited.cancelled_caught


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_can_play_every_game_unless_it_is_made_for_one(name: str) -> None:
    kind = STRATEGIES[name]
    if not kind.is_level:
        assert kind.plays(HASE_UND_IGEL_2018)
        assert kind.plays(BLOKUS_2021) == (not name.startswith("hui-"))
