"""The games that pages see: those of open rooms and the last ones that have ended, in a list of bounded length."""

from __future__ import annotations

import pytest

from spielleiter.protocol.messages import Result
from spielleiter.server import events
from spielleiter.server.editions import EDITIONS
from spielleiter.server.events import ThinkStats
from spielleiter.viewer.web import live_games as module
from spielleiter.viewer.web.live_games import LiveGames
from tests.viewer.replay_files import played, record_of, refused_record
from tests.viewer.web.pages import Pages, open_pages


def ended(room: str, *, has_fault: bool = False) -> events.GameEnded:
    """The end of a game of five plies, by the rules or by an illegal move of the second player."""
    edition = EDITIONS["blokus-2027"]
    states = played(edition, plies=5)
    record = record_of(edition, states, ("A", "B"))
    if has_fault:
        record = refused_record(edition, states, next(iter(states[0].generate_legal_moves())))
    result = record[-1]
    assert isinstance(result, Result)
    none = ThinkStats(0, 0.0, 0.0, 0.0)
    return events.GameEnded(
        room, edition.name, ("A", "B"), ("REGULAR",) * 2, ("",) * 2, ((0, 0),) * 2, (), 5, (none, none),
        ((0.5,), (0.25,)), result, record,
    )  # fmt: skip


def live_games(pages: Pages) -> LiveGames:
    return LiveGames(pages.server.lobby.rooms, pages.server.stream)


async def test_a_waiting_room_is_listed_without_a_move() -> None:
    async with open_pages() as pages:
        games = live_games(pages)
        assert games.listed() == []
        room = pages.open_room("Ann", "Ben", is_paused=True)
        (line,) = games.listed()
        assert (line["id"], line["players"], line["state"]) == (room.id, ["Ann", "Ben"], "waiting")
        assert (line["ply"], line["points"], line["isPaused"], line["isPrepared"]) == (0, [0, 0], True, True)
        assert line["freeSeats"] == 0  # both are reserved
        game = games.find(room.id)
        assert game is not None
        assert games.room(room.id) is room
        assert game.soft_limit == 2.0
        assert game.to_move(0.0) is None
        assert list(game.think_times(0)) == []
        assert games.find("unknown") is None
        assert games.room("unknown") is None


async def test_without_time_limits_there_is_no_lower_one() -> None:
    async with open_pages(has_timeouts=False) as pages:
        game = live_games(pages).find(pages.open_room("A", "B").id)
        assert game is not None
        assert game.soft_limit is None


async def test_games_that_have_ended_are_kept_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENDED_GAMES", 2)
    async with open_pages() as pages:
        games = live_games(pages)
        rooms = [pages.open_room(f"{number}", "B") for number in range(3)]
        for room in rooms:
            pages.server.stream.publish(ended(room.id))
            del pages.server.lobby.rooms[room.id]
        assert games.find(rooms[0].id) is None
        assert [line["id"] for line in games.listed()] == [rooms[2].id, rooms[1].id]  # the newest first
        kept = games.find(rooms[2].id)
        assert kept is not None
        assert (kept.phase_name, kept.ply, kept.free_seats, kept.to_move(1.0)) == ("over", 5, 0, None)
        assert kept.think_times(1) == (0.25,)
        assert games.room(rooms[2].id) is None


async def test_an_ended_game_is_listed_with_the_points_of_its_result() -> None:
    async with open_pages() as pages:
        games = live_games(pages)
        for has_fault in (False, True):
            room = pages.open_room("A", "B")
            game = ended(room.id, has_fault=has_fault)
            pages.server.stream.publish(game)
            del pages.server.lobby.rooms[room.id]
            assert games.listed()[0]["points"] == [score.parts[1] for score in game.result.scores]
        assert 0 in games.listed()[0]["points"]


async def test_the_list_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LISTED", 2)
    async with open_pages() as pages:
        games = live_games(pages)
        over = pages.open_room("A", "B")
        pages.server.stream.publish(ended(over.id))
        del pages.server.lobby.rooms[over.id]
        rooms = [pages.open_room("A", "B")]
        assert [line["id"] for line in games.listed()] == [rooms[0].id, over.id]
        rooms += [pages.open_room("A", "B") for _ in range(2)]
        assert [line["id"] for line in games.listed()] == [room.id for room in rooms[:2]]


async def test_the_end_of_an_unknown_game_is_ignored() -> None:
    stream = events.EventStream()
    games = LiveGames({}, stream)
    stream.publish(ended("unknown"))
    assert games.listed() == []
