"""Errors of the client have one base class and a text that says what to do."""

from __future__ import annotations

import random

from spielleiter.client.errors import AuthenticationError, ClientError, NotAMoveError, RequestRefusedError, refusal
from spielleiter.game.hase_und_igel.state import HASE_UND_IGEL_2018
from spielleiter.protocol.messages import AuthenticateRequest, JoinRequest


def test_a_refused_password_has_its_own_error() -> None:
    error = refusal("Failed to authenticate as administrator", AuthenticateRequest("wrong"))
    assert isinstance(error, AuthenticationError)
    assert str(error) == "Failed to authenticate as administrator"


def test_any_other_refusal_keeps_text_and_request() -> None:
    for request in (JoinRequest("swc"), None):
        error = refusal("no", request)
        assert type(error) is RequestRefusedError
        assert isinstance(error, ClientError)
        assert error.request == request


def test_a_long_value_that_is_no_move_is_shortened_in_the_message() -> None:
    error = NotAMoveError(["a move"] * 1000)
    assert str(error) == (
        "['a move', 'a move', 'a move', 'a move', 'a move', 'a move', ...] of type list "
        "cannot be sent as a move of this game"
    )
    assert len(error.value) == 1000  # type: ignore[arg-type]


def test_the_message_names_the_type_of_a_possible_move() -> None:
    state = HASE_UND_IGEL_2018.new_state(random.Random(1))
    expected = "; expected a HaseUndIgelMove, such as those of state.generate_legal_moves()"
    assert str(NotAMoveError(None, state)).endswith(expected)
