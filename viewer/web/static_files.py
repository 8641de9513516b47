"""The page itself: HTML, CSS and modules from the folder `viewer/static`.

Invariants: nothing outside that folder is served. A browser asks each time whether a file has changed, so that an
update of the server is an update of the page.
"""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from spielleiter.viewer.page import STATIC

_FRESH: Final = "no-cache"


class _FreshFiles(StaticFiles):
    async def get_response(self, path: str, scope: object) -> Response:
        response = await super().get_response(path, scope)  # type: ignore[arg-type]
        response.headers["cache-control"] = _FRESH
        return response


def page_routes() -> list[BaseRoute]:
    """Return the routes of the page and its files."""

    async def page(_request: Request) -> Response:
        return FileResponse(STATIC / "index.html", headers={"cache-control": _FRESH})

    return [Route("/", page), Mount("/static", _FreshFiles(directory=STATIC, check_dir=False))]
