"""Everybody is told the same bytes, in the documented order, and nothing is encoded for nobody."""

from __future__ import annotations

import random

import pytest

from spielleiter.game.blokus.rulesets import BLOKUS_2021
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.messages import Cause, Memento, MoveRequest, Paused, Result, RoomData, RoomMessage, Score
from spielleiter.protocol.room_writer import RoomWriter
from spielleiter.server.core.broadcaster import Broadcaster
from spielleiter.server.core.clock import UNLIMITED, MoveClock
from spielleiter.server.core.peer import Peer, SentCallback
from spielleiter.server.core.player_slot import PlayerSlot
from spielleiter.server.editions import EDITIONS

ROOM = "39a1e9f8-11ff-422f-878e-37cf99acd4bf"
POSITION = Memento(BLOKUS_2021.new_state(random.Random(1)))
RESULT = Result(BLOKUS_2021_R3.score_definition, (Score(Cause.REGULAR, "", (1, 0)),) * 2, (0, 1))


class Hall:
    """Two players and two observers; who hears what is written down in the order of hearing."""

    def __init__(self, is_second_in: bool = True) -> None:
        self.heard: list[tuple[str, str]] = []
        self.packets: list[bytes] = []
        self.callbacks: list[SentCallback | None] = []
        self.peers = {name: Peer(name, _Ear(self, name), EDITIONS["blokus-2021-r3"]) for name in ("1", "2", "a", "b")}
        seated = [self.peers["1"], self.peers["2"] if is_second_in else None]
        player_slots = [PlayerSlot(seat, "", None, MoveClock(UNLIMITED), peer) for seat, peer in enumerate(seated)]
        self.broadcaster = Broadcaster(ROOM, BLOKUS_2021_R3, player_slots)
        self.broadcaster.observers.update({self.peers["a"]: None, self.peers["b"]: None})


class _Ear:
    def __init__(self, hall: Hall, name: str) -> None:
        self._hall = hall
        self._name = name

    def send_nowait(self, packet: bytes, on_sent: SentCallback | None = None) -> None:
        words = ("memento", "MoveRequest", "welcomeMessage", "paused", "result", "left")
        word = next(word for word in words if word.encode() in packet)
        self._hall.heard.append((self._name, word))
        self._hall.packets.append(packet)
        self._hall.callbacks.append(on_sent)

    def end_nowait(self, *, with_end_tag: bool = True) -> None:
        raise AssertionError(with_end_tag)

    def has_unread_input(self) -> bool:
        return False


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[RoomData]:
    """What has been encoded."""
    said: list[RoomData] = []
    encode = RoomWriter.encode

    def count(writer: RoomWriter, data: RoomData) -> bytes:
        said.append(data)
        return encode(writer, data)

    monkeypatch.setattr(RoomWriter, "encode", count)
    return said


def test_a_position_goes_to_observers_before_players(encoded: list[RoomData]) -> None:
    hall = Hall()
    hall.broadcaster.show(POSITION, to_players=True)
    assert hall.heard == [(name, "memento") for name in "ab12"]
    assert len(encoded) == 1
    assert all(packet is hall.packets[0] for packet in hall.packets)


def test_a_position_of_a_paused_game_goes_to_observers_only() -> None:
    hall = Hall()
    hall.broadcaster.show(POSITION, to_players=False)
    assert hall.heard == [("a", "memento"), ("b", "memento")]


def test_who_is_asked_hears_the_position_last_and_the_request_in_the_same_write(encoded: list[RoomData]) -> None:
    hall = Hall()
    for _ in range(2):
        hall.broadcaster.ask(hall.peers["1"], POSITION, print)
    assert hall.heard == [(name, "memento") for name in "ab21"] * 2
    assert hall.callbacks == [None, None, None, print] * 2
    assert hall.packets[3] == hall.packets[0] + BLOKUS_2021_R3.encode(RoomMessage(ROOM, MoveRequest()))
    assert encoded == [MoveRequest(), POSITION, POSITION], "the request is written once"


def test_nothing_is_encoded_for_nobody(encoded: list[RoomData]) -> None:
    hall = Hall()
    hall.broadcaster.observers.clear()
    hall.broadcaster.show(POSITION, to_players=False)
    hall.broadcaster.tell_observers(Paused(True))
    assert (hall.heard, encoded) == ([], [])


def test_what_ends_a_game_goes_to_players_before_observers() -> None:
    hall = Hall()
    hall.broadcaster.dismiss(RESULT)
    assert hall.heard == [(name, word) for word in ("result", "left") for name in "12ab"]
    hall.heard.clear()
    hall.broadcaster.dismiss(None)
    assert hall.heard == [(name, "left") for name in "12ab"]


def test_each_player_is_welcomed_to_its_own_seat() -> None:
    hall = Hall()
    hall.broadcaster.welcome()
    assert hall.heard == [("1", "welcomeMessage"), ("2", "welcomeMessage")]
    assert [b'color="ONE"' in packet for packet in hall.packets] == [True, False]


def test_a_chair_nobody_sits_on_is_told_nothing() -> None:
    hall = Hall(is_second_in=False)
    assert hall.broadcaster.players == [hall.peers["1"]]
    hall.broadcaster.welcome()
    hall.broadcaster.dismiss(None)
    assert hall.heard == [("1", "welcomeMessage"), ("1", "left"), ("a", "left"), ("b", "left")]


def test_one_may_be_told_alone_and_the_observers_among_themselves() -> None:
    hall = Hall()
    hall.broadcaster.tell(hall.peers["2"], MoveRequest(), print)
    assert (hall.heard, hall.callbacks) == ([("2", "MoveRequest")], [print])
    hall.heard.clear()
    hall.broadcaster.tell_observers(Paused(True))
    assert hall.heard == [("a", "paused"), ("b", "paused")]
