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
    WelcomeMessage,
)
from tests.client.fake import DIALECT, ROOM, START, FakeServer, connected, result, together
from tests.client.player_sessions import MOVE, PLAYS_FIRST, first, first_async, hears_move, play_against


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

    async def joins() -> None:
        assert await getattr(player, method)(argument) == ROOM
        assert player.room_id == ROOM

    async def serves() -> None:
        await server.hears(f"<protocol>\n  {packet}")
        await server.says(Joined(ROOM))

    await together(joins, serves)


async def test_a_refused_seat_is_an_error_with_the_servers_words() -> None:
    transport, server = connected()
    await server.says(ErrorPacket("Room r is already full!", JoinRequest("swc")), CloseConnection())
    with pytest.raises(RequestRefusedError, match=r"^Room r is already full!$"):
        await Player(transport).join("swc")


async def test_an_end_instead_of_a_seat_is_a_lost_connection() -> None:
    transport, server = connected()
    await server.says(CloseConnection())
    await server.says_bytes(b"\n</protocol>")
    with pytest.raises(ConnectionLostError, match="instead of giving a seat"):
        await Player(transport).join()


async def test_a_whole_game_is_reported() -> None:
    after = START.play(MOVE)

    async def serves(server: FakeServer) -> None:
        await server.asks(START)
        await hears_move(server)
        await server.says_in_room(Memento(after), result((0,)))
        await server.says(Left(ROOM))
        await server.hears_a_goodbye()

    report = await play_against(serves)
    assert report == GameReport(GameEnd.RESULT, ROOM, 0, result((0,)), after, 1)
    assert (report.has_won, report.is_draw, report.cause) == (True, False, Cause.REGULAR)


async def test_whoever_watches_is_told_of_everything_the_room_says() -> None:
    transport, server = connected()
    player = Player(transport)
    told: list[RoomData] = []
    player.watch = told.append

    async def plays() -> None:
        await player.join()
        await player.play_with(PLAYS_FIRST)

    async def serves() -> None:
        await server.hears("<protocol>\n  <join/>")
        await server.says(Joined(ROOM))
        await server.asks(START)
        await hears_move(server)
        await server.says(RoomMessage(ROOM, None))
        await server.says_in_room(result((0,)))
        await server.says(Left(ROOM))

    await together(plays, serves)
    assert told == [WelcomeMessage(0), Memento(START), MoveRequest(), result((0,))]


async def test_a_game_can_be_lost_or_drawn() -> None:
    def report(given: Result) -> GameReport:
        return GameReport(GameEnd.RESULT, ROOM, 1, given, START, 1)

    lost = report(result((0,), causes=(Cause.REGULAR, Cause.SOFT_TIMEOUT)))
    assert (lost.has_won, lost.is_draw, lost.cause) == (False, False, Cause.SOFT_TIMEOUT)
    assert lost.reason == "player 2: because SOFT_TIMEOUT"
    drawn = report(result((0, 1)))
    assert (drawn.has_won, drawn.is_draw) == (False, True)
    assert drawn.reason == ""
    refused = GameReport(GameEnd.REFUSED, ROOM, None, None, None, 0, ("first", "last"))
    unfinished = GameReport(GameEnd.LOST, ROOM, None, None, None, 0)
    assert (refused.reason, unfinished.reason) == ("last", "")
    assert (unfinished.has_won, unfinished.is_draw, unfinished.cause) == (False, False, None)


async def test_the_end_of_another_room_is_not_ours() -> None:
    async def serves(server: FakeServer) -> None:
        await server.asks(START)
        await hears_move(server)
        await server.says(Left("another"))
        await server.says_in_room(Paused(is_paused=True))
        await server.says(Left(ROOM))
        await server.hears_a_goodbye()

    assert (await play_against(serves)).end is GameEnd.LEFT


@pytest.mark.parametrize(
    ("last", "end"),
    [(b"", GameEnd.ENDED), (b"\n  <sc.protocol.CloseConnection/>", GameEnd.ENDED), (b"\n</protocol>", GameEnd.ENDED)],
)
async def test_an_end_without_a_word_is_reported(last: bytes, end: GameEnd) -> None:
    async def serves(server: FakeServer) -> None:
        await server.asks(START)
        await hears_move(server)
        await server.says_bytes(last)
        await server.stream.aclose()

    assert (await play_against(serves)).end is end


async def test_a_refused_move_is_reported_with_the_servers_words() -> None:
    async def serves(server: FakeServer) -> None:
        await server.asks(START, seat=1)
        await hears_move(server)
        await server.says_in_room(ErrorMessage("not your turn"))
        await server.says(ErrorPacket("It's not your turn yet"), CloseConnection())
        await server.hears_a_goodbye()

    report = await play_against(serves)
    assert (report.end, report.seat) == (GameEnd.REFUSED, 1)
    assert report.errors == ("not your turn", "It's not your turn yet")


async def test_a_request_that_was_refused_need_not_end_the_game() -> None:
    async def serves(server: FakeServer) -> None:
        await server.asks(START)
        await hears_move(server)
        await server.says(ErrorPacket("not now"))
        await server.says_in_room(result((1,)))
        await server.says(Left(ROOM))
        await server.hears_a_goodbye()

    report = await play_against(serves)
    assert (report.end, report.errors) == (GameEnd.RESULT, ("not now",))


