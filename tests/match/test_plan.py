"""The setup of a match, the plan of its games, and the name of its season."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.common.errors import SetupError
from spielleiter.match.plan import Entrant, MatchSetup, Opening, ProgramTimeouts, plan_games, season_text
from spielleiter.server.editions import EDITIONS

OPENINGS = (Opening("a.xml", "/a.xml"), Opening("b.xml", "/b.xml", 4))


@given(count=st.integers(1, 30), seed=st.integers(0, 2**64), openings=st.sampled_from([(), OPENINGS]))
def test_the_games_of_a_pair_differ_in_the_sides_alone(count: int, seed: int, openings: tuple[Opening, ...]) -> None:
    plan = plan_games(count, seed, openings)
    assert [game.game for game in plan] == list(range(1, count + 1))
    for first, second in zip(plan[::2], plan[1::2], strict=False):
        assert (first.pair, first.seed, first.opening) == (second.pair, second.seed, second.opening)
        assert (first.seats, second.seats) == ((0, 1), (1, 0))
        assert [first.program_seed(program) for program in (0, 1)] == [
            second.program_seed(program) for program in (0, 1)
        ]


def test_the_seed_decides_the_plan() -> None:
    assert plan_games(10, 1) == plan_games(10, 1)
    assert plan_games(10, 1) == plan_games(12, 1)[:10]
    seeds = {game.seed for seed in (1, 2) for game in plan_games(10, seed)}
    assert len(seeds) == 10


def test_programs_draw_from_seeds_of_their_own() -> None:
    (game,) = plan_games(1, 1)
    assert len({game.seed, game.program_seed(0), game.program_seed(1)}) == 3


def test_each_pair_has_the_next_opening() -> None:
    names = [game.opening and game.opening.name for game in plan_games(6, 1, OPENINGS)]
    assert names == ["a.xml", "a.xml", "b.xml", "b.xml", "a.xml", "a.xml"]


SETUP = MatchSetup(
    entrants=(Entrant("new", "builtin:greedy"), Entrant("old", "./old", can_timeout=False)),
    game_type="swc_2021_blokus",
    games=10,
    seed=7,
    run_id="run",
    openings=(Opening("a.xml", "/a.xml", 3),),
    server=("localhost", 13050),
    password="secret",
    server_options={"soft_timeout": 1.5},
    timeouts=ProgramTimeouts(1, 2, 3),
    sprt="elo0=0 elo1=50",
    significance=0.05,
    min_games=20,
    cwd="/bots",
)


def test_a_setup_survives_json_except_for_the_password() -> None:
    text = json.dumps(SETUP.to_json())
    assert "secret" not in text
    assert MatchSetup.from_json(json.loads(text), "secret") == SETUP


def test_the_password_is_not_shown() -> None:
    assert "secret" not in repr(SETUP)


def test_without_a_directory_the_current_one_is_meant() -> None:
    value = SETUP.to_json()
    del value["cwd"]
    assert MatchSetup.from_json(value).cwd == ""


def test_settings_of_one_program_survive_json() -> None:
    own = Entrant(
        "new",
        "./new",
        cwd="there",
        environment={"A": "b"},
        passed_variables=("JAVA_HOME", "DISPLAY"),
        soft_timeout=1.0,
        hard_timeout=2.0,
        time_factor=3.0,
        memory=9,
    )
    setup = dataclasses.replace(SETUP, entrants=(own, SETUP.entrants[1]))
    assert MatchSetup.from_json(json.loads(json.dumps(setup.to_json())), "secret") == setup
    assert (setup.cwd_of(0), setup.cwd_of(1)) == (str(Path("/bots", "there")), "/bots")


def test_programs_of_an_earlier_version_have_no_limits_of_their_own() -> None:
    value = SETUP.to_json()
    value["entrants"] = [{"name": "new", "command": "./new", "can_timeout": True}] * 2
    assert not any(entrant.has_own_limits for entrant in MatchSetup.from_json(value).entrants)


@pytest.mark.parametrize("change", [{"soft_timeout": 1.0}, {"hard_timeout": 1.0}, {"time_factor": 2.0}])
def test_changed_limits_are_recognised(change: dict[str, Any]) -> None:
    assert Entrant("new", "./new", **change).has_own_limits
    assert not Entrant("new", "./new", memory=5, cwd="there").has_own_limits


def test_a_setup_without_a_server_survives_json() -> None:
    value = {**SETUP.to_json(), "server": None}
    assert MatchSetup.from_json(json.loads(json.dumps(value))).server is None


def test_the_plan_follows_from_games_seed_and_openings() -> None:
    assert SETUP.plan() == plan_games(10, 7, SETUP.openings)
    assert SETUP.names == ("new", "old")


@pytest.mark.parametrize(
    "change",
    [
        {"entrants": []},
        {"entrants": [{"name": "new"}, {"name": "old"}]},
        {"timeouts": {"sleep": 3}},
        {"openings": None},
        {"server": ["localhost"]},
        {"unknown": 1},
        {"games": 0},
        {"entrants": [{"name": "new", "command": ""}, {"name": "old", "command": "old"}]},
    ],
)
def test_an_invalid_setup_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SetupError):
        MatchSetup.from_json({**SETUP.to_json(), **change})


@pytest.mark.parametrize("name", EDITIONS)
def test_game_and_edition_are_named(name: str) -> None:
    game_type = EDITIONS[name].game_type
    assert season_text(game_type, name) == f"{game_type} ({name})"


def test_the_default_edition_is_named_as_well() -> None:
    assert season_text("swc_2021_blokus") == "swc_2021_blokus (blokus-2021-r3)"
