"""`/healthz` and `/metrics`: whether new games can be played, and the figures."""

from __future__ import annotations

from spielleiter.server.metrics import CONTENT_TYPE
from spielleiter.viewer.web.health import health_routes
from spielleiter.viewer.web.site import application
from tests.viewer.web.pages import call, open_pages


async def test_health_says_whether_new_games_can_be_played() -> None:
    async with open_pages() as pages:
        is_stopping = False
        app = application(health_routes(pages.site.metrics, lambda: is_stopping))
        answer = await call(app, "GET", "/healthz")
        assert (answer.status, answer.body) == (200, b"ok\n")
        is_stopping = True
        answer = await call(app, "GET", "/healthz")
        assert (answer.status, answer.body) == (503, b"stopping\n")


async def test_the_figures_are_those_of_the_server() -> None:
    async with open_pages() as pages:
        before = (await pages.get("/metrics")).body.decode()
        pages.open_room("A", "B")
        answer = await pages.get("/metrics")
        assert answer.status == 200
        assert answer.headers["content-type"] == CONTENT_TYPE
        text = answer.body.decode()
        assert text.startswith("# HELP ")
        assert text != before
        assert (await pages.post("/metrics")).status == 405
