"""Refuses requests that do not come from a page of this server, and adds the headers that browsers need for safety.

Invariants: no request reaches the application unless its Host is a name of this machine, which prevents DNS rebinding,
and unless its origin, if the browser names one, is this very address. If the viewer has a password, nothing is answered
without it; wrong passwords are answered late, like those of administrators. Only `/healthz`, which says nothing about
the games, is answered in any case, since a container is asked by the name that it has in its network. Every answer
forbids scripts and styles from elsewhere and inside the page, and forbids other pages to embed it.

A page with a password needs no check of its Host: a browser sends the password only to the address where it was typed.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

import trio
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

from spielleiter.server.net.password_guard import PasswordGuard
from spielleiter.viewer.web.answers import error_response
from spielleiter.viewer.web.errors import WebError

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SAFETY_HEADERS: Final = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_READING: Final = frozenset({"GET", "HEAD"})
_OPEN_PATHS: Final = frozenset({"/healthz"})
_PAGE_PATHS: Final = frozenset({"/"})
"""The paths that a link on a page of somebody else may lead to."""

_WRONG_HOST: Final = WebError(
    421,
    "Diese Adresse ist kein Name dieses Rechners; öffne die Seite unter der Adresse, die der Server nennt.",
    "This is not a name of this machine; open the page at the address that the server names.",
)
_WRONG_ORIGIN: Final = WebError(
    403,
    "Diese Anfrage kommt von einer fremden Seite.",
    "This request comes from a page of somebody else.",
)
_PASSWORD_NEEDED: Final = WebError(
    401,
    "Der Betrachter hat ein Passwort (Einstellung viewerPassword); der Benutzername ist beliebig.",
    "The viewer has a password (the setting viewerPassword); any user name will do.",
)


class Guard:
    """An ASGI application around `app` that lets only permitted requests through.

    `password` is that of the viewer, or None; `password_guard` delays the answers to wrong ones.
    """

    def __init__(self, app: Application, password: str | None, password_guard: PasswordGuard) -> None:
        self._app = app
        self._password = None if password is None else password.encode()
        self._password_guard = password_guard
        self._own_names = frozenset({"localhost", socket.gethostname().lower()})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return
        if scope["type"] != "http":  # there is nothing to prepare at the start
            return
        refusal = await self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, _with_safety_headers(send))
            return
        await self._app(scope, receive, _with_safety_headers(send))

    async def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that is not permitted, None if it is."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        path = scope["path"]
        if path in _OPEN_PATHS:
            return None
        if self._password is not None:
            refusal = await self._check_password(headers, (scope.get("client") or ("",))[0])
            if refusal is not None:
                return refusal
        elif not self._is_own_name(host):
            return error_response(_WRONG_HOST)
        if not _is_own_origin(headers, host, path, scope["method"]):
            return error_response(_WRONG_ORIGIN)
        return None

    def _is_own_name(self, host: str) -> bool:
        """Return whether `host`, a value of the header Host, is an address or a name of this machine.

        Any numeric address will do, since no name can be bound to another address then.
        """
        name = _host_name(host)
        if name in self._own_names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    async def _check_password(self, headers: Headers, address: str) -> Response | None:
        assert self._password is not None
        given = _given_password(headers.get("authorization", ""))
        if given is None:
            return _asking_for_password()
        await self._password_guard.wait_for_turn(address)
        if hmac.compare_digest(given, self._password):
            self._password_guard.note_success()
            return None
        await self._password_guard.answer_late(address, self._password_guard.delay(address, trio.current_time()))
        return _asking_for_password()


def _asking_for_password() -> Response:
    response = error_response(_PASSWORD_NEEDED)
    response.headers["www-authenticate"] = 'Basic realm="spielleiter", charset="UTF-8"'
    return response


def _given_password(authorization: str) -> bytes | None:
    """Return the password from the header Authorization in the scheme Basic; None if there is none."""
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        decoded = base64.b64decode(encoded.strip(), validate=True)
    except (binascii.Error, ValueError):
        return None
    _, colon, password = decoded.partition(b":")
    return password if colon else None


def _host_name(host: str) -> str:
    """Return the name or address in `host` without its port and brackets, in lower case."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].rstrip(".").lower()


def _is_own_origin(headers: Headers, host: str, path: str, method: str) -> bool:
    """Return whether the request comes from a page of this address, or from no page at all."""
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{host}" and origin != f"https://{host}":
        return False
    site = headers.get("sec-fetch-site", "none")
    return site in {"none", "same-origin"} or (path in _PAGE_PATHS and method in _READING)


def _with_safety_headers(send: Send) -> Send:
    async def send_with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SAFETY_HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return send_with_headers
