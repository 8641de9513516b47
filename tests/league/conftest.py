from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.league.leagues import League, league_in


@pytest.fixture
def league(tmp_path: Path) -> Iterator[League]:
    """A new league."""
    with league_in(tmp_path / "league") as league:
        yield league
