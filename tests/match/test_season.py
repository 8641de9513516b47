"""The season of a match in one line."""

from __future__ import annotations

import pytest

from spielleiter.match.plan import season_text
from spielleiter.server.editions import EDITIONS


@pytest.mark.parametrize("name", EDITIONS)
def test_game_and_edition_are_named(name: str) -> None:
    game_type = EDITIONS[name].game_type
    assert season_text(game_type, name) == f"{game_type} ({name})"


def test_the_default_edition_is_named_as_well() -> None:
    assert season_text("swc_2021_blokus") == "swc_2021_blokus (blokus-2021-r3)"
