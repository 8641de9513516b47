"""The dialects of Blokus 2021: the three revisions of the documents, and release 21.4.0.

`BLOKUS_2021_R3` has the packets of releases 21.3.1 to 21.4.0, with the defaults of the last documents, and ignores
unknown elements. The others are derived from it and list only the entries that differ. `BLOKUS_2021_RELEASE` reads
packets as release 21.4.0 did. Sources: the seed documents of the revisions, packets of release 21.1.0, and its classes.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from spielleiter.game.api import Mistake, Move, Seat, State
from spielleiter.game.blokus.moves import BlokusMistake, SetMove, SkipMove
from spielleiter.game.blokus.pieces import SIZE, Color, bit, edge_neighbors, hash_order, orientation
from spielleiter.game.blokus.state import RULES_2021, BlokusState
from spielleiter.protocol import messages as m
from spielleiter.protocol.dialect import Dialect, Reading
from spielleiter.protocol.dialects import blokus, packets, release_requests
from spielleiter.protocol.dialects.blokus import (
    MISTAKE_TEXTS,
    MISTAKES_WITHOUT_MOVE,
    describe_move,
    plain_set_move,
    release_move_readers,
)
from spielleiter.protocol.texts import (
    LEFT_REASON,
    MoveRefusal,
    Texts,
    early_refusal,
    release_texts,
    unreadable_reason,
)
from spielleiter.protocol.values import Element, UnreadableError, read_enum_text, read_integer
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
    score_definition=(m.Fragment("Gewinner", m.Aggregation.SUM), m.Fragment("∅ Punkte", m.Aggregation.AVERAGE)),
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
        m.MoveData: blokus.move_writer(PACKAGE),
        m.Memento: blokus.MementoWriter(
            blokus.turn_round_start_piece,
            blokus.start_team,
            blokus.shape_lists(),
            blokus.colors("validColors"),
            blokus.players,
            blokus.board,
            blokus.last_move(PACKAGE),
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
        **release_requests.EXTENDED_READERS,
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
    writers={m.JoinedGameRoom: packets.joined_game_room_writer(has_count=True)},
    data_writers={m.MoveData: blokus.move_writer(PACKAGE, has_hints=False)},
    slot_defaults=m.Slot(None, can_timeout=False, is_reserved=False),
    slot_attributes=("displayName", "canTimeout", "reserved"),
    official_readers=release_requests.OFFICIAL_READERS,
    is_strict=True,
)


# -- the texts of release 21.1.0, in English, with the cell or piece in question --------------------------------------

_TEAM_NAMES: Final = ("Player One", "Player Two")


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
    if mistake is BlokusMistake.WRONG_COLOR:
        text = f"Expected move from {state.color_on_turn.name}"
    elif mistake is BlokusMistake.NOT_IN_CORNER:
        text = "The Piece isn't located in a corner"
    elif mistake is BlokusMistake.NO_SHARED_CORNER:
        text = f"{describe_move_r1(move)} shares no corner with another piece of same color"
    else:
        text = _explain_cell(move, state)
    return f"{text}; move was {describe_move_r1(move)}"


def _explain_cell(move: SetMove, state: BlokusState) -> str:
    """Return the text about the first cell that cannot be covered, in the order in which the rules check the cells."""
    cells = orientation(move.shape, move.rotation, move.is_flipped).cells
    own = state.cells[move.color]
    x, y = next(
        (x, y)
        for x, y in hash_order((move.x + dx, move.y + dy) for dx, dy in cells)
        if not (0 <= x < SIZE and 0 <= y < SIZE) or state.color_at(x, y) is not None or edge_neighbors(bit(x, y)) & own
    )
    if not (0 <= x < SIZE and 0 <= y < SIZE):
        return f"Field [{x}, {y}] is out of bounds"
    owner = state.color_at(x, y)
    if owner is not None:
        return f"Field [{x}, {y}] already belongs to {owner.name}"
    return f"Field [{x}, {y}] already borders on {move.color.name}"


def _refuse_out_of_turn(
    _active: Seat | None, on_turn: Seat, actual: Seat, names: tuple[str, str], data: m.RoomData
) -> MoveRefusal:
    if actual == on_turn:
        error = "We didn't request a data from you yet."
    else:
        awaited, sender = (f"{_TEAM_NAMES[seat]}({names[seat]})" for seat in (on_turn, actual))
        sent = _GERMAN.describe_data(data)
        error = f"It's not your turn yet; expected: {awaited}, got: {sender} (msg was {sent})."
    return MoveRefusal(LEFT_REASON, error, error, None, data)


_TEXTS_R1: Final[Texts] = replace(
    _GERMAN,
    illegal=lambda name, mistake, move, state: early_refusal(name, explain_mistake(mistake, move, state), None),
    unreadable=lambda name, data: early_refusal(name, unreadable_reason(data.problem), None),
    out_of_turn=_refuse_out_of_turn,
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
        m.CloseConnection: packets.attribute_writer(packets.CLOSE_RESPONSE),
        m.ErrorPacket: None,
        m.JoinedGameRoom: packets.joined_game_room_writer(has_existing=True),
    },
    data_writers={
        m.ErrorMessage: packets.error_writer("originalRequest"),
        m.Paused: None,
        m.Memento: blokus.MementoWriter(
            blokus.turn_round_start_piece,
            blokus.start_team,
            blokus.board,
            blokus.shape_lists(SET_CLASS),
            blokus.last_move_mono(MAP_CLASS),
            blokus.players,
            blokus.last_move(PACKAGE),
        ),
    },
    welcome_names=("one", "two"),
    unnamed="Unknown",
)


# -- the first revision -----------------------------------------------------------------------------------------------


class CountedState(BlokusState, frozen=True):
    """A position whose sender counts turns or rounds differently. Only the writer uses these numbers."""

    counted_turn: int = 0
    counted_round: int = 1


def _attributes_r1(state: BlokusState) -> str:
    turn, round_ = state.turn, state.round
    if isinstance(state, CountedState):
        turn, round_ = state.counted_turn, state.counted_round
    colors = state.valid_colors
    index = colors.index(state.color_on_turn) if state.color_on_turn in colors else 0
    return f' currentColorIndex="{index}" turn="{turn}" round="{round_}" startPiece="{state.start_shape.name}"'


_READ_COMMON: Final = blokus.memento_reader(RULES_2021, "orderedColors", "startColor")


def _read_memento_r1(data: Element, reading: Reading) -> m.Memento:
    """Read a position. Its turn becomes the next turn of the colour on turn, regardless of how the sender counts."""
    memento = _READ_COMMON(data, reading)
    assert isinstance(memento, m.Memento)
    plain = memento.state
    assert isinstance(plain, BlokusState)
    state = reading.children(data, "state")["state"]
    ordered = next((child for child in state if child.tag == "orderedColors"), None)
    if ordered is None:
        raise UnreadableError("im Element state fehlt das Element orderedColors")
    colors = [read_enum_text(child, blokus.COLORS) for child in reading.each(ordered, "color")]
    index = read_integer(state, "currentColorIndex")
    if not 0 <= index < max(len(colors), 1):
        raise UnreadableError(f'state currentColorIndex="{index}" ist keine Stelle in orderedColors')
    turn = plain.turn + (colors[index] - plain.turn) % len(Color) if colors else plain.turn
    counted = plain.turn, read_integer(state, "round")
    parts = {name: getattr(plain, name) for name in plain.__struct_fields__}
    parts.update(turn=turn, valid_mask=sum(1 << color for color in set(colors)))
    recounted = BlokusState(**parts)
    if counted != (recounted.turn, recounted.round):
        recounted = CountedState(**parts, counted_turn=counted[0], counted_round=counted[1])
    return m.Memento(recounted, memento.names, memento.hints)


BLOKUS_2021_R1: Final[Dialect] = BLOKUS_2021_R2.evolve(
    name="blokus-2021-r1",
    data_readers={"memento": _read_memento_r1},
    data_writers={
        m.Memento: blokus.MementoWriter(
            _attributes_r1,
            blokus.start_team,
            blokus.board,
            blokus.shape_lists(SET_CLASS),
            blokus.last_move_mono(MAP_CLASS),
            blokus.colors("orderedColors"),
            blokus.players,
            blokus.last_move(PACKAGE),
            blokus.part(lambda _memento, _state, _dialect, indent: leaf(indent, "startColor", "BLUE"), "state.rules"),
        ),
    },
)
