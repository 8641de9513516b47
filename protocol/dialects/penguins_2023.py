"""The dialect of Penguins 2023: its texts, moves and positions.

Source: packets and rule code of release 23.0.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from spielleiter.game.api import Move
from spielleiter.game.penguins import (
    MAX_FISH,
    PENGUINS,
    RULES_2023,
    SIZE,
    Bits,
    Cell,
    Floes,
    PenguinsMistake,
    PenguinsMove,
    PenguinsState,
)
from spielleiter.game.penguins.board import NUMBER_OF_CELLS, scan
from spielleiter.protocol import messages as m
from spielleiter.protocol.dialect import Dialect, Reading, expected
from spielleiter.protocol.dialects import packets
from spielleiter.protocol.dialects.release_2022 import TEAM_NAMES, conduct_texts, release_dialect
from spielleiter.protocol.texts import LEFT_REASON, timeout_reason
from spielleiter.protocol.values import (
    INTEGER,
    NULL,
    Element,
    ObjectForm,
    UnreadableError,
    allowed,
    quote,
    read_count,
    read_fields,
    read_integer_text,
    read_text,
)
from spielleiter.protocol.writer import Body, element, leaf

# -- texts ------------------------------------------------------------------------------------------------------------


def describe_move(move: Move | None) -> str:
    """Return what `toString` returns for a move in the official server; `null` for None.

    >>> describe_move(PenguinsMove(Cell(0, 2), Cell(4, 2))), describe_move(PenguinsMove(None, Cell(4, 2)))
    ('Schlittern [0|2] zu [4|2]', 'Setze Pinguin auf [4|2]')
    """
    if not isinstance(move, PenguinsMove):
        return NULL
    target = _describe_cell(move.target)
    return (
        f"Setze Pinguin auf {target}" if move.start is None else f"Schlittern {_describe_cell(move.start)} zu {target}"
    )


def _describe_cell(cell: Cell | None) -> str:
    return NULL if cell is None else f"[{cell.x}|{cell.y}]"


_TEXTS: Final = replace(
    conduct_texts(
        mistake_texts={
            PenguinsMistake.WRONG_COLOR: "Nur eigene Spielfiguren können gezogen werden",
            PenguinsMistake.PENGUINS: "Setze zuerst alle Pinguine",
            PenguinsMistake.INVALID_MOVE: "Dieser Zug ist nicht möglich",
            PenguinsMistake.MAX_PENGUINS: "Bereits alle Pinguine gesetzt",
            PenguinsMistake.SINGLE_FISH: "Pinguine können nur auf einzelne Fische gesetzt werden",
        },
        describe_move=describe_move,
        before_move="bei Zug",
    ),
    departure_reason=lambda departure: f"{LEFT_REASON}: {departure.value}",
    soft_timeout_reason=timeout_reason,
    hard_timeout_reason=timeout_reason,
)

# -- moves ------------------------------------------------------------------------------------------------------------

MOVE_CLASSES: Final = ("move", "sc.plugin2023.Move")

_CELL: Final = ObjectForm(frozenset({"coordinates", "sc.api.plugins.Coordinates"}), {"x": INTEGER, "y": INTEGER})
_MOVE: Final = ObjectForm(frozenset(MOVE_CLASSES), {"from": _CELL, "to": _CELL})


def read_move(data: Element, reading: Reading) -> m.MoveData:
    """Read a move, which may lack its target. Raises UnreadableError."""
    move, problem = _read_move(data, reading)
    return m.MoveData(move, problem=problem)


def _read_move(data: Element, reading: Reading) -> tuple[PenguinsMove, str | None]:
    """Return the move, and what is missing or wrong with its cells."""
    values = read_fields(data, _MOVE, reading)
    start, target = (
        None if place is None else Cell(place.get("x", 0), place.get("y", 0))
        for place in (values.get("from"), values.get("to"))
    )
    problem = None
    if target is None:
        problem = f"im Element {data.tag} fehlt das Element to"
    for cell in (start, target):
        if cell is not None and not cell.is_on_board:
            problem = f"das Feld {cell} liegt nicht auf dem Spielfeld"
    return PenguinsMove(start, target), problem


def write_move(data: m.MoveData, _dialect: Dialect, indent: str) -> Body:
    """Write a move. Raises LocalProtocolError for a move of another game."""
    return Body(MOVE_CLASSES[0], "", _move(expected(data.move, PenguinsMove), indent))


def _move(move: PenguinsMove, indent: str) -> str:
    return _cell("from", move.start, indent) + _cell("to", move.target, indent)


def _cell(tag: str, cell: Cell | None, indent: str) -> str:
    return "" if cell is None else f'{indent}<{tag} x="{cell.x}" y="{cell.y}"/>'


# -- positions --------------------------------------------------------------------------------------------------------

_FIELDS: Final = (*map(str, range(MAX_FISH + 1)), *TEAM_NAMES)
_CODES: Final[Mapping[str, int]] = {field: code for code, field in enumerate(_FIELDS)}
_CACHED_ROWS: Final = 4096


def write_memento(memento: m.Memento, _dialect: Dialect, indent: str) -> Body:
    """Write a position. Raises LocalProtocolError for one of another game."""
    state = expected(memento.state, PenguinsState)
    inner, innermost = indent + "  ", indent + "    "
    codes = bytearray(NUMBER_OF_CELLS)
    for code, cells in enumerate((*state.floes, *state.penguins), 1):
        for number in scan(cells):
            codes[number] = code
    rows = [_row(bytes(codes[start : start + SIZE]), innermost) for start in range(0, NUMBER_OF_CELLS, SIZE)]
    lines = leaf(inner, "startTeam", TEAM_NAMES[0]) + element(inner, "board", "", "".join(rows))
    if state.last_move is not None:
        lines += element(inner, "lastMove", "", _move(state.last_move, innermost))
    lines += element(inner, "fishes", "", "".join([leaf(innermost, "int", str(fish)) for fish in state.fish]))
    return Body("memento", "", element(indent, "state", f' class="state" turn="{state.turn}"', lines))


@lru_cache(maxsize=_CACHED_ROWS)
def _row(codes: bytes, indent: str) -> str:
    return element(indent, "list", "", "".join([leaf(indent + "  ", "field", _FIELDS[code]) for code in codes]))


def read_memento(data: Element, reading: Reading) -> m.Memento:
    """Read a position. Raises UnreadableError."""
    state = reading.required(data, "state")["state"]
    parts = reading.required(state, "board", "fishes", optional=("startTeam", "lastMove"))
    floes, penguins = _read_board(parts["board"], reading)
    fish = [read_integer_text(child) for child in reading.each(parts["fishes"], "int")]
    if len(fish) != len(TEAM_NAMES) or not all(0 <= each <= MAX_FISH * NUMBER_OF_CELLS for each in fish):
        raise UnreadableError("im Element fishes steht nicht für jedes Team, wie viele Fische es hat")
    last_move = _read_move(parts["lastMove"], reading)[0] if "lastMove" in parts else None
    return m.Memento(
        PenguinsState(RULES_2023, floes, penguins, (fish[0], fish[1]), read_count(state, "turn"), last_move)
    )


def _read_board(board: Element, reading: Reading) -> tuple[Floes, tuple[Bits, Bits]]:
    rows = [list(reading.each(row, "field")) for row in reading.each(board, "list")]
    if [len(row) for row in rows] != [SIZE] * SIZE:
        raise UnreadableError(f"im Element board stehen nicht {SIZE} Zeilen mit {SIZE} Feldern")
    cells = [0] * len(_FIELDS)
    for number, field in enumerate([field for row in rows for field in row]):
        name = read_text(field)
        if name not in _CODES:
            raise UnreadableError(f'"{quote(name)}" im Element field gibt es nicht; {allowed(_FIELDS)}')
        cells[_CODES[name]] |= 1 << number
    _, one, two, three, four, first, second = cells
    if max(first.bit_count(), second.bit_count()) > PENGUINS:
        raise UnreadableError(f"im Element board hat ein Team mehr als {PENGUINS} Pinguine")
    return (one, two, three, four), (first, second)


# -- the dialect ------------------------------------------------------------------------------------------------------

PENGUINS_2023: Final = release_dialect(
    name="penguins-2023",
    texts=_TEXTS,
    points=(m.Fragment("Fische", m.Aggregation.AVERAGE),),
    moves=dict.fromkeys(MOVE_CLASSES, read_move),
    read_memento=read_memento,
    data_writers={m.MoveData: write_move, m.Memento: write_memento},
    scores_have_causes=True,
).evolve(  # this release knows the packet only by the name of its class
    readers={"close": None}, writers={m.CloseConnection: packets.attribute_writer(packets.CLOSE)}
)
