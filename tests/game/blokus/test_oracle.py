"""The rules against the official rule code, the recordings, and a slow implementation of the rules text."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.game.blokus.moves import SetMove, SkipMove
from spielleiter.game.blokus.pieces import STRIDE, Color, Rotation, Shape, scan
from spielleiter.game.blokus.state import BLOKUS_2021, BLOKUS_2027, BlokusGame, BlokusState
from tests.game.blokus.oracle import (
    DATA,
    Line,
    describe,
    describe_end,
    digest,
    follow,
    format_cells,
    format_move,
    parse_move,
    parse_position,
    read_games,
    read_lines,
)
from tests.game.blokus.simple_rules import Placement, SimpleGame
from tests.shared import SHARED, needs_shared

EXCERPTS = {2021: DATA / "blokus2021.jsonl.gz", 2027: DATA / "blokus2027.jsonl.gz"}
ORACLE = SHARED / "oracle" if SHARED else Path()


def verdicts(state: BlokusState, probes: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    found = [(text, state.check(parse_move(text))) for text, _ in probes]
    return [(text, "OK" if mistake is None else mistake.name) for text, mistake in found]


def assert_position(line: Line, state: BlokusState) -> None:
    where = f"game {line['game']} ply {line.get('ply', 'end')}"
    expected = {key: line[key] for key in describe(state)}
    assert describe(state) == expected, where
    if "end" in line:
        assert {key: value for key, value in describe_end(state).items() if key in line} == {
            key: line[key] for key in describe_end(state) if key in line
        }, where
        outcome = state.outcome()
        one, two = line["points"]
        assert outcome is not None, where
        assert outcome.winner == (None if one == two else 0 if one > two else 1), where
        return
    assert state.outcome() is None, where
    assert state.color_on_turn.name == line["color"], where
    moves = list(state.generate_legal_moves())
    assert len(moves) == state.count_legal_moves() == line["n"], where
    assert state.has_legal_move() == (line["n"] > 0), where
    assert digest(map(format_move, moves)) == line["sha"], where
    assert digest(map(format_cells, moves)) == line["cells_sha"], where
    probes = [(text, verdict) for text, verdict in line["probes"]]
    assert verdicts(state, probes) == probes, where


PART = 25


@pytest.mark.parametrize(
    ("season", "number", "start"),
    [
        (season, number, start)
        for season, path in EXCERPTS.items()
        for number, lines in read_games(path).items()
        for start in range(0, len(lines), PART)
    ],
)
def test_part_of_a_game(season: int, number: int, start: int) -> None:
    lines = read_games(EXCERPTS[season])[number]
    assert "end" in lines[-1]
    for line, state in islice(follow(season, lines), start, start + PART):
        assert_position(line, state)


@pytest.mark.parametrize(
    "line", read_lines(DATA / "lists.jsonl.gz"), ids=lambda line: f"{line['season']}-{line['game']}-{line['ply']}"
)
def test_a_whole_list_of_legal_moves(line: Line) -> None:
    state = parse_position(line["season"], line["position"])
    assert sorted(map(format_move, state.generate_legal_moves())) == line["moves"]


@pytest.mark.no_cover
@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("season", EXCERPTS)
@pytest.mark.parametrize("kind", ["games", "special"])
def test_all_games(season: int, kind: str) -> None:
    games = read_games(ORACLE / f"blokus{season}_{kind}.jsonl.gz")
    assert games
    for lines in games.values():
        for line, state in follow(season, lines):
            assert_position(line, state)


@pytest.mark.slow
@needs_shared
def test_all_lists_of_legal_moves() -> None:
    for line in read_lines(ORACLE / "blokus_lists.jsonl.gz"):
        state = parse_position(line["season"], line["position"])
        assert sorted(map(format_move, state.generate_legal_moves())) == line["moves"]


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("season", EXCERPTS)
def test_excerpts_are_equal_to_the_recordings(season: int) -> None:
    originals = {
        **read_games(ORACLE / f"blokus{season}_games.jsonl.gz"),
        **read_games(ORACLE / f"blokus{season}_special.jsonl.gz"),
    }
    for number, lines in read_games(EXCERPTS[season]).items():
        assert lines == originals[number]


seeds = st.integers(min_value=0, max_value=2**32 - 1)

games = pytest.mark.parametrize(
    "game",
    [
        game.with_options({"gameEnd": game_end})
        for game in (BLOKUS_2021, BLOKUS_2027)
        for game_end in ("colorFinished", "noMovesLeft")
    ],
    ids=lambda game: f"{game.name}-{'colorFinished' if game.rules.ends_with_finished_color else 'noMovesLeft'}",
)

WORDS = {
    ("blokus-2021", True): ("corner", 25),
    ("blokus-2021", False): ("corner", 25),
    ("blokus-2027", True): ("border", 25),
    ("blokus-2027", False): ("border", 24),
}
"""By ruleset and whether a finished colour ends the game: where the first pieces lie, and the number of rounds."""


def simple(state: BlokusState) -> SimpleGame:
    """The same position in the simple rules. No colour may have placed all its pieces."""
    starts_on, rounds = WORDS[state.rules.name, state.rules.ends_with_finished_color]
    return SimpleGame(
        start=state.start_shape.name,
        starts_on=starts_on,
        rounds=rounds,
        ends_with_finished_color=state.rules.ends_with_finished_color,
        turn=state.turn,
        board={(i % STRIDE, i // STRIDE): color.name for color in Color for i in scan(state.cells[color])},
        left={color.name: [shape.name for shape in state.remaining_shapes(color)] for color in Color},
        in_game=[color.name for color in state.valid_colors],
    )


def placement_of(move: SetMove) -> Placement:
    return move.color.name, move.shape.name, move.rotation.name, move.is_flipped, move.x, move.y


def play_randomly(state: BlokusState, rng: random.Random, plies: int) -> BlokusState:
    """Play random moves, but stop before the last colour leaves or a colour places its last piece."""
    for _ in range(plies):
        after = state.play(rng.choice(list(state.generate_legal_moves())))
        if not after.valid_mask or not all(after.remaining_masks):
            break
        state = after
    return state


def with_few_pieces(state: BlokusState, rng: random.Random, most: int) -> BlokusState:
    """The same cells with at most `most` remaining pieces for each colour and, sometimes, only few rounds left."""
    remaining = [
        sum(1 << shape for shape in rng.sample(shapes, min(len(shapes), rng.randint(1, most))))
        for shapes in (state.remaining_shapes(color) for color in Color)
    ]
    rounds_left = state.rules.round_limit - 1 - state.turn // 4
    later = state.turn + 4 * max(0, rounds_left - rng.randint(0, 2)) if rng.random() < 0.3 else state.turn
    return replace(state, remaining_masks=(remaining[0], remaining[1], remaining[2], remaining[3]), turn=later)


def strange_moves(state: BlokusState, rng: random.Random, count: int) -> list[SetMove]:
    """Return legal moves, legal moves with one or two fields changed, and arbitrary moves."""
    legal = list(state.generate_legal_moves())
    moves = []
    for _ in range(count):
        move = SetMove(
            color=rng.choice([*Color, *[state.color_on_turn] * 8]),
            shape=rng.choice([*Shape, *state.remaining_shapes(state.color_on_turn), *[state.start_shape] * 4]),
            rotation=rng.choice(list(Rotation)),
            is_flipped=rng.random() < 0.5,
            x=rng.randint(-6, 24),
            y=rng.randint(-6, 24),
        )
        if legal and rng.random() < 0.6:
            near = rng.choice(legal)
            move = rng.choice(
                [
                    near,
                    replace(near, x=near.x + rng.randint(-1, 1), y=near.y + rng.randint(-1, 1)),
                    replace(near, rotation=move.rotation, is_flipped=move.is_flipped),
                    replace(near, shape=move.shape),
                ]
            )
        moves.append(move)
    return moves


def assert_same_position(state: BlokusState, game: SimpleGame) -> None:
    assert (state.turn, state.round) == (game.turn, game.round())
    assert [color.name for color in state.valid_colors] == game.in_game
    points = [game.points(0), game.points(1)]
    assert [state.points(0), state.points(1)] == [(points[0],), (points[1],)]
    outcome = state.outcome()
    assert (outcome is not None) == game.is_over()
    if outcome is not None:
        assert outcome.winner == (None if points[0] == points[1] else points.index(max(points)))


def assert_same_moves(state: BlokusState, game: SimpleGame) -> None:
    moves = [placement_of(move) for move in state.generate_legal_moves()]
    assert sorted(moves) == sorted(game.legal_once().values())
    assert state.count_legal_moves() == len(moves)
    assert state.has_legal_move() == bool(moves)


def assert_same_verdicts(state: BlokusState, game: SimpleGame, rng: random.Random, count: int) -> None:
    for move in strange_moves(state, rng, count):
        mistake = state.check(move)
        assert (None if mistake is None else mistake.name) == game.mistake(*placement_of(move)), move
    for color in Color:
        mistake = state.check(SkipMove(color))
        assert (None if mistake is None else mistake.name) == game.skip_mistake(color.name)


def assert_same_rest(state: BlokusState, game: SimpleGame, rng: random.Random) -> None:
    """Play both on with random moves until one of them is over."""
    while state.outcome() is None and not game.is_over():
        moves = list(state.generate_legal_moves())
        if not moves or (state.check(SkipMove()) is None and rng.random() < 0.1):
            state = state.play(SkipMove())
            game.skip()
        else:
            move = rng.choice(moves)
            state = state.play(move)
            game.place(placement_of(move))
        assert_same_position(state, game)


def assert_agreement_to_the_end(game: BlokusGame, seed: int, plies: int, most: int) -> None:
    rng = random.Random(seed)
    state = with_few_pieces(play_randomly(game.new_state(rng), rng, plies), rng, most)
    other = simple(state)
    assert_same_moves(state, other)
    assert_same_verdicts(state, other, rng, count=40)
    assert_same_rest(state, other, rng)


@games
@settings(max_examples=2)
@given(seed=seeds, plies=st.integers(4, 70))
def test_with_few_pieces_left(game: BlokusGame, seed: int, plies: int) -> None:
    assert_agreement_to_the_end(game, seed, plies, most=2)


@pytest.mark.no_cover
@pytest.mark.slow
@games
@settings(max_examples=30)
@given(seed=seeds, plies=st.integers(4, 70))
def test_with_few_pieces_left_often(game: BlokusGame, seed: int, plies: int) -> None:
    assert_agreement_to_the_end(game, seed, plies, most=4)


@games
@settings(max_examples=2)
@given(seed=seeds)
def test_first_moves(game: BlokusGame, seed: int) -> None:
    rng = random.Random(seed)
    state = play_randomly(game.new_state(rng), rng, plies=rng.randint(0, 3))
    other = simple(state)
    assert_same_moves(state, other)
    assert_same_verdicts(state, other, rng, count=40)


@pytest.mark.no_cover
@pytest.mark.slow
@pytest.mark.parametrize("game", [BLOKUS_2021, BLOKUS_2027], ids=lambda game: game.name)
@settings(max_examples=8)
@given(seed=seeds, plies=st.integers(4, 70))
def test_any_position(game: BlokusGame, seed: int, plies: int) -> None:
    rng = random.Random(seed)
    state = play_randomly(game.new_state(rng), rng, plies)
    other = simple(state)
    assert_same_moves(state, other)
    assert_same_verdicts(state, other, rng, count=200)
