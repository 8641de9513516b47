"""The rules reproduce every recorded position, verdict and result of the official rule code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from spielleiter.game.api import IllegalMoveError
from spielleiter.game.hase_und_igel import HaseUndIgelState, PlayerColor
from spielleiter.game.hase_und_igel.rules import execute
from tests.game.hase_und_igel.oracle import (
    DATA,
    REASONS,
    TEXTS,
    Line,
    parse_move,
    parse_player,
    parse_state,
    read_lines,
    verdict,
)
from tests.shared import SHARED, needs_shared

ORACLE = (SHARED or Path()) / "oracle"

whole_file = partial(pytest.param, marks=[pytest.mark.slow, needs_shared], id="whole")
GAME_FILES = [pytest.param(DATA / "games.jsonl.gz", id="excerpt"), whole_file(ORACLE / "hui2018_games.jsonl.gz")]
SPECIAL_FILES = [
    pytest.param(DATA / "special.jsonl.gz", id="excerpt"),
    whole_file(ORACLE / "hui2018_special.jsonl.gz"),
]


def check_position(state: HaseUndIgelState, line: Line) -> None:
    """Check the player on turn, the legal moves, and every probe: verdict, text, and the actions carried out."""
    assert PlayerColor(state.seat_on_turn).name == line["currentPlayer"]
    assert state.color_on_turn.name == line["currentPlayer"]
    legal = [str(move) for move in state.generate_legal_moves()]
    assert sorted(legal) == line["legal"]
    for text, expected, *half in line["probes"]:
        move = parse_move(text)
        assert parse_move(str(move)) == move
        assert verdict(state, move) == expected, text
        after, _ = execute(state.board, state.player_on_turn, state.opponent, move)
        if half:
            assert after == parse_player(half[0]), text
        elif expected != "OK":
            assert after == state.player_on_turn, text


def without_last_move(state: HaseUndIgelState) -> HaseUndIgelState:
    return replace(state, last_move=None)


def check_result(state: HaseUndIgelState, result: Line) -> None:
    """Check the outcome and the parts of the scores, or that the game is not over."""
    outcome = state.outcome()
    condition = result["winCondition"]
    if condition is None:
        assert outcome is None
    else:
        assert outcome is not None
        assert outcome.winner is not None
        winner = PlayerColor(outcome.winner)
        assert {"winner": winner.name, "reason": REASONS[outcome.reason]} == condition
        assert [winner.name] == result["winners"]
        assert result[winner.name.lower()]["parts"][0] == 2
    for color in PlayerColor:
        assert list(state.points(color)) == result[color.name.lower()]["parts"][1:]


@pytest.mark.parametrize("path", GAME_FILES)
def test_games(path: Path) -> None:
    """Every position follows from the one before it, and the game is over after the last one, not earlier."""
    state: HaseUndIgelState | None = None
    for line in read_lines(path):
        if line.get("ply") == 0:
            state = parse_state(line)
        assert state is not None
        assert without_last_move(state) == parse_state(line)
        if "end" in line:
            check_result(state, line["result"])
            assert state.turn == line["plies"]
            state = None
        else:
            assert state.outcome() is None
            check_position(state, line)
            move = parse_move(line["move"])
            state = state.play(move)
            assert state.last_move == move
            assert without_last_move(state) == parse_state(line["after"], state.board)
    assert state is None


def lines_of(path: Path, kind: str) -> Iterator[tuple[HaseUndIgelState, Line]]:
    for line in read_lines(path):
        if line["kind"] == kind:
            yield parse_state(line), line


@pytest.mark.parametrize("path", SPECIAL_FILES)
def test_special_positions(path: Path) -> None:
    for state, line in lines_of(path, "position"):
        check_position(state, line)
        after = state.play(parse_move(line["legal"][0]))
        assert without_last_move(after) == parse_state(line["after_first"], state.board), line["id"]


@pytest.mark.parametrize("path", SPECIAL_FILES)
def test_special_steps(path: Path) -> None:
    for state, line in lines_of(path, "step"):
        after = state.play(parse_move(line["move"]))
        assert without_last_move(after) == parse_state(line["after"], state.board), line["id"]


@pytest.mark.parametrize("path", SPECIAL_FILES)
def test_special_ends(path: Path) -> None:
    for state, line in lines_of(path, "end"):
        check_result(state, line["result"])


@pytest.mark.parametrize("path", SPECIAL_FILES)
def test_special_violations(path: Path) -> None:
    """Text and number of actions carried out are those of the release; the state before the move does not change."""
    for state, line in lines_of(path, "violation"):
        move = parse_move(line["move"])
        with pytest.raises(IllegalMoveError) as caught:
            state.play(move)
        assert caught.value.move is move
        assert verdict(state, move) == line["error"] == line["result"][state.color_on_turn.name.lower()]["reason"]
        after, mistake = execute(state.board, state.player_on_turn, state.opponent, move)
        assert caught.value.mistake is mistake
        parts = line["result"][state.color_on_turn.name.lower()]["parts"]
        assert [0, after.index, after.carrots] == parts
        assert state == parse_state(line)


def count_lines(games: Path, special: Path) -> Counter[str]:
    figures: Counter[str] = Counter()
    for line in (*read_lines(games), *read_lines(special)):
        figures[line.get("kind", "end of game" if "end" in line else "position of game")] += 1
        figures["probe"] += len(line.get("probes", ()))
        figures["legal move"] += len(line.get("legal", ()))
    return figures


def test_the_excerpts_are_complete() -> None:
    figures = count_lines(DATA / "games.jsonl.gz", DATA / "special.jsonl.gz")
    assert figures == {
        "position of game": 136,
        "end of game": 3,
        "position": 35,
        "step": 3,
        "end": 28,
        "violation": 20,
        "probe": 959,
        "legal move": 1172,
    }


@pytest.mark.slow
@needs_shared
def test_the_recordings_are_complete() -> None:
    figures = count_lines(ORACLE / "hui2018_games.jsonl.gz", ORACLE / "hui2018_special.jsonl.gz")
    assert figures == {
        "position of game": 1540,
        "end of game": 30,
        "position": 285,
        "step": 3,
        "end": 28,
        "violation": 20,
        "probe": 12383,
        "legal move": 12974,
    }


def test_the_excerpts_contain_every_mistake() -> None:
    lines = (*read_lines(DATA / "games.jsonl.gz"), *read_lines(DATA / "special.jsonl.gz"))
    seen = {parse_state(line).check(parse_move(text)) for line in lines for text, *_ in line.get("probes", ())}
    assert seen == {None, *TEXTS}
