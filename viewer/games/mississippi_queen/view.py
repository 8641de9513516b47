"""The view of Mississippi Queen: the river as far as it can be seen, and both ships."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from spielleiter.game.api import Mistake, Move, Outcome, Seat, State
from spielleiter.game.mississippi_queen import (
    FAR_AHEAD,
    GOAL,
    SEGMENTS,
    STUCK,
    Accelerate,
    Action,
    Advance,
    Hex,
    MississippiQueenMistake,
    MississippiQueenMove,
    MississippiQueenState,
    Pier,
    Push,
    River,
    Turn,
)
from spielleiter.game.mississippi_queen.rules import START_COAL
from spielleiter.game.mississippi_queen.state import way_points
from spielleiter.viewer.positions.view import Json, View, Words, shortened_text

COLORS: Final = ("RED", "BLUE")
"""The colours of the ships, as in the release's own pictures."""

_MOST_FREE_TURNS: Final = 60
_MOST_ACTIONS: Final = 32
_PIER: Final = "p"
_M: Final = MississippiQueenMistake

RULE_WORDS: Final[Mapping[MississippiQueenMistake, Words]] = {
    _M.NO_ACTIONS: {"de": "Der Zug enthält keine Aktion.", "en": "The move has no action."},
    _M.PUSH_REQUIRED: {
        "de": "Auf dem Feld des anderen Schiffs muss dieses abgedrängt werden.",
        "en": "On the field of the other ship, that ship has to be pushed away.",
    },
    _M.ACCELERATE_FIRST: {
        "de": "Nur die erste Aktion darf beschleunigen oder bremsen.",
        "en": "Only the first action may accelerate or brake.",
    },
    _M.MOVEMENT_LEFT: {
        "de": "Am Ende des Zuges sind noch Bewegungspunkte übrig.",
        "en": "There are movement points left at the end of the move.",
    },
    _M.ACCELERATE_BY_ZERO: {"de": "Um 0 wird nicht beschleunigt.", "en": "An acceleration by 0 is none."},
    _M.ABOVE_MAX_SPEED: {"de": "Schneller als 6 fährt kein Schiff.", "en": "No ship is faster than 6."},
    _M.BELOW_MIN_SPEED: {"de": "Langsamer als 1 fährt kein Schiff.", "en": "No ship is slower than 1."},
    _M.ACCELERATE_ON_SANDBANK: {
        "de": "Auf einer Sandbank wird nicht beschleunigt.",
        "en": "A ship cannot accelerate on a sandbank.",
    },
    _M.ACCELERATE_WITHOUT_COAL: {
        "de": "Zum Beschleunigen fehlt Kohle.",
        "en": "There is not enough coal to accelerate.",
    },
    _M.TURN_ON_SANDBANK: {"de": "Auf einer Sandbank wird nicht gedreht.", "en": "A ship cannot turn on a sandbank."},
    _M.TURN_WITHOUT_COAL: {"de": "Zum Drehen fehlt Kohle.", "en": "There is not enough coal to turn."},
    _M.BAD_DISTANCE: {"de": "So weit fährt kein Schiff.", "en": "No ship goes that far."},
    _M.ADVANCE_WITHOUT_MOVEMENT: {
        "de": "Für so viele Felder fehlen Bewegungspunkte.",
        "en": "There are not enough movement points for so many fields.",
    },
    _M.NO_MOVEMENT_FOR_PUSH: {
        "de": "Zum Abdrängen bliebe kein Bewegungspunkt.",
        "en": "No movement point would be left to push the other ship away.",
    },
    _M.SHIP_IN_THE_WAY: {"de": "Das andere Schiff ist im Weg.", "en": "The other ship is in the way."},
    _M.FIELD_BLOCKED: {
        "de": "Auf dem Weg liegt eine Insel, ein Anleger oder das Ufer.",
        "en": "An island, a pier or the bank is in the way.",
    },
    _M.SANDBANK_IN_THE_WAY: {"de": "Auf dem Weg liegt eine Sandbank.", "en": "A sandbank is in the way."},
    _M.PUSH_WITHOUT_MOVEMENT: {
        "de": "Zum Abdrängen fehlt ein Bewegungspunkt.",
        "en": "There is no movement point to push with.",
    },
    _M.PUSH_FROM_AFAR: {
        "de": "Das andere Schiff steht nicht auf demselben Feld.",
        "en": "The other ship is not on the same field.",
    },
    _M.PUSH_OFF_THE_RIVER: {
        "de": "Dorthin kann nicht abgedrängt werden: da ist kein Fluss.",
        "en": "The other ship cannot be pushed there: that is not the river.",
    },
    _M.PUSH_ONTO_BLOCKED: {
        "de": "Das Feld, auf das abgedrängt werden soll, ist blockiert.",
        "en": "The field to push to is blocked.",
    },
    _M.PUSH_FROM_SANDBANK: {
        "de": "Von einer Sandbank aus wird nicht abgedrängt.",
        "en": "No ship can be pushed from a sandbank.",
    },
    _M.PUSH_BACKWARDS: {
        "de": "Dorthin, woher das Schiff kam, darf es nicht abdrängen.",
        "en": "A ship cannot be pushed to where the other one came from.",
    },
}

