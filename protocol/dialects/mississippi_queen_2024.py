"""The dialect of Mississippi Queen 2024: its texts, moves and positions.

Only the part of the river that can be seen is on the wire. Source: release 24.2.5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from spielleiter.game.api import Mistake, Move
from spielleiter.game.mississippi_queen import (
    COLUMNS,
    FAR_AHEAD,
    GOAL,
    MAX_SPEED,
    MIN_SPEED,
    PASSENGERS,
    POINTS,
    ROWS,
    STUCK,
    TIE,
    Accelerate,
    Action,
    Advance,
    Direction,
    Field,
    Hex,
    MississippiQueenMistake,
    MississippiQueenMove,
    MississippiQueenState,
    Pier,
    Push,
    River,
    Segment,
    Ship,
    Terrain,
    Turn,
)
from spielleiter.protocol import messages as m
from spielleiter.protocol.dialect import Dialect, Reading, expected
from spielleiter.protocol.dialects import packets
from spielleiter.protocol.dialects.release_2022 import TEAM_NAMES, conduct_texts, release_dialect
from spielleiter.protocol.values import (
    INTEGER,
    NULL,
    Element,
    ObjectForm,
    UnreadableError,
    ValueForm,
    allowed,
    class_attribute,
    enumeration,
    is_true,
    packet_class,
    quote,
    read_count,
    read_enum,
    read_fields,
    read_integer,
)
from spielleiter.protocol.writer import Body, boolean, element

# -- texts ------------------------------------------------------------------------------------------------------------

_M = MississippiQueenMistake
_NO_MOVEMENT: Final = "Nicht genug Bewegungspunkte."

_MISTAKES: Final[Mapping[Mistake, tuple[str, str]]] = {
    _M.NO_ACTIONS: ("NO_ACTIONS", "Der Zug enthält keine Aktionen"),
    _M.PUSH_REQUIRED: (
        "PUSH_ACTION_REQUIRED",
        "Wenn du auf einem gegnerischen Schiff landest, muss darauf eine Abdrängaktion folgen.",
    ),
    _M.ACCELERATE_FIRST: ("FIRST_ACTION_ACCELERATE", "Du kannst nur in der ersten Aktion beschleunigen."),
    _M.MOVEMENT_LEFT: ("MOVEMENT_POINTS_LEFT", "Es sind noch Bewegungspunkte übrig."),
    _M.ACCELERATE_BY_ZERO: ("ZERO_ACC", "Es kann nicht um den Wert 0 beschleunigt werden."),
    _M.ABOVE_MAX_SPEED: ("ABOVE_MAX_SPEED", "Die maximale Geschwindigkeit von 6 darf nicht überschritten werden."),
    _M.BELOW_MIN_SPEED: ("BELOW_MIN_SPEED", "Die minimale Geschwindigkeit von 1 darf nicht unterschritten werden."),
    _M.ACCELERATE_ON_SANDBANK: ("ON_SANDBANK", "Auf einer Sandbank kann nicht beschleunigt werden."),
    _M.ACCELERATE_WITHOUT_COAL: ("INSUFFICIENT_COAL", "Nicht genug Kohle für die Aktion vorhanden."),
    _M.TURN_ON_SANDBANK: ("ROTATION_ON_SANDBANK_NOT_ALLOWED", "Drehung auf Sandbank nicht erlaubt."),
    _M.TURN_WITHOUT_COAL: ("NOT_ENOUGH_COAL_FOR_ROTATION", "Nicht genug Kohle für Drehung."),
    _M.BAD_DISTANCE: ("INVALID_DISTANCE", "Zurückzulegende Distanz ist ungültig."),
    _M.ADVANCE_WITHOUT_MOVEMENT: ("MOVEMENT_POINTS_MISSING", _NO_MOVEMENT),
    _M.NO_MOVEMENT_FOR_PUSH: (
        "INSUFFICIENT_PUSH",
        "Nicht genug Bewegungspunkte für notwendige nachfolgende Abdrängaktion.",
    ),
    _M.SHIP_IN_THE_WAY: ("SHIP_ALREADY_IN_TARGET", "Kann nicht durch einen Gegner ziehen."),
    _M.FIELD_BLOCKED: ("FIELD_IS_BLOCKED", "Feld ist blockiert."),
    _M.SANDBANK_IN_THE_WAY: (
        "MOVE_END_ON_SANDBANK",
        "Zug sollte bereits enden, da auf Sandbank gefahren wurde.",
    ),
    _M.PUSH_WITHOUT_MOVEMENT: ("MOVEMENT_POINTS_MISSING", _NO_MOVEMENT),
    _M.PUSH_FROM_AFAR: (
        "SAME_FIELD_PUSH",
        "Um einen Spieler abzudrängen muss man sich auf demselben Feld wie der Spieler befinden.",
    ),
    _M.PUSH_OFF_THE_RIVER: (
        "INVALID_FIELD_PUSH",
        "Ein Spieler darf nicht auf ein nicht vorhandenes (oder nicht sichtbares) Feld abgedrängt werden.",
    ),
    _M.PUSH_ONTO_BLOCKED: ("BLOCKED_FIELD_PUSH", "Ein Spieler darf nicht auf ein blockiertes Feld abgedrängt werden."),
    _M.PUSH_FROM_SANDBANK: ("SANDBANK_PUSH", "Von einer Sandbank ist abdrängen nicht möglich."),
    _M.PUSH_BACKWARDS: (
        "BACKWARD_PUSHING_RESTRICTED",
        "Ein Spieler darf nicht auf das Feld abdrängen, von dem er kommt.",
    ),
}
"""The name in the official server and the text, by mistake."""


def describe_move(move: Move | None) -> str:
    """Return what `toString` returns for a move in the official server; `null` for None.

    >>> describe_move(MississippiQueenMove((Accelerate(1), Turn(Direction.LEFT), Advance(-1))))
    'Zug[Beschleunige um 1, Drehe nach LEFT, Gehe -1 Felder zurück]'
    """
    if not isinstance(move, MississippiQueenMove):
        return "null"
    return f"Zug[{', '.join(map(_describe_action, move.actions or ()))}]"


def _describe_action(action: Action | None) -> str:
    if action is None:
        return NULL
    is_backward = isinstance(action, Advance) and action.distance < 0
    text = "Gehe {} Felder zurück" if is_backward else _FORM_OF[type(action)].text
    return text.format(NULL if action.value is None else _written(action.value))


def _written(value: int | Direction) -> str:
    return _DIRECTION_NAMES[value] if isinstance(value, Direction) else str(value)


_DIRECTIONS: Final[dict[str, Direction]] = dict(Direction.__members__)
_DIRECTION_NAMES: Final = tuple(_DIRECTIONS)
_CACHED_SEGMENTS: Final = 256

_STUCK_END: Final = " kann sich nicht mehr bewegen."
_OUTCOMES: Final[Mapping[str, str]] = {
    GOAL: "{name} hat das Ziel zuerst erreicht.",
    STUCK: "{loser}" + _STUCK_END,
    FAR_AHEAD: "{name} liegt 3 Segmente vorne.",
    POINTS: "{name} hat mehr Punkte.",
    PASSENGERS: "{capitals} hat mehr Passagiere befördert.",  # an error of the release
    TIE: "Beide Teams sind gleichauf",
}

# -- moves ------------------------------------------------------------------------------------------------------------

MOVE_CLASS: Final = "move"
_PACKAGE: Final = "sc.plugin2024"
_DIRECTION: Final = enumeration(_DIRECTIONS, "sc.api.plugins.CubeDirection")
_LISTS: Final = frozenset(
    {None, "list", "linked-list", "vector", "singleton-list", "java.util.ArrayList", "java.util.LinkedList"}
)
"""The classes that a list of actions may have."""


class _ActionForm(NamedTuple):
    """How an action is read, written and described: its names, and its only attribute."""

    action: Callable[[Any], Action]
    tag: str
    java_name: str
    attribute: str
    form: ValueForm
    missing: int | None
    """The value if the attribute is missing."""
    text: str

    def read(self, element: Element, reading: Reading) -> Action:
        names = frozenset({self.tag, self.java_name})
        value = read_fields(element, ObjectForm(names, {self.attribute: self.form}), reading)
        return self.action(value.get(self.attribute, self.missing))


_ACTIONS: Final = f"{_PACKAGE}.actions"
_FORM_OF: Final = {
    form.action: form
    for form in (
        _ActionForm(Accelerate, "acceleration", f"{_ACTIONS}.Accelerate", "acc", INTEGER, 0, "Beschleunige um {}"),
        _ActionForm(Turn, "turn", f"{_ACTIONS}.Turn", "direction", _DIRECTION, None, "Drehe nach {}"),
        _ActionForm(Advance, "advance", f"{_ACTIONS}.Advance", "distance", INTEGER, 0, "Gehe {} Felder vor"),
        _ActionForm(Push, "push", f"{_ACTIONS}.Push", "direction", _DIRECTION, None, "Dränge nach {} ab"),
    )
}
_FORM_BY_NAME: Final = {name: form for form in _FORM_OF.values() for name in (form.tag, form.java_name)}


def read_move(data: Element, reading: Reading) -> m.MoveData:
    """Read a move. Raises UnreadableError."""
    form = ObjectForm(
        frozenset({MOVE_CLASS, f"{_PACKAGE}.Move"}), {"actions": lambda child: _read_actions(child, reading)}
    )
    actions = read_fields(data, form, reading).get("actions")
    if actions is None:
        return m.MoveData(MississippiQueenMove(None), problem=f"im Element {data.tag} fehlt das Element actions")
    problem = None
    for action in actions:
        if action is None:
            problem = "eine Aktion ist leer"
        elif isinstance(action, Turn | Push) and action.direction is None:
            problem = f"einer Aktion fehlt das Attribut direction; {allowed(_DIRECTIONS)}"
    return m.MoveData(MississippiQueenMove(actions), problem=problem)


def _read_actions(actions: Element, reading: Reading) -> tuple[Action | None, ...] | None:
    class_name = class_attribute(actions)
    if class_name == NULL:
        return None
    if class_name not in _LISTS:
        raise UnreadableError(f'{actions.tag} class="{quote(class_name or "")}" ist hier nicht erlaubt')
    found: list[Action | None] = []
    for child in actions:
        name = packet_class(child)
        form = _FORM_BY_NAME.get(name)
        if form is not None:
            found.append(form.read(child, reading))
        elif name == NULL:
            found.append(None)
        else:
            raise UnreadableError(
                f"eine Aktion {quote(child.tag)} gibt es nicht; {allowed(form.tag for form in _FORM_OF.values())}"
            )
    return tuple(found)


def write_move(data: m.MoveData, _dialect: Dialect, indent: str) -> Body:
    """Write a move. Raises LocalProtocolError for a move of another game."""
    return Body(MOVE_CLASS, "", _actions(expected(data.move, MississippiQueenMove), indent))


def _actions(move: MississippiQueenMove, indent: str) -> str:
    if move.actions is None:
        return ""
    return element(indent, "actions", "", "".join(_action(action, indent + "  ") for action in move.actions))


def _action(action: Action | None, indent: str) -> str:
    if action is None:
        return element(indent, NULL)
    form, value = _FORM_OF[type(action)], action.value
    return element(indent, form.tag, "" if value is None else f' {form.attribute}="{_written(value)}"')


def _direction(direction: Direction | None) -> str:
    return "" if direction is None else f' direction="{_DIRECTION_NAMES[direction]}"'


# -- positions --------------------------------------------------------------------------------------------------------

_TERRAINS: Final = {terrain.value: terrain for terrain in Terrain}
_COUNTERS: Final = {"speed": "speed", "coal": "coal", "passengers": "passengers", "freeTurns": "free_turns"}
"""The numbers of a ship that must not be negative, each with its field."""


def write_memento(memento: m.Memento, _dialect: Dialect, indent: str) -> Body:
    """Write what can be seen of a position. Raises LocalProtocolError for one of another game."""
    state = expected(memento.state, MississippiQueenState)
    inner = indent + "  "
    river = state.river.as_seen()
    segments = "".join(_segment(segment, inner + "  ") for segment in river.segments)
    lines = element(inner, "board", f' nextDirection="{_DIRECTION_NAMES[river.next_direction]}"', segments)
    lines += "".join(_ship(seat, ship, inner) for seat, ship in enumerate(state.ships))
    if state.last_move is not None:
        lines += element(inner, "lastMove", "", _actions(state.last_move, inner + "  "))
    attributes = f' class="state" startTeam="{TEAM_NAMES[0]}" turn="{state.turn}"'
    attributes += f' currentTeam="{TEAM_NAMES[state.seat_on_turn]}"'
    return Body("memento", "", element(indent, "state", attributes, lines))


@lru_cache(maxsize=_CACHED_SEGMENTS)
def _segment(segment: Segment, indent: str) -> str:
    inner, innermost = indent + "  ", indent + "    "
    lines = f"{inner}<center{_coordinates(segment.center)}/>"
    for column in segment.columns:
        lines += element(inner, "field-array", "", "".join(_field(field, innermost) for field in column))
    return element(indent, "segment", _direction(segment.direction), lines)


def _field(field: Field, indent: str) -> str:
    if isinstance(field, Pier):
        return element(indent, "passenger", f'{_direction(field.direction)} passenger="{field.passengers}"')
    return element(indent, field.value)


def _coordinates(place: Hex) -> str:
    return f' q="{place.q}" r="{place.r}" s="{-place.q - place.r}"'


def _ship(seat: int, ship: Ship, indent: str) -> str:
    attributes = f' team="{TEAM_NAMES[seat]}"{_direction(ship.direction)}'
    attributes += f' speed="{ship.speed}" coal="{ship.coal}" passengers="{ship.passengers}"'
    attributes += f' freeTurns="{ship.free_turns}" points="{ship.points}" stuck="{boolean(value=ship.is_stuck)}"'
    return element(indent, "ship", attributes, f"{indent}  <position{_coordinates(ship.position)}/>")


def read_memento(data: Element, reading: Reading) -> m.Memento:
    """Read a position. Raises UnreadableError."""
    state = reading.required(data, "state")["state"]
    river: River | None = None
    ships: dict[str, Ship] = {}
    last_move: MississippiQueenMove | None = None
    for child in state:
        if child.tag == "board":
            river = _read_river(child, reading)
        elif child.tag == "ship":
            ships[child.get("team", "")] = _read_ship(child, reading)
        elif child.tag == "lastMove":
            move = read_move(child, reading).move
            last_move = move if isinstance(move, MississippiQueenMove) else None
        else:
            reading.skip(child, state)
    if river is None:
        raise UnreadableError("im Element state fehlt das Element board")
    if sorted(ships) != sorted(TEAM_NAMES):
        raise UnreadableError(f"im Element state fehlt das Element ship für {' oder '.join(TEAM_NAMES)}")
    for ship in ships.values():
        if ship.position not in river.cells:
            raise UnreadableError(f"position ({ship.position.q}, {ship.position.r}) liegt nicht auf dem Fluss")
    turn = read_count(state, "turn")
    on_turn = packets.seat_named(state.get("currentTeam", ""), TEAM_NAMES, "state currentTeam")
    first, second = (ships[team] for team in TEAM_NAMES)
    return m.Memento(MississippiQueenState(river, (first, second), turn, on_turn, last_move))


def _read_river(board: Element, reading: Reading) -> River:
    segments = tuple([_read_segment(child, reading) for child in reading.each(board, "segment")])
    return River(segments, len(segments), read_enum(board, "nextDirection", _DIRECTIONS))


def _read_segment(segment: Element, reading: Reading) -> Segment:
    center: Hex | None = None
    columns: list[tuple[Field, ...]] = []
    for child in segment:
        if child.tag == "center":
            center = _read_hex(child, reading)
        elif child.tag == "field-array":
            columns.append(tuple([_read_field(field, reading) for field in child]))
        else:
            reading.skip(child, segment)
    if center is None:
        raise UnreadableError("im Element segment fehlt das Element center")
    if len(columns) != COLUMNS or any(len(column) != ROWS for column in columns):
        raise UnreadableError(f"das Element segment hat nicht {COLUMNS} mal {ROWS} Felder")
    return Segment(read_enum(segment, "direction", _DIRECTIONS), center, tuple(columns))


def _read_field(field: Element, reading: Reading) -> Field:
    reading.skip_children(field)
    if field.tag == "passenger":
        return Pier(read_enum(field, "direction", _DIRECTIONS), read_integer(field, "passenger"))
    terrain = _TERRAINS.get(field.tag)
    if terrain is None:
        raise UnreadableError(f"ein Feld {quote(field.tag)} gibt es nicht; {allowed((*_TERRAINS, 'passenger'))}")
    return terrain


def _read_hex(place: Element, reading: Reading) -> Hex:
    reading.skip_children(place)
    return Hex(read_integer(place, "q"), read_integer(place, "r"))


def _read_ship(ship: Element, reading: Reading) -> Ship:
    numbers = {field: read_count(ship, name) for name, field in _COUNTERS.items()}
    if numbers["speed"] not in range(MIN_SPEED, MAX_SPEED + 1):
        raise UnreadableError(f"ship speed liegt nicht zwischen {MIN_SPEED} und {MAX_SPEED}")
    return Ship(
        _read_hex(reading.required(ship, "position")["position"], reading),
        read_enum(ship, "direction", _DIRECTIONS),
        points=read_integer(ship, "points"),
        is_stuck=is_true(ship.get("stuck", "")),
        **numbers,
    )


# -- the dialect ------------------------------------------------------------------------------------------------------

MISSISSIPPI_QUEEN_2024: Final[Dialect] = release_dialect(
    name="mississippi-queen-2024",
    texts=conduct_texts(
        mistake_texts={mistake: text for mistake, (_, text) in _MISTAKES.items()},
        mistake_names={mistake: name for mistake, (name, _) in _MISTAKES.items()},
        mistakes_without_move=frozenset({_M.NO_ACTIONS}),
        describe_move=describe_move,
        outcome_texts=_OUTCOMES,
    ),
    points=(m.Fragment("Punkte", m.Aggregation.AVERAGE), m.Fragment("Passagiere", m.Aggregation.AVERAGE)),
    moves={MOVE_CLASS: read_move, f"{_PACKAGE}.Move": read_move},
    read_memento=read_memento,
    data_writers={m.MoveData: write_move, m.Memento: write_memento},
    irregular_end=_STUCK_END,
).evolve(  # this release knows the packet only by the name of its class
    readers={"close": None}, writers={m.CloseConnection: packets.attribute_writer(packets.CLOSE)}
)
