"""A game option is refused if the game does not have it, or if the game does not know its value."""

from __future__ import annotations

import pytest

from spielleiter.server.editions import choose_editions, game_option_problem


@pytest.mark.parametrize(
    ("game_type", "value", "problem"),
    [
        ("swc_2021_blokus", "PENTO_V", None),
        ("swc_2027_blokus", "PENTO_X", None),
        ("swc_2021_blokus", "PENTO_X", "startPiece: 'PENTO_X' is not one of"),
        ("swc_2018_hase_und_igel", "PENTO_V", "swc_2018_hase_und_igel has no option startPiece"),
    ],
)
def test_options_that_a_game_does_not_take_are_recognised(game_type: str, value: str, problem: str | None) -> None:
    found = game_option_problem(choose_editions({}, {})[game_type], "startPiece", value)
    assert (found is None) == (problem is None)
    assert (found or "").startswith(problem or "")
