"""Mississippi Queen in a terminal: the river in hexes, and what each ship has."""

from __future__ import annotations

from typing import Final

from spielleiter.common.text import JOINT
from spielleiter.game.mississippi_queen import Hex, MississippiQueenState, Pier, Terrain
from spielleiter.viewer.terminal import (
    TEAM_STYLES,
    Canvas,
    TerminalDrawing,
    fitting,
    labelled,
    player_name,
    progress,
)

_LETTERS: Final = {Terrain.ISLAND: "#", Terrain.GOAL: "G", Terrain.SANDBANK: ":"}
_CURRENT: Final = "~"
_ARROWS: Final = (">", "\\", "/", "<", "\\", "/")
"""How a ship or a pier points, by direction; up and down look alike, so the direction is also named."""
_LEGEND: Final = tuple(
    JOINT.join(pair) for pair in (("~", "current"), ("#", "island"), ("P1", "pier"), (":", "sandbank"), ("G", "goal"))
)


def _draw(state: MississippiQueenState, names: tuple[str, str], canvas: Canvas) -> list[str] | None:
    """Return the river with two characters for each half of a hex, so that neighbours touch."""
    river = state.river.as_seen()
    column_of = {place: 2 * place.q + place.r for place in river.cells}
    left, top = min(column_of.values()), min(place.r for place in river.cells)
    lines = []
    for r in range(top, max(place.r for place in river.cells) + 1):
        row = sorted((column, place) for place, column in column_of.items() if place.r == r)
        text, at = "", left
        for column, place in row:
            text += "  " * (column - at) + _cell(state, place, canvas)
            at = column + 2
        lines.append(text.rstrip())
    if 2 * (max(column_of.values()) - left) + 4 > canvas.columns:
        lines = []  # the rest is still of use
    for seat, ship in enumerate(state.ships):
        stuck = ", stuck" if ship.is_stuck else ""
        text = (
            f"{player_name(names, seat)}: to the {_words(ship.direction.name)}, speed {ship.speed}, "
            f"{ship.coal} coal, {ship.passengers} passengers, {ship.points} points{stuck}"
        )
        lines += labelled(canvas, str(seat + 1), TEAM_STYLES[seat], text)
    seen = f"{len(river.segments)} segments, then to the {_words(river.next_direction.name)}"
    lines += progress(state, names, str(state.seat_on_turn + 1), canvas.columns, seen)
    return fitting(canvas, lines, _LEGEND)


def _cell(state: MississippiQueenState, place: Hex, canvas: Canvas) -> str:
    """Return a field in four characters."""
    here = [seat for seat, ship in enumerate(state.ships) if ship.position == place]
    if here:
        ships = "".join(
            canvas.style(f"{seat + 1}{_ARROWS[state.ships[seat].direction]}", **TEAM_STYLES[seat]) for seat in here
        )
        return f"{ships:4}" if not canvas.is_coloured else ships + " " * (4 - 2 * len(here))
    cell = state.river.cells[place]
    if isinstance(cell.field, Pier):
        return f"P{min(cell.field.passengers, 9)}{_ARROWS[cell.field.direction]} "
    letter = _CURRENT if cell.has_current else _LETTERS.get(cell.field, canvas.empty)
    return f"{letter}   "


def _words(direction: str) -> str:
    return direction.replace("_", " ").lower()


DRAWING: Final = TerminalDrawing(_draw)
