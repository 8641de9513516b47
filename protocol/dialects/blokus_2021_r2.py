"""The dialect of Blokus 2021 in the middle revision of the documents.

Invariants: it is derived from the dialect of the last revision and lists only the entries that differ. A position does
not say which colours are still in the game. There is no errorpacket, and pauses are not announced; a client whose
request was wrong is only disconnected. Sources: the seed document of this revision and, where it says nothing, release
21.1.0.
"""

from __future__ import annotations

from typing import Final

from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects import blokus_position, lobby, room
from spielleiter.protocol.dialects.attribute_packets import empty_writer
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.dialects.blokus_texts_2021_r1 import TEXTS
from spielleiter.protocol.messages import CloseConnection, ErrorMessage, ErrorPacket, JoinedGameRoom, Memento, Paused

SET_CLASS: Final = ' class="linked-hash-set"'
MAP_CLASS: Final = ' class="linked-hash-map"'

_CLOSE_TAGS: Final = frozenset({lobby.CLOSE, lobby.CLOSE_RESPONSE})

BLOKUS_2021_R2: Final[Dialect] = BLOKUS_2021_R3.evolve(
    name="blokus-2021-r2",
    texts=TEXTS,
    readers={
        **{tag: None for tag in lobby.READERS if "." in tag and tag not in _CLOSE_TAGS},
        "errorpacket": None,
    },
    data_readers={
        **{name: None for name in room.DATA_READERS if "." in name and name != room.MOVE_REQUEST},
        "sc.protocol.room.MementoMessage": None,
        "error": room.error_reader("originalRequest"),
        "paused": None,
    },
    writers={
        CloseConnection: empty_writer(lobby.CLOSE_RESPONSE),
        ErrorPacket: None,
        JoinedGameRoom: lobby.write_joined_game_room_existing,
    },
    data_writers={
        ErrorMessage: room.error_writer("originalRequest"),
        Paused: None,
        Memento: blokus_position.MementoWriter(
            blokus_position.turn_round_start_piece,
            blokus_position.start_team,
            blokus_position.board,
            blokus_position.shape_lists(SET_CLASS),
            blokus_position.last_move_mono(MAP_CLASS),
            blokus_position.players,
            blokus_position.last_move,
        ),
    },
    welcome_names=("one", "two"),
    unnamed="Unknown",
)
