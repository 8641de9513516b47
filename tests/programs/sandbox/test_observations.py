"""What was observed of a run, as JSON."""

from __future__ import annotations

import json

from spielleiter.programs.sandbox.run import Observations

OBSERVED = Observations("none", 5, True, True, True, True, ("disk",), 2, ("a", "b"), 7, 1, 9, ("sleep",))


def test_observations_survive_json() -> None:
    assert Observations.from_json(json.loads(json.dumps(OBSERVED.to_json()))) == OBSERVED


def test_unknown_fields_of_a_later_version_are_left_out() -> None:
    assert Observations.from_json({**OBSERVED.to_json(), "new": 1}) == OBSERVED
