"""Mississippi Queen on the page, in the terminal and in pictures."""

from __future__ import annotations

import json
import random

import pytest
from msgspec.structs import replace

from spielleiter.game.api import Outcome
from spielleiter.game.mississippi_queen import (
    FAR_AHEAD,
    MISSISSIPPI_QUEEN_2024,
    POINTS,
    Direction,
    MississippiQueenState,
    Pier,
    Ship,
)
from spielleiter.viewer.games.mississippi_queen.picture import places_of
from spielleiter.viewer.games.mississippi_queen.view import VIEW
from spielleiter.viewer.positions.describe import describe_legal_moves, describe_position
from spielleiter.viewer.terminal import Canvas, draw
from tests.game.mississippi_queen.positions import ISLAND, SANDBANK, at, move, river

RIVER = river({(5, 0): ISLAND, (6, 1): SANDBANK, (4, 3): Pier(Direction.RIGHT)}, 1)
STATE = MississippiQueenState(RIVER, (Ship(at(2, 0), coal=0), Ship(at(3, 4), Direction.UP_LEFT)), 4)


def test_only_what_can_be_seen_is_shown() -> None:
    shown = describe_position(STATE, 4)
    first, second = shown["river"]["segments"]
    assert (first["direction"], first["center"], first["fields"]) == (0, [0, 0], "w" * 20)
    assert shown["river"]["next"] == Direction.DOWN_RIGHT
    assert (second["fields"].count("i"), second["fields"].count("s"), second["piers"]) == (1, 1, [[3, 0, 1]])
    assert first["currents"] == [2, 7, 12, 17]
    places = [tuple(place) for place, _, _ in RIVER.segments[1].places()]
    assert places_of(second) == places
    one, two = shown["players"]
    assert (one["position"], one["direction"], one["speed"], one["coal"]) == ([*at(2, 0)], 0, 1, 0)
    assert (two["color"], two["freeTurns"], two["isStuck"]) == ("BLUE", 1, False)
    assert shown["sideToMove"] == {"player": 0, "color": "RED"}
    json.dumps(shown)


def test_moves_are_lists_of_actions() -> None:
    moves = describe_legal_moves(STATE, 4)["moves"]
    assert {"index": 0, "text": "advance(1)", "actions": [["advance", 1]]} in moves
    after = STATE.play(move("t0 f1"))
    assert VIEW.last_move(after, STATE) == {
        "player": 0,
        "color": "RED",
        "kind": "MOVE",
        "piece": None,
        "cells": [],
        "text": "turn(RIGHT) advance(1)",
        "actions": [["turn", 0], ["advance", 1]],
    }
    assert VIEW.last_move(STATE, None) is None
    assert VIEW.move(STATE, move("a1 p2 -"))["actions"] == [["accelerate", 1], ["push", 2], ["", None]]


def test_positions_that_would_take_long_have_no_legal_moves() -> None:
    rich = replace(STATE, ships=(replace(STATE.ships[0], coal=1000), STATE.ships[1]))
    assert describe_legal_moves(rich, 4)["moves"] == []


def test_words() -> None:
    words = {reason: VIEW.end_words(Outcome(0, reason)) for reason in (FAR_AHEAD, POINTS)}
    assert words == {
        FAR_AHEAD: {
            "de": "Ein Schiff liegt mehr als 3 Segmente vorn",
            "en": "a ship is more than 3 segments ahead",
        },
        POINTS: {"de": "Alle Runden sind gespielt", "en": "all rounds are played"},
    }
    assert VIEW.picture(STATE) == {"ways": [2, 3]}


@pytest.mark.parametrize("is_coloured", [False, True])
def test_the_river_in_a_terminal(is_coloured: bool) -> None:
    lines = draw(STATE, ("Anna", ""), Canvas(is_coloured=is_coloured))
    assert lines is not None
    text = "\n".join(lines)
    assert "1>" in text
    assert "2\\" in text
    assert text.count("#") == 2  # one of them in the legend
    assert "P1>" in text
    assert "Anna: to the right, speed 1, 0 coal, 0 passengers, 0 points" in text
    assert "2 segments, then to the down right" in text


def test_both_ships_on_one_field_and_a_small_terminal() -> None:
    shared = replace(STATE, ships=(STATE.ships[0], replace(STATE.ships[1], position=at(2, 0), is_stuck=True)))
    lines = draw(shared, ("", ""), Canvas())
    assert lines is not None
    assert any("1>2\\" in line for line in lines)
    assert any("stuck" in line for line in lines)
    assert any("the game is over" in line for line in lines)
    narrow = draw(STATE.play(move("f1")), ("", ""), Canvas(columns=30))
    assert narrow is not None
    assert not any("~   ~" in line for line in narrow)
    assert any("advance(1)" in line for line in narrow)
    assert draw(STATE, ("", ""), Canvas(rows=3)) is None


def test_a_long_river_fits_into_a_terminal() -> None:
    state = MISSISSIPPI_QUEEN_2024.new_state(random.Random(3))
    whole = replace(state, river=state.river.revealed(8))
    assert draw(whole, ("", ""), Canvas(120, 60)) is not None
