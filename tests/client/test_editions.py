from __future__ import annotations

from spielleiter.client.editions import DEFAULT_DIALECT, DEFAULT_GAME_TYPE
from spielleiter.server.editions import choose_default, choose_editions


def test_a_client_plays_what_a_server_does_that_nobody_told_otherwise() -> None:
    edition = choose_default(None, choose_editions({}, {}))
    assert (edition.game_type, edition.dialect) == (DEFAULT_GAME_TYPE, DEFAULT_DIALECT), (
        "the first entry of server/editions.py is the season that runs; set in client/editions.py: "
        f'DEFAULT_GAME_TYPE = "{edition.game_type}" and DEFAULT_DIALECT = the dialect {edition.dialect.name!r}'
    )
