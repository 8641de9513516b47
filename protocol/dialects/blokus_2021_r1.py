"""The dialect of Blokus 2021 in the first revision of the documents.

Invariants: it is derived from the dialect of the middle revision. In addition, a position has the list of colours that
are still in the game, the index of the colour on turn in that list, and the colour that began. The rules count the
turns of colours that have left the game; release 21.1.0 did not, so a position that was read also keeps the received
numbers. Sources: the seed document of this revision, and packets of release 21.1.0.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from spielleiter.game.blokus.pieces import Color
from spielleiter.game.blokus.state import RULES_2021, BlokusState
from spielleiter.protocol.dialect import Dialect, Reading
from spielleiter.protocol.dialects import blokus, blokus_position
from spielleiter.protocol.dialects.blokus_2021_r2 import BLOKUS_2021_R2, MAP_CLASS, SET_CLASS
from spielleiter.protocol.messages import Memento
from spielleiter.protocol.reading import Element, UnreadableError, read_enum_text, read_integer
from spielleiter.protocol.writer import leaf


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
        Memento: blokus_position.MementoWriter(
            _attributes,
            blokus_position.start_team,
            blokus_position.board,
            blokus_position.shape_lists(SET_CLASS),
            blokus_position.last_move_mono(MAP_CLASS),
            blokus_position.colors("orderedColors"),
            blokus_position.players,
            blokus_position.last_move,
            blokus_position.part(_start_color, "state.rules"),
        ),
    },
)
