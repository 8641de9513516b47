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

OPENINGS = (Opening("a.xml", "/a.xml"), Opening("b.xml", "/b.xml", 4))


@given(count=st.integers(1, 30), seed=st.integers(0, 2**64), openings=st.sampled_from([(), OPENINGS]))
def test_the_games_of_a_pair_differ_in_the_sides_alone(count: int, seed: int, openings: tuple[Opening, ...]) -> None:
    plan = plan_games(count, seed, openings)
    assert [game.game for game in plan] == list(range(1, count + 1))
    for first, second in zip(plan[::2], plan[1::2], strict=False):
        assert (first.pair, first.seed, first.opening) == (second.pair, second.seed, second.opening)
        assert (first.seats, second.seats) == ((0, 1), (1, 0))
        seeds = [[game.program_seed(program) for program in (0, 1)] for game in (first, second)]
        assert seeds[0] == seeds[1]
        assert len({first.seed, *seeds[0]}) == 3
    assert plan == plan_games(count + 2, seed, openings)[:count]


def test_each_pair_has_a_seed_of_its_own_and_the_next_opening() -> None:
    assert len({game.seed for seed in (1, 2) for game in plan_games(10, seed)}) == 10
    names = [game.opening and game.opening.name for game in plan_games(6, 1, OPENINGS)]
    assert names == ["a.xml", "a.xml", "b.xml", "b.xml", "a.xml", "a.xml"]


OWN = Entrant(
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
SETUP = MatchSetup(
    entrants=(OWN, Entrant("old", "./old", can_timeout=False)),
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


@pytest.mark.parametrize("setup", [SETUP, dataclasses.replace(SETUP, server=None, sprt=None, significance=None)])
def test_a_setup_survives_json_except_for_the_password(setup: MatchSetup) -> None:
    text = json.dumps(setup.to_json())
    assert "secret" not in text + repr(setup)
    assert MatchSetup.from_json(json.loads(text), "secret") == setup
    assert (setup.cwd_of(0), setup.cwd_of(1)) == (str(Path("/bots", "there")), "/bots")
    assert setup.plan() == plan_games(10, 7, setup.openings)


def test_a_setup_of_an_earlier_version_can_be_read() -> None:
    value = SETUP.to_json()
    del value["cwd"]
    value["entrants"] = [{"name": "new", "command": "./new", "can_timeout": True}] * 2
    setup = MatchSetup.from_json(value)
    assert setup.cwd == ""
    assert not any(entrant.has_own_limits for entrant in setup.entrants)


@pytest.mark.parametrize("change", [{"soft_timeout": 1.0}, {"hard_timeout": 1.0}, {"time_factor": 2.0}])
def test_changed_limits_are_recognised(change: dict[str, Any]) -> None:
    assert Entrant("new", "./new", **change).has_own_limits
    assert not Entrant("new", "./new", memory=5, cwd="there").has_own_limits


@pytest.mark.parametrize(
    "change",
    [
        {"entrants": []},
        {"entrants": [{"name": "new"}, {"name": "old"}]},
        {"timeouts": {"sleep": 3}},
        {"server": ["localhost"]},
        {"unknown": 1},
        {"games": 0},
        {"entrants": [{"name": "new", "command": ""}, {"name": "old", "command": "old"}]},
    ],
)
def test_an_invalid_setup_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SetupError):
        MatchSetup.from_json({**SETUP.to_json(), **change})


def test_game_and_edition_are_named() -> None:
    assert season_text("swc_2021_blokus", "blokus-2021-r1") == "swc_2021_blokus (blokus-2021-r1)"
    assert season_text("swc_2021_blokus") == "swc_2021_blokus (blokus-2021-r3)"
