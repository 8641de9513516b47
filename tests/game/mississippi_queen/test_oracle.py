"""The rules reproduce every recorded position, verdict and result of the official rule code."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path

import pytest

from spielleiter.game.api import IncompleteMoveError
from spielleiter.game.mississippi_queen import MississippiQueenState
from spielleiter.protocol.dialects.mississippi_queen_2024 import MISSISSIPPI_QUEEN_2024 as DIALECT
from tests.game.mississippi_queen.oracle import (
    DATA,
    NAMES,
    REASONS,
    Line,
    is_unreadable,
    move_text,
    parse_move,
    parse_seen_state,
    parse_state,
    read_lines,
    state_text,
)
from tests.shared import SHARED, needs_shared

ORACLE = (SHARED or Path()) / "oracle" / "mississippi_queen2024_games.jsonl.gz"
without_the_oracle = pytest.mark.skipif(not ORACLE.exists(), reason=f"there is no {ORACLE.name}")
whole_file = partial(pytest.param, marks=[pytest.mark.extended, needs_shared, without_the_oracle], id="whole")
GAME_FILES = [pytest.param(DATA / "games.jsonl.gz", id="excerpt"), whole_file(ORACLE)]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def check_position(state: MississippiQueenState, line: Line) -> None:
    """Check what is written, the legal moves, and every probe: verdict, text and the position after it."""
    assert state_text(state) == line["state"]
    assert ("ONE", "TWO")[state.seat_on_turn] == line["team"]
    assert [list(state.points(0)), list(state.points(1))] == line["points"]
    assert state.outcome() is None
    if "count" in line:  # an excerpt has it in some lines
        check_legal_moves(state, line)
    for probe in line["probes"]:
        check_probe(state, probe)


def check_legal_moves(state: MississippiQueenState, line: Line) -> None:
    assert state.count_legal_moves() == line["count"]
    listed = [parse_move(text) for text in line["moves"]]
    if len(listed) < line["count"]:
        assert all(move is not None and state.check(move) is None for move in listed)
        return
    legal = [move_text(move) for move in state.generate_legal_moves()]
    assert len(set(legal)) == len(legal) == line["count"]
    assert sorted(legal) == sorted(line["moves"])


def check_probe(state: MississippiQueenState, probe: Line) -> None:
    verdict, move = probe["verdict"], parse_move(probe["move"])
    if is_unreadable(verdict):
        assert move is None, probe
        return
    assert move is not None, probe
    if verdict.startswith("java."):
        with pytest.raises(IncompleteMoveError):
            state.check(move)
        return
    mistake = state.check(move)
    if mistake is None:
        assert verdict == "OK", probe
        assert digest(state_text(state.play(move))) == probe["sha"], probe
    else:
        assert NAMES[mistake] == verdict, probe
        assert DIALECT.texts.illegal("", mistake, move, state).reason == probe["text"], probe


def check_end(state: MississippiQueenState, line: Line) -> None:
    outcome = state.outcome()
    assert outcome is not None
    assert state_text(state) == line["state"]
    assert [list(state.points(0)), list(state.points(1))] == line["points"]
    assert (None if outcome.winner is None else ("ONE", "TWO")[outcome.winner]) == line["winner"]
    assert outcome.reason == REASONS[line["reason"]]
    names = ("Eins", "Zwei")
    sentence = DIALECT.texts.regular_reason(outcome, names)
    assert f'reason="{sentence}"' in line["packet"]
    assert f'regular="{"false" if outcome.reason == "stuck" else "true"}"' in line["packet"]


@pytest.mark.parametrize("path", GAME_FILES)
def test_games(path: Path) -> None:
    """Every position follows from the one before it, and the game is over after the last one, not earlier."""
    state: MississippiQueenState | None = None
    for line in read_lines(path):
        if line["ply"] == 0:
            state = parse_state(line)
        assert state is not None
        assert parse_seen_state(line["state"]) == state.as_seen()
        if "end" in line:
            check_end(state, line)
            state = None
            continue
        check_position(state, line)
        move = parse_move(line["move"])
        assert move is not None
        state = state.play(move)
    assert state is None
