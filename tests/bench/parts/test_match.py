"""A short run of the part that measures matches."""

from __future__ import annotations

import pytest

from spielleiter.bench.options import Options
from spielleiter.bench.parts import match
from spielleiter.bench.parts.match import Cost, measure_match
from spielleiter.bench.subject import BenchError
from tests.bench.parts.runs import measure, values


@pytest.mark.slow
def test_a_match_between_programs_and_one_between_built_in_players_are_played() -> None:
    options = Options.quick(editions=("blokus-2027",), match_games=(1,))
    steps, (programs, built_in) = measure(measure_match, options)
    assert steps == ["match, blokus-2027, programs", "match, built-in players, 1 games"]
    assert set(programs.figures) == {"runner's processor, a game", "disk, a game", "spoilt"}
    found = values(built_in)
    assert found["spoilt"] == values(programs)["spoilt"] == 0
    assert found["200 games"] == pytest.approx(200 / found["games/s"])
    assert found["memory peak"] > 1


@pytest.mark.slow
def test_a_match_that_fails_is_an_error_of_one_line() -> None:
    with pytest.raises(BenchError, match=r"^a match has failed: .*nosuch.*$"):
        match.run_match(("builtin:nosuch", "builtin:random"), 1)


def test_figures_are_differences_between_short_and_long_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    def cost(games: int) -> Cost:
        return Cost(seconds=games, own_seconds=1 + 0.02 * games, peak_mib=50 + games, disk_kib=30 * games, irregular=0)

    monkeypatch.setattr(match, "_programs", lambda _edition, games: cost(games))
    monkeypatch.setattr(match, "run_match", lambda _programs, games, *_options: cost(games))
    _, (programs, first, second) = measure(measure_match, Options.quick(editions=("e",), match_games=(10, 20)))
    assert values(programs) == pytest.approx({"runner's processor, a game": 20, "disk, a game": 30, "spoilt": 0})
    assert "memory, 1,000 games more" not in first.figures
    assert values(second)["memory, 1,000 games more"] == pytest.approx(1000)
