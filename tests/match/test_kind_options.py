"""Options of a kind of tournament."""

from __future__ import annotations

from typing import Any

import pytest

from spielleiter.common.errors import SetupError
from spielleiter.match.tournament_file import KindOptions, read_kind_options


def test_all_options_have_defaults() -> None:
    assert read_kind_options({}, "swiss") == KindOptions()
    assert KindOptions().rounds_of(9) == 4
    assert KindOptions(rounds=2).rounds_of(9) == 2


def test_all_options_can_be_read() -> None:
    value = {"rounds": 4, "seeding": "listed", "book": "book.txt", "order": "random", "opening_turn": 8}
    assert read_kind_options(value, "swiss") == KindOptions(
        rounds=4, seeding="listed", book="book.txt", order="random", opening_turn=8
    )
    assert read_kind_options({"play_offs": 0, "third_place": True}, "knock-out") == KindOptions(
        play_offs=0, third_place=True
    )
    assert read_kind_options({"tested": 2}, "gauntlet") == KindOptions(tested=2)


@pytest.mark.parametrize(
    ("value", "kind", "problem"),
    [
        ({"tested": 2}, "round-robin", 'tested: has no effect with kind = "round-robin", expected kind = "gauntlet"'),
        ({"seeding": "listed"}, "gauntlet", 'seeding: has no effect .* kind = "knock-out" or kind = "swiss"'),
        ({"rounds": 0}, "swiss", "rounds 0: expected a whole number from 1"),
        ({"rounds": True}, "swiss", "rounds True: expected a whole number"),
        ({"play_offs": 101}, "knock-out", "play_offs 101: expected a whole number from 0 to 100"),
        ({"third_place": 1}, "knock-out", "third_place 1: expected true or false"),
        ({"seeding": "elo"}, "swiss", "seeding 'elo': expected random or listed"),
        ({"seeding": ["listed"]}, "swiss", "expected random or listed"),
        ({"order": "random"}, "swiss", "order: has no effect without a book"),
        ({"book": 3}, "swiss", "book 3: expected a text"),
        ({"book": "b", "order": "alphabetical"}, "swiss", "order 'alphabetical': expected sequential or random"),
    ],
)
def test_invalid_options_are_refused(value: dict[str, Any], kind: str, problem: str) -> None:
    with pytest.raises(SetupError, match=problem):
        read_kind_options(value, kind)


@pytest.mark.parametrize(
    ("kind_options", "kind", "problem"),
    [
        (KindOptions(tested=3), "gauntlet", "tested = 3: expected at least 1, and fewer than the 3 programs"),
        (KindOptions(rounds=4), "swiss", "rounds = 4: expected 1 to 3, since 3 programs would have to meet again"),
    ],
)
def test_options_that_need_more_programs_are_refused(kind_options: KindOptions, kind: str, problem: str) -> None:
    kind_options.check(kind, 5)
    with pytest.raises(SetupError, match=problem):
        kind_options.check(kind, 3)


def test_the_seeding_is_drawn_or_listed() -> None:
    assert KindOptions(seeding="listed").seeded(5, 7) == [0, 1, 2, 3, 4]
    drawn = KindOptions().seeded(20, 7)
    assert drawn == KindOptions().seeded(20, 7) != KindOptions().seeded(20, 8)
    assert sorted(drawn) == list(range(20)) != drawn
