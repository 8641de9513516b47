"""Scores equal those of the official release in every digit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.messages import Aggregation, Cause, Fragment, Result, Score
from spielleiter.server.core.scores import ScoreSheet
from tests.protocol.streams import LATEST

DEFINITION = BLOKUS_2021_R3.score_definition


def result(one: tuple[int, int], two: tuple[int, int], names: tuple[str, str] = ("Alpha", "Beta")) -> Result:
    return Result(DEFINITION, (Score(Cause.REGULAR, "", one), Score(Cause.REGULAR, "", two)), (0,), names)


def values(sheet: ScoreSheet, name: str, definition: tuple[Fragment, ...] = DEFINITION) -> list[str]:
    score = sheet.of(name, definition)
    assert score is not None
    return [f"{value:f}" for _, value in score.values]


def test_the_score_after_one_game_equals_the_recording() -> None:
    sheet = ScoreSheet(is_enabled=True)
    sheet.add(result((2, 149), (0, 100)))
    score = sheet.of("Alpha", DEFINITION)
    assert score is not None
    assert BLOKUS_2021_R3.encode(score) == LATEST["playerScore"]


@pytest.mark.parametrize(
    ("points", "average"),
    [
        ([100], "100.00000"),
        ([100, 101], "100.50000"),
        ([1, 1, 2], "1.3333340"),  # both quotients are rounded half up: 1 * 0.666667 + 0.666667
        ([0, 0], "0.000000000000"),
    ],
)
def test_averages_have_the_same_digits_as_in_the_release(points: list[int], average: str) -> None:
    sheet = ScoreSheet(is_enabled=True)
    for each in points:
        sheet.add(result((2, each), (0, 0)))
    assert values(sheet, "Alpha") == [str(2 * len(points)), average]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 109)), min_size=1, max_size=12))
def test_sums_are_exact_and_averages_are_close(games: list[tuple[int, int]]) -> None:
    sheet = ScoreSheet(is_enabled=True)
    for parts in games:
        sheet.add(result((0, 0), parts))
    score = sheet.of("Beta", DEFINITION)
    assert score is not None
    assert (score.display_name, score.number_of_tests) == ("Beta", len(games))
    (_, won), (_, points) = score.values
    assert won == sum(first for first, _ in games)
    assert float(points) == pytest.approx(sum(second for _, second in games) / len(games), abs=0.01)


def test_nothing_is_added_while_test_mode_is_off() -> None:
    sheet = ScoreSheet()
    sheet.add(result((2, 1), (0, 0)))
    assert sheet.of("Alpha", DEFINITION) is None
    sheet.is_enabled = True
    sheet.add(result((2, 1), (0, 0)))
    sheet.is_enabled = False
    sheet.add(result((2, 1), (0, 0)))
    score = sheet.of("Alpha", DEFINITION)
    assert score is not None
    assert score.number_of_tests == 1


def test_a_game_between_two_players_of_the_same_name_does_not_count() -> None:
    sheet = ScoreSheet(is_enabled=True)
    sheet.add(result((2, 1), (0, 0), ("", "")))
    assert sheet.of("", DEFINITION) is None


def test_a_player_has_a_line_for_each_season() -> None:
    sheet = ScoreSheet(is_enabled=True)
    sheet.add(result((2, 1), (0, 0)))
    other = (
        Fragment("Gewinner", Aggregation.SUM),
        Fragment("Feld", Aggregation.AVERAGE),
        Fragment("x", Aggregation.SUM),
    )
    score = Score(Cause.REGULAR, "", (2, 60, 1))
    sheet.add(Result(other, (score, score), (0,), ("Alpha", "Gamma")))
    assert values(sheet, "Alpha") == ["2", "1.000000"]
    assert values(sheet, "Alpha", other) == ["2", "60.000000", "1"]


def test_a_player_without_a_line_for_the_season_is_shown_in_another() -> None:
    sheet = ScoreSheet(is_enabled=True)
    sheet.add(result((2, 1), (0, 0)))
    assert values(sheet, "Alpha", DEFINITION[:1]) == ["2", "1.000000"]
