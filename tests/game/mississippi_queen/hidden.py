"""What the wire does not show of a position: the part of the river that cannot be seen yet."""

from __future__ import annotations

from typing import Final
from xml.etree import ElementTree as ET

from msgspec.structs import replace

from spielleiter.game.mississippi_queen import (
    Direction,
    Field,
    Hex,
    MississippiQueenState,
    Pier,
    River,
    Segment,
    Terrain,
)

_JAVA_FIELD: Final = "sc.plugin2024.Field_-"


def with_hidden(state: MississippiQueenState, exact: str) -> MississippiQueenState:
    """Return the first position of a game with its whole river.

    - `exact`: the position as the recorder and the oracle of tools/season write everything that the release knows.
    """
    segments = []
    for each in ET.fromstring(exact).iterfind("board/segments/*"):
        columns = tuple(tuple(_field(field) for field in column) for column in each.iterfind("fields/*"))
        center = Hex(*(int(each.findtext(f"center/{name}", "")) for name in "qr"))
        segments.append(Segment(Direction[each.findtext("direction", "")], center, columns))
    seen = state.river.visible
    return replace(state, river=River(tuple(segments), seen, segments[seen].direction))


def _field(field: ET.Element) -> Field:
    name = field.tag.removeprefix(_JAVA_FIELD)
    if name == "PASSENGER":
        return Pier(Direction[field.findtext("direction", "")], int(field.findtext("passenger", "")))
    return Terrain[name]
