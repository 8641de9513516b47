"""When a match ends early: a test has decided, or a program cannot play."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

import pytest

from spielleiter.common.errors import SetupError
from spielleiter.match.plan import MatchSetup
from spielleiter.match.records import GameRecord
from spielleiter.match.statistics import count_pairs, count_results
from spielleiter.match.stopping import ABSENCES, FAILURES, _RunningCounts, sprt_of, stop_rule, unfit_programs, why_unfit
from spielleiter.match.verdict import FAILED_AS_WELL, Verdict
from tests.match.sample_records import fault, game, whole_match
from tests.match.test_plan import SETUP

PLAIN = dataclasses.replace(SETUP, sprt=None, significance=None, min_games=0)


def won_by(winner: int | None, games: int) -> list[GameRecord]:
    return [game(number, winner) for number in range(1, games + 1)]


def first_stop(setup: MatchSetup, winner: int | None) -> int | None:
    """The number of games, all won by one program, after which the match is decided; None: not after 200."""
    is_decided = stop_rule(setup)
    games = won_by(winner, 200)
    return next((count for count in range(201) if is_decided(games[:count])), None)


def test_a_match_without_a_test_is_never_decided() -> None:
    assert first_stop(PLAIN, 0) is None


@pytest.mark.parametrize("winner", [0, 1])
def test_the_sequential_test_stops_after_a_pair(winner: int) -> None:
    stop = first_stop(dataclasses.replace(PLAIN, sprt="elo0=0 elo1=50 alpha=0.05 beta=0.05"), winner)
    assert stop is not None
    assert 0 < stop < 100
    assert stop % 2 == 0


def test_draws_are_evidence_against_the_larger_difference_only() -> None:
    assert first_stop(dataclasses.replace(PLAIN, sprt="elo0=0 elo1=200"), None) is not None
    assert first_stop(dataclasses.replace(PLAIN, significance=0.05), None) is None


@pytest.mark.parametrize("winner", [0, 1])
def test_significance_stops_for_either_program_after_enough_games(winner: int) -> None:
    early = first_stop(dataclasses.replace(PLAIN, significance=0.05), winner)
    assert early is not None
    assert early < 20
    assert first_stop(dataclasses.replace(PLAIN, significance=0.05, min_games=20), winner) == 20


def test_an_invalid_test_is_refused() -> None:
    with pytest.raises(SetupError, match="SPRT"):
        sprt_of(dataclasses.replace(PLAIN, sprt="elo0=5"))


@pytest.mark.parametrize("seed", range(5))
def test_games_counted_one_by_one_give_the_same_result_as_all_at_once(seed: int) -> None:
    rng = random.Random(seed)
    records = whole_match(40, seed)
    rng.shuffle(records)  # concurrent games end in any order
    records = [
        dataclasses.replace(record, is_counted=False, winner=None) if rng.random() < 0.1 else record
        for record in records
    ]
    so_far = _RunningCounts()
    for count in range(len(records) + 1):
        so_far.update(records[:count])
        assert so_far.pairs == count_pairs(records[:count])
        assert so_far.games == count_results(records[:count]).games


def test_each_record_is_counted_only_once() -> None:
    looks = 0

    class Looked(GameRecord):
        @property
        def is_counted(self) -> bool:
            nonlocal looks
            looks += 1
            return False

    is_decided = stop_rule(dataclasses.replace(PLAIN, significance=0.05))
    record = Looked.__new__(Looked)
    for count in range(50):
        assert not is_decided([record] * count)
    assert looks == 49


NOT_BEGUN: dict[str, Any] = {"plies": 0, "causes": ("", ""), "think_times": ((), ())}


def absent(number: int, offender: int) -> GameRecord:
    return fault(number, offender, Verdict.NO_START, **NOT_BEGUN)


def overloaded(number: int) -> GameRecord:
    return game(number, None, verdict=Verdict.OVERLOAD, is_counted=False)


@pytest.mark.parametrize("offender", [0, 1])
def test_a_program_that_never_takes_its_seat_is_unfit_after_a_pair(offender: int) -> None:
    records = [absent(number, offender) for number in range(1, ABSENCES + 1)]
    assert unfit_programs(records[:-1]) == ()
    assert unfit_programs(records) == (offender,)


@pytest.mark.parametrize("verdict", [Verdict.CRASH, Verdict.ILLEGAL_MOVE, Verdict.HANGS, Verdict.BAD_MESSAGE])
def test_a_program_that_fails_in_its_first_games_is_unfit(verdict: str) -> None:
    records = [fault(number, 1, verdict) for number in range(1, FAILURES + 1)]
    assert unfit_programs(records[:-1]) == ()
    assert unfit_programs([records[0], overloaded(9), *records[1:]]) == (1,)


@pytest.mark.parametrize(
    "played",
    [game(1), fault(1, 0, Verdict.CRASH), game(1, offender=1, verdict=Verdict.NEVER_ENDS)],
    ids=["a regular game", "the opponent's fault", "a fault after the game"],
)
def test_a_program_that_has_played_a_game_is_fit(played: GameRecord) -> None:
    failed = [fault(number, 1, Verdict.CRASH) for number in range(2, 9)]
    assert unfit_programs([played, *failed]) == ()


@pytest.mark.parametrize("verdict", [Verdict.SERVER_FAILED, Verdict.CANCELLED, Verdict.OVERLOAD])
def test_games_that_the_machine_voids_are_no_evidence_whoever_is_named(verdict: str) -> None:
    records = [game(number, None, offender=1, verdict=verdict, is_counted=False, **NOT_BEGUN) for number in range(1, 9)]
    assert unfit_programs(records) == ()


def test_a_game_without_the_opponent_is_no_evidence() -> None:
    records = [absent(1, 0), *(fault(number, 1, Verdict.CRASH) for number in (2, 3))]
    assert unfit_programs(records) == ()
    assert unfit_programs([*records, fault(4, 1, Verdict.CRASH)]) == (1,)


def test_both_are_unfit_if_neither_could_have_played() -> None:
    remarks = ((), (f"{FAILED_AS_WELL}does not start, ended with exit code 0",))
    both: dict[str, Any] = {"remarks": remarks, "is_counted": False, "winner": None}
    records = [dataclasses.replace(absent(number, 0), **both) for number in (1, 2)]
    assert unfit_programs(records) == (0, 1)


def test_the_command_and_the_end_of_the_output_are_shown(tmp_path: Path) -> None:
    record = fault(1, 1, Verdict.CRASH, reason="ended with exit code 3")
    place = tmp_path / record.folder
    place.mkdir(parents=True)
    assert list(why_unfit([record], 1, "./bot --fast", tmp_path)) == [
        "random cannot play: crash in game 1 (ended with exit code 3)",
        "  it was started as: ./bot --fast",
        "  it wrote nothing",
    ]
    (place / "program2.stdout.log").write_text("    0.001  hello\n    0.002  \n    0.003  \tworld\n")
    assert list(why_unfit([record], 1, "./bot", tmp_path))[2:] == [
        f"  the end of {place / 'program2.stdout.log'}:",
        "    hello",
        "        world",
    ]


def test_it_is_mentioned_that_the_output_was_not_kept(tmp_path: Path) -> None:
    record = fault(3, 1, Verdict.CRASH, folder="")
    assert list(why_unfit([record], 1, "./bot", tmp_path))[2:] == [
        "  its output was not kept; --keep failed keeps it",
    ]
