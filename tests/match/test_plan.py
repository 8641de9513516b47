from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.editions import DEFAULT_GAME_TYPE
from match.errors import SetupError
from match.plan import Opening, load_openings, plan_games

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


def test_a_replay_is_an_opening(replay: bytes, tmp_path: Path) -> None:
    file = tmp_path / "one.xml"
    file.write_bytes(replay)
    assert load_openings(file, 1, DEFAULT_GAME_TYPE, {}) == (Opening("one.xml", str(file), 1),)


def test_a_folder_holds_openings_in_the_order_of_their_names(replay: bytes, tmp_path: Path) -> None:
    (tmp_path / "b.xml").write_bytes(replay)
    (tmp_path / "a.xml.gz").write_bytes(gzip.compress(replay))
    (tmp_path / "readme.txt").write_text("not meant")
    (tmp_path / "c.xml").mkdir()
    assert [each.name for each in load_openings(tmp_path, 0, DEFAULT_GAME_TYPE, {})] == ["a.xml.gz", "b.xml"]


@pytest.mark.parametrize(
    ("name", "content", "turn", "problem"),
    [
        ("one.xml", None, 0, "cannot be read"),
        ("one.xml", b"<protocol><oh/></protocol>", 0, "one.xml"),
        ("one.xml", "replay", 9, "ends at turn 1, before turn 9"),
        (".", None, 0, "holds no replay"),
    ],
)
def test_what_nothing_can_start_from_is_refused(
    name: str, content: bytes | str | None, turn: int, problem: str, replay: bytes, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(replay if isinstance(content, str) else content)
    with pytest.raises(SetupError, match=problem):
        load_openings(tmp_path / name, turn, DEFAULT_GAME_TYPE, {})


def test_a_rule_that_is_none_is_refused(replay: bytes, tmp_path: Path) -> None:
    (tmp_path / "one.xml").write_bytes(replay)
    with pytest.raises(SetupError, match="TRIANGLE"):
        load_openings(tmp_path / "one.xml", 0, DEFAULT_GAME_TYPE, {"startPiece": "TRIANGLE"})
