"""A run: the selected parts in every round, and the description of every step."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from spielleiter.bench import run as run_module
from spielleiter.bench.figures import Figure, Records
from spielleiter.bench.options import PARTS, Options
from spielleiter.bench.run import Part, run


def part(name: str, order: list[str]) -> Part:
    def measure(_options: Options, records: Records) -> Iterator[str]:
        yield f"{name} is next"
        order.append(name)
        records.add({"part": name}, {"calls": (len(order), "calls")})

    return measure


def test_parts_alternate_in_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    parts = [(frozenset({name}), part(name, order)) for name in ("a", "b", "c")]
    monkeypatch.setattr(run_module, "PARTS", parts)
    steps: list[str] = []
    records = run(Options.quick(rounds=2, only=("a", "c")), steps.append)
    assert order == ["a", "c", "a", "c"]
    assert steps == [f"round {number} of 2: {name} is next" for number in (1, 2) for name in ("a", "c")]
    assert records.figure("calls", part="a") == Figure("calls", (1, 3))
    assert records.figure("calls", part="c") == Figure("calls", (2, 4))


def test_every_value_of_the_option_selects_a_part() -> None:
    assert sorted(word for words, _ in run_module.PARTS for word in words) == sorted(PARTS)


@pytest.mark.slow
def test_parts_that_do_not_need_trio_are_measured_without_it() -> None:
    code = "import sys, spielleiter.bench.run; print('trio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
