"""Error packets, and the shortened copy of the refused packet that they contain.

Invariants: an error packet is no longer than `MAX_ERROR_BYTES`, whatever was sent. Long values are cut before they are
escaped and encoded, so that a refusal costs little. Packets of usual length are repeated unchanged.
"""

from __future__ import annotations

import operator
from typing import Any, Final, TypeVar, cast

import msgspec

from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import ErrorPacket, Memento, Message, Result, UnknownPacket, UnreadableData
from spielleiter.protocol.writer import escape_attribute

MAX_ERROR_BYTES: Final = 1024
"""Bytes of a whole error packet."""
MAX_TEXT_BYTES: Final = 400
"""Bytes of an explanation, escaped."""

_MAX_VALUE_BYTES: Final = 100  # of one text in the repeated packet, escaped
_MAX_ITEMS: Final = 20  # slots, hints or actions that are repeated; a move of Mississippi Queen may have 16
_MAX_DEPTH: Final = 6  # error, packet, room, data, move, action
_MAX_CHARACTER_BYTES: Final = 6  # of the longest escaped character, `&quot;`

_M = TypeVar("_M")


def shortened_text(text: str, limit: int = MAX_TEXT_BYTES) -> str:
    """Return `text`, cut so that it takes no more than `limit` bytes as an attribute."""
    if len(text) * _MAX_CHARACTER_BYTES <= limit:
        return text
    cut = text[:limit]
    while (size := len(escape_attribute(cut).encode())) > limit:
        cut = cut[: len(cut) * limit // size]  # shorter at each step; the first one is usually enough
    return text if len(cut) == len(text) else f"{cut}…"


def shortened(message: _M) -> _M:
    """Return `message` with its long texts and lists cut, or the same object if nothing was too long.

    Positions and results, which only a server sends, are replaced by None.
    """
    return cast("_M", _cut_fields(message, _MAX_DEPTH))


def _cut_fields(message: Any, depth: int) -> Any:
    if isinstance(
        message, UnreadableData
    ):  # the description of the problem is this server's own text, so it is not cut
        names: tuple[str, ...] = ("class_name",)
    else:
        names = message.__struct_fields__
    values = {name: getattr(message, name) for name in names}
    cut = {name: _cut(value, depth) for name, value in values.items()}
    changes = {name: cut[name] for name in names if cut[name] is not values[name]}
    if not changes:
        return message
    return msgspec.structs.replace(message, **changes)


def _cut(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return shortened_text(value, _MAX_VALUE_BYTES)
    if isinstance(value, Memento | Result) or (depth == 0 and not isinstance(value, bool | int | float)):
        return None
    if type(value) is tuple:
        items = tuple(_cut(each, depth - 1) for each in value[:_MAX_ITEMS])
        return value if len(items) == len(value) and all(map(operator.is_, items, value)) else items
    if isinstance(value, msgspec.Struct):
        return _cut_fields(value, depth - 1)
    return value


def encoded_error(dialect: Dialect, text: str, original: Message | None) -> bytes:
    """Return the bytes of an error packet that repeats `original`, or only its name if that would be too long."""
    text = shortened_text(text)
    repeated = None if original is None else shortened(original)
    packet = dialect.encode(ErrorPacket(text, repeated))
    if repeated is None or len(packet) <= MAX_ERROR_BYTES:
        return packet
    name = dialect.body(repeated, "").name
    return dialect.encode(ErrorPacket(text, UnknownPacket(name[:_MAX_VALUE_BYTES])))
