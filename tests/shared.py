"""Finds the recordings and rule data of the official releases, for the tests that need all of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def _find() -> Path | None:
    named = os.environ.get("SPIELLEITER_SHARED")
    root = Path(named) if named else Path(__file__).parents[2] / "shared"
    return root if (root / "oracle").is_dir() else None


SHARED = _find()
"""The folder with `oracle/`, `samples/` and `transcripts/`, or None."""

needs_shared = pytest.mark.skipif(
    SHARED is None,
    reason="the recordings of the official releases are missing (set SPIELLEITER_SHARED, or put them into ../shared)",
)
