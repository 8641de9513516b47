"""Reads JSON from requests and writes it into answers.

Invariants: a body is read up to a limit of bytes and of time. Whatever cannot be read is a WebError with status 4xx.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import Any, Final, TypeVar

import msgspec
import trio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from spielleiter.viewer.web.errors import WebError

JSON_BYTES: Final = 16 * 1024
"""The maximum size of a body with JSON."""
BODY_TIMEOUT: Final = 10.0
"""Seconds within which a body must be complete."""
MOST_DIGITS: Final = 10
JSON: Final = "application/json"

_Form = TypeVar("_Form")


def json_response(value: Any, status: int = 200) -> Response:
    """Return an answer with `value` as JSON."""
    return Response(msgspec.json.encode(value), status, media_type=JSON)


def error_response(error: WebError) -> Response:
    """Return the answer to a request that was refused with `error`."""
    return json_response(error.as_json(), error.status)


def whole_number(request: Request, name: str) -> int:
    """Return a parameter of the address that is a whole number from 0. Raises WebError if it is not one."""
    text = request.query_params.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) < MOST_DIGITS):
        raise WebError(
            400,
            f"Der Parameter {name} muss eine ganze Zahl ab 0 sein.",
            f"The parameter {name} must be a whole number from 0.",
        )
    return int(text)


async def read_body(request: Request, most_bytes: int) -> bytes:
    """Return the body of `request`. Raises WebError if it is too large or arrives too slowly."""
    body = bytearray()
    with trio.move_on_after(BODY_TIMEOUT):
        try:
            async with aclosing(request.stream()) as parts:
                async for part in parts:
                    body += part
                    if len(body) > most_bytes:
                        raise WebError(
                            413,
                            f"Diese Anfrage ist zu groß: höchstens {most_bytes} Bytes sind erlaubt.",
                            f"This request is too large: at most {most_bytes} bytes are allowed.",
                        )
        except ClientDisconnect:
            raise WebError(400, "Die Anfrage brach ab.", "The request broke off.") from None
        return bytes(body)
    raise WebError(408, "Die Anfrage kam zu langsam an.", "The request arrived too slowly.")


async def read_json(request: Request, form: type[_Form]) -> _Form:
    """Return the body of `request` as a value of the type `form`. Raises WebError if it is not one."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise WebError(415, f"Erwartet wird Content-Type {JSON}.", f"Expected the Content-Type {JSON}.")
    body = await read_body(request, JSON_BYTES)
    try:
        return msgspec.json.decode(body, type=form)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WebError(
            400, "Diese Anfrage hat nicht die Form, die hier erwartet wird.", f"This request cannot be read ({error})."
        ) from None
