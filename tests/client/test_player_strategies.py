"""A player with strategies of its user: correct ones, and ones with mistakes."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
import trio

from spielleiter.client.asking import Strategy
from spielleiter.client.errors import NotAMoveError, StrategyError
from spielleiter.client.player import GameEnd, GameReport, Player
from spielleiter.game.api import Move, State
from spielleiter.game.blokus.moves import SetMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.game.hase_und_igel import HaseUndIgelMove
from spielleiter.protocol.messages import (
    Cause,
    ErrorMessage,
    Joined,
    Left,
    MoveData,
)
from tests.client.fake import ROOM, START, FakeServer, connected, result, together
from tests.client.player_sessions import MOVE, expect_move, first, play_against
from tests.timeouts import HANG_TIMEOUT


async def _play(
    strategy: Strategy, serve: Callable[[FakeServer], Awaitable[None]] | None = None
) -> GameReport | Exception:
    """Play with a strategy against a scripted server; returns the report, or the error that ended the game."""
    transport, server = connected()
    outcomes: list[GameReport | Exception] = []

    async def play() -> None:
        player = Player(transport)
        await player.join()
        try:
            outcomes.append(await player.play(strategy))
        except Exception as error:
            outcomes.append(error)
            await server.expect("\n  <sc.protocol.CloseConnection/>\n</protocol>")  # while the connection is still open
            await server.end()
        await transport.aclose()

    async def run_server() -> None:
        await server.expect("<protocol>\n  <join/>")
        await server.send(Joined(ROOM))
        await server.request_move(START)
        if serve:
            await serve(server)

    await together(play, run_server)
    return outcomes[0]


async def test_a_plain_function_is_a_strategy() -> None:
    async def serve(server: FakeServer) -> None:
        await expect_move(server)
        await server.send(Left(ROOM))
        await server.expect_goodbye()

    report = await _play(first, serve)
    assert isinstance(report, GameReport)
    assert (report.end, report.moves_played) == (GameEnd.LEFT, 1)


async def test_a_server_may_play_on_where_the_rules_of_the_season_end_the_game() -> None:
    """With `--game-end noMovesLeft` the others play on after a colour has placed all its pieces."""
    start = replace(START, turn=9, remaining_masks=(0, *START.remaining_masks[1:]), valid_mask=0b1110)
    assert start.outcome() is not None
    asked: list[State] = []

    def strategy(state: State) -> Move:
        asked.append(state)
        return first(state)

    transport, server = connected()

    async def play() -> None:
        player = Player(transport)
        await player.join()
        await player.play(strategy)
        await transport.aclose()

    async def run_server() -> None:
        await server.expect("<protocol>\n  <join/>")
        await server.send(Joined(ROOM))
        await server.request_move(start, 1)
        await server.expect(f'\n  <room roomId="{ROOM}">\n    <data class="sc.plugin2021.SetMove">')
        await server.end()

    await together(play, run_server)
    (state,) = asked
    assert state.outcome() is None


async def test_hints_are_sent_along() -> None:
    async def serve(server: FakeServer) -> None:
        await server.expect(f'\n  <room roomId="{ROOM}">\n    <data class="sc.plugin2021.SetMove">')
        await server.expect(
            '\n      <piece color="BLUE" kind="PENTO_V" rotation="NONE" isFlipped="false">'
            '\n        <position x="0" y="0"/>\n      </piece>\n      <hint content="depth 3"/>\n    </data>\n  </room>'
        )
        await server.send(Left(ROOM))
        await server.expect_goodbye()

    assert isinstance(await _play(lambda _state: MoveData(MOVE, ("depth 3",)), serve), GameReport)


async def test_a_move_against_the_rules_is_sent_and_left_to_the_server() -> None:
    async def serve(server: FakeServer) -> None:
        await server.expect(f'\n  <room roomId="{ROOM}">\n    <data class="sc.plugin2021.SetMove">')
        await server.expect(
            '\n      <piece color="RED" kind="MONO" rotation="NONE" isFlipped="false">'
            '\n        <position x="7" y="-7"/>\n      </piece>\n    </data>\n  </room>'
        )
        await server.send_in_room(ErrorMessage("no"), result((1,)))
        await server.send(Left(ROOM))
        await server.expect_goodbye()

    report = await _play(lambda _state: SetMove(Color.RED, Shape.MONO, Rotation.NONE, False, 7, -7), serve)
    assert isinstance(report, GameReport)
    assert report.errors == ("no",)


EXPECTED = "; expected a SetMove, such as those of state.generate_legal_moves()"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            None,
            "None is not a move; a strategy has to return its move (is a return statement missing?)" + EXPECTED,
        ),
        ("pass", "'pass' of type str cannot be sent as a move of this game" + EXPECTED),
        ([MOVE], "of type list cannot be sent as a move of this game" + EXPECTED),
        (HaseUndIgelMove(()), "of type HaseUndIgelMove cannot be sent as a move of this game" + EXPECTED),
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
async def test_a_value_that_is_no_move_is_an_error_and_gives_up_the_seat(value: Any, text: str, is_async: bool) -> None:
    async def answer(_state: State) -> Any:
        return value

    error = await _play(answer if is_async else lambda _state: value)
    assert isinstance(error, NotAMoveError)
    assert text in str(error)
    assert error.value is (value.move if isinstance(value, MoveData) else value)


@pytest.mark.parametrize("hints", ["a hint", (1,), None, 7])
async def test_hints_that_are_not_texts_are_an_error(hints: Any) -> None:
    error = await _play(lambda _state: MoveData(MOVE, hints))
    assert type(error) is StrategyError
    assert str(error) == f"the hints {hints!r} cannot be sent; expected a tuple of texts, such as ('a hint',)"


async def test_a_failing_strategy_gives_up_its_seat() -> None:
    def fail(_state: State) -> Move:
        raise LookupError("no idea")

    assert isinstance(await _play(fail), LookupError)


async def test_a_responder_instead_of_a_strategy_is_an_error() -> None:
    async def respond(player: Player, state: State) -> None:
        await player.send_move(MOVE)

    error = await _play(respond)  # type: ignore[arg-type]
    assert isinstance(error, TypeError)
    assert "missing 1 required positional argument: 'state'" in str(error)


async def test_a_responder_that_returns_its_move_is_an_error() -> None:
    async def return_move(player: Player, state: State) -> Move:
        return MOVE

    async def serve(server: FakeServer) -> None:
        await server.request_move(START)
        await server.expect_goodbye()

    with pytest.raises(ExceptionGroup) as group:  # the test's own nursery
        await play_against(serve, return_move)  # type: ignore[arg-type]
    assert group.group_contains(StrategyError, match=r"returned a SetMove, .* use Player\.play$", depth=1)


async def test_the_end_of_the_game_is_noticed_while_a_plain_function_computes() -> None:
    computing, may_return = trio.Event(), threading.Event()

    def compute(state: State) -> Move:
        trio.from_thread.run_sync(computing.set)
        assert may_return.wait(HANG_TIMEOUT)
        return MOVE

    async def serve(server: FakeServer) -> None:
        await computing.wait()
        await server.send_in_room(result((1,), causes=(Cause.HARD_TIMEOUT, Cause.REGULAR)))
        await server.send(Left(ROOM))
        await server.expect_goodbye()

    try:
        report = await _play(compute, serve)
    finally:
        may_return.set()
    assert isinstance(report, GameReport)
    assert (report.cause, report.moves_played) == (Cause.HARD_TIMEOUT, 0)
