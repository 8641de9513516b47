"""Hase und Igel in a terminal: the track in rows, and what each player holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spielleiter.common.text import JOINT, wrapped
from spielleiter.game.hase_und_igel.board import FieldType, PlayerColor
from spielleiter.game.hase_und_igel.state import HaseUndIgelState
from spielleiter.viewer.terminal import Canvas, TerminalDrawing, player_name

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


def _draw(state: HaseUndIgelState, names: tuple[str, str], canvas: Canvas) -> list[str] | None:
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
            f"{letter} {player_name(names, seat)}: field {player.index}, "
            f"{player.carrots} carrots, {player.salads} salads, cards: {cards}",
            canvas.columns,
        )
        lines += [canvas.style(letter, **_PLAYER_STYLES[color]) + first[1:], *rest]
    ending = "the game is over"
    if state.outcome() is None:
        ending = f"next: {state.color_on_turn.name} ({player_name(names, state.seat_on_turn)})"
    lines += wrapped(f"turn {state.turn}, round {state.round}, {ending}", canvas.columns)
    if state.last_move is not None:
        lines += wrapped(f"last: {state.last_move}", canvas.columns)
    legend = wrapped(", ".join(_LEGEND), canvas.columns)
    if len(lines) + len(legend) <= canvas.rows:
        lines += legend
    return lines if len(lines) <= canvas.rows else None


DRAWING: Final = TerminalDrawing(_draw)
