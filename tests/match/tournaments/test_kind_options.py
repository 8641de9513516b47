from __future__ import annotations

from typing import Any

import pytest

from spielleiter.match.errors import SetupError
from spielleiter.match.tournaments.kind_options import Form, read_form


def test_nothing_need_be_said() -> None:
    assert read_form({}, "swiss") == Form()
    assert Form().rounds_of(9) == 4
    assert Form(rounds=2).rounds_of(9) == 2


def test_everything_can_be_said() -> None:
    value = {"rounds": 4, "seeding": "listed", "book": "book.txt", "order": "random", "opening_turn": 8}
    assert read_form(value, "swiss") == Form(
        rounds=4, seeding="listed", book="book.txt", order="random", opening_turn=8
    )
    assert read_form({"play_offs": 0, "third_place": True}, "knock-out") == Form(play_offs=0, third_place=True)
    assert read_form({"tested": 2}, "gauntlet") == Form(tested=2)


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
def test_what_is_wrong_is_told(value: dict[str, Any], kind: str, problem: str) -> None:
    with pytest.raises(SetupError, match=problem):
        read_form(value, kind)


@pytest.mark.parametrize(
    ("form", "kind", "problem"),
    [
        (Form(tested=3), "gauntlet", "tested = 3: expected at least 1, and fewer than the 3 programs"),
        (Form(rounds=4), "swiss", "rounds = 4: expected 1 to 3, since 3 programs would have to meet again"),
    ],
)
def test_what_the_programs_are_too_few_for_is_refused(form: Form, kind: str, problem: str) -> None:
    form.check(kind, 5)
    with pytest.raises(SetupError, match=problem):
        form.check(kind, 3)


def test_the_seeding_is_drawn_or_that_of_the_file() -> None:
    assert Form(seeding="listed").seeded(5, 7) == [0, 1, 2, 3, 4]
    drawn = Form().seeded(20, 7)
    assert drawn == Form().seeded(20, 7) != Form().seeded(20, 8)
    assert sorted(drawn) == list(range(20)) != drawn
