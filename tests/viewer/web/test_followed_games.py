"""The games of the pages are those of the server, whatever happens in them and whenever the pages begin to look."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

import pytest
import trio
from msgspec import structs
from trio.testing import MockClock

from spielleiter.client.responders import make_responder
from spielleiter.protocol.feed import (
    Current,
    ErrorSent,
    FeedEvent,
    GameEnded,
    GameStarted,
    LimitsChanged,
    MovePlayed,
    OfferedEdition,
    PauseChanged,
    RequestChanged,
    RoomClosed,
    RoomOpened,
    ServerDescribed,
    Stopping,
    ThinkingChanged,
    write_data,
)
from spielleiter.protocol.messages import Memento, MoveData, Result, RoomData, Slot
from spielleiter.protocol.positions import write_position
from spielleiter.protocol.thinking import Thinking
from spielleiter.server import events
from spielleiter.server.core.room import Room
from spielleiter.server.editions import EDITIONS, choose_editions
from spielleiter.viewer.web.followed_games import ENDED_GAMES, MOST_GAMES, MOST_TOLD, TOO_MUCH, FollowedGames
from spielleiter.viewer.web.live_games import NO_NOTICE
from tests.seen import as_seen
from tests.viewer.web.pages import Pages, open_pages

EDITION = EDITIONS["blokus-2027"]


def described(*, is_stopping: bool = False, name: str = EDITION.name) -> ServerDescribed:
    offered = (OfferedEdition(name, EDITION.game_type),)
    return ServerDescribed("1", "2026-01-01T00:00:00+00:00", offered, {}, EDITION.game_type, True, "", 1, is_stopping)


def opened(room: str, edition: str = EDITION.name) -> RoomOpened:
    return RoomOpened(room, edition, is_prepared=True, names=("A", "B"), free_seats=1, soft_timeouts=(None, 2.0))


def started(room: str) -> GameStarted:
    position = write_position(EDITION.dialect, room, Memento(EDITION.game.new_state(random.Random(1))))
    return GameStarted(room, ("A", "B"), is_paused=False, soft_timeouts=(1.0, 2.0), position=position)


def seen(data: RoomData) -> RoomData:
    return structs.replace(data, state=as_seen(data.state)) if isinstance(data, Memento) else data


def moves(room: str, count: int) -> list[FeedEvent]:
    """The first moves of a game, each of half a second."""
    state, played = EDITION.game.new_state(random.Random(1)), list[FeedEvent]()
    for ply in range(count):
        move = next(iter(state.generate_legal_moves()))
        text = write_data(EDITION.dialect, MoveData(move))
        played.append(MovePlayed(room, ply, state.seat_on_turn, text, 0.5, ("a hint",)))
        state = state.play(move)
    return played


def following(*told: FeedEvent) -> FollowedGames:
    """The games of a server that has told this."""
    games = FollowedGames(choose_editions)
    for event in (described(), Current(), *told):
        games.apply(event, 10.0)
    return games


def test_what_a_program_thinks_is_known_in_its_own_room_also_when_the_game_has_just_ended() -> None:
    result = write_data(EDITION.dialect, Result((), (), ()))

    def thought(room: str, ply: int, value: float) -> ThinkingChanged:
        return ThinkingChanged(room, ply, ply % 2, Thinking(value=value))

    games = following(opened("a"), started("a"), opened("b"), started("b"), *moves("a", 2), thought("a", 2, 1.0))
    last = thought("a", 2, 2.0)
    for event in (GameEnded("a", result, ((), ())), RoomClosed("a"), last, thought("unknown", 0, 3.0)):
        games.apply(event, 11.0)
    games.apply(thought("b", MOST_TOLD, 4.0), 11.0)
    ended, running = games.find("a"), games.find("b")
    assert ended is not None
    assert running is not None
    assert ended.thinking == {2: last}
    assert running.thinking == {}


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - nobody tells
        await trio.sleep(0.01)


async def play(pages: Pages, room: Room, *strategies: str) -> None:
    """Let two programs play in a prepared room, to the end of the game."""
    codes = [slot.reservation or "" for slot in room.player_slots]

    async def join(code: str, strategy: str, seed: int) -> None:
        async with pages.player(room.edition) as player:
            await player.join_prepared(code)
            await player.play_with(make_responder(strategy, seed=seed))

    async with trio.open_nursery() as nursery:
        for seed, (code, strategy) in enumerate(zip(codes, strategies, strict=True)):
            nursery.start_soon(join, code, strategy, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", EDITIONS)
@pytest.mark.parametrize("strategies", [("random", "random"), ("random", "illegal"), ("garbage", "first")])
async def test_the_record_of_every_game_is_that_of_its_room(name: str, strategies: tuple[str, str]) -> None:
    edition = EDITIONS[name]
    ended: list[events.GameEnded] = []
    async with open_pages(editions={edition.game_type: name}, soft_timeout=60.0, hard_timeout=60.0) as pages:
        pages.server.stream.on(events.GameEnded, ended.append)
        edition = pages.server.editions[edition.game_type]
        slots = [Slot("Alice"), Slot("Bob", can_timeout=False)]
        await play(pages, pages.server.lobby.open_prepared(edition, slots), *strategies)
        await pages.caught_up()
        game = pages.site.games.find(ended[0].room)
    assert game is not None
    assert list(map(seen, game.record)) == list(map(seen, ended[0].record))
    assert (game.names, game.ply, game.phase, game.soft_limit) == (ended[0].names, ended[0].plies, "over", 60.0)
    assert [list(times) for times in game.think_times] == [list(times) for times in ended[0].think_times]


async def test_a_game_that_began_before_the_pages_is_shown_from_its_beginning(autojump_clock: MockClock) -> None:
    async with open_pages() as pages:
        room = pages.open_room("A", "B", is_paused=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(play, pages, room, "first", "first")
            token = await pages.log_in()
            await pages.caught_up()

            def is_at(ply: int) -> bool:
                return room.ply == ply and len(room.players) == 2

            for played in range(5):
                await until(partial(is_at, played))
                await pages.caught_up()
                assert (await pages.post("/api/admin/step", {"room": room.id}, token)).json == {}
            await until(lambda: room.ply == 5)
            for session in [each for each in pages.server.sessions if each.peer.is_admin]:
                session.end("", 0.0)
            await until(lambda: not pages.site.server.is_connected)
            await until(lambda: pages.site.server.is_connected)
            game = pages.site.games.find(room.id)
            assert game is not None
            assert (list(game.record), game.ply, game.phase) == (room.record, 5, "paused")
            room.cancel()


def test_nothing_is_computed_before_somebody_looks() -> None:
    games = following(opened("one"), started("one"), *moves("one", 4))
    (listed,) = games.listed(10)
    assert (listed.ply, listed.phase, list(listed.record)) == (4, "running", [])
    game = games.find("one")
    assert game is not None
    last = game.record[-1]
    assert isinstance(last, Memento)
    assert (len(game.record), last.hints) == (5, ("a hint",))
    assert (game.soft_limit, game.think_times, games.moves_played) == (1.0, ([0.5, 0.5], [0.5, 0.5]), 4)


def test_the_next_move_is_requested_unless_something_else_is_told() -> None:
    games = following(opened("one"), started("one"), RequestChanged("one", 0, 3.0))

    def to_move(*told: FeedEvent) -> dict[str, float] | None:
        for event in told:
            games.apply(event, 20.0)
        found = games.find("one")
        assert found is not None
        return found.to_move(21.5)

    assert to_move() == {"player": 0, "since": 14.5}
    first, second = moves("one", 2)
    assert to_move(first) == {"player": 1, "since": 1.5}
    assert to_move(PauseChanged("one", is_paused=True), second, RequestChanged("one", None, None)) is None
    assert to_move(RequestChanged("one", 0, None)) == {"player": 0, "since": 1.5}


@pytest.mark.parametrize("text", ["", "<data/>", "<data", '<data class="nonsense"/>', "\ud800"])
def test_what_cannot_be_read_costs_one_game_its_further_positions(text: str) -> None:
    first, _, third = moves("one", 3)
    broken = MovePlayed("one", 1, 1, text, 0.5)
    games = following(opened("one"), started("one"), first, broken, third, opened("two"), started("two"))
    game = games.find("one")
    assert game is not None
    assert (len(game.record), game.ply) == (2, 3)
    assert games.find("two") is not None


def test_a_server_can_fill_neither_the_memory_nor_the_list() -> None:
    """Whatever is left out is said."""
    (move,) = moves("one", 1)
    assert isinstance(move, MovePlayed)
    floods: list[Iterator[FeedEvent]] = [
        (opened(str(number)) for number in range(MOST_GAMES + 1)),
        iter([opened("x" * 1000)]),
        (move for _ in range(MOST_TOLD + 1)),
        (MovePlayed("one", 1, 1, move.move, 0.5, ("x" * 1_000_000,)) for _ in range(17)),
        (ErrorSent("one", 0, "x" * 1_000_000) for _ in range(17)),
    ]
    for flood in floods:
        games = following(opened("one"), started("one"))
        assert games.notice == NO_NOTICE
        for event in flood:
            games.apply(event, 20.0)
        assert games.notice == TOO_MUCH
        assert len(games.listed(2 * MOST_GAMES)) <= MOST_GAMES
        game = games.find("one")
        assert game is not None
        assert max(map(len, game.think_times)) <= MOST_TOLD
        assert len(game.record) <= MOST_TOLD
        for event in (described(), Current()):
            games.apply(event, 30.0)
        assert games.notice == NO_NOTICE


def test_all_games_together_have_a_bound() -> None:
    """Those that are told later get no positions, until others have ended."""
    rooms = [str(number) for number in range(18)]
    games = following(*(event for room in rooms for event in (opened(room), started(room))))
    for room in rooms:
        for _ in range(15):
            games.apply(ErrorSent(room, 0, "x" * 1024 * 1024), 20.0)
    assert games.notice == TOO_MUCH
    for room in rooms:
        games.apply(RoomClosed(room), 20.0)
    for event in (described(), opened("one"), started("one"), *moves("one", 2), Current()):
        games.apply(event, 30.0)
    found = games.find("one")
    assert found is not None
    assert (len(found.record), games.notice) == (3, NO_NOTICE)


def test_what_programs_think_has_a_bound() -> None:
    """What is told again takes the place of what was told before."""
    long = Thinking(texts=("x" * 1_000_000,))
    thoughts = [ThinkingChanged("one", ply, 0, long) for ply in (-1, MOST_TOLD, *range(20), *range(10))]
    games = following(opened("one"), started("one"), *thoughts, *moves("one", 2))
    game = games.find("one")
    assert game is not None
    assert (list(game.thinking), len(game.record)) == (list(range(16)), 3)


def test_limits_that_an_administrator_has_switched_off_are_not_shown() -> None:
    games = following(opened("one"), started("one"), LimitsChanged("one", (None, 2.0)))
    assert games.listed(1)[0].soft_limit == 2.0
    games.apply(LimitsChanged("one", (None, None)), 20.0)
    assert games.listed(1)[0].soft_limit is None


def test_names_are_shortened() -> None:
    games = following(structs.replace(opened("one"), names=("x" * 1000, "y")))
    assert [len(name) for name in games.listed(1)[0].names] == [80, 1]


def test_ended_games_are_kept_for_a_while_and_the_others_only_while_their_room_exists() -> None:
    games = following(opened("waiting"), RoomClosed("waiting"))
    for number in range(ENDED_GAMES + 1):
        room = str(number)
        result = write_data(EDITION.dialect, Result(EDITION.dialect.score_definition, (), ()))
        for event in (opened(room), started(room), GameEnded(room, result, ((0.5,), ())), RoomClosed(room)):
            games.apply(event, 10.0)
    assert games.find("waiting") is games.find("0") is None
    assert [game.id for game in games.listed(3)] == ["32", "31", "30"]
    assert {game.phase for game in games.listed(100)} == {"over"}


def test_the_games_of_before_are_shown_until_those_of_a_new_connection_are_known() -> None:
    games = following(opened("one"), opened("two"))
    for event in (described(is_stopping=True), opened("two"), opened("three")):
        games.apply(event, 20.0)
    assert [game.id for game in games.listed(10)] == ["one", "two"]
    games.apply(Current(), 20.0)
    assert [game.id for game in games.listed(10)] == ["two", "three"]
    assert games.is_stopping


def test_games_of_a_season_that_is_not_known_here_are_left_out() -> None:
    games = FollowedGames(lambda _offered, _options: {})
    for event in (described(name="chess-2099"), opened("one", "chess-2099"), started("one"), Current(), Stopping()):
        games.apply(event, 10.0)
    assert (games.listed(10), games.is_stopping) == ([], True)
