"""What a player does with a strategy, a function of the user's, and with one that is wrong."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from spielleiter.client.asking import Strategy
from spielleiter.client.errors import NotAMoveError, StrategyError
from spielleiter.client.player import GameEnd, GameReport, Player
from spielleiter.game.api import Move, State
from spielleiter.game.blokus.move import SetMove
from spielleiter.game.blokus.polyomino import Color, Rotation, Shape
from spielleiter.game.hase_und_igel import HaseUndIgelMove
from spielleiter.protocol.messages import (
    Cause,
    ErrorMessage,
    Joined,
    Left,
    MoveData,
)
from tests.client.fake import ROOM, START, FakeServer, connected, result, together
from tests.client.player_sessions import MOVE, first, hears_move, play_against
from tests.patience import PATIENCE


async def _play(
    strategy: Strategy, serves: Callable[[FakeServer], Awaitable[None]] | None = None
) -> GameReport | Exception:
    """Like `play_against`, with a strategy; the error, if that ended it. The server waits for a goodbye at least."""
    transport, server = connected()
    outcomes: list[GameReport | Exception] = []

    async def plays() -> None:
        player = Player(transport)
        await player.join()
        try:
            outcomes.append(await player.play(strategy))
        except Exception as error:
            outcomes.append(error)
            await server.hears("\n  <sc.protocol.CloseConnection/>\n</protocol>")  # while the connection is still open
            await server.ends()
        await transport.aclose()

    async def runs() -> None:
        await server.hears("<protocol>\n  <join/>")
        await server.says(Joined(ROOM))
        await server.asks(START)
        if serves:
            await serves(server)

    await together(plays, runs)
    return outcomes[0]


async def test_a_plain_function_is_a_strategy() -> None:
    async def serves(server: FakeServer) -> None:
        await hears_move(server)
        await server.says(Left(ROOM))
        await server.hears_a_goodbye()

    report = await _play(first, serves)
    assert isinstance(report, GameReport)
    assert (report.end, report.moves_played) == (GameEnd.LEFT, 1)


async def test_hints_are_sent_along() -> None:
    async def serves(server: FakeServer) -> None:
        await server.hears(f'\n  <room roomId="{ROOM}">\n    <data class="sc.plugin2021.SetMove">')
        await server.hears(
            '\n      <piece color="BLUE" kind="PENTO_V" rotation="NONE" isFlipped="false">'
            '\n        <position x="0" y="0"/>\n      </piece>\n      <hint content="depth 3"/>\n    </data>\n  </room>'
        )
        await server.says(Left(ROOM))
        await server.hears_a_goodbye()

    assert isinstance(await _play(lambda _state: MoveData(MOVE, ("depth 3",)), serves), GameReport)


async def test_a_move_against_the_rules_is_sent_and_left_to_the_server() -> None:
    async def serves(server: FakeServer) -> None:
        await server.hears(f'\n  <room roomId="{ROOM}">\n    <data class="sc.plugin2021.SetMove">')
        await server.hears(
            '\n      <piece color="RED" kind="MONO" rotation="NONE" isFlipped="false">'
            '\n        <position x="7" y="-7"/>\n      </piece>\n    </data>\n  </room>'
        )
        await server.says_in_room(ErrorMessage("no"), result((1,)))
        await server.says(Left(ROOM))
        await server.hears_a_goodbye()

    report = await _play(lambda _state: SetMove(Color.RED, Shape.MONO, Rotation.NONE, False, 7, -7), serves)
    assert isinstance(report, GameReport)
    assert report.errors == ("no",)


CAUGHT = "; expected a SetMove, such as those of state.generate_legal_moves()"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None is not a move; a strategy has to return its move (is a return statement missing?)" + CAUGHT),
        ("pass", "'pass' of type str cannot be sent as a move of this game" + CAUGHT),
        ([MOVE], "of type list cannot be sent as a move of this game" + CAUGHT),
        (HaseUndIgelMove(()), "of type HaseUndIgelMove cannot be sent as a move of this game" + CAUGHT),
        (
            SetMove("BLUE", Shape.MONO, 9, "no", 0, 0),  # type: ignore[arg-type]
            (
                "this SetMove cannot be sent: color is 'BLUE', expected a Color such as Color.BLUE; rotation is 9, "
                "expected a Rotation such as Rotation.NONE; is_flipped is 'no', expected a value of type bool"
            ),
        ),
        (MoveData(None), "None is not a move"),
    ],
    ids=["nothing", "text", "list", "other game", "wrong values in it", "nothing with hints"],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_what_is_no_move_is_an_error_at_once_and_gives_up_the_seat(value: Any, text: str, is_async: bool) -> None:
    async def answers(_state: State) -> Any:
        return value

    error = await _play(answers if is_async else lambda _state: value)
    assert isinstance(error, NotAMoveError)
    assert text in str(error)
    assert error.value is (value.move if isinstance(value, MoveData) else value)


@pytest.mark.parametrize("hints", ["a hint", (1,), None, 7])
async def test_hints_that_are_not_texts_are_an_error_at_once(hints: Any) -> None:
    error = await _play(lambda _state: MoveData(MOVE, hints))
    assert type(error) is StrategyError
    assert str(error) == f"the hints {hints!r} cannot be sent; expected a tuple of texts, such as ('a hint',)"


async def test_a_strategy_that_fails_gives_up_its_seat() -> None:
    def fails(_state: State) -> Move:
        raise LookupError("no idea")

    assert isinstance(await _play(fails), LookupError)


async def test_a_responder_in_place_of_a_strategy_is_an_error_at_once() -> None:
    async def responds(player: Player, state: State) -> None:
        await player.send_move(MOVE)

    error = await _play(responds)  # type: ignore[arg-type]
    assert isinstance(error, TypeError)
    assert "missing 1 required positional argument: 'state'" in str(error)


async def test_a_responder_that_returns_its_move_is_an_error_at_once() -> None:
    async def returns(player: Player, state: State) -> Move:
        return MOVE

    async def serves(server: FakeServer) -> None:
        await server.asks(START)
        await server.hears_a_goodbye()

    with pytest.raises(ExceptionGroup) as group:  # the test's own nursery
        await play_against(serves, returns)  # type: ignore[arg-type]
    assert group.group_contains(StrategyError, match=r"returned a SetMove, .* use Player\.play$", depth=1)


async def test_the_end_of_the_game_is_noticed_while_a_plain_function_computes() -> None:
    computing, going_on = trio.Event(), threading.Event()

    def thinks(state: State) -> Move:
        trio.from_thread.run_sync(computing.set)
        assert going_on.wait(PATIENCE)
        return MOVE

    async def serves(server: FakeServer) -> None:
        await computing.wait()
        await server.says_in_room(result((1,), causes=(Cause.HARD_TIMEOUT, Cause.REGULAR)))
        await server.says(Left(ROOM))
        await server.hears_a_goodbye()

    try:
        report = await _play(thinks, serves)
    finally:
        going_on.set()
    assert isinstance(report, GameReport)
    assert (report.cause, report.moves_played) == (Cause.HARD_TIMEOUT, 0)