_END_WORDS: Final[Mapping[str, Words]] = {
    GOAL: {"de": "Das Ziel ist erreicht", "en": "the goal is reached"},
    STUCK: {"de": "Ein Schiff kann sich nicht mehr bewegen", "en": "a ship cannot move any more"},
    FAR_AHEAD: {"de": "Ein Schiff liegt mehr als 3 Segmente vorn", "en": "a ship is more than 3 segments ahead"},
}
_LAST_ROUND: Final[Words] = {"de": "Alle Runden sind gespielt", "en": "all rounds are played"}


@dataclass(frozen=True, slots=True)
class MississippiQueenView(View):
    """The view of positions of the type MississippiQueenState."""

    name: str = "mississippi_queen"

    def is_possible(self, state: State) -> bool:
        position = _own(state)
        return len(position.river.segments) <= SEGMENTS and all(
            ship.coal <= START_COAL and ship.free_turns <= _MOST_FREE_TURNS for ship in position.ships
        )

    def color(self, _state: State, seat: Seat) -> str | None:
        return COLORS[seat]

    def parts(self, state: State) -> Json:
        position = _own(state)
        river = position.river.as_seen()
        return {
            "fields": {"turn": position.turn, "round": position.round},
            "river": {
                "segments": [
                    {"direction": int(each.direction), "center": list(each.center), **_fields(river, index)}
                    for index, each in enumerate(river.segments[:SEGMENTS])
                ],
                "next": int(river.next_direction),
            },
        }

    def player(self, state: State, seat: Seat) -> Json:
        ship = _own(state).ships[seat]
        shown = {"speed": ship.speed, "coal": ship.coal, "passengers": ship.passengers}
        return {
            "color": COLORS[seat],
            "position": list(ship.position),
            "direction": int(ship.direction),
            "freeTurns": ship.free_turns,
            "isStuck": ship.is_stuck,
            **shown,
            "fields": shown,
        }

    def picture(self, state: State) -> Json:
        position = _own(state)
        return {"ways": [way_points(position.river, ship) for ship in position.ships]}

    def last_move(self, state: State, previous: State | None) -> Json | None:
        move = _own(state).last_move
        if move is None:
            return None
        seat = None if previous is None else previous.seat_on_turn
        return {
            "player": seat,
            "color": None if seat is None else COLORS[seat],
            "kind": "MOVE",
            "piece": None,
            "cells": [],
            "text": shortened_text(move),
            **self.move(state, move),
        }

    def move(self, _state: State, move: Move) -> Json:
        assert isinstance(move, MississippiQueenMove)
        return {"actions": [_code(action) for action in (move.actions or ())[:_MOST_ACTIONS]]}

    def end_words(self, outcome: Outcome) -> Words:
        return _END_WORDS.get(outcome.reason, _LAST_ROUND)

    def rule_words(self, mistake: Mistake) -> Words:
        assert isinstance(mistake, MississippiQueenMistake)
        return RULE_WORDS[mistake]


VIEW: Final = MississippiQueenView()


def _own(state: State) -> MississippiQueenState:
    assert isinstance(state, MississippiQueenState)
    return state


def _fields(river: River, index: int) -> Json:
    """Return the fields of a segment by column and row as letters, its piers, and the fields with a current."""
    letters, piers, currents = "", [], []
    segment = river.segments[index]
    for number, (place, column, row) in enumerate(segment.places()):
        field = segment.columns[column][row]
        if isinstance(field, Pier):
            piers.append([number, int(field.direction), field.passengers])
        letters += _PIER if isinstance(field, Pier) else field.value[0]
        if _has_current(river, place, index):
            currents.append(number)
    return {"fields": letters, "piers": piers, "currents": currents}


def _has_current(river: River, place: Hex, index: int) -> bool:
    cell = river.cells[place]
    return cell.segment == index and cell.has_current


def _code(action: Action | None) -> list[str | int | None]:
    """Return an action as a pair: its kind, and its number or the number of its direction."""
    match action:
        case Accelerate():
            return ["accelerate", action.change]
        case Turn():
            return ["turn", action.direction]
        case Advance():
            return ["advance", action.distance]
        case Push():
            return ["push", action.direction]
    return ["", None]
