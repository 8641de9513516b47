"""When a delay is inconclusive, and the text that says so."""

from __future__ import annotations

import pytest

from spielleiter.match.checking.scripted_server import (
    UNFINISHED_SHARE,
    InconclusiveError,
    UnexpectedBehaviourError,
    too_slow,
)


@pytest.mark.parametrize(
    ("seconds", "lost", "kind", "text"),
    [
        (3.0, 0.0, UnexpectedBehaviourError, "late"),
        (
            3.0,
            0.9,
            UnexpectedBehaviourError,
            "late; 0.900 s of it waiting for a processor",
        ),  # late even without waiting
        (3.0, 1.0, InconclusiveError, "late; 1.000 s of it waiting for a processor"),
        (
            2.1,
            0.2,
            InconclusiveError,
            "late; 0.200 s of it waiting for a processor",
        ),  # a program that sleeps for 1.9 s
        (
            2.01,
            0.02,
            UnexpectedBehaviourError,
            "late; 0.020 s of it waiting for a processor",
        ),  # as on an idle machine
    ],
)
def test_a_delay_is_inconclusive_if_the_program_would_have_been_in_time_otherwise(
    seconds: float, lost: float, kind: type[UnexpectedBehaviourError], text: str
) -> None:
    error = too_slow("late", seconds, lost, limit=2.0)
    assert type(error) is kind
    assert str(error) == text


@pytest.mark.parametrize(("lost", "kind"), [(0.19, UnexpectedBehaviourError), (0.21, InconclusiveError)])
def test_little_waiting_says_nothing_about_what_has_not_happened_yet(
    lost: float, kind: type[UnexpectedBehaviourError]
) -> None:
    assert type(too_slow("it still runs", 2.0, lost, 2.0, UNFINISHED_SHARE)) is kind
