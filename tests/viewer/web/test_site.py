"""The parts of the web application together: every error has the form that the page expects, and bugs are reported."""

from __future__ import annotations

import socket
from typing import Any

import pytest
import trio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from spielleiter.viewer.web.errors import WebError
from spielleiter.viewer.web.site import application
from tests.viewer.web.pages import call, open_pages


def raising(error: Exception) -> Any:
    async def endpoint(_request: Request) -> Response:
        raise error

    return application([Route("/api/here", endpoint)])


async def test_a_refusal_has_its_sentence_in_both_languages() -> None:
    answer = await call(raising(WebError(409, "Nein.", "No.")), "GET", "/api/here")
    assert (answer.status, answer.json) == (409, {"error": {"de": "Nein.", "en": "No."}})


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/api/there", 404), ("DELETE", "/api/here", 405)])
async def test_an_address_that_does_not_exist_has_one_too(method: str, path: str, status: int) -> None:
    answer = await call(raising(ValueError()), method, path)
    assert answer.status == status
    assert set(answer.json["error"]) == {"de", "en"}
    assert ("allow" in answer.headers) == (status == 405)


async def test_a_bug_is_admitted_without_its_text_and_passed_on() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {"type": "http", "method": "GET", "path": "/api/here", "query_string": b"", "headers": [], "root_path": ""}
    with pytest.raises(ValueError, match="secret"):
        await raising(ValueError("secret"))(scope, receive, send)
    assert sent[0]["status"] == 500
    assert b"secret" not in sent[1]["body"]
    assert b'"de"' in sent[1]["body"]


@pytest.mark.parametrize("path", ["/", "/api/info", "/api/rooms", "/api/replays", "/healthz", "/metrics", "/api/admin"])
async def test_every_part_is_connected(path: str) -> None:
    async with open_pages() as pages:
        assert (await pages.get(path)).status == 200


async def test_listening_sockets_that_fail_are_reported_and_end_the_pages_only() -> None:
    async with open_pages() as pages:
        broken = socket.socket()  # neither bound nor listening
        broken.close()
        with trio.fail_after(60):
            await pages.site.serve_health([broken])
        assert len(pages.logged("internal_error")) == 1
        assert (await pages.get("/api/info")).status == 200
