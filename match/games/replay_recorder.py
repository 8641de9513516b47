"""Makes the replay of a game from the packets that its room has sent.

A room encodes every position for its players. `ReplayRecorder` keeps these bytes, so that the replay of a regular game
is not encoded a second time.

Invariants: recording changes nothing that players receive, and nothing is encoded for it. The bytes are those of
`encode_with_checkpoints`, or there are none. Packets are indented as they are sent: removing the two blanks before each
of the ten thousand lines would take longer than compressing them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import trio

from spielleiter.protocol.dialect import PACKET_INDENT, Dialect
from spielleiter.protocol.messages import Memento, ObserveRequest, RoomData
from spielleiter.server.core import dispatch
from spielleiter.server.core.lobby import Lobby
from spielleiter.server.core.room import Peer, Room, SentCallback
from spielleiter.server.replay import replay_pieces

_ROOM_PACKET: Final = b"\n  <room "
_PACKETS_PER_CHECKPOINT: Final = 8


async def encode_with_checkpoints(dialect: Dialect, record: Sequence[RoomData]) -> bytes:
    """Encode a replay with an empty room id; after every few packets, other tasks get a chance to run."""
    pieces = []
    for number, piece in enumerate(replay_pieces(dialect, "", record, PACKET_INDENT)):
        pieces.append(piece)
        if number % _PACKETS_PER_CHECKPOINT == 0:
            await trio.lowlevel.checkpoint()
    return b"".join(pieces)


class ReplayRecorder:
    """Observes `room` as a peer of `lobby`; must be created before the game begins. Raises RequestError if refused."""

    def __init__(self, lobby: Lobby, room: Room) -> None:
        self._lobby = lobby
        self._room_id = room.id
        self._packets: list[bytes] = []
        peer = Peer("replay", self, room.edition)
        peer.reads_packets = False  # if no player reads, the replay is encoded only when it is needed
        self._member = lobby.connect(peer)
        dispatch.observe(lobby, self._member, ObserveRequest(room.id))

    def close(self) -> None:
        """Stop observing."""
        self._lobby.drop(self._member)

    def content(self, record: Sequence[RoomData]) -> bytes | None:
        """Return the replay; None if the recorded packets are not the whole of `record`, the room's record of the game.

        Packets are missing if no player reads them, or if the record contains an error message, which is sent only to
        peers that read packets. Hints in the record are not sent at all.
        """
        if len(self._packets) != len(record):
            return None
        if any(isinstance(data, Memento) and data.hints for data in record):
            return None
        packets = b"".join(self._packets).replace(b'roomId="%s"' % self._room_id.encode(), b'roomId=""')
        return b"<protocol>%s\n</protocol>" % packets

    # -- Sink -------------------------------------------------------------------------------------------------------

    def send_nowait(self, packet: bytes, on_sent: SentCallback | None = None) -> None:  # noqa: ARG002 - of the Sink
        if packet.startswith(_ROOM_PACKET):
            self._packets.append(packet)

    def end_nowait(self, *, with_end_tag: bool = True) -> None: ...

    def has_unread_input(self) -> bool:
        return False
