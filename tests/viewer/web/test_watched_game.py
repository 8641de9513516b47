"""A game that pages look at: each position is encoded once, and a page is sent what it lacks."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import trio
import trio.testing

from spielleiter.protocol.messages import Memento
from spielleiter.viewer.positions.describe import describe_position
from spielleiter.viewer.replays.game import LONGEST_HINT
from spielleiter.viewer.web import watched_game as module
from spielleiter.viewer.web.watched_game import CATCH_UP, WatchedGame
from tests.viewer.web.test_hub import Game, numbers


async def breathe() -> None:
    await trio.lowlevel.checkpoint()


def watched(game: Game) -> WatchedGame:
    found: Any = game
    return WatchedGame(found, lambda: found)


async def updated(watched_game: WatchedGame) -> None:
    assert watched_game.refresh(0.0)
    await watched_game.describe_new(breathe)
    watched_game.publish()


async def test_a_page_is_sent_the_positions_that_it_lacks() -> None:
    game = Game()
    looked_at = watched(game)
    await updated(looked_at)
    assert numbers(looked_at.frame_after(0)[0]) == (0, [0])
    game.play(3)
    await updated(looked_at)
    assert looked_at.frame_after(0)[1] == 4
    assert numbers(looked_at.frame_after(0)[0]) == (0, [0, 1, 2, 3])
    assert numbers(looked_at.frame_after(1)[0]) == (1, [1, 2, 3])
    assert numbers(looked_at.frame_after(4)[0]) == (4, [])
    assert looked_at.frame_after(1)[0] is looked_at.frame_after(1)[0]  # encoded once for all pages
    assert not looked_at.refresh(1.0)


async def test_a_fast_game_leaves_positions_out_until_all_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    described: list[int] = []

    def describe(state: Any, ply: int, previous: Any) -> Any:
        described.append(ply)
        return describe_position(state, ply, previous, counts_moves=False)

    monkeypatch.setattr(module, "describe_position", describe)
    game = Game()
    looked_at = watched(game)
    await updated(looked_at)
    game.play(CATCH_UP + 1)
    last = game.ply
    await updated(looked_at)
    assert numbers(looked_at.frame_after(1)[0]) == (last, [last])
    assert not looked_at.is_described()
    assert [position["ply"] for position in as_json(looked_at)["positions"]] == [0]
    await looked_at.describe_all(breathe)
    assert looked_at.is_described()
    assert [position["ply"] for position in as_json(looked_at)["positions"]] == list(range(last + 1))
    assert sorted(described) == list(range(last + 1))  # each one once


def as_json(looked_at: WatchedGame) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(msgspec.json.encode(looked_at.as_replay()))
    return found


async def test_hints_and_think_times_belong_to_the_ply_of_their_move() -> None:
    game = Game()
    game.play(2)
    last = game.record[-1]
    assert isinstance(last, Memento)
    game.record[-1] = Memento(last.state, last.names, ("x" * 5000, "b"))
    looked_at = watched(game)
    await updated(looked_at)
    first, second = as_json(looked_at)["plies"]
    assert (first["ply"], first["player"], first["thinkSeconds"], first["hints"]) == (1, 0, 0.5, [])
    assert [hint["content"] for hint in second["hints"]] == ["x" * LONGEST_HINT, "b"]
    memento = looked_at.memento(2)
    assert memento is not None
    assert memento.state == game.state
    assert looked_at.memento(3) is None
    assert looked_at.memento(-1) is None


async def test_waiting_ends_with_the_next_version() -> None:
    looked_at = watched(Game())
    versions = []

    async def wait() -> None:
        await looked_at.wait_for_change(0)
        versions.append(looked_at.version)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        assert versions == []
        await updated(looked_at)
    assert versions == [1]


def test_a_game_whose_room_was_closed_before_it_began_is_gone() -> None:
    game: Any = Game()
    games: list[Any] = [game]
    looked_at = WatchedGame(game, lambda: games[-1])
    looked_at.refresh(0.0)
    before = looked_at.is_gone
    content = looked_at.content()
    games.append(None)
    assert looked_at.refresh(0.0)
    assert (before, looked_at.is_gone) == (False, True)
    assert looked_at.content() != content
