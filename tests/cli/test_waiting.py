"""What a player prints while it waits for its opponent, and when the game begins."""

from __future__ import annotations

import random

import pytest
import trio
import trio.testing

from spielleiter.cli.waiting import ANNOUNCE_AFTER, Waiting
from spielleiter.protocol.messages import Memento, MoveRequest, WelcomeMessage
from spielleiter.server.editions import EDITIONS


def position(edition: str) -> Memento:
    return Memento(EDITIONS[edition].game.new_state(random.Random(1)))


def waiting(edition: str = "blokus-2027") -> tuple[Waiting, list[str]]:
    announced: list[str] = []
    return Waiting(announced.append, lambda: EDITIONS[edition].dialect.team_names), announced


@pytest.mark.parametrize(
    ("edition", "seat", "line"),
    [
        ("blokus-2027", 0, "the game begins: you are player ONE (BLUE, RED)"),
        ("blokus-2021-r1", 1, "the game begins: you are player TWO (YELLOW, GREEN)"),
        ("hase-und-igel-2018", 1, "the game begins: you are player BLUE"),
    ],
)
def test_the_beginning_names_the_player(edition: str, seat: int, line: str) -> None:
    announcer, announced = waiting(edition)
    announcer.note(WelcomeMessage(seat))
    assert announced == []
    announcer.note(position(edition))
    announcer.note(MoveRequest())
    announcer.note(position(edition))
    assert announced == [line]


def test_a_server_without_a_welcome_names_nobody() -> None:
    announcer, announced = waiting()
    announcer.note(position("blokus-2027"))
    assert announced == ["the game begins"]


async def test_waiting_is_announced_after_a_while(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    announcer, announced = waiting()
    awaited = "an opponent"
    nursery.start_soon(announcer.run, lambda: awaited)
    awaited = "an opponent in room r"
    await trio.sleep(ANNOUNCE_AFTER / 2)
    assert announced == []
    await trio.sleep(ANNOUNCE_AFTER)
    assert announced == ["waiting for an opponent in room r"]
    announcer.note(WelcomeMessage(0))
    await trio.sleep(ANNOUNCE_AFTER / 2)
    assert len(announced) == 1
    await trio.sleep(ANNOUNCE_AFTER)
    assert announced[1:] == ["both players are here; waiting for the game to be resumed"]
    announcer.note(position("blokus-2027"))
    assert announced[2:] == ["the game begins: you are player ONE (BLUE, RED)"]


async def test_a_game_that_begins_at_once_is_not_announced_as_awaited(autojump_clock: trio.testing.MockClock) -> None:
    announcer, announced = waiting()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(announcer.run, lambda: "an opponent")
        await trio.sleep(ANNOUNCE_AFTER / 2)
        announcer.note(position("blokus-2027"))
    assert announced == ["the game begins"]
