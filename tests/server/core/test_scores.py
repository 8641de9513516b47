"""Scores equal those of the official release in every digit."""

from __future__ import annotations

import pytest

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


def test_nothing_is_added_while_test_mode_is_off_nor_for_players_of_the_same_name() -> None:
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
    sheet.is_enabled = True
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
    assert values(sheet, "Gamma") == ["2", "60.000000", "1"], "the one line that there is"
