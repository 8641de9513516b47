"""The limit of open files is raised as far as the system allows."""

from __future__ import annotations

import sys

import pytest

from spielleiter.server.runtime.descriptors import RESERVE, connections_possible

resource = pytest.importorskip("resource")
UNLIMITED = resource.RLIM_INFINITY


class Limits:
    def __init__(self, soft: int, hard: int, *, is_fixed: bool = False) -> None:
        self.limits = soft, hard
        self.is_fixed = is_fixed

    def get(self, _kind: int) -> tuple[int, int]:
        return self.limits

    def set(self, _kind: int, limits: tuple[int, int]) -> None:
        if self.is_fixed:
            raise OSError("not permitted")
        self.limits = limits


@pytest.mark.parametrize(
    ("soft", "hard", "is_fixed", "possible", "soft_after"),
    [
        (1024, 65536, False, 4096, 4096 + RESERVE),
        (1024, UNLIMITED, False, 4096, 4096 + RESERVE),
        (65536, 65536, False, 4096, 65536),
        (UNLIMITED, UNLIMITED, False, 4096, UNLIMITED),
        (256, 1024, False, 1024 - RESERVE, 1024),
        (256, 1024, True, 256 - RESERVE, 256),
        (16, 16, False, 1, 16),
    ],
)
def test_the_limit_is_raised_as_far_as_the_system_allows(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, is_fixed: bool, possible: int, soft_after: int
) -> None:
    limits = Limits(soft, hard, is_fixed=is_fixed)
    monkeypatch.setattr(resource, "getrlimit", limits.get)
    monkeypatch.setattr(resource, "setrlimit", limits.set)
    assert connections_possible(4096) == possible
    assert limits.limits[0] == soft_after


def test_a_system_without_this_limit_allows_all_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert connections_possible(4096) == 4096
