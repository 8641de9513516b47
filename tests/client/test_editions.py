from __future__ import annotations

from client.editions import DEFAULT_DIALECT, DEFAULT_GAME_TYPE, DIALECTS
from server.editions import EDITIONS


def test_every_game_the_server_knows_can_be_played() -> None:
    assert set(DIALECTS) == {edition.game_type for edition in EDITIONS.values()}


def test_each_game_is_spoken_as_its_first_edition_is() -> None:
    for game_type, dialect in DIALECTS.items():
        first = next(edition for edition in EDITIONS.values() if edition.game_type == game_type)
        assert dialect is first.dialect


def test_the_first_game_is_the_usual_one() -> None:
    assert next(iter(EDITIONS.values())).game_type == DEFAULT_GAME_TYPE
    assert DIALECTS[DEFAULT_GAME_TYPE] is DEFAULT_DIALECT
