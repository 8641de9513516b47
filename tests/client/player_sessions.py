"""Helpers that connect a player to a scripted server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from spielleiter.client.player import GameReport, Player, Responder, respond_with
from spielleiter.game.api import Move, State
from spielleiter.protocol.messages import Joined
from tests.client.fake import ROOM, START, FakeServer, connected, together

MOVE = next(START.generate_legal_moves())


def first(state: State) -> Move:
    return next(iter(state.generate_legal_moves()))


async def first_async(state: State) -> Move:
    return first(state)


PLAYS_FIRST = respond_with(first_async)


async def play_against(
    serve: Callable[[FakeServer], Awaitable[None]], responder: Responder = PLAYS_FIRST
) -> GameReport:
    """Let a player join and play with `responder`; `serve` is the server's side after the join. Returns the report."""
    transport, server = connected()
    player = Player(transport)
    reports: list[GameReport] = []

    async def play() -> None:
        await player.join("swc_2021_blokus")
        reports.append(await player.play_with(responder))
        await transport.aclose()

    async def run_server() -> None:
        await server.expect('<protocol>\n  <join gameType="swc_2021_blokus"/>')
        await server.send(Joined(ROOM))
        await serve(server)

    await together(play, run_server)
    return reports[0]


async def expect_move(server: FakeServer) -> None:
    await server.expect(f'\n  <room roomId="{ROOM}">\n    <data class="sc.plugin2021.SetMove">')
    await server.expect(
        '\n      <piece color="BLUE" kind="PENTO_V" rotation="NONE" isFlipped="false">'
        '\n        <position x="0" y="0"/>\n      </piece>\n    </data>\n  </room>'
    )
