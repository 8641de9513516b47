"""The dialect of Blokus 2027.

Invariants: it is derived from the dialect of the season 2021 and lists only the entries that differ. Source: packets of
release 27.0.4, whose server also decides how packets are read.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from spielleiter.game.api import Seat
from spielleiter.game.blokus.moves import BlokusMistake
from spielleiter.game.blokus.state import RULES_2027, BlokusState
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects import blokus, blokus_position, lobby, release_requests, room, verdict
from spielleiter.protocol.dialects.attribute_packets import empty_writer
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.dialects.blokus_plain_move import plain_set_move
from spielleiter.protocol.dialects.blokus_release_moves import release_move_readers
from spielleiter.protocol.dialects.blokus_texts import MISTAKE_TEXTS, MISTAKES_WITHOUT_MOVE, describe_move
from spielleiter.protocol.messages import (
    Aggregation,
    CloseConnection,
    Fragment,
    JoinedGameRoom,
    Memento,
    MoveData,
    MoveRequest,
    PlayerScore,
    PrepareRequest,
    Result,
    RoomData,
    ScoreForPlayerRequest,
    Slot,
    Testing,
    TestModeRequest,
)
from spielleiter.protocol.texts import MoveRefusal, Texts, german_seconds, release_texts
from spielleiter.protocol.writer import Body

PACKAGE: Final = "sc.plugin2027"

_TEAM_NAMES: Final = ("ONE", "TWO")
_REQUEST_NAME: Final = "sc.protocol.room.MoveRequest"
_REMOVED: Final = {lobby.READERS[tag] for tag in ("testMode", "testing", "scoreForPlayer", "playerScore")}

# -- texts ------------------------------------------------------------------------------------------------------------

_COMMON_TEXTS: Final = release_texts(
    mistake_texts={**MISTAKE_TEXTS, BlokusMistake.WRONG_COLOR: "Nur eigene Spielfiguren können gezogen werden"},
    mistakes_without_move=MISTAKES_WITHOUT_MOVE,
    describe_move=describe_move,
    team_names=_TEAM_NAMES,
    before_move="bei",
    move_request_name=_REQUEST_NAME,
)


def _refuse_out_of_turn(
    _active: Seat | None, on_turn: Seat, actual: Seat, names: tuple[str, str], data: RoomData
) -> MoveRefusal:
    """Return the texts for a player that loses the game; the reason in the result is the text of the error."""
    if actual == on_turn:
        error = f"Move from {_TEAM_NAMES[actual]}({names[actual]}) has not been requested."
    else:
        error = _COMMON_TEXTS.out_of_turn(on_turn, on_turn, actual, names, data).error
    return MoveRefusal(error, error, error, None, data)


def _without_packet(refusal: MoveRefusal) -> MoveRefusal:
    """Return `refusal` without an errorpacket, since the player stays connected."""
    return dataclasses.replace(refusal, packet=None)


def _soft_timeout_reason(seconds: float) -> str:
    return f"{verdict.SOFT_TIMEOUT_START} laenger als {german_seconds(seconds)} Sekunden gebraucht."


def _hard_timeout_reason(seconds: float) -> str:
    return f"{verdict.HARD_TIMEOUT_START} {german_seconds(seconds)} Sekunden nach Aufforderung keinen Zug gesendet."


TEXTS: Final[Texts] = dataclasses.replace(
    _COMMON_TEXTS,
    illegal=lambda name, mistake, move, state: _without_packet(_COMMON_TEXTS.illegal(name, mistake, move, state)),
    unreadable=lambda name, data: _without_packet(_COMMON_TEXTS.unreadable(name, data)),
    out_of_turn=_refuse_out_of_turn,
    departure_reason=lambda departure: f"{verdict.LEFT_START}: {departure.value}",
    soft_timeout_reason=_soft_timeout_reason,
    hard_timeout_reason=_hard_timeout_reason,
)
"""The reasons do not contain the player's name: the result writes it before them."""

# -- the dialect ------------------------------------------------------------------------------------------------------

_MOVES: Final = release_move_readers(PACKAGE, "sc.api.plugins.Coordinates")
_READ_MEMENTO: Final = blokus.memento_reader(RULES_2027)


def _attributes(state: BlokusState) -> str:
    return (
        f' startTeam="{_TEAM_NAMES[0]}" turn="{state.turn}" startPiece="{state.start_shape.name}" round="{state.round}"'
    )


def _write_prepare(message: PrepareRequest, dialect: Dialect, indent: str) -> Body:
    """Write a request. In this season only a game can be paused, not a slot, so a paused slot pauses the game."""
    is_paused = message.is_paused or any(slot.should_be_paused for slot in message.slots)
    slots = tuple(dataclasses.replace(slot, should_be_paused=False) for slot in message.slots)
    return lobby.write_prepare(dataclasses.replace(message, is_paused=is_paused, slots=slots), dialect, indent)


BLOKUS_2027: Final[Dialect] = BLOKUS_2021_R3.evolve(
    name="blokus-2027",
    texts=TEXTS,
    score_definition=(Fragment("Siegpunkte", Aggregation.SUM), Fragment("Punkte", Aggregation.AVERAGE)),
    readers={
        **dict.fromkeys(tag for tag, reader in lobby.READERS.items() if reader in _REMOVED),
        **release_requests.READERS,
        lobby.CLOSE_RESPONSE: None,
    },
    data_readers={
        **release_requests.data_readers(
            {
                **BLOKUS_2021_R3.data_readers,
                "memento": _READ_MEMENTO,
                "sc.protocol.room.MementoMessage": _READ_MEMENTO,
                "sc.protocol.room.WelcomeMessage": room.read_welcome,
            }
        ),
        **dict.fromkeys(BLOKUS_2021_R3.move_classes),
        **_MOVES,
        room.MOVE_REQUEST: None,
        "moveRequest": room.read_move_request,
        _REQUEST_NAME: room.read_move_request,
        "result": verdict.read_result,
        "sc.shared.GameResult": verdict.read_result,
    },
    writers={
        CloseConnection: empty_writer("close"),
        JoinedGameRoom: lobby.write_joined_game_room_count,
        PlayerScore: None,
        PrepareRequest: _write_prepare,
        ScoreForPlayerRequest: None,
        Testing: None,
        TestModeRequest: None,
    },
    data_writers={
        MoveData: blokus.move_writer(PACKAGE, has_hints=False),
        MoveRequest: empty_writer("moveRequest"),
        Result: verdict.write_result,
        Memento: blokus_position.MementoWriter(
            _attributes,
            blokus_position.last_move,
            blokus_position.board,
            blokus_position.last_move_mono(),
            blokus_position.shape_lists(),
            blokus_position.colors("validColors"),
        ),
    },
    move_classes=tuple(_MOVES),
    plain_forms=(plain_set_move(PACKAGE),),
    slot_defaults=Slot(None, can_timeout=False, is_reserved=False),
    slot_attributes=("displayName", "canTimeout", "reserved"),
    own_requests=lobby.OWN_REQUESTS,
    is_strict=True,
)
