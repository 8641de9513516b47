"""The options of a resumed match are compared with those of its setup."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from spielleiter.cli.commands import Misuse
from spielleiter.cli.match import match_command
from spielleiter.cli.resume import CHANGEABLE, FIXED, refuse_changed_options
from spielleiter.common.errors import SetupError
from spielleiter.match.plan import Entrant, MatchSetup, Opening, ProgramTimeouts

FOLDER = Path("result")

PLAN: dict[str, Any] = {
    "entrants": (Entrant("new", "./new --fast", can_timeout=False), Entrant("old", "old.jar")),
    "game_type": "chess",
    "games": 100,
    "seed": 7,
    "run_id": "0123",
}
OWN = MatchSetup(
    **PLAN,
    server_options={"soft_timeout": 1.5, "start_piece": "PENTO_Y"},
    timeouts=ProgramTimeouts(10, 2, 60),
    sprt="elo0=0 elo1=50",
    significance=0.05,
    min_games=30,
)
ELSEWHERE = MatchSetup(**PLAN, server=("example.org", 7))


APART = MatchSetup(
    **{
        **PLAN,
        "entrants": (
            Entrant(
                "new",
                "./new",
                cwd="there",
                environment={"A": "b"},
                passed_variables=("C", "D"),
                memory=9,
                time_factor=2.0,
                soft_timeout=0.7,
            ),
            Entrant("old", "old.jar"),
        ),
    }
)


def test_every_option_is_either_changeable_or_fixed() -> None:
    options = {parameter.name for parameter in match_command.params if parameter.expose_value}
    assert options - {"combine", "resume"} == CHANGEABLE | FIXED
    assert not CHANGEABLE & FIXED


@pytest.mark.parametrize(
    ("setup", "asked"),
    [
        (OWN, {}),
        (OWN, {"player1": "./new --fast", "name1": "new", "player2": "old.jar", "name2": "old"}),
        (OWN, {"games": 100, "game": "chess", "seed": 7, "opening_turn": 0, "start_piece": "PENTO_Y"}),
        (OWN, {"games": 200}),
        (OWN, {"soft_timeout": 1500, "hard_timeout": 10_000, "no_timeout1": True}),
        (OWN, {"start_timeout": 10.0, "exit_timeout": 2.0, "game_timeout": 60.0}),
        (OWN, {"sprt": "elo1=50,elo0=0", "significance": 0.05, "min_tests": 30}),
        (OWN, {"start_server": True, "server": "example.org:9"}),
        (OWN, {"concurrency": 3, "pin": True, "fail_fast": True, "fail_on": ("any",), "require": "better"}),
        (OWN, {"password": "secret", "out": Path("other") / ".." / "result"}),
        (ELSEWHERE, {"server": "example.org:7"}),
        (ELSEWHERE, {"host": "example.org"}),
        (ELSEWHERE, {"port": 7}),
        (ELSEWHERE, {"min_tests": 20}),
        (OWN, {"cores_per_game": 2, "on_end": ["true"]}),
        (OWN, {"cwd1": None, "env1": None, "memory2": None, "time_factor1": 1.0}),
        (APART, {"pass_env1": ("C", "D"), "pass_env2": None}),
        (APART, {"cwd1": "there", "env1": {"A": "b"}, "memory1": 9, "time_factor1": 2.0, "soft_timeout1": 700}),
    ],
)
def test_options_that_agree_with_the_plan_or_do_not_affect_it_are_accepted(
    setup: MatchSetup, asked: dict[str, Any]
) -> None:
    refuse_changed_options(FOLDER, setup, asked)


@pytest.mark.parametrize(
    ("setup", "asked", "difference"),
    [
        (OWN, {"player1": "./newer"}, "--player1 ./newer (begun with ./new --fast)"),
        (OWN, {"player2": "./new --fast"}, "--player2 ./new --fast (begun with old.jar)"),
        (OWN, {"name2": "older"}, "--name2 older (begun with old)"),
        (OWN, {"games": 50}, "--games 50 (begun with 100)"),
        (OWN, {"game": "go"}, "--game go (begun with chess)"),
        (OWN, {"seed": 0}, "--seed 0 (begun with 7)"),
        (OWN, {"start_piece": "MONO"}, "--start-piece MONO (begun with PENTO_Y)"),
        (OWN, {"game_end": "noMovesLeft"}, "--game-end noMovesLeft (begun without)"),
        (OWN, {"soft_timeout": 2000}, "--soft-timeout 2000 (begun with 1500)"),
        (OWN, {"hard_timeout": 3000}, "--hard-timeout 3000 (begun with 10000)"),
        (ELSEWHERE, {"soft_timeout": 2000}, "--soft-timeout 2000 (begun without)"),
        (OWN, {"no_timeout": True}, "--no-timeout (begun without)"),
        (OWN, {"no_timeout2": True}, "--no-timeout2 (begun without)"),
        (OWN, {"exit_timeout": 5.0}, "--exit-timeout 5.0 (begun with 2)"),
        (OWN, {"sprt": "elo0=0 elo1=10"}, "--sprt elo0=0 elo1=10 (begun with elo0=0 elo1=50)"),
        (ELSEWHERE, {"sprt": "elo0=0 elo1=10"}, "--sprt elo0=0 elo1=10 (begun without)"),
        (OWN, {"significance": 0.01}, "--significance 0.01 (begun with 0.05)"),
        (OWN, {"min_tests": 20}, "--min-tests 20 (begun with 30)"),
        (OWN, {"host": "example.org"}, "--host example.org (begun with the match's own server)"),
        (ELSEWHERE, {"port": 8}, "--port 8 (begun with example.org:7)"),
        (ELSEWHERE, {"start_server": True}, "--start-server (begun with example.org:7)"),
        (OWN, {"opening_turn": 3}, "--opening-turn 3 (begun with 0)"),
        (OWN, {"openings": Path("one.xml")}, "--openings one.xml (begun without)"),
        (OWN, {"memory1": 9}, "--memory1 9 (begun without)"),
        (APART, {"memory1": 8}, "--memory1 8 (begun with 9)"),
        (APART, {"soft_timeout1": 800}, "--soft-timeout1 800 (begun with 700)"),
        (APART, {"cwd2": "there"}, "--cwd2 there (begun without)"),
        (APART, {"env1": {"A": "c"}}, "--env1 A=c (begun with A=b)"),
        (APART, {"pass_env1": ("C",)}, "--pass-env1 C (begun with C,D)"),
        (OWN, {"out": Path("other")}, "--out other (begun in result)"),
    ],
)
def test_options_that_differ_from_the_plan_are_refused(
    setup: MatchSetup, asked: dict[str, Any], difference: str
) -> None:
    with pytest.raises(Misuse) as refused:
        refuse_changed_options(FOLDER, setup, asked)
    assert refused.value.message == (
        f"--resume result: the match was begun with other options: {difference}; "
        "leave that option out to continue it, or begin another match in another folder"
    )


def test_all_differences_are_named_at_once() -> None:
    with pytest.raises(Misuse, match=r"--games 20 \(.*\), --seed 3 \(.*\); leave those options out"):
        refuse_changed_options(FOLDER, OWN, {"seed": 3, "games": 20, "game": "chess"})


@pytest.mark.parametrize("kept", ["bot ({})", "bot-{}"])
def test_programs_with_equal_names_are_recognised(kept: str) -> None:
    one, two = kept.format(1), kept.format(2)
    setup = MatchSetup(**{**PLAN, "entrants": (Entrant(one, "a"), Entrant(two, "b"))})
    refuse_changed_options(FOLDER, setup, {"name1": "bot", "name2": "bot"})
    with pytest.raises(Misuse, match=f"--name1 {re.escape(two)}"):
        refuse_changed_options(FOLDER, setup, {"name1": two})


def test_openings_are_compared_by_their_files(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.xml", "b.xml")]
    for file in files:
        file.touch()
    setup = MatchSetup(**PLAN, openings=tuple(Opening(file.name, str(file), 3) for file in files))
    refuse_changed_options(FOLDER, setup, {"openings": tmp_path, "opening_turn": 3})
    with pytest.raises(Misuse) as refused:
        refuse_changed_options(FOLDER, setup, {"openings": files[0], "opening_turn": 3})
    assert f"--openings {files[0]} (begun with 2 of {tmp_path})" in refused.value.message
    one = MatchSetup(**PLAN, openings=(Opening("a.xml", str(files[0])),))
    with pytest.raises(Misuse) as refused:
        refuse_changed_options(FOLDER, one, {"openings": tmp_path})
    assert f"--openings {tmp_path} (begun with {files[0]})" in refused.value.message


@pytest.mark.parametrize(
    ("asked", "problem"), [({"sprt": "oh"}, "SPRT"), ({"openings": Path(__file__).parent}, "holds no replay")]
)
def test_invalid_options_are_reported_as_for_a_new_match(asked: dict[str, Any], problem: str) -> None:
    with pytest.raises(SetupError, match=problem):
        refuse_changed_options(FOLDER, OWN, asked)
