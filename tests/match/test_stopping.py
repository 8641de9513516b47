"""When a match ends early: a test has decided, or a program cannot play."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

import pytest

from spielleiter.common.errors import SetupError
from spielleiter.match.plan import Entrant, MatchSetup
from spielleiter.match.records import GameRecord
from spielleiter.match.statistics import Sprt, count_pairs, count_results
from spielleiter.match.stopping import ABSENCES, FAILURES, sprt_of, stop_rule, unfit_programs, why_unfit
from spielleiter.match.verdict import FAILED_AS_WELL, Verdict
from tests.match.sample_records import absence, fault, game, whole_match

PLAIN = MatchSetup((Entrant("new", "./new"), Entrant("old", "./old")), "chess", games=200, seed=1, run_id="run")


@pytest.mark.parametrize("winner", [0, 1, None])
@pytest.mark.parametrize(
    ("tests", "stops"),
    [
        ({}, {0: None, 1: None, None: None}),
        ({"sprt": "elo0=0 elo1=50"}, {0: 46, 1: 40, None: 40}),
        ({"significance": 0.05}, {0: 16, 1: 16, None: None}),
        ({"significance": 0.05, "min_games": 20}, {0: 20, 1: 20, None: None}),
    ],
)
def test_a_match_ends_with_the_pair_that_decides_its_test(
    tests: dict[str, Any], stops: dict[int | None, int | None], winner: int | None
) -> None:
    is_decided = stop_rule(dataclasses.replace(PLAIN, **tests))
    games = [game(number, winner) for number in range(1, 201)]
    assert next((count for count in range(201) if is_decided(games[:count])), None) == stops[winner]


def test_an_invalid_test_is_refused() -> None:
    with pytest.raises(SetupError, match="SPRT"):
        sprt_of(dataclasses.replace(PLAIN, sprt="elo0=5"))


@pytest.mark.parametrize("seed", range(5))
def test_games_counted_one_by_one_give_the_same_result_as_all_at_once(seed: int) -> None:
    rng, sprt = random.Random(seed), Sprt(0, 50)
    records = whole_match(40, seed)
    rng.shuffle(records)  # concurrent games end in any order
    records = [
        dataclasses.replace(record, is_counted=False, winner=None) if rng.random() < 0.1 else record
        for record in records
    ]
    is_decided = stop_rule(dataclasses.replace(PLAIN, sprt=str(sprt), min_games=10))
    for count in range(len(records) + 1):
        has_enough = count_results(records[:count]).games >= 10
        wanted = has_enough and sprt.decide(count_pairs(records[:count])) is not None
        assert is_decided(records[:count]) is wanted


def overloaded(number: int) -> GameRecord:
    return game(number, None, verdict=Verdict.OVERLOAD, is_counted=False)


def failed(*numbers: int, offender: int = 1, verdict: str = Verdict.CRASH) -> list[GameRecord]:
    return [fault(number, offender, verdict) for number in numbers]


NEITHER: dict[str, Any] = {"remarks": ((), (f"{FAILED_AS_WELL}does not start",)), "is_counted": False, "winner": None}


@pytest.mark.parametrize(
    ("records", "unfit"),
    [
        # a program that never takes its seat is unfit after a pair, one that fails in its first games after some more
        ([absence(number, 0) for number in range(1, ABSENCES + 1)], (0,)),
        ([absence(number, 1) for number in range(1, ABSENCES)], ()),
        (failed(*range(1, FAILURES + 1)), (1,)),
        (failed(*range(1, FAILURES + 1), offender=0, verdict=Verdict.HANGS), (0,)),
        (failed(*range(1, FAILURES)), ()),
        ([overloaded(9), *failed(*range(1, FAILURES + 1))], (1,)),
        # one that has played a game is fit
        ([game(1), *failed(*range(2, 9))], ()),
        ([*failed(1, offender=0), *failed(*range(2, 9))], ()),
        ([game(1, offender=1, verdict=Verdict.NEVER_ENDS), *failed(*range(2, 9))], ()),
        # games that the machine voids are no evidence, whoever is named, nor are games without the opponent
        ([absence(number, 1, Verdict.SERVER_FAILED, is_counted=False) for number in range(1, 9)], ()),
        ([absence(1, 0), *failed(2, 3)], ()),
        ([absence(1, 0), *failed(2, 3, 4)], (1,)),
        ([dataclasses.replace(absence(number, 0), **NEITHER) for number in (1, 2)], (0, 1)),
    ],
)
def test_a_program_that_cannot_play_is_unfit(records: list[GameRecord], unfit: tuple[int, ...]) -> None:
    assert unfit_programs(records) == unfit


def test_the_command_and_the_end_of_the_output_are_shown(tmp_path: Path) -> None:
    record = fault(1, 1, Verdict.CRASH, reason="ended with exit code 3")
    folder = tmp_path / record.folder
    folder.mkdir(parents=True)
    assert list(why_unfit([record], 1, "./bot --fast", tmp_path)) == [
        "random cannot play: crash in game 1 (ended with exit code 3)",
        "  it was started as: ./bot --fast",
        "  it wrote nothing",
    ]
    (folder / "program2.stdout.log").write_text("    0.001  hello\n    0.002  \n    0.003  \tworld\n")
    assert list(why_unfit([record], 1, "./bot", tmp_path))[3:] == ["    hello", "        world"]
    record = dataclasses.replace(record, folder="")
    assert list(why_unfit([record], 1, "./bot", tmp_path))[2:] == ["  its output was not kept; --keep failed keeps it"]
