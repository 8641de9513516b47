"""A player takes a seat, plays a game with a scripted server, and reports how it ended."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from spielleiter.client.errors import ConnectionLostError, RequestRefusedError, ServerProtocolError
from spielleiter.client.player import GameEnd, GameReport, Player
from spielleiter.client.strategies import make_responder
from spielleiter.game.api import State
from spielleiter.protocol.messages import (
    Cause,
    CloseConnection,
    ErrorMessage,
    ErrorPacket,
    Joined,
    JoinRequest,
    Left,
    Memento,
    MoveRequest,
    Paused,
    Result,
    RoomData,
    RoomMessage,
    Score,
    WelcomeMessage,
)
from tests.client.fake import DIALECT, ROOM, START, FakeServer, connected, result, together
from tests.client.player_sessions import MOVE, PLAYS_FIRST, expect_move, first, first_async, play_against


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

    async def serve() -> None:
        await server.expect(f"<protocol>\n  {packet}")
        await server.send(Joined(ROOM))

    await together(join, serve)


async def test_a_refused_seat_is_an_error_with_the_text_of_the_server() -> None:
    transport, server = connected()
    await server.send(ErrorPacket("Room r is already full!", JoinRequest("swc")), CloseConnection())
    with pytest.raises(RequestRefusedError, match=r"^Room r is already full!$"):
        await Player(transport).join("swc")


async def test_an_end_of_stream_instead_of_a_seat_is_a_lost_connection() -> None:
    transport, server = connected()
    await server.send(CloseConnection())
    await server.send_bytes(b"\n</protocol>")
    with pytest.raises(ConnectionLostError, match="instead of giving a seat"):
        await Player(transport).join()


async def test_a_whole_game_is_reported() -> None:
    after = START.play(MOVE)

    async def serve(server: FakeServer) -> None:
        await server.request_move(START)
        await expect_move(server)
        await server.send_in_room(Memento(after), result((0,)))
        await server.send(Left(ROOM))
        await server.expect_goodbye()

    report = await play_against(serve)
    assert report == GameReport(GameEnd.RESULT, ROOM, 0, result((0,)), after, 1)
    assert (report.has_won, report.is_draw, report.cause) == (True, False, Cause.REGULAR)
    assert report.points == tuple(score.parts[1] for score in result((0,)).scores)


async def test_the_watch_callback_receives_everything_that_the_room_sends() -> None:
    transport, server = connected()
    player = Player(transport)
    received: list[RoomData] = []
    player.watch = received.append

    async def play() -> None:
        await player.join()
        await player.play_with(PLAYS_FIRST)

    async def serve() -> None:
        await server.expect("<protocol>\n  <join/>")
        await server.send(Joined(ROOM))
        await server.request_move(START)
        await expect_move(server)
        await server.send(RoomMessage(ROOM, None))
        await server.send_in_room(result((0,)))
        await server.send(Left(ROOM))

    await together(play, serve)
    assert received == [WelcomeMessage(0), Memento(START), MoveRequest(), result((0,))]


async def test_a_game_can_be_lost_or_drawn() -> None:
    def report(given: Result) -> GameReport:
        return GameReport(GameEnd.RESULT, ROOM, 1, given, START, 1)

    lost = report(result((0,), causes=(Cause.REGULAR, Cause.SOFT_TIMEOUT)))
    assert (lost.has_won, lost.is_draw, lost.cause) == (False, False, Cause.SOFT_TIMEOUT)
    assert lost.reason == "Spieler 2: because SOFT_TIMEOUT"
    drawn = report(result((0, 1)))
    assert (drawn.has_won, drawn.is_draw) == (False, True)
    assert drawn.reason == ""
    refused = GameReport(GameEnd.REFUSED, ROOM, None, None, None, 0, ("first", "last"))
    unfinished = GameReport(GameEnd.LOST, ROOM, None, None, None, 0)
    assert (refused.reason, unfinished.reason) == ("last", "")
    assert (unfinished.has_won, unfinished.is_draw, unfinished.cause) == (False, False, None)
    assert unfinished.points is None
    strange = Score(Cause.REGULAR, "", (2,))  # another server may send any score
    assert report(Result((), (strange, strange), (0,))).points is None


async def test_the_end_of_another_room_is_ignored() -> None:
    async def serve(server: FakeServer) -> None:
        await server.request_move(START)
        await expect_move(server)
        await server.send(Left("another"))
        await server.send_in_room(Paused(is_paused=True))
        await server.send(Left(ROOM))
        await server.expect_goodbye()

    assert (await play_against(serve)).end is GameEnd.LEFT


@pytest.mark.parametrize(
    ("last", "end"),
    [(b"", GameEnd.ENDED), (b"\n  <sc.protocol.CloseConnection/>", GameEnd.ENDED), (b"\n</protocol>", GameEnd.ENDED)],
)
async def test_an_end_without_a_reason_is_reported(last: bytes, end: GameEnd) -> None:
    async def serve(server: FakeServer) -> None:
        await server.request_move(START)
        await expect_move(server)
        await server.send_bytes(last)
        await server.stream.aclose()

    assert (await play_against(serve)).end is end


async def test_a_refused_move_is_reported_with_the_text_of_the_server() -> None:
    async def serve(server: FakeServer) -> None:
        await server.request_move(START, seat=1)
        await expect_move(server)
        await server.send_in_room(ErrorMessage("not your turn"))
        await server.send(ErrorPacket("It's not your turn yet"), CloseConnection())
        await server.expect_goodbye()

    report = await play_against(serve)
    assert (report.end, report.seat) == (GameEnd.REFUSED, 1)
    assert report.errors == ("not your turn", "It's not your turn yet")


async def test_a_game_can_go_on_after_a_refusal() -> None:
    async def serve(server: FakeServer) -> None:
        await server.request_move(START)
        await expect_move(server)
        await server.send(ErrorPacket("not now"))
        await server.send_in_room(result((1,)))
        await server.send(Left(ROOM))
        await server.expect_goodbye()

    report = await play_against(serve)
    assert (report.end, report.errors) == (GameEnd.RESULT, ("not now",))


async def test_a_goodbye_after_a_refused_move_is_reported_as_refused() -> None:
    async def serve(server: FakeServer) -> None:
        await server.request_move(START)
        await expect_move(server)
        await server.send_in_room(ErrorMessage("illegal"))
        await server.send(CloseConnection())
        await server.expect_goodbye()

    report = await play_against(serve)
    assert (report.end, report.errors) == (GameEnd.REFUSED, ("illegal",))


async def test_a_result_counts_even_if_the_connection_breaks() -> None:
    async def serve(server: FakeServer) -> None:
        await server.request_move(START)
        await expect_move(server)
        await server.send_in_room(result((1,)))
        await server.stream.aclose()

    assert (await play_against(serve)).end is GameEnd.RESULT


async def test_the_end_of_the_game_cancels_a_strategy_that_is_computing(autojump_clock: MockClock) -> None:
    async def serve(server: FakeServer) -> None:
        await server.request_move(START)
        await trio.sleep(10)
        await server.send_in_room(result((1,), causes=(Cause.HARD_TIMEOUT, Cause.REGULAR)))
        await server.send(Left(ROOM))
        await server.expect_goodbye()

    report = await play_against(serve, make_responder("silent"))
    assert (report.end, report.cause, report.moves_played) == (GameEnd.RESULT, Cause.HARD_TIMEOUT, 0)


async def test_a_repeated_request_is_answered_once(autojump_clock: MockClock) -> None:
    async def serve(server: FakeServer) -> None:
        await server.request_move(START)
        await server.send_in_room(MoveRequest())
        await server.expect(f'\n  <room roomId="{ROOM}">')
        await trio.sleep(100)
        await server.stream.aclose()

    assert (await play_against(serve, make_responder("slow", seed=1))).moves_played == 1


async def test_the_next_request_may_arrive_before_the_responder_returns() -> None:
    async def linger(player: Player, state: State) -> None:
        await player.send_move(first(state))
        await trio.sleep_forever()

    async def serve(server: FakeServer) -> None:
        await server.request_move(START)
        await expect_move(server)
        await server.send_in_room(Memento(START), MoveRequest())
        await expect_move(server)
        await server.send(Left(ROOM))
        await server.expect_goodbye()

    assert (await play_against(serve, linger)).moves_played == 2


async def test_an_aborted_game_is_reported_as_abandoned() -> None:
    async def serve(server: FakeServer) -> None:
        await server.request_move(START)
        await server.expect_eof()

    assert (await play_against(serve, make_responder("crash"))).end is GameEnd.ABANDONED


async def test_a_connection_that_breaks_while_answering_is_lost() -> None:
    async def break_connection(player: Player, state: State) -> None:
        await player._transport.abort()  # as if the network had failed
        await player.send_move(MOVE)

    async def serve(server: FakeServer) -> None:
        await server.request_move(START)
        await server.expect_eof()

    assert (await play_against(serve, break_connection)).end is GameEnd.LOST


async def test_after_a_failed_send_the_result_of_the_server_still_counts() -> None:
    async def fail_to_send(player: Player, state: State) -> None:
        raise ConnectionLostError("no way to send")

    async def serve(server: FakeServer) -> None:
        await server.request_move(START)
        await trio.testing.wait_all_tasks_blocked()
        await server.send_in_room(result((1,)))
        await server.send(Left(ROOM))
        await server.expect_goodbye()

    assert (await play_against(serve, fail_to_send)).end is GameEnd.RESULT


async def test_an_error_of_the_responder_is_not_wrapped_in_a_group() -> None:
    async def fail(player: Player, state: State) -> None:
        raise LookupError("no idea")

    async def serve(server: FakeServer) -> None:
        await server.request_move(START)

    with pytest.raises(ExceptionGroup) as group:  # the test's own nursery
        await play_against(serve, fail)
    assert group.group_contains(LookupError, match="no idea", depth=1)


async def test_a_player_that_has_left_can_send_no_move() -> None:
    transport, _ = connected()
    player = Player(transport)
    await player.abort()
    with pytest.raises(ConnectionLostError, match="has left already"):
        await player.send_move(MOVE)


async def test_a_request_without_a_position_is_an_error_of_the_server() -> None:
    transport, server = connected()
    await server.send(Joined(ROOM))
    await server.send_in_room(MoveRequest())
    player = Player(transport)
    await player.join()
    with pytest.raises(ServerProtocolError, match="asked for a move before it had sent a position"):
        await player.play(first_async)


async def test_connect_says_goodbye_at_the_end() -> None:
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
    port = listener.socket.getsockname()[1]

    async def play() -> None:
        async with Player.connect("127.0.0.1", port, dialect=DIALECT) as player:
            await player.join()

    async def serve() -> None:
        stream = await listener.accept()
        server = FakeServer(stream)
        await server.expect("<protocol>\n  <join/>")
        await server.send(Joined(ROOM))
        await server.expect_goodbye()
        await stream.aclose()

    async with listener:
        await together(play, serve)
