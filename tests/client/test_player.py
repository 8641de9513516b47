"""A player takes a seat, plays a game with a scripted server, and reports how it ended."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import pytest
import trio
from msgspec.structs import replace
from trio.testing import MockClock

from spielleiter.client.client_errors import (
    ConnectionLostError,
    NotAMoveError,
    RequestRefusedError,
    ServerProtocolError,
    StrategyError,
)
from spielleiter.client.player import GameEnd, GameReport, Player, Strategy, respond_with
from spielleiter.client.responders import make_responder
from spielleiter.game.api import Move, State
from spielleiter.game.blokus.moves import SetMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.game.hase_und_igel import HaseUndIgelMove
from spielleiter.protocol.messages import (
    Cause,
    CloseConnection,
    ErrorMessage,
    ErrorPacket,
    Joined,
    JoinRequest,
    Left,
    Memento,
    MoveData,
    MoveRequest,
    Paused,
    Result,
    RoomData,
    RoomMessage,
    Score,
    WelcomeMessage,
)
from tests.client.fake import (
    CUT,
    DIALECT,
    GOODBYE,
    MOVE,
    ROOM,
    SENT_MOVE,
    START,
    WAIT,
    FakeServer,
    Step,
    connected,
    first,
    first_async,
    played,
    request_move,
    result,
    script,
    together,
)
from tests.timeouts import HANG_TIMEOUT

LEFT = Left(ROOM)
TOO_SLOW = result((1,), causes=(Cause.HARD_TIMEOUT, Cause.REGULAR))


# -- taking a seat ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "argument", "packet"),
    [
        ("join", "swc_2021_blokus", '<join gameType="swc_2021_blokus"/>'),
        ("join_room", "r", '<joinRoom roomId="r"/>'),
        ("join_prepared", "c", '<joinPrepared reservationCode="c"/>'),
    ],
)
async def test_a_seat_is_taken_in_three_ways(method: str, argument: str, packet: str) -> None:
    transport, server = connected()
    player = Player(transport)

    async def join() -> None:
        assert await getattr(player, method)(argument) == ROOM
        assert player.room_id == ROOM

    await together(join, partial(script(f"<protocol>\n  {packet}", Joined(ROOM)), server))


async def test_a_refused_seat_is_an_error_with_the_text_of_the_server() -> None:
    transport, server = connected()
    await server.send(ErrorPacket("Room r is already full!", JoinRequest("swc")), CloseConnection())
    with pytest.raises(RequestRefusedError, match=r"^Room r is already full!$"):
        await Player(transport).join("swc")


async def test_an_end_of_stream_instead_of_a_seat_is_a_lost_connection() -> None:
    transport, server = connected()
    await script(CloseConnection(), b"\n</protocol>")(server)
    with pytest.raises(ConnectionLostError, match="instead of giving a seat"):
        await Player(transport).join()


async def test_connect_says_goodbye_at_the_end() -> None:
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
    port = listener.socket.getsockname()[1]

    async def play() -> None:
        async with Player.connect("127.0.0.1", port, dialect=DIALECT) as player:
            await player.join()

    async def serve() -> None:
        stream = await listener.accept()
        await script("<protocol>\n  <join/>", Joined(ROOM), GOODBYE)(FakeServer(stream))
        await stream.aclose()

    async with listener:
        await together(play, serve)


# -- a game and its report --------------------------------------------------------------------------------------------


async def test_a_whole_game_is_reported() -> None:
    after = START.play(MOVE)
    received: list[RoomData] = []
    report = await played(
        request_move(),
        SENT_MOVE,
        Memento(after),
        RoomMessage(ROOM, None),
        result((0,)),
        LEFT,
        GOODBYE,
        on_received=received.append,
    )
    assert report == GameReport(GameEnd.RESULT, ROOM, 0, result((0,)), after, 1)
    assert (report.has_won, report.is_draw, report.cause) == (True, False, Cause.REGULAR)
    assert report.points == tuple(score.parts[1] for score in result((0,)).scores)
    assert received == [WelcomeMessage(0), Memento(START), MoveRequest(), Memento(after), result((0,))]


async def test_a_game_can_be_lost_or_drawn() -> None:
    def report(given: Result) -> GameReport:
        return GameReport(GameEnd.RESULT, ROOM, 1, given, START, 1)

    lost = report(result((0,), causes=(Cause.REGULAR, Cause.SOFT_TIMEOUT)))
    assert (lost.has_won, lost.is_draw, lost.cause) == (False, False, Cause.SOFT_TIMEOUT)
    assert lost.reason == "Spieler 2: because SOFT_TIMEOUT"
    drawn = report(result((0, 1)))
    assert (drawn.has_won, drawn.is_draw, drawn.reason) == (False, True, "")
    refused = GameReport(GameEnd.REFUSED, ROOM, None, None, None, 0, ("first", "last"))
    unfinished = GameReport(GameEnd.LOST, ROOM, None, None, None, 0)
    assert (refused.reason, unfinished.reason) == ("last", "")
    assert (unfinished.has_won, unfinished.is_draw, unfinished.cause) == (False, False, None)
    assert unfinished.points is None
    strange = Score(Cause.REGULAR, "", (2,))  # another server may send any score
    assert report(Result((), (strange, strange), (0,))).points is None


@pytest.mark.parametrize(
    ("steps", "end", "errors"),
    [
        # the end of another room is ignored
        ((Left("another"), Paused(is_paused=True), LEFT, GOODBYE), GameEnd.LEFT, ()),
        ((CUT,), GameEnd.ENDED, ()),
        ((b"\n  <sc.protocol.CloseConnection/>", CUT), GameEnd.ENDED, ()),
        ((b"\n</protocol>", CUT), GameEnd.ENDED, ()),
        (
            (ErrorMessage("not your turn"), ErrorPacket("not yet"), CloseConnection(), GOODBYE),
            GameEnd.REFUSED,
            ("not your turn", "not yet"),
        ),
        ((ErrorMessage("illegal"), CloseConnection(), GOODBYE), GameEnd.REFUSED, ("illegal",)),
        ((ErrorPacket("not now"), result((1,)), LEFT, GOODBYE), GameEnd.RESULT, ("not now",)),  # a game can go on
        ((result((1,)), CUT), GameEnd.RESULT, ()),
    ],
)
async def test_the_end_of_a_game_is_reported(steps: tuple[Step, ...], end: GameEnd, errors: tuple[str, ...]) -> None:
    report = await played(request_move(seat=1), SENT_MOVE, *steps)
    assert (report.end, report.errors, report.seat, report.moves_played) == (end, errors, 1, 1)


async def test_a_request_without_a_position_is_an_error_of_the_server() -> None:
    with pytest.raises(ServerProtocolError, match="asked for a move before it had sent a position"):
        await played(MoveRequest())


async def test_a_server_may_play_on_where_the_rules_of_the_season_end_the_game() -> None:
    """With `--game-end noMovesLeft` the others play on after a colour has placed all its pieces."""
    start = replace(START, turn=9, remaining_masks=(0, *START.remaining_masks[1:]), valid_mask=0b1110)
    assert start.outcome() is not None
    asked: list[State] = []

    def strategy(state: State) -> Move:
        asked.append(state)
        return first(state)

    packet = f'\n  <room roomId="{ROOM}">\n    <data class="sc.plugin2021.SetMove">'
    await played(request_move(start, 1), packet, FakeServer.end, strategy=strategy)
    (state,) = asked
    assert state.outcome() is None


# -- responders -------------------------------------------------------------------------------------------------------


async def test_the_end_of_the_game_cancels_a_responder(autojump_clock: MockClock) -> None:
    async def later(_server: FakeServer) -> None:
        await trio.sleep(10)

    report = await played(request_move(), later, TOO_SLOW, LEFT, GOODBYE, responder=make_responder("silent"))
    assert (report.end, report.cause, report.moves_played) == (GameEnd.RESULT, Cause.HARD_TIMEOUT, 0)


async def test_a_repeated_request_is_answered_once(autojump_clock: MockClock) -> None:
    async def later(_server: FakeServer) -> None:
        await trio.sleep(100)

    steps = request_move(), MoveRequest(), f'\n  <room roomId="{ROOM}">', later, CUT
    assert (await played(*steps, responder=make_responder("slow", seed=1))).moves_played == 1


async def test_the_next_request_may_arrive_before_the_responder_returns() -> None:
    async def linger(player: Player, state: State) -> None:
        await player.send_move(first(state))
        await trio.sleep_forever()

    steps = request_move(), SENT_MOVE, Memento(START), MoveRequest(), SENT_MOVE, LEFT, GOODBYE
    assert (await played(*steps, responder=linger)).moves_played == 2


async def test_an_aborted_game_is_reported_as_abandoned() -> None:
    report = await played(request_move(), FakeServer.expect_eof, responder=make_responder("crash"))
    assert report.end is GameEnd.ABANDONED


async def test_a_connection_that_breaks_while_answering_is_lost() -> None:
    transport, server = connected()
    player = Player(transport)
    ends: list[GameEnd] = []

    async def break_connection(player: Player, state: State) -> None:
        await transport.abort()  # as if the network had failed
        await player.send_move(MOVE)

    async def play() -> None:
        await player.join()
        ends.append((await player.play_with(break_connection)).end)

    await together(play, partial(script("<protocol>\n  <join/>", Joined(ROOM), request_move()), server))
    assert ends == [GameEnd.LOST]
    with pytest.raises(ConnectionLostError, match="has left already"):
        await player.send_move(MOVE)


async def test_after_a_failed_send_the_result_of_the_server_still_counts() -> None:
    async def fail_to_send(player: Player, state: State) -> None:
        raise ConnectionLostError("no way to send")

    steps = request_move(), WAIT, result((1,)), LEFT, GOODBYE
    assert (await played(*steps, responder=fail_to_send)).end is GameEnd.RESULT


async def test_a_responder_that_returns_its_move_is_an_error() -> None:
    async def return_move(player: Player, state: State) -> Move:
        return MOVE

    with pytest.raises(StrategyError, match=r"returned a SetMove, .* use Player\.play$"):
        await played(request_move(), responder=return_move)  # type: ignore[arg-type]


# -- strategies -------------------------------------------------------------------------------------------------------


class Sent:
    """Stands for a player, and keeps what a strategy lets it send."""

    async def send_move(self, move: Move, hints: tuple[str, ...]) -> None:
        self.move, self.hints = move, hints


async def ask(strategy: Strategy) -> tuple[Move, tuple[str, ...]]:
    sent = Sent()
    await respond_with(strategy)(cast("Player", sent), START)
    return sent.move, sent.hints


class Plain:
    def __call__(self, state: State) -> Move:
        return first(state)


class Asynchronous:
    async def __call__(self, state: State) -> Move:
        return await first_async(state)


def with_option(state: State, *, depth: int) -> Move:
    return first(state)


async def asynchronous_with_option(state: State, *, depth: int) -> Move:
    return await first_async(state)


@pytest.mark.parametrize(
    "strategy",
    [
        first,
        first_async,
        Plain(),
        Asynchronous(),
        partial(with_option, depth=3),
        partial(asynchronous_with_option, depth=3),
        lambda state: first_async(state),  # noqa: PLW0108 - a plain function that returns a coroutine
    ],
)
async def test_every_callable_that_takes_a_position_is_a_strategy(strategy: Strategy) -> None:
    assert await ask(strategy) == (MOVE, ())


async def test_a_plain_function_runs_in_another_thread_and_an_async_one_in_this() -> None:
    seen: list[threading.Thread] = []

    def here(state: State) -> Move:
        seen.append(threading.current_thread())
        return first(state)

    async def here_async(state: State) -> Move:
        return here(state)

    await ask(here)
    await ask(here_async)
    assert [each is threading.current_thread() for each in seen] == [False, True]


async def test_calls_do_not_wait_for_each_other() -> None:
    """There are more calls than trio has worker threads by default."""
    count = int(trio.to_thread.current_default_thread_limiter().total_tokens) + 1
    all_together = threading.Barrier(count)

    def meet(state: State) -> Move:
        all_together.wait(HANG_TIMEOUT)
        return first(state)

    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(ask, meet)


@contextmanager
def computing() -> Iterator[tuple[Strategy, trio.Event]]:
    """A plain function that computes until the end of the context, and the event that it has begun."""
    begun, may_return = trio.Event(), threading.Event()

    def compute(state: State) -> Move:
        trio.from_thread.run_sync(begun.set)
        assert may_return.wait(HANG_TIMEOUT)
        return MOVE

    try:
        yield compute, begun
    finally:
        may_return.set()


async def test_the_end_of_the_game_is_noticed_while_a_plain_function_computes() -> None:
    with computing() as (compute, begun):

        async def wait(_server: FakeServer) -> None:
            await begun.wait()

        report = await played(request_move(), wait, TOO_SLOW, LEFT, GOODBYE, strategy=compute)
    assert (report.cause, report.moves_played) == (Cause.HARD_TIMEOUT, 0)


async def test_hints_are_sent_along() -> None:
    packet = SENT_MOVE.replace("\n    </data>", '\n      <hint content="depth 3"/>\n    </data>')
    await played(request_move(), packet, LEFT, GOODBYE, strategy=lambda _state: MoveData(MOVE, ("depth 3",)))


async def test_a_move_against_the_rules_is_sent_and_left_to_the_server() -> None:
    packet = SENT_MOVE.replace("BLUE", "RED").replace("PENTO_V", "MONO").replace('x="0" y="0"', 'x="7" y="-7"')
    move = SetMove(Color.RED, Shape.MONO, Rotation.NONE, False, 7, -7)
    steps = request_move(), packet, ErrorMessage("no"), result((1,)), LEFT, GOODBYE
    assert (await played(*steps, strategy=lambda _state: move)).errors == ("no",)


EXPECTED = "; expected a SetMove, such as those of state.generate_legal_moves()"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None is not a move; a strategy has to return its move (is a return statement missing?)" + EXPECTED),
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

    with pytest.raises(NotAMoveError) as caught:
        await played(request_move(), strategy=answer if is_async else lambda _state: value)
    assert text in str(caught.value)
    assert caught.value.value is (value.move if isinstance(value, MoveData) else value)


@pytest.mark.parametrize("hints", ["a hint", (1,), None, 7, {"a"}])
async def test_hints_that_are_not_texts_are_an_error(hints: Any) -> None:
    with pytest.raises(StrategyError) as caught:
        await played(request_move(), strategy=lambda _state: MoveData(MOVE, hints))
    assert str(caught.value) == f"the hints {hints!r} cannot be sent; expected a tuple of texts, such as ('a hint',)"


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_error_of_a_strategy_gives_up_the_seat_and_is_raised_as_it_is(is_async: bool) -> None:
    def fail(_state: State) -> Move:
        raise LookupError("no idea")

    async def fail_async(state: State) -> Move:
        return fail(state)

    with pytest.raises(LookupError, match="no idea"):
        await played(request_move(), strategy=fail_async if is_async else fail)


async def test_a_responder_instead_of_a_strategy_is_an_error() -> None:
    async def respond(player: Player, state: State) -> None:
        await player.send_move(MOVE)

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'state'"):
        await played(request_move(), strategy=respond)  # type: ignore[arg-type]
