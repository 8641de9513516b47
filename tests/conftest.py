"""What every test has: the same examples in every run."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "project", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("project")
