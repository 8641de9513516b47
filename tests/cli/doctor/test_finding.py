"""A finding as an object for scripts."""

from __future__ import annotations

from spielleiter.cli.doctor.finding import Finding, Level


def test_the_object_for_scripts_has_stable_names() -> None:
    finding = Finding("game_port", "game port", Level.LIMITED, "taken", "Choose another one.")
    assert finding.as_json() == {
        "name": "game_port",
        "level": "limited",
        "state": "taken",
        "meaning": "Choose another one.",
    }


def test_the_levels_are_those_of_the_manual() -> None:
    assert [level.value for level in Level] == ["ok", "limited", "missing"]
