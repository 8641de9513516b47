"""The view of Mississippi Queen: the river as far as it can be seen, and both ships."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spielleiter.game.api import Seat
from spielleiter.game.mississippi_queen import (
    FAR_AHEAD,
    GOAL,
    SEGMENTS,
    STUCK,
    MississippiQueenMistake,
    MississippiQueenMove,
    MississippiQueenState,
    Pier,
    River,
)
from spielleiter.game.mississippi_queen.rules import START_COAL
from spielleiter.game.mississippi_queen.state import way_points
from spielleiter.viewer.positions.view import TEAM_COLORS, Bilingual, Json, TeamView, played_move

_MOST_FREE_TURNS: Final = 60
_MOST_ACTIONS: Final = 32
_PIER: Final = "p"
_M: Final = MississippiQueenMistake

_RULES: Final[Mapping[MississippiQueenMistake, Bilingual]] = {
    _M.NO_ACTIONS: ("Der Zug enthält keine Aktion.", "The move has no action."),
    _M.PUSH_REQUIRED: (
        "Auf dem Feld des anderen Schiffs muss dieses abgedrängt werden.",
        "On the field of the other ship, that ship has to be pushed away.",
    ),
    _M.ACCELERATE_FIRST: (
        "Nur die erste Aktion darf beschleunigen oder bremsen.",
        "Only the first action may accelerate or brake.",
    ),
    _M.MOVEMENT_LEFT: (
        "Am Ende des Zuges sind noch Bewegungspunkte übrig.",
        "There are movement points left at the end of the move.",
    ),
    _M.ACCELERATE_BY_ZERO: ("Um 0 wird nicht beschleunigt.", "An acceleration by 0 is none."),
    _M.ABOVE_MAX_SPEED: ("Schneller als 6 fährt kein Schiff.", "No ship is faster than 6."),
    _M.BELOW_MIN_SPEED: ("Langsamer als 1 fährt kein Schiff.", "No ship is slower than 1."),
    _M.ACCELERATE_ON_SANDBANK: (
        "Auf einer Sandbank wird nicht beschleunigt.",
        "A ship cannot accelerate on a sandbank.",
    ),
    _M.ACCELERATE_WITHOUT_COAL: ("Zum Beschleunigen fehlt Kohle.", "There is not enough coal to accelerate."),
    _M.TURN_ON_SANDBANK: ("Auf einer Sandbank wird nicht gedreht.", "A ship cannot turn on a sandbank."),
    _M.TURN_WITHOUT_COAL: ("Zum Drehen fehlt Kohle.", "There is not enough coal to turn."),
    _M.BAD_DISTANCE: ("So weit fährt kein Schiff.", "No ship goes that far."),
    _M.ADVANCE_WITHOUT_MOVEMENT: (
        "Für so viele Felder fehlen Bewegungspunkte.",
        "There are not enough movement points for so many fields.",
    ),
    _M.NO_MOVEMENT_FOR_PUSH: (
        "Zum Abdrängen bliebe kein Bewegungspunkt.",
        "No movement point would be left to push the other ship away.",
    ),
    _M.SHIP_IN_THE_WAY: ("Das andere Schiff ist im Weg.", "The other ship is in the way."),
    _M.FIELD_BLOCKED: (
        "Auf dem Weg liegt eine Insel, ein Anleger oder das Ufer.",
        "An island, a pier or the bank is in the way.",
    ),
    _M.SANDBANK_IN_THE_WAY: ("Auf dem Weg liegt eine Sandbank.", "A sandbank is in the way."),
    _M.PUSH_WITHOUT_MOVEMENT: ("Zum Abdrängen fehlt ein Bewegungspunkt.", "There is no movement point to push with."),
    _M.PUSH_FROM_AFAR: (
        "Das andere Schiff steht nicht auf demselben Feld.",
        "The other ship is not on the same field.",
    ),
    _M.PUSH_OFF_THE_RIVER: (
        "Dorthin kann nicht abgedrängt werden: da ist kein Fluss.",
        "The other ship cannot be pushed there: that is not the river.",
    ),
    _M.PUSH_ONTO_BLOCKED: (
        "Das Feld, auf das abgedrängt werden soll, ist blockiert.",
        "The field to push to is blocked.",
    ),
    _M.PUSH_FROM_SANDBANK: ("Von einer Sandbank aus wird nicht abgedrängt.", "No ship can be pushed from a sandbank."),
    _M.PUSH_BACKWARDS: (
        "Dorthin, woher das Schiff kam, darf es nicht abdrängen.",
        "A ship cannot be pushed to where the other one came from.",
    ),
}

_ENDS: Final[Mapping[str | None, Bilingual]] = {
    GOAL: ("Das Ziel ist erreicht", "the goal is reached"),
    STUCK: ("Ein Schiff kann sich nicht mehr bewegen", "a ship cannot move any more"),
    FAR_AHEAD: ("Ein Schiff liegt mehr als 3 Segmente vorn", "a ship is more than 3 segments ahead"),
    None: ("Alle Runden sind gespielt", "all rounds are played"),
}


class MississippiQueenView(TeamView):
    """The view of positions of the type MississippiQueenState."""

    name = "mississippi_queen"
    rule_texts = _RULES
    end_texts = _ENDS

    def is_possible(self, state: MississippiQueenState) -> bool:
        return len(state.river.segments) <= SEGMENTS and all(
            ship.coal <= START_COAL and ship.free_turns <= _MOST_FREE_TURNS for ship in state.ships
        )

    def parts(self, state: MississippiQueenState) -> Json:
        river = state.river.as_seen()
        return {
            "river": {
                "segments": [
                    {"direction": int(each.direction), "center": list(each.center), **_fields(river, index)}
                    for index, each in enumerate(river.segments[:SEGMENTS])
                ],
                "next": int(river.next_direction),
            },
        }

    def player(self, state: MississippiQueenState, seat: Seat) -> Json:
        ship = state.ships[seat]
        shown = {"speed": ship.speed, "coal": ship.coal, "passengers": ship.passengers}
        return {
            "color": TEAM_COLORS[seat],
            "position": list(ship.position),
            "direction": int(ship.direction),
            "freeTurns": ship.free_turns,
            "isStuck": ship.is_stuck,
            **shown,
            "fields": shown,
        }

    def picture(self, state: MississippiQueenState) -> Json:
        return {"ways": [way_points(state.river, ship) for ship in state.ships]}

    def last_move(self, state: MississippiQueenState, previous: MississippiQueenState | None) -> Json | None:
        move = state.last_move
        if move is None:
            return None
        seat = None if previous is None else previous.seat_on_turn
        color = None if seat is None else TEAM_COLORS[seat]
        return played_move(seat, color, move, **self.move(state, move))

    def move(self, _state: MississippiQueenState, move: MississippiQueenMove) -> Json:
        actions = (move.actions or ())[:_MOST_ACTIONS]
        return {"actions": [["", None] if each is None else [each.kind, each.value] for each in actions]}


VIEW: Final = MississippiQueenView()


def _fields(river: River, index: int) -> Json:
    """Return the fields of a segment by column and row as letters, its piers, and the fields with a current."""
    letters, piers, currents = "", [], []
    segment = river.segments[index]
    for number, (place, column, row) in enumerate(segment.places()):
        field = segment.columns[column][row]
        if isinstance(field, Pier):
            piers.append([number, int(field.direction), field.passengers])
        letters += _PIER if isinstance(field, Pier) else field.value[0]
        cell = river.cells[place]
        if cell.has_current and cell.segment == index:
            currents.append(number)
    return {"fields": letters, "piers": piers, "currents": currents}
