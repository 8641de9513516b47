"""Sends a room's packets to its players and observers, in the order that the edition prescribes.

Invariants: a packet is encoded once, and every recipient gets the same bytes; nothing is encoded without a reader.
Observers get a position before the players; players get what ends a game before the observers. Source: the section
Order of the edition's specification, and the recordings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import Joined, Left, Memento, Message, MoveRequest, Result, RoomData, WelcomeMessage
from spielleiter.protocol.room_writer import RoomWriter
from spielleiter.server.core.peer import Peer, SentCallback
from spielleiter.server.core.player_slot import PlayerSlot


class Broadcaster:
    """Sends the packets of one room.

    `player_slots` are its two slots in seat order; `observers` are its observers in the order in which they arrived.
    """

    __slots__ = ("_encoded_request", "_room_id", "_writer", "observers", "player_slots")

    def __init__(self, room_id: str, dialect: Dialect, player_slots: Sequence[PlayerSlot]) -> None:
        self._room_id = room_id
        self._writer = RoomWriter(dialect, room_id)
        self._encoded_request: bytes | None = None
        self.player_slots = tuple(player_slots)
        self.observers: dict[Peer, None] = {}

    @property
    def players(self) -> list[Peer]:
        """The peers that occupy a player slot, in seat order."""
        return [player_slot.peer for player_slot in self.player_slots if player_slot.peer is not None]

    def send(self, peer: Peer, data: RoomData, on_sent: SentCallback | None = None) -> None:
        """Send a room packet to one peer."""
        peer.send(self._writer.encode(data), on_sent)

    def send_to_observers(self, data: RoomData) -> None:
        """Send a room packet to the observers, if this edition has a packet for it."""
        if self._writer.dialect.has_packet(type(data)):
            self._send_data(self.observers, data)

    def send_joined(self) -> None:
        """Confirm both joins, for editions that confirm them together."""
        self._send_message(self.players, Joined(self._room_id))

    def send_welcome(self) -> None:
        """Tell each player its seat."""
        for player_slot in self.player_slots:
            if player_slot.peer is not None:
                self.send(player_slot.peer, WelcomeMessage(player_slot.seat))

    def send_position(self, position: Memento, *, to_players: bool) -> None:
        """Send a position to the observers and, if `to_players`, then to the players."""
        players = self.players if to_players else []
        self._send_data((*self.observers, *players), position)

    def request_move(self, player: Peer, position: Memento, on_sent: SentCallback) -> None:
        """Send the position to everybody; `player` gets it last, with the move request in the same write.

        Writes dominate the cost of a move, both here and at the receiver, which each write wakes up. The bytes of the
        request are always the same, so they are encoded once.
        """
        if self._encoded_request is None:
            self._encoded_request = self._writer.encode(MoveRequest())
        recipients = (*self.observers, *self.players)
        packet = self._writer.encode(position) if any(peer.reads_packets for peer in recipients) else b""
        for peer in recipients:
            if peer is not player:
                peer.send(packet)
        player.send(packet + self._encoded_request, on_sent)

    def send_end(self, result: Result, excluded: Peer | None = None) -> None:
        """Send the room's last packets to everybody except `excluded`: the result and `left`."""
        recipients = [peer for peer in (*self.players, *self.observers) if peer is not excluded]
        self._send_data(recipients, result)
        self._send_message(recipients, Left(self._room_id))

    def _send_data(self, peers: Collection[Peer], data: RoomData) -> None:
        if any(peer.reads_packets for peer in peers):
            _send_to_all(peers, self._writer.encode(data))

    def _send_message(self, peers: Collection[Peer], message: Message) -> None:
        if peers:
            _send_to_all(peers, self._writer.dialect.encode(message))


def _send_to_all(peers: Iterable[Peer], packet: bytes) -> None:
    for peer in peers:
        peer.send(packet)
