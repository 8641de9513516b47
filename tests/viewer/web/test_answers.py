"""Bodies of requests: bounded in size and time; what cannot be read is refused with a sentence."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import msgspec
import pytest
import trio
from starlette.requests import Request
from trio.testing import MockClock

from spielleiter.viewer.web.answers import BODY_TIMEOUT, JSON_BYTES, json_response, read_body, read_json, whole_number
from spielleiter.viewer.web.errors import WebError
from tests.viewer.web.pages import JSON, request_scope


class Form(msgspec.Struct):
    number: int


def request(
    *parts: bytes, headers: dict[str, str] = JSON, end: str = "complete", path: str = "/", pause: float = 0
) -> Request:
    """A request whose body comes in parts, each `pause` seconds after the one before.

    `end` is what follows: ``complete``, ``left`` (the page has left) or ``stalled`` (nothing more comes).
    """
    messages: list[MutableMapping[str, Any]] = [
        {"type": "http.request", "body": part, "more_body": end != "complete" or number < len(parts)}
        for number, part in enumerate(parts, 1)
    ]
    if end == "left":
        messages.append({"type": "http.disconnect"})

    async def receive() -> MutableMapping[str, Any]:
        await trio.sleep(pause if messages else float("inf"))
        return messages.pop(0)

    return Request(request_scope("POST", path, headers), receive)


async def test_a_form_is_read_from_its_parts() -> None:
    assert await read_json(request(b'{"num', b'ber": 3}'), Form) == Form(3)
    mixed = {"content-type": "Application/JSON; charset=utf-8"}
    assert await read_json(request(b'{"number": 4, "more": 1}', headers=mixed), Form) == Form(4)


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b'{"number": 1}', {}, 415),
        (b'{"number": 1}', {"content-type": "text/plain"}, 415),
        (b"", JSON, 400),
        (b'{"number": "1"}', JSON, 400),
        (b"{}", JSON, 400),
        (b"[" * 10_000, JSON, 400),
        (b'{"number": "\xff"}', JSON, 400),
    ],
)
async def test_what_is_not_the_form_is_refused(body: bytes, headers: dict[str, str], status: int) -> None:
    with pytest.raises(WebError) as refused:
        await read_json(request(body, headers=headers), Form)
    assert refused.value.status == status
    assert set(refused.value.as_json()["error"]) == {"de", "en"}


async def test_a_body_is_read_up_to_its_limit() -> None:
    assert len(await read_body(request(b"x" * 60, b"x" * 40), 100)) == 100
    with pytest.raises(WebError, match="at most 100 bytes") as refused:
        await read_body(request(b"x" * 60, b"x" * 41, end="stalled"), 100)
    assert refused.value.status == 413
    with pytest.raises(WebError) as refused:
        await read_json(request(b" " * (JSON_BYTES + 1)), Form)
    assert refused.value.status == 413


async def test_a_body_that_breaks_off_is_refused() -> None:
    with pytest.raises(WebError, match="broke off") as refused:
        await read_body(request(b"x", end="left"), 100)
    assert refused.value.status == 400


async def test_a_body_that_comes_too_slowly_is_refused(autojump_clock: MockClock) -> None:
    assert await read_body(request(b"x", b"y", pause=BODY_TIMEOUT / 3), 100) == b"xy"
    for slow in (request(b"x", end="stalled"), request(*[b"x"] * 50, pause=1)):
        start = trio.current_time()
        with pytest.raises(WebError, match="too slowly") as refused:
            await read_body(slow, 100)
        assert refused.value.status == 408
        assert trio.current_time() - start == BODY_TIMEOUT


def test_numbers_in_addresses() -> None:
    assert whole_number(request(path="/?ply=12"), "ply") == 12
    for text in ("", "-1", "1.5", "1e3", "٣", "12345678901", "x"):
        with pytest.raises(WebError, match="whole number"):
            whole_number(request(path=f"/?ply={text}" if text.isascii() else "/?ply=%D9%A3"), "ply")


def test_an_answer_is_json() -> None:
    response = json_response({"a": "ä"}, 201)
    assert (response.status_code, bytes(response.body)) == (201, '{"a":"ä"}'.encode())
    assert response.headers["content-type"] == "application/json"
