"""The English texts are those of release 21.1.0, and name the cell that is at fault."""

from __future__ import annotations

import random
import re
from typing import Final

import pytest

from spielleiter.game.blokus.moves import SetMove, SkipMove
from spielleiter.game.blokus.pieces import SIZE, Color, Rotation, Shape
from spielleiter.game.blokus.state import RULES_2021, BlokusState
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R1, describe_move_r1, explain_mistake
from spielleiter.protocol.messages import MoveData, UnreadableData

MONO_AT_9_9: Final = "BLUE Piece MONO:0 [9,9]"
START: Final = BlokusState(RULES_2021, Shape.PENTO_V)


def set_move(color: Color, shape: Shape, x: int, y: int, rotation: Rotation = Rotation.NONE) -> SetMove:
    return SetMove(color, shape, rotation, False, x, y)


def second_round() -> BlokusState:
    """Every colour has its first piece in a corner; that of BLUE covers (0, 0), (0, 1), (0, 2), (1, 2) and (2, 2)."""
    state = START
    for color, (x, y) in zip(Color, [(0, 0), (17, 17), (0, 17), (17, 0)], strict=True):
        rotation = Rotation.MIRROR if color is Color.GREEN else Rotation.NONE
        state = state.play(set_move(color, Shape.PENTO_V, x, y, rotation))
    return state


@pytest.mark.parametrize(
    ("move", "text"),
    [
        (SetMove(Color.YELLOW, Shape.PENTO_S, Rotation.NONE, False, 16, 0), "YELLOW Piece PENTO_S:0 [16,0]"),
        (SetMove(Color.BLUE, Shape.MONO, Rotation.LEFT, True, -1, 20), "BLUE Piece MONO:3 (flipped) [-1,20]"),
        (SkipMove(Color.GREEN), "GREEN skipped"),
        (SkipMove(), "null skipped"),
        (None, "null"),
    ],
)
def test_a_move_is_described(move: SetMove | SkipMove | None, text: str) -> None:
    assert describe_move_r1(move) == text


@pytest.mark.parametrize(
    ("state", "move", "text"),
    [
        (START, set_move(Color.BLUE, Shape.PENTO_I, 0, 0), "PENTO_I is not the requested first shape, PENTO_V"),
        (START, SkipMove(Color.BLUE), "Can't Skip on first round; move was BLUE skipped"),
        (START, SkipMove(), "Can't Skip on first round; move was BLUE skipped"),
        (START, SkipMove(Color.RED), "Expected move from BLUE; move was RED skipped"),
        (
            START,
            set_move(Color.GREEN, Shape.PENTO_V, 0, 0),
            "Expected move from BLUE; move was GREEN Piece PENTO_V:0 [0,0]",
        ),
        (
            START,
            set_move(Color.BLUE, Shape.PENTO_V, 5, 5),
            "The Piece isn't located in a corner; move was BLUE Piece PENTO_V:0 [5,5]",
        ),
        (
            START,
            set_move(Color.BLUE, Shape.PENTO_V, 18, 17),
            "Field [20, 19] is out of bounds; move was BLUE Piece PENTO_V:0 [18,17]",
        ),
        (
            second_round(),
            set_move(Color.BLUE, Shape.PENTO_V, 9, 9),
            "Piece PENTO_V has already been placed before",
        ),
        (
            second_round(),
            set_move(Color.BLUE, Shape.MONO, 1, 2),
            "Field [1, 2] already belongs to BLUE; move was BLUE Piece MONO:0 [1,2]",
        ),
        (
            second_round(),
            set_move(Color.BLUE, Shape.MONO, 19, 19),
            "Field [19, 19] already belongs to YELLOW; move was BLUE Piece MONO:0 [19,19]",
        ),
        (
            second_round(),
            set_move(Color.BLUE, Shape.MONO, 1, 1),
            "Field [1, 1] already borders on BLUE; move was BLUE Piece MONO:0 [1,1]",
        ),
        (
            second_round(),
            set_move(Color.BLUE, Shape.MONO, 9, 9),
            f"{MONO_AT_9_9} shares no corner with another piece of same color; move was {MONO_AT_9_9}",
        ),
    ],
)
def test_a_mistake_is_explained(state: BlokusState, move: SetMove | SkipMove, text: str) -> None:
    mistake = state.check(move)
    assert mistake is not None
    assert explain_mistake(mistake, move, state) == text
    refusal = BLOKUS_2021_R1.texts.illegal("Eins", mistake, move, state)
    assert (refusal.reason, refusal.observer_error) == (text, text)
    assert refusal.error == f"Ungueltiger Zug von 'Eins'.\n{text}"
    assert (refusal.packet, refusal.shown) == (None, None)


