"""Requests that do not come from a page of this server are refused, and every answer has the headers for safety."""

from __future__ import annotations

import base64
import socket
from collections.abc import MutableMapping
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.server.net.password_guard import PasswordGuard
from spielleiter.viewer.web.answers import Receive, Scope, Send
from spielleiter.viewer.web.guard import Guard
from tests.viewer.web.pages import HOST, call, request_scope


async def page(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"the page"})


def guard(password: str | None = None, attempts: int = 5) -> Guard:
    return Guard(page, password, PasswordGuard(attempts, 60.0, 30.0))


def basic(user_and_password: str) -> dict[str, str]:
    return {"authorization": f"Basic {base64.b64encode(user_and_password.encode()).decode()}"}


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:13080",
        "localhost:1",
        "LOCALHOST",
        "localhost.",
        "[::1]:13080",
        "192.168.0.7:13080",
        socket.gethostname(),
    ],
)
async def test_addresses_and_own_names_are_accepted(host: str) -> None:
    assert (await call(guard(), "GET", "/api/rooms", {"host": host})).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:13080", "localhost.evil.example", "", "127.0.0.1.nip.io"]
)
async def test_a_name_that_was_bound_to_this_address_is_refused(host: str) -> None:
    answer = await call(guard(), "GET", "/api/rooms", {"host": host})
    assert answer.status == 421
    assert "the address that the server names" in answer.json["error"]["en"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": f"http://{HOST}"}, 200),
        ({"origin": f"https://{HOST}"}, 200),  # behind a proxy with TLS
        ({"origin": "http://evil.example"}, 403),
        ({"origin": f"http://{HOST}.evil.example"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_requests_of_other_pages_are_refused(headers: dict[str, str], status: int, method: str) -> None:
    assert (await call(guard(), method, "/api/rooms", headers)).status == status


async def test_a_link_of_another_page_may_lead_to_the_page_itself() -> None:
    assert (await call(guard(), "GET", "/", {"sec-fetch-site": "cross-site"})).status == 200
    assert (await call(guard(), "POST", "/", {"sec-fetch-site": "cross-site"})).status == 403


@pytest.mark.parametrize("headers", [{}, {"host": "evil.example"}, {"origin": "http://evil.example"}])
async def test_every_answer_has_the_headers_for_safety(headers: dict[str, str]) -> None:
    answer = await call(guard(), "GET", "/", headers)
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"


async def test_a_password_is_asked_for_and_compared() -> None:
    app = guard("geheim:süß")
    refused = await call(app, "GET", "/")
    assert refused.status == 401
    assert refused.headers["www-authenticate"].startswith("Basic ")
    assert b"the page" not in refused.body
    for wrong in (basic("x:falsch"), basic("geheim"), {"authorization": "Basic ***"}, {"authorization": "Bearer x"}):
        assert (await call(app, "GET", "/", wrong)).status == 401
    assert (await call(app, "GET", "/", basic("anybody:geheim:süß"))).status == 200


@pytest.mark.parametrize("password", [None, "geheim"])
async def test_health_is_always_answered(password: str | None) -> None:
    # a container is asked by the name that it has in its network
    for host in (HOST, "spielleiter:13080"):
        assert (await call(guard(password), "GET", "/healthz", {"host": host})).status == 200
    assert (await call(guard(password), "GET", "/metrics", {"host": "spielleiter:13080"})).status in {401, 421}


async def test_with_a_password_any_name_of_the_machine_will_do() -> None:
    answer = await call(guard("geheim"), "GET", "/", {"host": "teacher.school.example", **basic(":geheim")})
    assert answer.status == 200


async def test_wrong_passwords_are_answered_late_and_the_right_one_is_not(autojump_clock: MockClock) -> None:
    app = guard("geheim", attempts=2)
    delays = []
    for _ in range(4):
        before = trio.current_time()
        assert (await call(app, "GET", "/", basic(":falsch"))).status == 401
        delays.append(trio.current_time() - before)
    assert delays == [0.0, 0.0, 1.0, 2.0]
    before = trio.current_time()
    assert (await call(app, "GET", "/", basic(":geheim"))).status == 200
    assert trio.current_time() == before


async def test_a_flood_of_wrong_passwords_does_not_keep_out_the_right_one(autojump_clock: MockClock) -> None:
    app = guard("geheim", attempts=1)
    statuses: list[int] = []

    async def guess() -> None:
        statuses.append((await call(app, "GET", "/", basic(":falsch"))).status)

    async with trio.open_nursery() as nursery:
        for _ in range(400):
            nursery.start_soon(guess)
        await wait_all_tasks_blocked()
        before = trio.current_time()
        for _ in range(10):
            assert (await call(app, "GET", "/", basic(":geheim"))).status == 200
        assert trio.current_time() - before < 31.0  # 300 of them wait
    assert statuses == [401] * 400


async def test_the_right_password_is_not_delayed_however_often_it_is_sent(autojump_clock: MockClock) -> None:
    app = guard("geheim")
    for _ in range(1000):
        assert (await call(app, "GET", "/", basic(":geheim"))).status == 200
    assert trio.current_time() == 0.0


async def test_web_sockets_and_other_protocols_get_nothing() -> None:
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        raise AssertionError

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    await guard()({**request_scope("GET", "/", {}), "type": "websocket"}, receive, send)
    assert [message["type"] for message in sent] == ["websocket.close"]
    await guard()({"type": "lifespan"}, receive, send)
    assert len(sent) == 1
