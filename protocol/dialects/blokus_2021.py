"""The dialects of Blokus 2021: the three revisions of the documents, and release 21.4.0.

`BLOKUS_2021_R3` has the packets of releases 21.3.1 to 21.4.0, with the defaults of the last documents, and ignores
unknown elements. The others are derived from it and list only the entries that differ. `BLOKUS_2021_RELEASE` reads
packets as release 21.4.0 did. Sources: the seed documents of the revisions, packets of release 21.1.0, and its classes.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, fields, replace
from typing import Final

from spielleiter.game.api import Mistake, Move, Seat, State
from spielleiter.game.blokus.moves import BlokusMistake, SetMove, SkipMove
from spielleiter.game.blokus.pieces import SIZE, Cell, Color, bit, edge_neighbors, hash_order, orientation
from spielleiter.game.blokus.state import RULES_2021, BlokusState
from spielleiter.protocol.dialect import Dialect, Reading
from spielleiter.protocol.dialects import blokus, packets, release_requests
from spielleiter.protocol.dialects.blokus import (
    MISTAKE_TEXTS,
    MISTAKES_WITHOUT_MOVE,
    describe_move,
    plain_set_move,
    release_move_readers,
)
from spielleiter.protocol.dialects.packets import empty_writer
from spielleiter.protocol.messages import (
    Aggregation,
    CloseConnection,
    ErrorMessage,
    ErrorPacket,
    Fragment,
    JoinedGameRoom,
    Memento,
    MoveData,
    Paused,
    RoomData,
    Slot,
    UnreadableData,
)
from spielleiter.protocol.reading import Element, UnreadableError, read_enum_text, read_integer
from spielleiter.protocol.texts import (
    LEFT_REASON,
    MoveRefusal,
    Texts,
    invalid_move_error,
    release_texts,
    unreadable_reason,
)
from spielleiter.protocol.writer import leaf

# -- the last revision, and release 21.4.0 ----------------------------------------------------------------------------


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
    readers=packets.READERS,
    data_readers={
        **packets.DATA_READERS,
        **_MOVES,
        "memento": _READ_MEMENTO,
        "sc.protocol.room.MementoMessage": _READ_MEMENTO,
    },
    writers=packets.WRITERS,
    data_writers={
        **packets.DATA_WRITERS,
        MoveData: blokus.move_writer(PACKAGE),
        Memento: blokus.MementoWriter(
            blokus.turn_round_start_piece,
            blokus.start_team,
            blokus.shape_lists(),
            blokus.colors("validColors"),
            blokus.players,
            blokus.board,
            blokus.last_move,
            blokus.last_move_mono(),
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
        packets.CLOSE_RESPONSE: None,
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
    writers={JoinedGameRoom: packets.write_joined_game_room_count},
    data_writers={MoveData: blokus.move_writer(PACKAGE, has_hints=False)},
    slot_defaults=Slot(None, can_timeout=False, is_reserved=False),
    slot_attributes=("displayName", "canTimeout", "reserved"),
    own_requests=packets.OWN_REQUESTS,
    is_strict=True,
)


# -- the texts of release 21.1.0, in English, with the cell or piece in question --------------------------------------


_TEAM_NAMES: Final = ("Player One", "Player Two")
_NOT_REQUESTED: Final = "We didn't request a data from you yet."


def describe_move_r1(move: Move | None) -> str:
    """Return what `toString` returns for a move in that release.

    >>> from spielleiter.game.blokus import Color
    >>> describe_move_r1(SkipMove(Color.RED))
    'RED skipped'
    """
    if isinstance(move, SetMove):
        flipped = " (flipped)" if move.is_flipped else ""
        return f"{move.color.name} Piece {move.shape.name}:{move.rotation.value}{flipped} [{move.x},{move.y}]"
    if isinstance(move, SkipMove):
        return f"{'null' if move.color is None else move.color.name} skipped"
    return "null"


_GERMAN: Final = release_texts(
    mistake_texts=MISTAKE_TEXTS,
    mistakes_without_move=MISTAKES_WITHOUT_MOVE,
    describe_move=describe_move_r1,
    team_names=_TEAM_NAMES,
)
"""The texts of later releases, for the cases in which these releases sent none. They appear only in logs."""


def explain_mistake(mistake: Mistake, move: Move, state: State) -> str:
    """Return the text about `move`, in which the rules have found `mistake`; `state` is the position before it."""
    assert isinstance(state, BlokusState)
    if isinstance(move, SkipMove):
        if mistake is BlokusMistake.SKIP_FIRST_TURN:
            return f"Can't Skip on first round; move was {describe_move_r1(SkipMove(state.color_on_turn))}"
        return f"Expected move from {state.color_on_turn.name}; move was {describe_move_r1(move)}"
    assert isinstance(move, SetMove)
    if mistake is BlokusMistake.WRONG_SHAPE:
        return f"{move.shape.name} is not the requested first shape, {state.start_shape.name}"
    if mistake is BlokusMistake.DUPLICATE_SHAPE:
        return f"Piece {move.shape.name} has already been placed before"
    return f"{_explain_placement(mistake, move, state)}; move was {describe_move_r1(move)}"


def _explain_placement(mistake: Mistake, move: SetMove, state: BlokusState) -> str:
    if mistake is BlokusMistake.WRONG_COLOR:
        return f"Expected move from {state.color_on_turn.name}"
    if mistake is BlokusMistake.NOT_IN_CORNER:
        return "The Piece isn't located in a corner"
    if mistake is BlokusMistake.NO_SHARED_CORNER:
        return f"{describe_move_r1(move)} shares no corner with another piece of same color"
    x, y = _faulty_cell(move, state)
    if mistake is BlokusMistake.OUT_OF_BOUNDS:
        return f"Field [{x}, {y}] is out of bounds"
    owner = state.color_at(x, y)
    if owner is not None:
        return f"Field [{x}, {y}] already belongs to {owner.name}"
    return f"Field [{x}, {y}] already borders on {move.color.name}"


def _faulty_cell(move: SetMove, state: BlokusState) -> Cell:
    """Return the first cell that cannot be covered, in the order in which the rules check the cells."""
    piece = orientation(move.shape, move.rotation, move.is_flipped)
    own = state.cells[move.color]
    return next(
        (x, y)
        for x, y in hash_order((move.x + dx, move.y + dy) for dx, dy in piece.cells)
        if not (0 <= x < SIZE and 0 <= y < SIZE) or state.color_at(x, y) is not None or edge_neighbors(bit(x, y)) & own
    )


def _refuse_illegal(name: str, mistake: Mistake, move: Move, state: State) -> MoveRefusal:
    reason = explain_mistake(mistake, move, state)
    return MoveRefusal(reason, invalid_move_error(name, reason), reason, None, None)


def _refuse_unreadable(name: str, data: UnreadableData) -> MoveRefusal:
    reason = unreadable_reason(data.problem)
    return MoveRefusal(reason, invalid_move_error(name, reason), reason, None, None)


def _refuse_out_of_turn(
    _active: Seat | None, on_turn: Seat, actual: Seat, names: tuple[str, str], data: RoomData
) -> MoveRefusal:
    if actual == on_turn:
        error = _NOT_REQUESTED
    else:
        awaited, sender = (f"{_TEAM_NAMES[seat]}({names[seat]})" for seat in (on_turn, actual))
        sent = _GERMAN.describe_data(data)
        error = f"It's not your turn yet; expected: {awaited}, got: {sender} (msg was {sent})."
    return MoveRefusal(LEFT_REASON, error, error, None, data)


_TEXTS_R1: Final[Texts] = dataclasses.replace(
    _GERMAN, illegal=_refuse_illegal, unreadable=_refuse_unreadable, out_of_turn=_refuse_out_of_turn
)


# -- the middle revision ----------------------------------------------------------------------------------------------


SET_CLASS: Final = ' class="linked-hash-set"'
MAP_CLASS: Final = ' class="linked-hash-map"'

_CLOSE_TAGS: Final = frozenset({packets.CLOSE, packets.CLOSE_RESPONSE})

BLOKUS_2021_R2: Final[Dialect] = BLOKUS_2021_R3.evolve(
    name="blokus-2021-r2",
    texts=_TEXTS_R1,
    readers={
        **{tag: None for tag in packets.READERS if "." in tag and tag not in _CLOSE_TAGS},
        "errorpacket": None,
    },
    data_readers={
        **{name: None for name in packets.DATA_READERS if "." in name and name != packets.MOVE_REQUEST},
        "sc.protocol.room.MementoMessage": None,
        "error": packets.error_reader("originalRequest"),
        "paused": None,
    },
    writers={
        CloseConnection: empty_writer(packets.CLOSE_RESPONSE),
        ErrorPacket: None,
        JoinedGameRoom: packets.write_joined_game_room_existing,
    },
    data_writers={
        ErrorMessage: packets.error_writer("originalRequest"),
        Paused: None,
        Memento: blokus.MementoWriter(
            blokus.turn_round_start_piece,
            blokus.start_team,
            blokus.board,
            blokus.shape_lists(SET_CLASS),
            blokus.last_move_mono(MAP_CLASS),
            blokus.players,
            blokus.last_move,
        ),
    },
    welcome_names=("one", "two"),
    unnamed="Unknown",
)


# -- the first revision -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CountedState(BlokusState):
    """A position whose sender counts turns or rounds differently. Only the writer uses these numbers."""

    counted_turn: int = 0
    counted_round: int = 1


# -- writing ----------------------------------------------------------------------------------------------------------


def _attributes(state: BlokusState) -> str:
    turn, round_ = state.turn, state.round
    if isinstance(state, CountedState):
        turn, round_ = state.counted_turn, state.counted_round
    colors = state.valid_colors
    index = colors.index(state.color_on_turn) if state.color_on_turn in colors else 0
    return f' currentColorIndex="{index}" turn="{turn}" round="{round_}" startPiece="{state.start_shape.name}"'


def _start_color(_memento: Memento, _state: BlokusState, _dialect: Dialect, indent: str) -> str:
    return leaf(indent, "startColor", Color.BLUE.name)


# -- reading ----------------------------------------------------------------------------------------------------------

_read_common: Final = blokus.memento_reader(RULES_2021, "orderedColors", "startColor")


def read_memento(data: Element, reading: Reading) -> Memento:
    """Read a position. Its turn becomes the next turn of the colour on turn, regardless of how the sender counts."""
    memento = _read_common(data, reading)
    assert isinstance(memento, Memento)
    assert isinstance(memento.state, BlokusState)
    state = reading.children(data, "state")["state"]
    return Memento(_with_colors(memento.state, state, reading), memento.names, memento.hints)


def _with_colors(plain: BlokusState, state: Element, reading: Reading) -> BlokusState:
    ordered = next((child for child in state if child.tag == "orderedColors"), None)
    if ordered is None:
        raise UnreadableError("im Element state fehlt das Element orderedColors")
    colors = _read_colors(ordered, reading)
    index = read_integer(state, "currentColorIndex")
    if not 0 <= index < max(len(colors), 1):
        raise UnreadableError(f'state currentColorIndex="{index}" ist keine Stelle in orderedColors')
    turn = plain.turn + (colors[index] - plain.turn) % len(Color) if colors else plain.turn
    counted = plain.turn, read_integer(state, "round")
    parts = {field.name: getattr(plain, field.name) for field in fields(plain)}
    parts.update(turn=turn, valid_mask=sum(1 << color for color in set(colors)))
    recounted = BlokusState(**parts)
    return (
        recounted
        if counted == (recounted.turn, recounted.round)
        else CountedState(**parts, counted_turn=counted[0], counted_round=counted[1])
    )


def _read_colors(ordered: Element, reading: Reading) -> list[Color]:
    colors = []
    for child in ordered:
        if child.tag == "color":
            colors.append(read_enum_text(child, blokus.COLORS))
        else:
            reading.skip(child, ordered)
    return colors


BLOKUS_2021_R1: Final[Dialect] = BLOKUS_2021_R2.evolve(
    name="blokus-2021-r1",
    data_readers={"memento": read_memento},
    data_writers={
        Memento: blokus.MementoWriter(
            _attributes,
            blokus.start_team,
            blokus.board,
            blokus.shape_lists(SET_CLASS),
            blokus.last_move_mono(MAP_CLASS),
            blokus.colors("orderedColors"),
            blokus.players,
            blokus.last_move,
            blokus.part(_start_color, "state.rules"),
        ),
    },
)
