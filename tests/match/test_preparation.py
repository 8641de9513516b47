"""Preparing a match, and which matches are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spielleiter.common.errors import JournalError, SetupError
from spielleiter.match.plan import Entrant, MatchSetup, ProgramTimeouts
from spielleiter.match.preparation import load_match, prepare_match, require_playable
from spielleiter.match.records import save_setup
from spielleiter.server.editions import choose_editions

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
def test_limits_that_contradict_each_other_name_the_program_they_belong_to(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], limits: dict[str, float], problem: str
) -> None:
    with pytest.raises(SetupError) as refused:
        require_playable(setup_of(tmp_path, first, second, **limits))
    assert str(refused.value).startswith(problem)


def test_a_program_that_is_held_to_no_limit_may_have_any(tmp_path: Path) -> None:
    require_playable(setup_of(tmp_path, {"soft_timeout": 20.0, "can_timeout": False}, {}))


# -- preparing a match from a script --------------------------------------------------------------------------------


def test_two_command_lines_are_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    setup = prepare_match("builtin:greedy", "builtin:random")
    assert setup.names == ("greedy", "random")
    assert (setup.games, setup.edition, setup.server, setup.cwd) == (100, None, None, str(tmp_path))
    assert setup.game_type == next(iter(choose_editions({}, {})))
    assert setup.timeouts == ProgramTimeouts()
    assert setup != prepare_match("builtin:greedy", "builtin:random"), "another seed and another id"


def test_an_entrant_brings_its_own_settings(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    setup = prepare_match(
        Entrant("", "builtin:first", can_timeout=False),
        Entrant("old", "true", cwd="new", time_factor=2.0),
        cwd=tmp_path,
    )
    assert setup.names == ("first", "old")
    assert not setup.entrants[0].can_timeout
    assert setup.cwd_of(1) == str(tmp_path / "new")


def test_only_what_was_asked_for_is_set(tmp_path: Path) -> None:
    setup = prepare_match(
        *("builtin:first", "builtin:first"),
        edition="blokus-2021-r1",
        soft_timeout=1.5,
        start_piece="PENTO_V",
        sprt="elo0=0 elo1=50",
        significance=0.05,
        seed=7,
        cwd=tmp_path,
    )
    assert (setup.game_type, setup.edition) == ("swc_2021_blokus", "blokus-2021-r1")
    assert setup.server_options == {"soft_timeout": 1.5, "start_piece": "PENTO_V"}
    assert (setup.sprt, setup.significance, setup.min_games, setup.seed) == ("elo0=0 elo1=50", 0.05, 20, 7)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"game_type": "chess"}, "game_type 'chess': expected swc_"),
        ({"edition": "chess"}, "edition 'chess': expected blokus-2027"),
        ({"edition": "blokus-2027", "game_type": "swc_2021_blokus"}, "edition blokus-2027 is of swc_2027_blokus, not"),
        ({"games": 0}, "0 games cannot be played"),
        ({"order": "backwards"}, "order 'backwards': expected sequential or random"),
        ({"book": "nothing"}, "openings nothing: cannot be read"),
        ({"server": ("localhost", 1), "soft_timeout": 1.0}, "are set by the running server"),
        ({"server": ("localhost", 1), "book": "nothing"}, "are set by the running server"),
        ({"sprt": "elo0=9 elo1=0"}, "SPRT: elo0=9 must be below elo1=0"),
        ({"significance": 0.7}, "significance 0.7: expected more than 0 and at most 0.5"),
        ({"start_piece": "TRIANGLE"}, "startPiece: 'TRIANGLE' is not one of"),
        ({"cwd": "/there/is/none"}, "the directory that the programs are started in does not exist"),
        ({"player1": "./no-such-bot"}, "there is no file ./no-such-bot"),
        (
            {"player1": "builtin:hui-greedy"},
            "builtin:hui-greedy: the strategy hui-greedy does not play swc_2027_blokus",
        ),
    ],
)
def test_what_cannot_be_played_is_refused(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(SetupError) as refused:
        prepare_match(**{"player1": "builtin:first", "player2": "builtin:first", **arguments})
    assert problem in str(refused.value)


def test_a_match_is_loaded_with_the_password_that_its_folder_does_not_hold(tmp_path: Path) -> None:
    setup = prepare_match("builtin:first", "builtin:first", server=("localhost", 1), password="secret")
    save_setup(tmp_path, setup.to_json())
    assert load_match(tmp_path, "secret") == setup
    with pytest.raises(JournalError, match="is there a match"):
        load_match(tmp_path / "other")
