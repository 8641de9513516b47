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
    said: list[str] = []
    return Waiting(said.append, lambda: EDITIONS[edition].dialect.team_names), said


@pytest.mark.parametrize(
    ("edition", "seat", "line"),
    [
        ("blokus-2027", 0, "the game begins: you are player ONE (BLUE, RED)"),
        ("blokus-2021-r1", 1, "the game begins: you are player TWO (YELLOW, GREEN)"),
        ("hase-und-igel-2018", 1, "the game begins: you are player BLUE"),
    ],
)
def test_the_beginning_names_the_player(edition: str, seat: int, line: str) -> None:
    teller, said = waiting(edition)
    teller.note(WelcomeMessage(seat))
    assert said == []
    teller.note(position(edition))
    teller.note(MoveRequest())
    teller.note(position(edition))
    assert said == [line]


def test_a_server_without_a_welcome_names_nobody() -> None:
    teller, said = waiting()
    teller.note(position("blokus-2027"))
    assert said == ["the game begins"]


async def test_waiting_is_announced_after_a_while(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    teller, said = waiting()
    whom = "an opponent"
    nursery.start_soon(teller.run, lambda: whom)
    whom = "an opponent in room r"
    await trio.sleep(ANNOUNCE_AFTER / 2)
    assert said == []
    await trio.sleep(ANNOUNCE_AFTER)
    assert said == ["waiting for an opponent in room r"]
    teller.note(WelcomeMessage(0))
    await trio.sleep(ANNOUNCE_AFTER / 2)
    assert len(said) == 1
    await trio.sleep(ANNOUNCE_AFTER)
    assert said[1:] == ["both players are here; waiting for the game to be resumed"]
    teller.note(position("blokus-2027"))
    assert said[2:] == ["the game begins: you are player ONE (BLUE, RED)"]


async def test_a_game_that_begins_at_once_is_not_announced_as_awaited(autojump_clock: trio.testing.MockClock) -> None:
    teller, said = waiting()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(teller.run, lambda: "an opponent")
        await trio.sleep(ANNOUNCE_AFTER / 2)
        teller.note(position("blokus-2027"))
    assert said == ["the game begins"]
