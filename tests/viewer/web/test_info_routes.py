"""What the page learns about the server."""

from __future__ import annotations

import random
from importlib.metadata import version

from spielleiter.client.choosers import ladder_of, level_name
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.positions.describe import view_of
from spielleiter.viewer.web.info_routes import info_routes
from spielleiter.viewer.web.site import application
from tests.viewer.web.pages import GAME_PORT, call, open_pages


async def test_games_builtin_players_and_the_address_of_the_programs() -> None:
    editions = {edition.game_type: edition for edition in EDITIONS.values()}
    app = application(info_routes(editions, ("10.0.0.7", 1234), has_admins=False))
    info = (await call(app, "GET", "/api/info")).json
    assert (info["host"], info["port"], info["hasAdmin"]) == ("10.0.0.7", 1234, False)
    assert info["version"] == version("spielleiter")
    assert [game["gameType"] for game in info["gameTypes"]] == list(editions)
    for game in info["gameTypes"]:
        assert game["game"] == view_of(editions[game["gameType"]].game.new_state(random.Random(1))).name
        assert {"random", "greedy", "first"} <= set(game["strategies"])
        assert "illegal" not in game["strategies"]  # those that misbehave are no opponents for a person
    assert all(len(set(game["strategies"])) == len(game["strategies"]) for game in info["gameTypes"])
    strategies = {game["gameType"]: game["strategies"] for game in info["gameTypes"]}
    for game_type, edition in editions.items():
        levels = ladder_of(edition.game.new_state(random.Random(1)))
        expected = [level_name(number) for number in range(1, 1 + len(levels))]
        assert [name for name in strategies[game_type] if name.startswith("level-")] == expected
    titles = {game["gameType"]: game["title"] for game in info["gameTypes"]}
    assert titles["swc_2018_hase_und_igel"] == "Hase und Igel 2018"


async def test_a_server_that_listens_everywhere_is_reached_at_this_machine() -> None:
    async with open_pages(host="0.0.0.0") as pages:
        info = (await pages.get("/api/info")).json
        assert (info["host"], info["port"], info["hasAdmin"]) == ("127.0.0.1", GAME_PORT, False)
    async with open_pages() as pages:
        assert (await pages.get("/api/info")).json["hasAdmin"]
