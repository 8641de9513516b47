"""Fixtures for tests of checks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from spielleiter.contest.scripted_server import EARLY_ENDINGS
from tests.match.conftest import players, short_games
from tests.timeouts import HANG_TIMEOUT

__all__ = ["players", "short_games"]  # fixtures of these tests, too


@pytest.fixture
def python_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a sandbox, the packages' python3 is found even if only this interpreter exists."""
    monkeypatch.setenv("PATH", os.pathsep.join([os.environ["PATH"], str(Path(sys.executable).parent)]))


@pytest.fixture
def few_endings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out most ways to end a game early; those are tried with built-in strategies (test_check.py)."""
    monkeypatch.setattr("spielleiter.contest.check.EARLY_ENDINGS", (EARLY_ENDINGS[0], EARLY_ENDINGS[-1]))


@pytest.fixture(autouse=True)
def _long_exit_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a process that has closed its connection, however busy this machine is."""
    monkeypatch.setattr("spielleiter.contest.scripted_server.EXIT_TIMEOUT", HANG_TIMEOUT)
