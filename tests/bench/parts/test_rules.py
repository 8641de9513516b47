"""A short run of the part that measures the rules."""

from __future__ import annotations

import pytest

from spielleiter.bench.options import Options
from spielleiter.bench.parts.rules import QUESTIONS, measure_rules
from spielleiter.server.editions import EDITIONS
from tests.bench.parts.runs import measure, values


@pytest.mark.slow
def test_every_method_and_perft_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPIELLEITER_SHARED", "nowhere")
    steps, (record,) = measure(measure_rules, Options.quick(editions=("blokus-2027",)))
    assert steps == ["rules, blokus-2027"]
    assert record.labels["edition"] == "blokus-2027"
    assert int(record.labels["positions"]) > 100
    assert set(record.figures) == {*QUESTIONS, "perft"}
    assert {figure.unit for figure in record.figures.values()} == {"us", "nodes/s"}
    assert all(value > 0 for value in values(record).values())


def test_questions_are_answered_by_any_position() -> None:
    state = EDITIONS["blokus-2027"].game.with_options({"startPiece": "PENTO_L"}).new_state(None)  # type: ignore[arg-type]
    move = next(iter(state.generate_legal_moves()))
    answers = {name: ask((state, move)) for name, ask in QUESTIONS.items()}  # type: ignore[arg-type]
    assert answers["count of legal moves"] == len(answers["list of legal moves"])  # type: ignore[arg-type]
    assert answers["has_legal_move"] is True
    assert answers["check"] is answers["outcome"] is None
    assert answers["play"] == state.play(move)
