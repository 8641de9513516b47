"""Positions drawn as text, for people.

A drawing fits into its canvas, and no word in it is split. Colours are never the only difference: everything coloured
also has a letter. Every character except `Canvas.empty` and those of names is ASCII.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final, cast

import click

from spielleiter.common.imports import imported_if_there
from spielleiter.common.text import printable, shortened, wrapped
from spielleiter.game.api import Seat, State, package_of

TEAM_STYLES: Final[tuple[Mapping[str, str], ...]] = (
    {"fg": "bright_white", "bg": "red"},
    {"fg": "bright_white", "bg": "blue"},
)
"""The colours of the players in a game in which they are red and blue."""

GAP: Final = "   "
"""What is between a board and the text beside it."""

_LONGEST_NAME: Final = 20


@dataclass(frozen=True, slots=True)
class Canvas:
    """The size of a drawing in characters, and its style."""

    columns: int = 79
    rows: int = 23
    is_coloured: bool = False
    empty: str = "."
    """The character for an empty cell."""

    def style(self, text: str, **styles: Any) -> str:
        """Return `text` in the given colours, if this canvas has colours."""
        return click.style(text, **styles) if self.is_coloured else text


@dataclass(frozen=True, slots=True)
class TerminalDrawing:
    """How positions of one game are drawn, and which colours each seat plays (empty if it plays only one).

    A game's own one is `DRAWING` of its module `terminal` in `viewer/games/`.
    """

    draw: Callable[[Any, tuple[str, str], Canvas], list[str] | None]
    colors: Sequence[Sequence[str]] = ((), ())


def player_name(names: tuple[str, str], seat: Seat) -> str:
    """Return what a player is called in a drawing."""
    return shortened(printable(names[seat]), _LONGEST_NAME) or f"player {seat + 1}"


def next_player(state: State, names: tuple[str, str], side: str) -> str:
    """Return who is next, or that the game is over; `side` is what the player to move is called in this game."""
    return (
        "the game is over"
        if state.outcome() is not None
        else f"next: {side} ({player_name(names, state.seat_on_turn)})"
    )


def labelled(canvas: Canvas, label: str, style: Mapping[str, str], text: str) -> list[str]:
    """Return lines with a label in the colours `style`, and after it `text`."""
    first, *rest = wrapped(f"{label} {text}", canvas.columns)
    return [canvas.style(label, **style) + first.removeprefix(label), *rest]


def progress(state: Any, names: tuple[str, str], side: str, columns: int, *more: str) -> list[str]:
    """Return lines that say how far the game is, who is next, `more`, and what the last move was."""
    lines = wrapped(
        ", ".join([f"turn {state.turn}, round {state.round}", next_player(state, names, side), *more]), columns
    )
    return lines if state.last_move is None else lines + wrapped(f"last: {state.last_move}", columns)


def beside(board: Sequence[str], columns: int, text: Sequence[str]) -> list[str]:
    """Return the rows of a board with `text` at their right; each row is `columns` columns wide."""
    rows = zip_longest(board, text, fillvalue="")
    return [f"{row or ' ' * columns}{GAP}{line}".rstrip() for row, line in rows]


def with_text(
    canvas: Canvas, board: Sequence[str], columns: int, least: int, text_of: Callable[[int], list[str]]
) -> list[str] | None:
    """Return a board with the text beside it if it has `least` columns there, otherwise below it; None: too large.

    `text_of` returns the text for a number of columns.
    """
    left = canvas.columns - columns - len(GAP)
    if left >= least:
        return fitting(canvas, beside(board, columns, text_of(left)))
    return fitting(canvas, [row.rstrip() for row in board] + text_of(canvas.columns))


def fitting(canvas: Canvas, lines: list[str], legend: Sequence[str] = ()) -> list[str] | None:
    """Return `lines`, with the entries of a legend if there is space for them; None if the lines do not fit."""
    below = wrapped(", ".join(legend), canvas.columns) if legend else []
    if len(lines) + len(below) <= canvas.rows:
        return lines + below
    return lines if len(lines) <= canvas.rows else None


def _drawing(state: State) -> TerminalDrawing | None:
    return cast("TerminalDrawing | None", imported_if_there(f"viewer.games.{package_of(state)}.terminal:DRAWING"))


def draw(state: State, names: tuple[str, str], canvas: Canvas) -> list[str] | None:
    """Return the position as lines of text; None if the game has no drawing or the canvas is too small.

    `names` are by seat; the name of a player without one is empty.
    """
    drawing = _drawing(state)
    return None if drawing is None else drawing.draw(state, names, canvas)


def colors_of(state: State, seat: Seat) -> tuple[str, ...]:
    """Return the colours that a seat plays in this game; empty if it plays only one."""
    drawing = _drawing(state)
    return () if drawing is None else tuple(drawing.colors[seat])
