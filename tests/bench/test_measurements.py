"""A run: the selected parts in every round, verdicts that are wrong, and the figures of a match."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from spielleiter.bench import measurements
from spielleiter.bench.measurements import Cost, Options, Part, count_verdicts, measure_match, run, run_match
from spielleiter.bench.report import KEPT_COST, Figure, Record, Records
from spielleiter.bench.subprocesses import BenchError

GAMES = {
    "whole": ["REGULAR", "REGULAR"],
    "left": ["LEFT", "REGULAR"],
    "late": ["REGULAR", "SOFT_TIMEOUT"],
    "cut off": ["REGULAR", "LEFT"],
    "cut off late": ["SOFT_TIMEOUT", "REGULAR"],
}


def part(name: str, order: list[str]) -> Part:
    def measure(_options: Options, records: Records) -> Iterator[str]:
        yield f"{name} is next"
        order.append(name)
        records.add({"part": name}, {"calls": (len(order), "calls")})

    return measure


def test_parts_alternate_in_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    parts = [(frozenset({name}), part(name, order)) for name in ("a", "b", "c")]
    monkeypatch.setattr(measurements, "PARTS", parts)
    steps: list[str] = []
    records = run(Options.quick(rounds=2, only=("a", "c")), steps.append)
    assert order == ["a", "c", "a", "c"]
    assert steps == [f"round {number} of 2: {name} is next" for number in (1, 2) for name in ("a", "c")]
    assert records.figure("calls", part="a") == Figure("calls", (1, 3))
    assert records.figure("calls", part="c") == Figure("calls", (2, 4))


def test_causes_other_than_regular_are_wrong_unless_the_driver_aborted(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps({"room": room, "causes": causes}) + "\n" for room, causes in GAMES.items()))
    assert count_verdicts(path, {"cut off", "cut off late"}) == (5, 3)


@pytest.mark.slow
def test_a_match_that_fails_is_an_error_of_one_line() -> None:
    with pytest.raises(BenchError, match=r"^a match has failed: .*nosuch.*$"):
        run_match(("builtin:nosuch", "builtin:random"), 1)


def test_figures_are_differences_between_short_and_long_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    def cost(games: int) -> Cost:
        return Cost(games, 2 + 0.05 * games, 1 + 0.02 * games, peak_mib=50 + games, disk_kib=30 * games, irregular=0)

    def values(record: Record) -> dict[str, float]:
        return {name: figure.rounds[0] for name, figure in record.figures.items()}

    monkeypatch.setattr(measurements, "scripted_match", lambda _edition, games, *_options: cost(games))
    monkeypatch.setattr(measurements, "run_match", lambda _programs, games, *_options: cost(games))
    records = Records()
    steps = list(measure_match(Options.quick(editions=("e",), match_games=(10, 20)), records))
    assert steps == [
        "match, e, programs",
        "match, built-in players, 10 games",
        "match, built-in players, 20 games",
    ]
    programs, first, second = records
    processor = {"runner's processor, a game": 20, KEPT_COST: 20}
    assert values(programs) == pytest.approx({**processor, "disk, a game": 30, "spoilt": 0})
    assert "memory, 1,000 games more" not in first.figures
    assert values(second)["memory, 1,000 games more"] == pytest.approx(1000)
