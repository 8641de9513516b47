"""The dialects of Piranhas 2026: its texts, moves and positions.

The release of March 2026 has one more attribute than those before, and more endings. Sources: packets and rule code of
releases 26.1.0 and 26.0.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from spielleiter.game.api import Move
from spielleiter.game.piranhas.board import SIZE, STRIDE, Bits, Cell, Direction, Fish, scan
from spielleiter.game.piranhas.state import (
    BLOCKED,
    FIRST_UNION,
    LARGER_SWARM,
    RULES_2026,
    RULES_2026_FIRST,
    PiranhasMistake,
    PiranhasMove,
    PiranhasState,
    Ruleset,
)
from spielleiter.protocol import messages as m
from spielleiter.protocol.dialect import DataReader, Dialect, Reading, expected
from spielleiter.protocol.dialects.packets import seat_named
from spielleiter.protocol.dialects.release_2022 import TEAM_NAMES, conduct_texts, release_dialect
from spielleiter.protocol.values import (
    INTEGER,
    Element,
    ObjectForm,
    UnreadableError,
    allowed,
    enumeration,
    quote,
    read_count,
    read_fields,
    read_text,
)
from spielleiter.protocol.writer import Body, element, leaf

# -- texts ------------------------------------------------------------------------------------------------------------


def describe_move(move: Move | None) -> str:
    """Return what `toString` returns for a move in the official server; `null` for None.

    >>> describe_move(PiranhasMove(Cell(0, 3), Direction.UP_LEFT))
    'Schwimme von [0|3] in Richtung UP_LEFT'
    """
    if not isinstance(move, PiranhasMove):
        return "null"
    start = "null" if move.start is None else f"[{move.start.x}|{move.start.y}]"
    return f"Schwimme von {start} in Richtung {'null' if move.direction is None else move.direction.name}"


_TEXTS: Final = conduct_texts(
    mistake_texts={
        PiranhasMistake.WRONG_START: "Das Startfeld ist kein Piranha des eigenen Teams",
        PiranhasMistake.JUMP_OVER_OPPONENT: "Gegnerische Piranhas können nicht übersprungen werden",
        PiranhasMistake.DESTINATION_OUT_OF_BOUNDS: "Das Zielfeld liegt außerhalb des Spielfelds",
        PiranhasMistake.DESTINATION_BLOCKED: "Zielfeld ist besetzt",
        PiranhasMistake.DESTINATION_BLOCKED_BY_SELF: "Kann nicht auf ein Feld des eigenen Teams ziehen",
    },
    mistake_names={each: each.name for each in (PiranhasMistake.WRONG_START, PiranhasMistake.JUMP_OVER_OPPONENT)},
    describe_move=describe_move,
    outcome_texts={
        LARGER_SWARM: "{name} hat den größeren zusammenhängenden Schwarm",
        FIRST_UNION: "{name} hat zuerst alle Fische einer Farbe vereinigt",
        BLOCKED: "{name} hat den Gegner blockiert, sodass er keinen Zug mehr machen kann",
    },
)

# -- moves ------------------------------------------------------------------------------------------------------------

MOVE_CLASSES: Final = ("move", "sc.plugin2026.Move")

_DIRECTIONS: Final[Mapping[str, Direction]] = dict(Direction.__members__)
_MOVE: Final = ObjectForm(
    frozenset(MOVE_CLASSES),
    {
        "from": ObjectForm(frozenset({"coordinates", "sc.api.plugins.Coordinates"}), {"x": INTEGER, "y": INTEGER}),
        "direction": enumeration(_DIRECTIONS, "direction", "sc.api.plugins.Direction", is_attribute=False),
    },
)


def read_move(data: Element, reading: Reading) -> m.MoveData:
    """Read a move, which may lack its start or its direction. Raises UnreadableError."""
    move, problem = _read_move(data, reading)
    return m.MoveData(move, problem=problem)


def _read_move(data: Element, reading: Reading) -> tuple[PiranhasMove, str | None]:
    """Return the move, and what it lacks."""
    values = read_fields(data, _MOVE, reading)
    place, direction = values.get("from"), values.get("direction")
    start = None if place is None else Cell(place.get("x", 0), place.get("y", 0))
    problem = None
    if start is None:
        problem = f"im Element {data.tag} fehlt das Element from"
    elif not start.is_on_board:
        problem = f"das Feld {start} liegt nicht auf dem Spielfeld"
    elif direction is None:
        problem = f"im Element {data.tag} fehlt das Element direction; {allowed(_DIRECTIONS)}"
    return PiranhasMove(start, direction), problem


def write_move(data: m.MoveData, _dialect: Dialect, indent: str) -> Body:
    """Write a move. Raises LocalProtocolError for a move of another game."""
    return Body(MOVE_CLASSES[0], "", _move(expected(data.move, PiranhasMove), indent))


def _move(move: PiranhasMove, indent: str) -> str:
    start = "" if move.start is None else f'{indent}<from x="{move.start.x}" y="{move.start.y}"/>'
    return start + ("" if move.direction is None else leaf(indent, "direction", move.direction.name))


# -- positions --------------------------------------------------------------------------------------------------------

_FIELDS: Final = ("EMPTY", "ONE_S", "ONE_M", "ONE_L", "TWO_S", "TWO_M", "TWO_L", "SQUID")
_CACHED_ROWS: Final = 4096


def write_memento(memento: m.Memento, _dialect: Dialect, indent: str) -> Body:
    """Write a position. Raises LocalProtocolError for one of another game."""
    state = expected(memento.state, PiranhasState)
    inner = indent + "  "
    attributes = f' class="state" startTeam="{TEAM_NAMES[0]}" turn="{state.turn}"'
    if state.first_union is not None:
        attributes += f' firstUnion="{TEAM_NAMES[state.first_union]}"'
    last_move = "" if state.last_move is None else element(inner, "lastMove", "", _move(state.last_move, inner + "  "))
    codes = bytearray(SIZE * STRIDE)
    for code, cells in enumerate((*state.fish[0], *state.fish[1], state.squids), 1):
        for number in scan(cells):
            codes[number] = code
    rows = [_row(bytes(codes[start : start + SIZE]), inner + "  ") for start in range(0, SIZE * STRIDE, STRIDE)]
    board = element(inner, "board", "", "".join(rows))
    return Body("memento", "", element(indent, "state", attributes, last_move + board))


@lru_cache(maxsize=_CACHED_ROWS)
def _row(codes: bytes, indent: str) -> str:
    return element(indent, "row", "", "".join([leaf(indent + "  ", "field", _FIELDS[code]) for code in codes]))


def memento_reader(rules: Ruleset) -> DataReader:
    """Return a reader of positions of a game with these rules."""

    def read(data: Element, reading: Reading) -> m.Memento:
        state = reading.required(data, "state")["state"]
        parts = reading.required(state, "board", optional=("lastMove",))
        one, two, squids = _read_board(parts["board"], reading)
        turn = read_count(state, "turn")
        team, last_move = state.get("firstUnion"), None
        is_told = team is not None and rules.first_union_breaks_ties
        first_union = seat_named(team or "", TEAM_NAMES, "state firstUnion") if is_told else None
        if "lastMove" in parts:
            last_move, _ = _read_move(parts["lastMove"], reading)
        return m.Memento(PiranhasState(rules, (one, two), squids, turn, last_move, first_union))

    return read


def _read_board(board: Element, reading: Reading) -> tuple[Fish, Fish, Bits]:
    cells = dict.fromkeys(_FIELDS, 0)
    rows = [list(reading.each(row, "field")) for row in reading.each(board, "row")]
    if [len(row) for row in rows] != [SIZE] * SIZE:
        raise UnreadableError(f"im Element board stehen nicht {SIZE} Zeilen mit {SIZE} Feldern")
    for y, row in enumerate(rows):
        for x, field in enumerate(row):
            name = read_text(field)
            if name not in cells:
                raise UnreadableError(f'"{quote(name)}" im Element field gibt es nicht; {allowed(_FIELDS)}')
            cells[name] |= 1 << y * STRIDE + x
    _, *fish, squids = cells.values()
    return Fish(*fish[:3]), Fish(*fish[3:]), squids


# -- the dialects -----------------------------------------------------------------------------------------------------


def _dialect(name: str, rules: Ruleset) -> Dialect:
    return release_dialect(
        name=name,
        texts=_TEXTS,
        points=(m.Fragment("Schwarmgröße", m.Aggregation.AVERAGE),),
        moves=dict.fromkeys(MOVE_CLASSES, read_move),
        read_memento=memento_reader(rules),
        data_writers={m.MoveData: write_move, m.Memento: write_memento},
    )


PIRANHAS_2026: Final = _dialect("piranhas-2026", RULES_2026)
PIRANHAS_2026_FIRST: Final = _dialect("piranhas-2026-26.0.7", RULES_2026_FIRST)
