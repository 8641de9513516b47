"""Errors of the client say what to do, and show refusals without the names of Java classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from msgspec import Struct

from spielleiter.client.client_errors import NotAMoveError, plain_text
from spielleiter.game.api import State
from spielleiter.game.blokus import BlokusState
from tests.client.fake import START


@dataclass(frozen=True)
class DataclassMove:
    count: int


class StructMove(Struct, frozen=True):
    count: int


@pytest.mark.parametrize("kind", [DataclassMove, StructMove])
def test_a_wrong_field_of_a_move_is_named(kind: Any) -> None:
    """A game that somebody adds may have moves of either kind."""

    class Position(BlokusState, frozen=True):
        def generate_legal_moves(self) -> Any:
            yield kind(1)

    state: State = Position(START.rules, START.start_shape)
    text = f"this {kind.__name__} cannot be sent: count is 'three', expected a value of type int"
    assert str(NotAMoveError(kind("three"), state)) == text


def test_a_long_value_that_is_no_move_is_shortened_in_the_message() -> None:
    error = NotAMoveError(["a move"] * 1000)
    assert str(error) == (
        "['a move', 'a move', 'a move', 'a move', 'a move', 'a move', ...] of type list "
        "cannot be sent as a move of this game"
    )
    assert len(error.value) == 1000  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("sc.api.plugins.exceptions.GameRoomException: Room x is already full!", "Room x is already full!"),
        ("java.lang.IllegalArgumentException: no", "no"),
        ("a.B: c.d.E: inner", "inner"),
        ("this server tells nothing (a.b.C: why)", "this server tells nothing (why)"),
        (
            "Ungueltiger Zug von 'Ada'.\nInvalidMoveException(mistake=Zu weit, move=null)",
            "Ungueltiger Zug von 'Ada'. Zu weit",
        ),
        ("InvalidMoveException(mistake=Zu weit, move=Setze MONO[1,2])", "Zu weit (Setze MONO[1,2])"),
        ("Request Cancel(roomId=x) requires authentication", "This request requires authentication as administrator"),
        # none of these names a class
        ("see example.org: there", "see example.org: there"),
        ("Zug: nein", "Zug: nein"),
        ("The server failed", "The server failed"),
    ],
)
def test_only_the_additions_of_java_are_removed(message: str, text: str) -> None:
    assert plain_text(message) == text
