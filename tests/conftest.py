"""What every test has: the same examples in every run."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.effort import FACTOR

settings.register_profile(
    "project",
    derandomize=FACTOR == 1,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")
