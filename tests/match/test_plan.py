"""The plan of a match: sides, seeds and openings of its games."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spielleiter.match.plan import Opening, plan_games

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
