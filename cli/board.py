"""Positions drawn as text, for people. Only the table `_DRAWINGS` knows concrete games.

A drawing fits into its canvas, and no word in it is split. Colours are never the only difference: everything coloured
also has a letter. Every character except `Canvas.empty` and those of names is ASCII.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import click

from spielleiter.cli.output import JOINT, printable, wrapped
from spielleiter.common.text import count_text, shortened
from spielleiter.game.api import Seat, State
from spielleiter.game.blokus.moves import SetMove
from spielleiter.game.blokus.pieces import SIZE, Color, orientation
from spielleiter.game.blokus.state import SEAT_OF_COLOR, BlokusState
from spielleiter.game.hase_und_igel.board import FieldType, PlayerColor
from spielleiter.game.hase_und_igel.state import HaseUndIgelState

_LONGEST_NAME: Final = 20
_GAP: Final = "   "


@dataclass(frozen=True, slots=True)
class Canvas:
    """The size of a drawing in characters, and its style."""

    columns: int = 79
    rows: int = 23
    is_coloured: bool = False
    empty: str = "."
    """The character for an empty cell."""

    def style(self, text: str, **styles: Any) -> str:
        """`text` in the given colours, if this canvas has colours."""
        return click.style(text, **styles) if self.is_coloured else text


def _name(names: tuple[str, str], seat: Seat) -> str:
    return shortened(printable(names[seat]), _LONGEST_NAME) or f"player {seat + 1}"


# -- Blokus -------------------------------------------------------------------------------------------------------

_COLORS: Final = tuple(Color)
_STYLES: Final[Mapping[Color, Mapping[str, str]]] = {
    Color.BLUE: {"fg": "bright_white", "bg": "blue"},
    Color.YELLOW: {"fg": "black", "bg": "yellow"},
    Color.RED: {"fg": "bright_white", "bg": "red"},
    Color.GREEN: {"fg": "black", "bg": "green"},
}
_LABEL: Final = 3  # columns for the row number
_PANEL: Final = 33


def _blokus(state: BlokusState, names: tuple[str, str], canvas: Canvas) -> list[str] | None:
    """The board with two columns for each cell, or one if two are too wide; the rest is beside or below the board."""
    cell_width = 2 if canvas.columns >= _LABEL + 2 * SIZE else 1
    width = _LABEL + cell_width * SIZE
    if canvas.columns < width or canvas.rows < SIZE:
        return None
    board = list(_blokus_rows(state, canvas, cell_width))
    if canvas.rows < len(board):
        return [row.rstrip() for row in board[1:]]
    if canvas.columns >= width + len(_GAP) + _PANEL:
        panel = _blokus_panel(state, names, canvas, canvas.columns - width - len(_GAP))
        return [(row + _GAP + line).rstrip() for row, line in zip(board, panel, strict=True)]
    return [row.rstrip() for row in board] + _blokus_summary(state, names, canvas)[: canvas.rows - len(board)]


def _blokus_rows(state: BlokusState, canvas: Canvas, cell_width: int) -> Iterator[str]:
    """The column numbers, then the rows; the cells of the last piece have a second letter."""
    numbers = (str(x) if cell_width > 1 else str(x % 10) for x in range(0, SIZE, 2))
    yield " " * _LABEL + "".join(number.ljust(2 * cell_width) for number in numbers)
    last: frozenset[tuple[int, int]] = frozenset()
    if isinstance(move := state.last_move, SetMove):
        turned = orientation(move.shape, move.rotation, move.is_flipped)
        last = frozenset((move.x + x, move.y + y) for x, y in turned.cells)
    for y in range(SIZE):
        cells = []
        for x in range(SIZE):
            color = state.color_at(x, y)
            if color is None:
                cells.append(canvas.style(canvas.empty, dim=True) + " " * (cell_width - 1))
            else:
                letter = color.name[0]
                text = letter * cell_width if (x, y) in last else letter.ljust(cell_width)
                cells.append(canvas.style(text, bold=(x, y) in last, **_STYLES[color]))
        yield f"{y:2} " + "".join(cells)


def _blokus_next(state: BlokusState, names: tuple[str, str]) -> str:
    if state.outcome() is not None:
        return "the game is over"
    return f"next: {state.color_on_turn.name} ({_name(names, state.seat_on_turn)})"


def _blokus_panel(state: BlokusState, names: tuple[str, str], canvas: Canvas, columns: int) -> list[str]:
    """The text beside the board; it has the same number of lines as the board."""
    lines = ["", f"turn {state.turn}, round {state.round}", ""]
    for seat in range(2):
        (points,) = state.points(seat)
        lines.append(f"{_name(names, seat)}: {points} points")
        for color in _COLORS:
            if SEAT_OF_COLOR[color] == seat:
                letter = canvas.style(f"{color.name[0]} ", **_STYLES[color])
                count = len(state.remaining_shapes(color))
                left = f"{count_text(count, 'piece')} left" if count else "all pieces placed"
                is_out = count and not state.valid_mask >> color & 1
                lines.append(f"  {letter} {color.name:6}  {left}{', out' if is_out else ''}")
        lines.append("")
    lines += wrapped(_blokus_next(state, names), columns)
    if state.last_move is not None:
        lines += wrapped(f"last: {state.last_move}", columns)
    return [*lines, *[""] * (SIZE + 1 - len(lines))]


def _blokus_summary(state: BlokusState, names: tuple[str, str], canvas: Canvas) -> list[str]:
    """The text below the board, with the most important line first."""
    sides = []
    for seat in range(2):
        letters = "".join(color.name[0] for color in _COLORS if SEAT_OF_COLOR[color] == seat)
        (points,) = state.points(seat)
        sides.append(f"{letters} {_name(names, seat)} {points}")
    lines = [" : ".join(sides), f"turn {state.turn}, round {state.round}, {_blokus_next(state, names)}"]
    if state.last_move is not None:
        lines.append(f"last: {state.last_move}")
    return [part for line in lines for part in wrapped(line, canvas.columns)]


# -- Hase und Igel ------------------------------------------------------------------------------------------------

_FIELD: Final = 5  # columns
_LEGEND: Final = tuple(
    JOINT.join((letter, name))
    for letter, name in (
        (FieldType.START.value, "start"),
        (FieldType.CARROT.value, "carrots"),
        (FieldType.HARE.value, "hare"),
        (f"{FieldType.POSITION_1.value}{JOINT}{FieldType.POSITION_2.value}", "position"),
        (FieldType.HEDGEHOG.value, "hedgehog"),
        (FieldType.SALAD.value, "salad"),
        (FieldType.GOAL.value, "goal"),
    )
)
_PLAYER_STYLES: Final[Mapping[PlayerColor, Mapping[str, str]]] = {
    PlayerColor.RED: {"fg": "bright_white", "bg": "red"},
    PlayerColor.BLUE: {"fg": "bright_white", "bg": "blue"},
}


def _hase_und_igel(state: HaseUndIgelState, names: tuple[str, str], canvas: Canvas) -> list[str] | None:
    """The track in rows: the number of each field, and below it the field's letter and the players on it."""
    in_a_row = min(canvas.columns // _FIELD, 13)
    if in_a_row < 1:
        return None
    fields = state.board.fields
    lines = []
    for start in range(0, len(fields), in_a_row):
        row = range(start, min(start + in_a_row, len(fields)))
        lines.append(canvas.style("".join(f"{index:<{_FIELD}}" for index in row).rstrip(), dim=True))
        cells = ""
        for index in row:
            here = [color for color in PlayerColor if state.players[color].index == index]
            letters = "".join(canvas.style(color.name[0], **_PLAYER_STYLES[color]) for color in here)
            cells += f"{fields[index].value} {letters}{' ' * (_FIELD - 2 - len(here))}"
        lines.append(cells.rstrip())
    for seat, color in enumerate(PlayerColor):
        player = state.players[seat]
        cards = ", ".join(card.name for card in player.cards) or "none"
        letter = color.name[0]
        first, *rest = wrapped(
            f"{letter} {_name(names, seat)}: field {player.index}, {player.carrots} carrots, {player.salads} salads, "
            f"cards: {cards}",
            canvas.columns,
        )
        lines += [canvas.style(letter, **_PLAYER_STYLES[color]) + first[1:], *rest]
    ending = "the game is over"
    if state.outcome() is None:
        ending = f"next: {state.color_on_turn.name} ({_name(names, state.seat_on_turn)})"
    lines += wrapped(f"turn {state.turn}, round {state.round}, {ending}", canvas.columns)
    if state.last_move is not None:
        lines += wrapped(f"last: {state.last_move}", canvas.columns)
    legend = wrapped(", ".join(_LEGEND), canvas.columns)
    if len(lines) + len(legend) <= canvas.rows:
        lines += legend
    return lines if len(lines) <= canvas.rows else None


# -- the table ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Drawing:
    """How positions of one game are drawn, and which colours each seat plays (empty if it plays only one)."""

    draw: Callable[[Any, tuple[str, str], Canvas], list[str] | None]
    colors: Sequence[Sequence[str]] = ((), ())


_DRAWINGS: Final[Mapping[type, _Drawing]] = MappingProxyType(
    {
        BlokusState: _Drawing(
            _blokus,
            [[color.name for color in _COLORS if SEAT_OF_COLOR[color] == seat] for seat in range(2)],
        ),
        HaseUndIgelState: _Drawing(_hase_und_igel),
    }
)


def _drawing(state: State) -> _Drawing | None:
    return next((_DRAWINGS[kind] for kind in type(state).__mro__ if kind in _DRAWINGS), None)


def draw(state: State, names: tuple[str, str], canvas: Canvas) -> list[str] | None:
    """The position as lines of text; None if the game has no drawing or the canvas is too small.

    `names` are by seat; the name of a player without one is empty.
    """
    picture = _drawing(state)
    return None if picture is None else picture.draw(state, names, canvas)


def colors_of(state: State, seat: Seat) -> tuple[str, ...]:
    """The colours that a seat plays in this game; empty if it plays only one."""
    picture = _drawing(state)
    return () if picture is None else tuple(picture.colors[seat])
