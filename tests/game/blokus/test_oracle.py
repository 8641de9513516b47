"""The rules against the official rule code, the recordings, and a slow implementation of the rules text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest

from spielleiter.game.blokus.state import BlokusState
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