_FIELD: Final = re.compile(
    r"Field \[(-?\d+), (-?\d+)\] (is out of bounds|already belongs to|already borders on) ?(\w*);"
)


@pytest.mark.parametrize("seed", range(4))
def test_the_named_cell_has_the_fault(seed: int) -> None:
    rng = random.Random(seed)
    state = START
    named = 0
    for _ in range(30):
        for _ in range(40):
            move = SetMove(
                state.color_on_turn,
                rng.choice(list(Shape)),
                rng.choice(list(Rotation)),
                rng.random() < 0.5,
                rng.randint(-2, 20),
                rng.randint(-2, 20),
            )
            mistake = state.check(move)
            found = _FIELD.match(explain_mistake(mistake, move, state)) if mistake else None
            if found is None:
                continue
            named += 1
            x, y = int(found[1]), int(found[2])
            if found[3] == "is out of bounds":
                assert not (0 <= x < SIZE and 0 <= y < SIZE)
                continue
            owner = state.color_at(x, y)
            if found[3] == "already belongs to":
                assert owner is not None
                assert owner.name == found[4]
            else:
                near = [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
                owners = {state.color_at(*cell) for cell in near if 0 <= cell[0] < SIZE and 0 <= cell[1] < SIZE}
                assert owner is None
                assert state.color_on_turn in owners
        state = state.play(rng.choice(list(state.generate_legal_moves())))
    assert named > 300


def test_a_move_out_of_turn_names_both() -> None:
    sent = MoveData(SetMove(Color.YELLOW, Shape.PENTO_S, Rotation.NONE, False, 16, 0))
    refusal = BLOKUS_2021_R1.texts.out_of_turn(0, 0, 1, ("Eins", "Zwei"), sent)
    assert refusal.error == (
        "It's not your turn yet; expected: Player One(Eins), got: Player Two(Zwei)"
        " (msg was YELLOW Piece PENTO_S:0 [16,0])."
    )
    assert (refusal.reason, refusal.shown) == ("Der Spieler hat das Spiel verlassen", sent)
    unreadable = BLOKUS_2021_R1.texts.out_of_turn(None, 1, 0, ("Eins", "Zwei"), UnreadableData("x", "y"))
    assert unreadable.error.endswith("got: Player One(Eins) (msg was x).")


def test_a_move_that_was_not_requested_is_refused() -> None:
    refusal = BLOKUS_2021_R1.texts.out_of_turn(None, 0, 0, ("Eins", "Zwei"), MoveData(SkipMove()))
    assert refusal.error == "We didn't request a data from you yet."


def test_unreadable_moves_are_explained_in_german() -> None:
    refusal = BLOKUS_2021_R1.texts.unreadable("Eins", UnreadableData("x", "data fehlt"))
    assert refusal.reason == refusal.observer_error == "Der Zug konnte nicht erkannt werden: data fehlt"
    assert refusal.error == "Ungueltiger Zug von 'Eins'.\nDer Zug konnte nicht erkannt werden: data fehlt"
    assert refusal.shown is None
