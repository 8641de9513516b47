"""A broadcaster sends the same bytes to all recipients in order, and encodes only packets that have a recipient."""

from __future__ import annotations

import random

import pytest

from spielleiter.game.blokus.state import BLOKUS_2021
from spielleiter.protocol.dialect import RoomWriter
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.messages import Cause, Memento, MoveRequest, Paused, Result, RoomData, RoomMessage, Score
from spielleiter.server.core.clock import UNLIMITED, MoveClock
from spielleiter.server.core.room import Broadcaster, Peer, PlayerSlot, SentCallback
from spielleiter.server.editions import EDITIONS

ROOM = "39a1e9f8-11ff-422f-878e-37cf99acd4bf"
POSITION = Memento(BLOKUS_2021.new_state(random.Random(1)))
RESULT = Result(BLOKUS_2021_R3.score_definition, (Score(Cause.REGULAR, "", (1, 0)),) * 2, (0, 1))


class RecordingRoom:
    """Two players and two observers; `received` lists all packets in order, each with its recipient."""

    def __init__(self, has_second_player: bool = True) -> None:
        self.received: list[tuple[str, str]] = []
        self.packets: list[bytes] = []
        self.callbacks: list[SentCallback | None] = []
        self.peers = {
            name: Peer(name, _RecordingSink(self, name), EDITIONS["blokus-2021-r3"]) for name in ("1", "2", "a", "b")
        }
        seated = [self.peers["1"], self.peers["2"] if has_second_player else None]
        player_slots = [PlayerSlot(seat, "", None, MoveClock(UNLIMITED), peer) for seat, peer in enumerate(seated)]
        self.broadcaster = Broadcaster(ROOM, BLOKUS_2021_R3, player_slots)
        self.broadcaster.observers.update({self.peers["a"]: None, self.peers["b"]: None})


class _RecordingSink:
    def __init__(self, room: RecordingRoom, name: str) -> None:
        self._room = room
        self._name = name

    def send_nowait(self, packet: bytes, on_sent: SentCallback | None = None) -> None:
        names = ("memento", "MoveRequest", "welcomeMessage", "paused", "result", "left")
        found = next(each for each in names if each.encode() in packet)
        self._room.received.append((self._name, found))
        self._room.packets.append(packet)
        self._room.callbacks.append(on_sent)

    def end_nowait(self, *, with_end_tag: bool = True) -> None:
        raise AssertionError(with_end_tag)

    def has_unread_input(self) -> bool:
        return False


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[RoomData]:
    """The packets that have been encoded."""
    packets: list[RoomData] = []
    encode = RoomWriter.encode

    def count(writer: RoomWriter, data: RoomData) -> bytes:
        packets.append(data)
        return encode(writer, data)

    monkeypatch.setattr(RoomWriter, "encode", count)
    return packets


def test_a_position_goes_to_observers_before_players(encoded: list[RoomData]) -> None:
    room = RecordingRoom()
    room.broadcaster.send_position(POSITION, to_players=True)
    assert room.received == [(name, "memento") for name in "ab12"]
    assert len(encoded) == 1
    assert all(packet is room.packets[0] for packet in room.packets)


def test_a_position_of_a_paused_game_goes_to_observers_only() -> None:
    room = RecordingRoom()
    room.broadcaster.send_position(POSITION, to_players=False)
    assert room.received == [("a", "memento"), ("b", "memento")]


def test_the_side_to_move_gets_the_position_last_and_the_request_in_the_same_write(encoded: list[RoomData]) -> None:
    room = RecordingRoom()
    for _ in range(2):
        room.broadcaster.request_move(room.peers["1"], POSITION, print)
    assert room.received == [(name, "memento") for name in "ab21"] * 2
    assert room.callbacks == [None, None, None, print] * 2
    assert room.packets[3] == room.packets[0] + BLOKUS_2021_R3.encode(RoomMessage(ROOM, MoveRequest()))
    assert encoded == [MoveRequest(), POSITION, POSITION], "the request is encoded once"


def test_nothing_is_encoded_without_recipients(encoded: list[RoomData]) -> None:
    room = RecordingRoom()
    room.broadcaster.observers.clear()
    room.broadcaster.send_position(POSITION, to_players=False)
    room.broadcaster.send_to_observers(Paused(True))
    assert (room.received, encoded) == ([], [])


def test_the_packets_that_end_a_game_go_to_players_before_observers() -> None:
    room = RecordingRoom()
    room.broadcaster.send_end(RESULT)
    assert room.received == [(name, packet) for packet in ("result", "left") for name in "12ab"]


def test_each_player_is_sent_its_own_seat() -> None:
    room = RecordingRoom()
    room.broadcaster.send_welcome()
    assert room.received == [("1", "welcomeMessage"), ("2", "welcomeMessage")]
    assert [b'color="ONE"' in packet for packet in room.packets] == [True, False]


def test_a_free_slot_is_sent_nothing() -> None:
    room = RecordingRoom(has_second_player=False)
    assert room.broadcaster.players == [room.peers["1"]]
    room.broadcaster.send_welcome()
    room.broadcaster.send_end(RESULT)
    assert room.received == [
        ("1", "welcomeMessage"),
        *((name, packet) for packet in ("result", "left") for name in "1ab"),
    ]


def test_packets_for_one_peer_and_packets_for_observers_only() -> None:
    room = RecordingRoom()
    room.broadcaster.send(room.peers["2"], MoveRequest(), print)
    assert (room.received, room.callbacks) == ([("2", "MoveRequest")], [print])
    room.received.clear()
    room.broadcaster.send_to_observers(Paused(True))
    assert room.received == [("a", "paused"), ("b", "paused")]
