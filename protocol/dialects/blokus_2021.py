"""The dialect of Blokus 2021: the last revision of the documents, and release 21.4.0.

Invariants: `BLOKUS_2021_RELEASE` is derived from `BLOKUS_2021_R3` and lists only the entries that differ.
`BLOKUS_2021_R3` has the packets of releases 21.3.1 to 21.4.0, with the defaults of the documents, and ignores unknown
elements. `BLOKUS_2021_RELEASE` reads packets as release 21.4.0 did.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from spielleiter.game.blokus.state import RULES_2021
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects import blokus, blokus_position, lobby, release_requests, room
from spielleiter.protocol.dialects.blokus_plain_move import plain_set_move
from spielleiter.protocol.dialects.blokus_release_moves import release_move_readers
from spielleiter.protocol.dialects.blokus_texts import MISTAKE_TEXTS, MISTAKES_WITHOUT_MOVE, describe_move
from spielleiter.protocol.messages import Aggregation, Fragment, JoinedGameRoom, Memento, MoveData, Slot
from spielleiter.protocol.texts import release_texts

PACKAGE: Final = "sc.plugin2021"

_MOVES: Final = blokus.move_readers(PACKAGE)
_READ_MEMENTO: Final = blokus.memento_reader(RULES_2021)

BLOKUS_2021_R3: Final = Dialect(
    name="blokus-2021-r3",
    texts=release_texts(
        mistake_texts=MISTAKE_TEXTS,
        mistakes_without_move=MISTAKES_WITHOUT_MOVE,
        describe_move=describe_move,
        team_names=("Team 1", "Team 2"),
    ),
    score_definition=(Fragment("Gewinner", Aggregation.SUM), Fragment("∅ Punkte", Aggregation.AVERAGE)),
    readers=lobby.READERS,
    data_readers={
        **room.DATA_READERS,
        **_MOVES,
        "memento": _READ_MEMENTO,
        "sc.protocol.room.MementoMessage": _READ_MEMENTO,
    },
    writers=lobby.WRITERS,
    data_writers={
        **room.DATA_WRITERS,
        MoveData: blokus.move_writer(PACKAGE),
        Memento: blokus_position.MementoWriter(
            blokus_position.turn_round_start_piece,
            blokus_position.start_team,
            blokus_position.shape_lists(),
            blokus_position.colors("validColors"),
            blokus_position.players,
            blokus_position.board,
            blokus_position.last_move,
            blokus_position.last_move_mono(),
        ),
    },
    move_classes=tuple(_MOVES),
    plain_forms=(plain_set_move(PACKAGE),),
    played_on=blokus.played_on,
)

_READ_RELEASE_MEMENTO: Final = blokus.memento_reader(replace(RULES_2021, ends_with_finished_color=False))

BLOKUS_2021_RELEASE: Final = BLOKUS_2021_R3.evolve(
    name="blokus-2021-21.4.0",
    readers={
        **release_requests.READERS,
        **release_requests.TEST_MODE_READERS,
        "close": None,
        lobby.CLOSE_RESPONSE: None,
    },
    data_readers={
        **release_requests.data_readers(
            {
                **BLOKUS_2021_R3.data_readers,
                "memento": _READ_RELEASE_MEMENTO,
                "sc.protocol.room.MementoMessage": _READ_RELEASE_MEMENTO,
            }
        ),
        **release_move_readers(PACKAGE, f"{PACKAGE}.Coordinates"),
    },
    writers={JoinedGameRoom: lobby.write_joined_game_room_count},
    data_writers={MoveData: blokus.move_writer(PACKAGE, has_hints=False)},
    slot_defaults=Slot(None, can_timeout=False, is_reserved=False),
    slot_attributes=("displayName", "canTimeout", "reserved"),
    own_requests=lobby.OWN_REQUESTS,
    is_strict=True,
)
