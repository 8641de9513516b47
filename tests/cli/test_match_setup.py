from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spielleiter.cli.match_setup import check_setup
from spielleiter.match.errors import SetupError
from spielleiter.match.setup import Entrant, MatchSetup

SOFT_ABOVE_HARD = "the soft time limit ({} ms) is above the hard one ({} ms), at which the game is over already"


def setup_of(folder: Path, first: dict[str, Any], second: dict[str, Any], **limits: float) -> MatchSetup:
    return MatchSetup(
        entrants=(Entrant("new", "builtin:greedy", **first), Entrant("old", "builtin:random", **second)),
        game_type="swc_2027_blokus",
        games=2,
        seed=1,
        run_id="run",
        cwd=str(folder),
        server_options=limits,
    )


@pytest.mark.parametrize(
    ("first", "second", "limits", "problem"),
    [
        ({"soft_timeout": 20.0}, {}, {}, "new: " + SOFT_ABOVE_HARD.format(20000, 10000)),
        ({}, {"hard_timeout": 1.0}, {}, "old: " + SOFT_ABOVE_HARD.format(2000, 1000)),
        ({}, {"time_factor": 2.0}, {"soft_timeout": 20.0}, SOFT_ABOVE_HARD.format(20000, 10000)),
        ({}, {}, {"soft_timeout": 20.0}, SOFT_ABOVE_HARD.format(20000, 10000)),
    ],
)
def test_contradictory_limits_name_their_program(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], limits: dict[str, float], problem: str
) -> None:
    with pytest.raises(SetupError) as refused:
        check_setup(setup_of(tmp_path, first, second, **limits))
    assert str(refused.value).startswith(problem)


def test_limits_are_not_checked_for_a_program_without_limits(tmp_path: Path) -> None:
    check_setup(setup_of(tmp_path, {"soft_timeout": 20.0, "can_timeout": False}, {}))
