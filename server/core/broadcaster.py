"""Who sits and stands around one room's table, and what they are told in which order.

Law: a packet is encoded once and everybody gets the same bytes; nothing is encoded for nobody. Positions go to
observers before players; what ends a game goes to players before observers. Source: the section Order of the edition's
specification, and the recordings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import Joined, Left, Memento, Message, MoveRequest, Result, RoomData, WelcomeMessage
from spielleiter.protocol.room_writer import RoomWriter
from spielleiter.server.core.peer import Peer, SentCallback
from spielleiter.server.core.player_slot import PlayerSlot


class Broadcaster:
    """The player slots of a room, in the order of seats, and its observers, in the order of coming."""

    __slots__ = ("_request", "_room_id", "_writer", "observers", "player_slots")

    def __init__(self, room_id: str, dialect: Dialect, player_slots: Sequence[PlayerSlot]) -> None:
        self._room_id = room_id
        self._writer = RoomWriter(dialect, room_id)
        self._request: bytes | None = None
        self.player_slots = tuple(player_slots)
        self.observers: dict[Peer, None] = {}

    @property
    def players(self) -> list[Peer]:
        """Those who sit, in the order of seats."""
        return [player_slot.peer for player_slot in self.player_slots if player_slot.peer is not None]

    def tell(self, peer: Peer, data: RoomData, on_sent: SentCallback | None = None) -> None:
        """A word of the room for one alone."""
        peer.send(self._writer.encode(data), on_sent)

    def tell_observers(self, data: RoomData) -> None:
        """A word of the room for the observers, if this edition has a packet for it."""
        if self._writer.dialect.has_packet(type(data)):
            self._say(self.observers, data)

    def confirm_seats(self) -> None:
        """Tell every player that it has joined, where that is told to all at once."""
        self._tell(self.players, Joined(self._room_id))

    def welcome(self) -> None:
        """Tell each player its seat."""
        for player_slot in self.player_slots:
            if player_slot.peer is not None:
                self.tell(player_slot.peer, WelcomeMessage(player_slot.seat))

    def show(self, position: Memento, *, to_players: bool) -> None:
        """A position for the observers and, unless the game is paused, for the players."""
        players = self.players if to_players else []
        self._say((*self.observers, *players), position)

    def ask(self, asked: Peer, position: Memento, on_sent: SentCallback) -> None:
        """A position for everybody, and for `asked`, who hears it last, the request for a move in the same write.

        A write is what costs most of a move, here and where it wakes somebody up. The request's bytes are always the
        same.
        """
        if self._request is None:
            self._request = self._writer.encode(MoveRequest())
        everybody = (*self.observers, *self.players)
        packet = self._writer.encode(position) if any(peer.reads for peer in everybody) else b""
        for peer in everybody:
            if peer is not asked:
                peer.send(packet)
        asked.send(packet + self._request, on_sent)

    def dismiss(self, result: Result | None, uninformed: Peer | None = None) -> None:
        """The room's last words, to all but `uninformed`: the result, where there is one, and that it is over."""
        everybody = [peer for peer in (*self.players, *self.observers) if peer is not uninformed]
        if result is not None:
            self._say(everybody, result)
        self._tell(everybody, Left(self._room_id))

    def _say(self, peers: Collection[Peer], data: RoomData) -> None:
        if any(peer.reads for peer in peers):
            _send(peers, self._writer.encode(data))

    def _tell(self, peers: Collection[Peer], message: Message) -> None:
        if peers:
            _send(peers, self._writer.dialect.encode(message))


def _send(peers: Iterable[Peer], packet: bytes) -> None:
    for peer in peers:
        peer.send(packet)
