"""The verdict of a report, and its JSON."""

from __future__ import annotations

import json

import pytest

from spielleiter.match.checking.contest_conditions import CONDITIONS
from spielleiter.match.checking.package_faults import fault
from spielleiter.match.checking.package_report import FORMAT, State, state_of
from spielleiter.match.packages.faults import Finding, Level
from tests.match.checking.package_reports import report

OTHERS = len(CONDITIONS) - 1


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        (State.GREEN, "fit"),
        (State.YELLOW, "fit"),
        (State.RED, "not fit"),
        (State.UNDECIDED, "undecided"),
        (State.NOT_CHECKED, "fit"),
    ],
)
def test_one_condition_decides_the_verdict(state: State, verdict: str) -> None:
    made = report({"memory": state})
    assert made.verdict == verdict
    assert made.headline.startswith(f"{verdict}: ")
    assert made.is_fit == (verdict == "fit")
    assert made.is_undecided == (verdict == "undecided")


def test_a_red_condition_outweighs_an_undecided_one() -> None:
    made = report({"memory": State.RED, "network": State.UNDECIDED})
    assert made.headline == f"not fit: {OTHERS - 1} green, 1 red, 1 undecided"


def test_the_worst_finding_decides_the_state() -> None:
    green, yellow = Finding("x", Level.GREEN, "harmless"), fault("not-twice", reason="a lock file")
    red = fault("does-not-end", game="game 1", reason="it waits")
    assert state_of(()) is State.GREEN
    assert state_of([green]) is State.GREEN
    assert state_of([green, yellow]) is State.YELLOW
    assert state_of([yellow, red, green]) is State.RED


def test_the_json_has_everything() -> None:
    made = report({"options": State.RED})
    value = json.loads(made.to_json_text())
    assert value["format"] == FORMAT
    assert value["verdict"] == "not fit"
    assert value["main"] == "start.sh"
    assert [each["key"] for each in value["conditions"]] == [each.key for each in CONDITIONS]
    [condition] = [each for each in value["conditions"] if each["state"] == "red"]
    [finding] = condition["findings"]
    assert (condition["key"], finding["code"], finding["level"]) == ("options", "crash", "red")
    assert value["sandbox"]["gaps"] == ["no network: as expected"]
    assert value["speed"] == {"factor": 1.5, "is_measured": True}
    assert value["games"][0]["points"] == [10, None]
    assert value["games"][0]["replay"] == "replay.xml"
