"""Positions drawn as text, for people.

A drawing fits into its canvas, and no word in it is split. Colours are never the only difference: everything coloured
also has a letter. Every character except `Canvas.empty` and those of names is ASCII.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import click

from spielleiter.common.imports import imported_if_there
from spielleiter.common.text import printable, shortened
from spielleiter.game.api import Seat, State, package_of

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
