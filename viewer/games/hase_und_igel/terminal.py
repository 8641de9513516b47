"""Hase und Igel in a terminal: the track in rows, and what each player holds."""

from __future__ import annotations

from typing import Final

from spielleiter.common.text import JOINT
from spielleiter.game.hase_und_igel.board import FieldType, PlayerColor
from spielleiter.game.hase_und_igel.state import HaseUndIgelState
from spielleiter.viewer.terminal import (
    TEAM_STYLES,
    Canvas,
    TerminalDrawing,
    fitting,
    labelled,
    player_name,
    progress,
)

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
            letters = "".join(canvas.style(color.name[0], **TEAM_STYLES[color]) for color in here)
            cells += f"{fields[index].value} {letters}{' ' * (_FIELD - 2 - len(here))}"
        lines.append(cells.rstrip())
    for seat, color in enumerate(PlayerColor):
        player = state.players[seat]
        cards = ", ".join(card.name for card in player.cards) or "none"
        text = (
            f"{player_name(names, seat)}: field {player.index}, "
            f"{player.carrots} carrots, {player.salads} salads, cards: {cards}"
        )
        lines += labelled(canvas, color.name[0], TEAM_STYLES[seat], text)
    lines += progress(state, names, state.color_on_turn.name, canvas.columns)
    return fitting(canvas, lines, _LEGEND)


DRAWING: Final = TerminalDrawing(_draw)
