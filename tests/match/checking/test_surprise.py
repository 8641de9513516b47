from __future__ import annotations

import pytest

from spielleiter.match.checking.surprise import SpoiltError, SurpriseError, too_slow


@pytest.mark.parametrize(
    ("seconds", "lost", "kind", "text"),
    [
        (3.0, 0.0, SurpriseError, "late"),
        (3.0, 0.9, SurpriseError, "late; 0.900 s of it waiting for a processor"),  # would have been late all the same
        (3.0, 1.0, SpoiltError, "late; 1.000 s of it waiting for a processor"),
        (2.1, 0.2, SurpriseError, "late; 0.200 s of it waiting for a processor"),  # hardly worth mentioning
    ],
)
def test_the_machine_is_to_blame_for_what_would_have_been_in_time(
    seconds: float, lost: float, kind: type[SurpriseError], text: str
) -> None:
    surprise = too_slow("late", seconds, lost, limit=2.0)
    assert type(surprise) is kind
    assert str(surprise) == text
