"""The pages as a part of another site: below a path, with replays that lie in no folder, at no cost for the games."""

from __future__ import annotations

import pytest
import trio
from starlette.applications import Starlette
from starlette.routing import Mount

from spielleiter.server import events
from spielleiter.server.net.password_guard import PasswordGuard
from spielleiter.viewer.web.answers import WebError
from spielleiter.viewer.web.guard import Guard
from spielleiter.viewer.web.page_settings import PageSettings
from spielleiter.viewer.web.replay_store import ReplayStore
from spielleiter.viewer.web.site import Home, Site
from tests.viewer.replay_files import replay_of
from tests.viewer.web.pages import GAME_PORT, SECRET, call


async def replays_of_a_database(name: str) -> bytes | None:
    """Find the replay `seven`, as a site does that keeps its replays elsewhere."""
    await trio.lowlevel.checkpoint()
    return replay_of("blokus-2027", plies=4) if name == "seven" else None


def site_around() -> Starlette:
    settings = PageSettings(host="127.0.0.1", port=GAME_PORT, secret=SECRET, is_match=True, spares_processor=True)
    stream = events.EventStream()
    home = Home("../", lambda: "Liga 10b", "../language/")
    site = Site(settings, stream.publish, find_replay=replays_of_a_database, home=home)
    return Starlette(routes=[Mount("/viewer", site.open_app)])


async def test_the_pages_work_below_a_path_and_lead_back() -> None:
    app = site_around()
    page = await call(app, "GET", "/viewer/")
    assert page.status == 200
    assert b'="/' not in page.body  # such an address would be one of the site around
    for path in ("page.js", "page.css", "static/icon.svg"):
        assert path.encode() in page.body
        assert (await call(app, "GET", f"/viewer/{path}")).status == 200
    assert b'"/api/' not in (await call(app, "GET", "/viewer/page.js")).body
    info = (await call(app, "GET", "/viewer/api/info")).json
    assert info["home"] == {"title": "Liga 10b", "href": "../", "language": "../language/"}
    assert info["sparesProcessor"]
    wrong = await call(app, "GET", "/viewer/there", {"accept": "text/html"})
    assert (wrong.status, b'href="/viewer/"' in wrong.body, b'href="/"' in wrong.body) == (404, True, False)


async def test_replays_of_the_site_around_are_shown_and_nothing_is_computed() -> None:
    app = site_around()
    game = await call(app, "GET", "/viewer/api/replays/seven")
    assert (game.status, len(game.json["plies"])) == (200, 4)
    assert (await call(app, "GET", "/viewer/api/replays/seven/legal?ply=2")).status == 200
    assert (await call(app, "GET", "/viewer/api/replays/seven/file/replay")).body == replay_of("blokus-2027", plies=4)
    assert (await call(app, "GET", "/viewer/api/replays/eight")).status == 404
    for form in ("png", "gif", "html"):
        assert (await call(app, "GET", f"/viewer/api/replays/seven/file/{form}")).status == 404
    json = {"content-type": "application/json"}
    assert (await call(app, "POST", "/viewer/api/analysis", json, b'{"replay": "seven"}')).status == 404
    binary = {"content-type": "application/octet-stream"}
    dropped = await call(app, "POST", "/viewer/api/replays", binary, replay_of("blokus-2027", plies=4))
    assert dropped.status == 405


async def test_without_such_replays_an_unknown_name_is_refused() -> None:
    with pytest.raises(WebError, match="no such replay"):
        await ReplayStore(None, None).find("seven")


async def test_other_names_and_entrances_are_allowed_where_the_site_says_so() -> None:
    guard = Guard(
        site_around(), None, PasswordGuard(5, 60.0, 30.0), ["Liga.schule.example"], lambda path: path == "/viewer/"
    )
    from_elsewhere = {"host": "liga.schule.example:8080", "sec-fetch-site": "cross-site"}
    assert (await call(guard, "GET", "/viewer/", from_elsewhere)).status == 200
    assert (await call(guard, "GET", "/viewer/api/info", from_elsewhere)).status == 403
    assert (await call(guard, "POST", "/viewer/", from_elsewhere)).status == 403
    assert (await call(guard, "GET", "/viewer/", {"host": "schule.example"})).status == 421
