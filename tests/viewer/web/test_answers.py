"""Bodies of requests are bounded in size and time; event streams send the newest data, and comments while idle."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import msgspec
import pytest
import trio
from starlette.requests import Request
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.viewer.web.answers import (
    BODY_TIMEOUT,
    COMMENT_INTERVAL,
    JSON_BYTES,
    WebError,
    frame,
    json_response,
    newest_frames,
    read_body,
    read_json,
    whole_number,
)
from tests.viewer.web.pages import JSON, request_scope


class Form(msgspec.Struct):
    number: int


def request(
    *parts: bytes, headers: dict[str, str] = JSON, end: str = "complete", path: str = "/", pause: float = 0
) -> Request:
    """A request whose body comes in parts, each `pause` seconds after the one before.

    `end` is what follows: ``complete`` or ``stalled`` (nothing more comes).
    """
    messages: list[MutableMapping[str, Any]] = [
        {"type": "http.request", "body": part, "more_body": end != "complete" or number < len(parts)}
        for number, part in enumerate(parts, 1)
    ]

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


class Source:
    """Frames that a test puts in; None ends the stream."""

    def __init__(self) -> None:
        self.put, self._frames = trio.open_memory_channel[bytes | None](100)
        self.is_closed = False

    async def next_frame(self) -> bytes | None:
        return await self._frames.receive()

    def close(self) -> None:
        self.is_closed = True


def test_the_data_of_an_event_is_one_line() -> None:
    assert frame("rooms", {"a": "x\n\ndata: y\r"}) == b'event: rooms\ndata: {"a":"x\\n\\ndata: y\\r"}\n\n'


async def test_an_idle_stream_is_kept_open_by_comments_and_leaving_ends_it(mock_clock: MockClock) -> None:
    source = Source()
    sent: list[MutableMapping[str, Any]] = []
    reads = trio.Event()
    reads.set()

    async def send(message: MutableMapping[str, Any]) -> None:
        await reads.wait()
        sent.append(message)

    async def serve(ends: trio.Event) -> None:
        await newest_frames(source)({"method": "GET"}, trio.sleep_forever, send)
        ends.set()

    async with trio.open_nursery() as nursery:
        has_ended = trio.Event()
        nursery.start_soon(serve, has_ended)
        await wait_all_tasks_blocked()
        headers = dict(sent[0]["headers"])
        assert headers[b"content-type"] == b"text/event-stream; charset=utf-8"
        assert headers[b"cache-control"] == b"no-store"
        for count in (1, 2):
            mock_clock.jump(COMMENT_INTERVAL)
            await wait_all_tasks_blocked()
            assert [message["body"] for message in sent[1:]] == [b": still here\n\n"] * count
        source.put.send_nowait(b"new")
        source.put.send_nowait(None)
        await has_ended.wait()
        assert sent[-2:] == [
            {"type": "http.response.body", "body": b"new", "more_body": True},
            {"type": "http.response.body", "body": b"", "more_body": False},
        ]
        assert source.is_closed
        # a page that does not take what it is sent, and leaves
        source.is_closed = False
        nursery.start_soon(serve, trio.Event())
        await wait_all_tasks_blocked()
        reads = trio.Event()
        source.put.send_nowait(b"never taken")
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert source.is_closed
    assert b"never taken" not in [message.get("body") for message in sent]
