"""Requests that do not come from a page of this server are refused, and every answer has the headers for safety."""

from __future__ import annotations

import base64
import socket
from collections.abc import MutableMapping
from typing import Any

import pytest
import trio
from trio.testing import MockClock

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


OWN = ("127.0.0.1", "127.0.0.1:13080", "localhost:1", "LOCALHOST", "localhost.", "[::1]:13080", "192.168.0.7:13080")
FOREIGN = (
    "evil.example", "evil.example:13080", "localhost.evil.example", "", "127.0.0.1.nip.io",
    # no host at all
    "[::1", "[", "127.0.0.1:x", "127.0.0.1:99999", "localhost:\xb2", "localhost/x", "localhost?x", "evil@localhost",
)  # fmt: skip


@pytest.mark.parametrize("host", [*OWN, socket.gethostname(), *FOREIGN])
async def test_a_name_that_was_bound_to_this_address_is_refused(host: str) -> None:
    answer = await call(guard(), "GET", "/api/rooms", {"host": host})
    assert answer.status == (421 if host in FOREIGN else 200)
    if host in FOREIGN:
        assert "the address that the server names" in answer.json["error"]["en"]


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("origin", f"http://{HOST}", 200),
        ("origin", f"https://{HOST}", 200),  # behind a proxy with TLS
        ("origin", "http://evil.example", 403),
        ("origin", f"http://{HOST}.evil.example", 403),
        ("origin", "http://127.0.0.1:9999", 403),
        ("origin", "null", 403),
        ("sec-fetch-site", "same-origin", 200),
        ("sec-fetch-site", "none", 200),
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "same-site", 403),
    ],
)
async def test_requests_of_other_pages_are_refused(header: str, value: str, status: int) -> None:
    for method in ("GET", "POST"):
        assert (await call(guard(), method, "/api/rooms", {header: value})).status == status
    if header == "sec-fetch-site":  # a link may lead to the page itself
        assert (await call(guard(), "GET", "/", {header: value})).status == 200
        assert (await call(guard(), "POST", "/", {header: value})).status == status


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
    assert (refused.status, b"the page" in refused.body) == (401, False)
    assert refused.headers["www-authenticate"].startswith("Basic ")
    for wrong in (basic("x:falsch"), basic("geheim"), {"authorization": "Basic ***"}, {"authorization": "Bearer x"}):
        assert (await call(app, "GET", "/", wrong)).status == 401
    own_name = {"host": "teacher.school.example"}  # any name of the machine will do
    assert (await call(app, "GET", "/", {**own_name, **basic("anybody:geheim:süß")})).status == 200


@pytest.mark.parametrize("password", [None, "geheim"])
async def test_health_is_always_answered(password: str | None) -> None:
    # a container is asked by the name that it has in its network
    for host in (HOST, "spielleiter:13080"):
        assert (await call(guard(password), "GET", "/healthz", {"host": host})).status == 200
    assert (await call(guard(password), "GET", "/metrics", {"host": "spielleiter:13080"})).status in {401, 421}


async def test_wrong_passwords_are_answered_late_and_the_right_one_is_not(autojump_clock: MockClock) -> None:
    app = guard("geheim", attempts=2)
    delays = []
    for password in (*["falsch"] * 4, *["geheim"] * 1000):
        before = trio.current_time()
        assert (await call(app, "GET", "/", basic(f":{password}"))).status == (200 if password == "geheim" else 401)
        delays.append(trio.current_time() - before)
    assert delays == [0.0, 0.0, 1.0, 2.0] + [0.0] * 1000


async def test_web_sockets_and_other_protocols_get_nothing() -> None:
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        raise AssertionError

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    await guard()({**request_scope("GET", "/", {}), "type": "websocket"}, receive, send)
    await guard()({"type": "lifespan"}, receive, send)
    assert [message["type"] for message in sent] == ["websocket.close"]
