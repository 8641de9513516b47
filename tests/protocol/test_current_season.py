"""The current season is the one that a server plays by default."""

from __future__ import annotations

from spielleiter.protocol.current_season import DEFAULT_DIALECT, DEFAULT_GAME_TYPE
from spielleiter.server.editions import choose_default, choose_editions


def test_the_current_season_is_what_a_server_plays_by_default() -> None:
    editions = choose_editions({}, {})
    edition = choose_default(None, dict(reversed(editions.items())))
    assert edition is editions[DEFAULT_GAME_TYPE]
    assert edition.dialect is DEFAULT_DIALECT, (
        f"set DEFAULT_DIALECT in protocol/current_season.py to the dialect {edition.dialect.name!r}"
    )