async def test_whoever_is_sent_away_over_a_move_was_refused() -> None:
    async def serves(server: FakeServer) -> None:
        await server.asks(START)
        await hears_move(server)
        await server.says_in_room(ErrorMessage("illegal"))
        await server.says(CloseConnection())
        await server.hears_a_goodbye()

    report = await play_against(serves)
    assert (report.end, report.errors) == (GameEnd.REFUSED, ("illegal",))


async def test_a_result_counts_however_the_connection_ends() -> None:
    async def serves(server: FakeServer) -> None:
        await server.asks(START)
        await hears_move(server)
        await server.says_in_room(result((1,)))
        await server.stream.aclose()

    assert (await play_against(serves)).end is GameEnd.RESULT


async def test_the_end_of_the_game_stops_a_strategy_that_still_thinks(autojump_clock: MockClock) -> None:
    async def serves(server: FakeServer) -> None:
        await server.asks(START)
        await trio.sleep(10)
        await server.says_in_room(result((1,), causes=(Cause.HARD_TIMEOUT, Cause.REGULAR)))
        await server.says(Left(ROOM))
        await server.hears_a_goodbye()

    report = await play_against(serves, make_responder("silent"))
    assert (report.end, report.cause, report.moves_played) == (GameEnd.RESULT, Cause.HARD_TIMEOUT, 0)


async def test_a_second_request_while_an_answer_is_on_its_way_is_not_answered_twice(autojump_clock: MockClock) -> None:
    async def serves(server: FakeServer) -> None:
        await server.asks(START)
        await server.says_in_room(MoveRequest())
        await server.hears(f'\n  <room roomId="{ROOM}">')
        await trio.sleep(100)
        await server.stream.aclose()

    assert (await play_against(serves, make_responder("slow", seed=1))).moves_played == 1


async def test_the_next_request_may_come_while_the_strategy_still_tidies_up() -> None:
    async def lingers(player: Player, state: State) -> None:
        await player.send_move(first(state))
        await trio.sleep_forever()

    async def serves(server: FakeServer) -> None:
        await server.asks(START)
        await hears_move(server)
        await server.says_in_room(Memento(START), MoveRequest())
        await hears_move(server)
        await server.says(Left(ROOM))
        await server.hears_a_goodbye()

    assert (await play_against(serves, lingers)).moves_played == 2


async def test_a_player_that_vanishes_knows_it() -> None:
    async def serves(server: FakeServer) -> None:
        await server.asks(START)
        await server.hears_the_end()

    assert (await play_against(serves, make_responder("crash"))).end is GameEnd.ABANDONED


async def test_a_connection_that_breaks_while_answering_is_lost() -> None:
    async def breaks(player: Player, state: State) -> None:
        await player._transport.abort()  # as if somebody had pulled the plug
        await player.send_move(MOVE)

    async def serves(server: FakeServer) -> None:
        await server.asks(START)
        await server.hears_the_end()

    assert (await play_against(serves, breaks)).end is GameEnd.LOST


async def test_an_answer_that_could_not_be_sent_leaves_the_verdict_to_the_server() -> None:
    async def loses(player: Player, state: State) -> None:
        raise ConnectionLostError("no way to send")

    async def serves(server: FakeServer) -> None:
        await server.asks(START)
        await trio.testing.wait_all_tasks_blocked()
        await server.says_in_room(result((1,)))
        await server.says(Left(ROOM))
        await server.hears_a_goodbye()

    assert (await play_against(serves, loses)).end is GameEnd.RESULT


async def test_an_error_of_the_strategy_comes_out_as_it_is() -> None:
    async def fails(player: Player, state: State) -> None:
        raise LookupError("no idea")

    async def serves(server: FakeServer) -> None:
        await server.asks(START)

    with pytest.raises(ExceptionGroup) as group:  # the test's own nursery
        await play_against(serves, fails)
    assert group.group_contains(LookupError, match="no idea", depth=1)


async def test_a_player_that_has_left_can_send_no_move() -> None:
    transport, _ = connected()
    player = Player(transport)
    await player.abort()
    with pytest.raises(ConnectionLostError, match="has left already"):
        await player.send_move(MOVE)


async def test_a_request_without_a_position_is_the_servers_fault() -> None:
    transport, server = connected()
    await server.says(Joined(ROOM))
    await server.says_in_room(MoveRequest())
    player = Player(transport)
    await player.join()
    with pytest.raises(ServerProtocolError, match="asked for a move before it had sent a position"):
        await player.play(first_async)


async def test_connecting_says_goodbye_in_the_end() -> None:
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
    port = listener.socket.getsockname()[1]

    async def plays() -> None:
        async with Player.connect("127.0.0.1", port, dialect=DIALECT) as player:
            await player.join()

    async def serves() -> None:
        stream = await listener.accept()
        server = FakeServer(stream)
        await server.hears("<protocol>\n  <join/>")
        await server.says(Joined(ROOM))
        await server.hears_a_goodbye()
        await stream.aclose()

    async with listener:
        await together(plays, serves)
