"""The events of the feed are written as JSON, and their data as XML of the season, and read back."""

from __future__ import annotations

import json

import pytest

from spielleiter.protocol import feed
from spielleiter.protocol.errors import RemoteProtocolError
from spielleiter.protocol.messages import MoveData, UnreadableData
from spielleiter.server.editions import EDITIONS
from tests.protocol.strategies import random_game

R3 = EDITIONS["blokus-2021-r3"].dialect

EVENTS: list[feed.FeedEvent] = [
    feed.ServerDescribed("1", "2026-01-01", (feed.OfferedEdition("e", "g"),), {"o": "v"}, "g", True, "host", 1, False),
    feed.RoomOpened("r", "e", True, ("Ä", "<b>"), 1, (2.0, None)),
    feed.SeatsChanged("r", ("", ""), 0),
    feed.GameStarted("r", ("", ""), False, (None, None), "<protocol/>"),
    feed.MovePlayed("r", 0, 1, "<data/>", 0.5, ("hint",)),
    feed.ErrorSent("r", None, "text", "<data/>"),
    feed.RequestChanged("r", None, None),
    feed.PauseChanged("r", True),
    feed.LimitsChanged("r", (None, 2.0)),
    feed.GameStepped("r"),
    feed.GameEnded("r", "<data/>", ((0.5,), ())),
    feed.RoomClosed("r"),
    feed.Stopping(),
    feed.Current(),
]


def test_events_are_read_as_they_were_written() -> None:
    text = f"[{','.join(feed.encode_event(event).decode() for event in EVENTS)}]"
    assert feed.decode_events(text) == EVENTS
    assert [each["event"] for each in json.loads(text)] == [
        "server", "roomOpened", "seatsChanged", "gameStarted", "movePlayed", "errorSent", "requestChanged",
        "pauseChanged", "limitsChanged", "gameStepped", "gameEnded", "roomClosed", "stopping", "current",
    ]  # fmt: skip


def test_the_fields_have_the_names_of_the_documents() -> None:
    assert json.loads(feed.encode_event(EVENTS[0])) == {
        "event": "server",
        "version": "1",
        "startedAt": "2026-01-01",
        "editions": [{"edition": "e", "gameType": "g"}],
        "gameOptions": {"o": "v"},
        "defaultGame": "g",
        "hasAdmins": True,
        "host": "host",
        "port": 1,
        "isStopping": False,
    }
    assert json.loads(feed.encode_event(EVENTS[4])) == {
        "event": "movePlayed",
        "room": "r",
        "ply": 0,
        "seat": 1,
        "move": "<data/>",
        "thinkTime": 0.5,
        "hints": ["hint"],
        "position": None,
    }


@pytest.mark.parametrize("text", ["", "{}", "[1]", "[{}]", '[{"event":"foo"}]', '[{"event":"roomClosed"}]', "[" * 9999])
def test_other_texts_are_no_events(text: str) -> None:
    with pytest.raises(ValueError):
        feed.decode_events(text)


@pytest.mark.parametrize("seat", [-1, 2])
def test_a_seat_that_does_not_exist_is_no_event(seat: int) -> None:
    text = feed.encode_event(feed.MovePlayed("r", 0, seat, "<data/>", 0.5)).decode()
    with pytest.raises(ValueError, match="seat"):
        feed.decode_events(f"[{text}]")


def test_data_are_read_as_they_were_written() -> None:
    for state in random_game(1)[1:]:
        assert state.last_move is not None
        data = MoveData(state.last_move)
        assert feed.read_data(R3, feed.write_data(R3, data)) == data
    assert isinstance(feed.read_data(R3, '<data class="schach"/>'), UnreadableData)


@pytest.mark.parametrize("text", ["", "Zug", "<data", "<foo/>", "</room></protocol>", "\ud800"])
def test_other_texts_are_no_data(text: str) -> None:
    with pytest.raises(RemoteProtocolError):
        feed.read_data(R3, text)
