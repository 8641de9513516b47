"""A player in a game against a server that does what a test says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from spielleiter.client.player import GameReport, Player, Responder, respond_with
from spielleiter.game.api import Move, State
from spielleiter.protocol.messages import (
    Joined,
)
from tests.client.fake import ROOM, START, FakeServer, connected, together

MOVE = next(START.generate_legal_moves())


def first(state: State) -> Move:
    return next(iter(state.generate_legal_moves()))


async def first_async(state: State) -> Move:
    return first(state)


PLAYS_FIRST = respond_with(first_async)


async def play_against(
    serves: Callable[[FakeServer], Awaitable[None]], responder: Responder = PLAYS_FIRST
) -> GameReport:
    """Join and play against a server that does what `serves` says from the first position on."""
    transport, server = connected()
    player = Player(transport)
    reports: list[GameReport] = []

    async def plays() -> None:
        await player.join("swc_2021_blokus")
        reports.append(await player.play_with(responder))
        await transport.aclose()

    async def runs() -> None:
        await server.hears('<protocol>\n  <join gameType="swc_2021_blokus"/>')
        await server.says(Joined(ROOM))
        await serves(server)

    await together(plays, runs)
    return reports[0]


async def hears_move(server: FakeServer) -> None:
    await server.hears(f'\n  <room roomId="{ROOM}">\n    <data class="sc.plugin2021.SetMove">')
    await server.hears(
        '\n      <piece color="BLUE" kind="PENTO_V" rotation="NONE" isFlipped="false">'
        '\n        <position x="0" y="0"/>\n      </piece>\n    </data>\n  </room>'
    )
