"""The worker process that computes the moves of built-in players."""

from __future__ import annotations

import io
from typing import Any

from spielleiter.client.choosers import make_chooser
from spielleiter.match.builtin_process import encode, read_messages, serve
from tests.match.first_position import STATE


def answers_to(*messages: Any) -> list[Any]:
    written = io.BytesIO()
    serve(io.BytesIO(b"".join(map(encode, messages))), written)
    ready, *answers = read_messages(io.BytesIO(written.getvalue()))
    assert ready is None
    return answers


def test_a_failure_affects_one_move_only() -> None:
    answers = answers_to(
        ("move", 1, "first", 1, STATE, 1.8),
        ("move", 2, "first", 1, None, 1.8),
        ("end", 2),
        ("end", 3),
        ("move", 1, "first", None, STATE, 1.8),
    )
    (first, _), (failed, _), (second, _) = answers
    assert first[0] == second[0] is not None
    assert first[1] >= 0 <= first[2]
    assert first[3] == ""
    assert failed[0] is None
    assert failed[3]


def test_another_process_can_continue_with_the_generator_of_an_answer() -> None:
    chooser = make_chooser("random", seed=7)
    expected = [chooser(STATE) for _ in range(3)]
    (first, generator), (second, _) = answers_to(
        ("move", 1, "random", 7, STATE, 1.8),
        ("move", 1, "random", None, STATE, 1.8),
    )
    ((again, _), (third, _)) = answers_to(
        ("move", 1, "random", generator, STATE, 1.8),
        ("move", 1, "random", None, STATE, 1.8),
    )
    assert [first[0], second[0], third[0]] == expected
    assert again[0] == second[0]


def test_a_search_that_has_no_time_is_reported_as_cut() -> None:
    state = STATE
    for _ in range(8):
        state = state.play(make_chooser("first", seed=1)(state))
    answers = answers_to(("move", 1, "level-8", 1, state, 0.0), ("move", 1, "first", 1, state, 0.0))
    assert [(thought[0] is not None, thought[4]) for thought, _ in answers] == [(True, True), (True, False)]
