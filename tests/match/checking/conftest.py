"""Fixtures for tests of checks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest


@pytest.fixture
def python_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a sandbox, the packages' python3 is found even if only this interpreter exists."""
    monkeypatch.setenv("PATH", os.pathsep.join([os.environ["PATH"], str(Path(sys.executable).parent)]))
