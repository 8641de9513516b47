"""Plans survive the way to another process, and games are distributed over the processes."""

from __future__ import annotations

import pytest

from spielleiter.bench.load.plan import Plan, PlannedGame, plan_of, shares
from spielleiter.bench.load.scripts import load_of


@pytest.mark.parametrize(
    ("games", "processes", "each"), [(1, 1, [1]), (7, 3, [3, 2, 2]), (2, 4, [1, 1]), (500, 2, [250, 250])]
)
def test_games_are_distributed_over_the_drivers(games: int, processes: int, each: list[int]) -> None:
    assert shares(games, processes) == each


def test_a_plan_survives_json() -> None:
    plan = Plan(1, "g", "end", (PlannedGame((0, 1), ("a", "b\n")),), 3, pace=0.5)
    line = plan.to_json()
    assert "\n" not in line
    assert Plan.from_json(line) == plan


@pytest.mark.slow
def test_the_end_of_a_request_does_not_depend_on_the_room() -> None:
    load = load_of("blokus-2027")
    plan = plan_of(load, 1, 2, observers=1)
    assert load.request.endswith(plan.request.encode())
    assert "roomId" not in plan.request
    assert plan.observers == 1
