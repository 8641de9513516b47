"""The page and its files, over a real connection: fresh, of the right type, and nothing from outside the folder."""

from __future__ import annotations

import pytest

from spielleiter.viewer.web.site import application
from spielleiter.viewer.web.static_files import page_routes
from tests.server.serving import read_all
from tests.viewer.web.pages import call
from tests.viewer.web.test_http_server import running


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/", b"text/html"), ("/static/main.js", b"text/javascript"), ("/static/style.css", b"text/css")],
)
async def test_files_are_complete_and_the_connection_is_closed(path: str, kind: bytes) -> None:
    async with running(application(page_routes())) as server, await server.connect() as stream:
        await stream.send_all(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        head, _, body = (await read_all(stream)).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert b"content-type: " + kind in head
        assert b"content-length: %d" % len(body) in head
        assert b"cache-control: no-cache" in head
        assert server.bugs == []


@pytest.mark.parametrize("path", ["/static/../page.py", "/static//etc/passwd", "/static/none.js"])
async def test_nothing_outside_the_folder_is_served(path: str) -> None:
    answer = await call(application(page_routes()), "GET", path)
    assert answer.status == 404
    assert set(answer.json["error"]) == {"de", "en"}
