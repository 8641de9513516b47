"""A replay assembled from a room's packets equals the encoded one; if it cannot, the recorder returns None."""

from __future__ import annotations

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.match.match_server import ReplayRecorder, encode_with_checkpoints
from spielleiter.protocol.messages import MoveData, RoomMessage, Slot
from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.room import Peer, Phase, Room, SentCallback
from spielleiter.server.editions import EDITIONS
from tests.server.room_harness import RoomHarness, first_move

NAMES = st.text("ab <>&\"'\n\t\r\U0001f600", max_size=12)


class Taker:
    """A sink that takes every packet at once."""

    def send_nowait(self, packet: bytes, on_sent: SentCallback | None = None) -> None:
        if on_sent is not None:
            on_sent(0.0)

    def end_nowait(self, *, with_end_tag: bool = True) -> None: ...

    def has_unread_input(self) -> bool:
        return False


class Game:
    """A game of two players, recorded."""

    def __init__(self, edition: str, names: tuple[str, str] = ("one", "two"), *, reads_packets: bool = True) -> None:
        self.dialect = EDITIONS[edition].dialect
        self.harness = RoomHarness()
        lobby = self.harness.lobby
        self.room: Room = lobby.open_prepared(EDITIONS[edition], [Slot(name) for name in names])
        self.recorder = ReplayRecorder(lobby, self.room)
        self.peers = []
        for player_slot in self.room.player_slots:
            peer = Peer("player", Taker(), EDITIONS[edition])
            peer.reads_packets = reads_packets
            lobby.take_reserved_slot(lobby.connect(peer), self.room, player_slot)
            self.peers.append(peer)

    def play(self, *hints: str) -> None:
        data = MoveData(first_move(self.room), hints)
        self.room.move(self.peers[self.room.state.seat_on_turn], RoomMessage(self.room.id, data), Arrival(0.0), 0.0)

    def end(self) -> None:
        if self.room.phase is not Phase.OVER:
            self.room.cancel()

    @property
    def content(self) -> bytes | None:
        return self.recorder.content(self.room.record)

    @property
    def encoded(self) -> bytes:
        return trio.run(encode_with_checkpoints, self.dialect, self.room.record)


@settings(max_examples=5, deadline=None)
@given(names=st.tuples(NAMES, NAMES), plies=st.integers(0, 6))
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_bytes_are_those_of_the_encoded_replay(edition: str, names: tuple[str, str], plies: int) -> None:
    game = Game(edition, names)
    for _ in range(plies):
        game.play()
    game.end()
    assert game.content == game.encoded


def test_hints_are_only_in_the_encoded_replay() -> None:
    game = Game("blokus-2021-r3")
    game.play("this one")
    game.end()
    assert game.content is None
    assert b"this one" in game.encoded


def test_nothing_is_encoded_where_no_player_reads() -> None:
    game = Game("blokus-2021-r3", reads_packets=False)
    game.play()
    game.end()
    assert game.content is None


def test_closing_leaves_nothing_in_the_lobby() -> None:
    game = Game("blokus-2021-r3")
    game.end()
    game.recorder.close()
    assert not [peer for peer in game.harness.lobby.members if peer.label == "replay"]
