"""Refuses requests that do not come from a page of this server, adds the headers that browsers need, and shares limits.

Invariants: no request reaches the application unless its Host is a name of this machine, which prevents DNS rebinding,
and unless its origin, if the browser names one, is this very address. If the viewer has a password, nothing is answered
without it; wrong passwords are answered late, like those of administrators. Only `/healthz`, which says nothing about
the games, is answered in any case, since a container is asked by the name that it has in its network.

A page with a password needs no check of its Host: a browser sends the password only to the address where it was typed.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import socket
from collections import Counter
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request

from spielleiter.server.net.password_guard import PasswordGuard
from spielleiter.viewer.web.answers import Application, Receive, Scope, Send, WebError, error_response

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


_PASSWORD_NEEDED: Final = WebError(
    401,
    "Der Betrachter hat ein Passwort (Einstellung viewerPassword); der Benutzername ist beliebig.",
    "The viewer has a password (the setting viewerPassword); any user name will do.",
)


class Guard:
    """An ASGI application around `app` that lets only permitted requests through.

    - `password`: that of the viewer, or None.
    - `password_guard`: delays the answers to wrong ones.
    - `names`: names of this machine besides its own, as browsers elsewhere know it.
    - `is_entrance`: says of a path whether a link on a page of somebody else may lead there.
    """

    def __init__(
        self,
        app: Application,
        password: str | None,
        password_guard: PasswordGuard,
        names: Iterable[str] = (),
        is_entrance: Callable[[str], bool] = lambda path: path == "/",
    ) -> None:
        self._app = app
        self._password = None if password is None else password.encode()
        self._password_guard = password_guard
        self._own_names = frozenset({"localhost", socket.gethostname().lower(), *(name.lower() for name in names)})
        self._is_entrance = is_entrance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return
        if scope["type"] != "http":  # there is nothing to prepare at the start
            return

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SAFETY_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            await self._check(scope)
        except WebError as error:
            response = error_response(error, Headers(scope=scope), scope.get("root_path", ""))
            if error.status == _PASSWORD_NEEDED.status:
                response.headers["www-authenticate"] = 'Basic realm="spielleiter", charset="UTF-8"'
            await response(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    async def _check(self, scope: Scope) -> None:
        """Raise WebError for a request that is not permitted."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if scope["path"] == "/healthz":
            return
        if self._password is not None:
            given = _given_password(headers.get("authorization", ""))
            if given is None:
                raise _PASSWORD_NEEDED
            address = (scope.get("client") or ("",))[0]
            is_right = hmac.compare_digest(given, self._password)
            await self._password_guard.wait_to_answer(address, is_right=is_right)
            if not is_right:
                raise _PASSWORD_NEEDED
        elif not self._is_own_name(host):
            raise WebError(
                421,
                "Diese Adresse ist kein Name dieses Rechners; öffne die Seite unter der Adresse, die der Server nennt.",
                "This is not a name of this machine; open the page at the address that the server names.",
            )
        is_own_origin = headers.get("origin") in {None, f"http://{host}", f"https://{host}"}
        is_own_site = headers.get("sec-fetch-site", "none") in {"none", "same-origin"}
        is_visit = scope["method"] in {"GET", "HEAD"} and self._is_entrance(scope["path"])
        if not (is_own_origin and (is_own_site or is_visit)):
            raise WebError(
                403,
                "Diese Anfrage kommt von einer fremden Seite.",
                "This request comes from a page of somebody else.",
            )

    def _is_own_name(self, host: str) -> bool:
        """Return whether `host`, a value of the header Host, is an address or a name of this machine.

        Any numeric address will do, since no name can be bound to another address then.
        """
        try:
            parts = urlsplit(f"//{host}")
            name, _ = (parts.hostname or "").rstrip("."), parts.port  # which has to be a number
            if parts.netloc != host or parts.username is not None:
                return False
            if name in self._own_names:
                return True
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


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


# -- shares ----------------------------------------------------------------------------------------------------------


def may_take(taken: Counter[str], address: str, most: int) -> bool:
    """Return whether `address` may take one more of `most`, of which each address has `taken` some already.

    It may as long as it has fewer than are free. So a single address gets half of all, and the next one half of the
    rest, and there is always some left for others. This is no fixed share: a class behind one address (a router, a
    proxy, this machine) has half of everything while nobody else is there, and many addresses with a few each can use
    up all.
    """
    return taken[address] < most - taken.total()


def client_address(request: Request) -> str:
    """Return the address of the client without its port; empty if it is unknown."""
    return request.client.host if request.client else ""


def client_share(request: Request) -> str:
    """Return what stands for all addresses that the client can choose.

    This machine can choose among those of loopback, and a machine with IPv6 usually in a network of 64 bits.
    """
    address = client_address(request)
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:  # a Unix socket
        return address
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if found.is_loopback:
        return "loopback"
    return str(found if found.version == 4 else ipaddress.ip_network((found, 64), strict=False))
