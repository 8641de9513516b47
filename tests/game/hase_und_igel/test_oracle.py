"""The rules reproduce every recorded position, verdict and result of the official rule code."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

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


def test_the_excerpts_contain_every_mistake() -> None:
    lines = (*read_lines(DATA / "games.jsonl.gz"), *read_lines(DATA / "special.jsonl.gz"))
    seen = {parse_state(line).check(parse_move(text)) for line in lines for text, *_ in line.get("probes", ())}
    assert seen == {None, *TEXTS}


@pytest.mark.parametrize("path", SPECIAL_FILES)
def test_special_positions(path: Path) -> None:
    """Positions that random games do not reach, steps from them, ends, and moves that end the game for their player."""
    for line in read_lines(path):
        state = parse_state(line)
        match line["kind"]:
            case "position":
                check_position(state, line)
                after = state.play(parse_move(line["legal"][0]))
                assert without_last_move(after) == parse_state(line["after_first"], state.board), line["id"]
            case "step":
                after = state.play(parse_move(line["move"]))
                assert without_last_move(after) == parse_state(line["after"], state.board), line["id"]
            case "end":
                check_result(state, line["result"])
            case _:
                check_violation(state, line)


def check_violation(state: HaseUndIgelState, line: Line) -> None:
    """Check text and number of actions carried out; the state before the move does not change."""
    move = parse_move(line["move"])
    with pytest.raises(IllegalMoveError) as caught:
        state.play(move)
    assert caught.value.move is move
    result = line["result"][state.color_on_turn.name.lower()]
    assert verdict(state, move) == line["error"] == result["reason"]
    player, mistake = execute(state.board, state.player_on_turn, state.opponent, move)
    assert caught.value.mistake is mistake
    assert [0, player.index, player.carrots] == result["parts"]
    assert state == parse_state(line)
