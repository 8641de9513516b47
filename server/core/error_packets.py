"""Error packets, and the shortened copy of the refused packet that they contain.

Invariants: an error packet is no longer than `MAX_ERROR_BYTES`, whatever was sent. Long values are cut before they are
escaped and encoded, so that a refusal costs little. Packets of usual length are repeated unchanged.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final, TypeVar, cast

import msgspec

from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import ErrorPacket, Memento, Message, Result, UnknownPacket, UnreadableData
from spielleiter.protocol.writer import escape_attribute

MAX_ERROR_BYTES: Final = 1024
"""Bytes of a whole error packet."""
MAX_TEXT_BYTES: Final = 400
"""Bytes of an explanation, escaped."""
MAX_VALUE_BYTES: Final = 100
"""Bytes of one text in the repeated packet, escaped."""
MAX_ITEMS: Final = 8
"""The number of slots, hints or actions that are repeated."""
MAX_DEPTH: Final = 6
"""The nesting depth that is repeated: error, packet, room, data, move, action."""

_MAX_CHARACTER_BYTES: Final = 6
"""Bytes of the longest escaped character (`&quot;`)."""

_M = TypeVar("_M")


def shortened_text(text: str) -> str:
    """Return `text`, cut so that it takes no more than `MAX_TEXT_BYTES` bytes as an attribute."""
    return _fitted(text, MAX_TEXT_BYTES)


def shortened(message: _M, depth: int = MAX_DEPTH) -> _M:
    """Return `message` with its long texts and lists cut, or the same object if nothing was too long.

    Positions and results, which only a server sends, are replaced by None.
    """
    if isinstance(message, UnreadableData):
        return cast("_M", _cut(message, depth))
    names = getattr(message, "__struct_fields__", None) or [each.name for each in _fields(message)]
    changes: dict[str, Any] = {}
    for name in names:
        value = getattr(message, name)
        cut = _cut(value, depth)
        if cut is not value:
            changes[name] = cut
    if not changes:
        return message
    replace = msgspec.structs.replace if isinstance(message, msgspec.Struct) else dataclasses.replace
    return replace(message, **changes)  # type: ignore[type-var]


def encoded_error(dialect: Dialect, text: str, original: Message | None) -> bytes:
    """Return the bytes of an error packet that repeats `original`, or only its name if that would be too long."""
    text = shortened_text(text)
    repeated = None if original is None else shortened(original)
    packet = dialect.encode(ErrorPacket(text, repeated))
    if repeated is None or len(packet) <= MAX_ERROR_BYTES:
        return packet
    name = dialect.body(repeated, "").name
    return dialect.encode(ErrorPacket(text, UnknownPacket(name[:MAX_VALUE_BYTES])))


def _cut(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _fitted(value, MAX_VALUE_BYTES)
    if isinstance(value, UnreadableData):  # the description of the problem is this server's own text, so it is not cut
        class_name = _cut(value.class_name, depth)
        return value if class_name is value.class_name else msgspec.structs.replace(value, class_name=class_name)
    if isinstance(value, Memento | Result) or (depth == 0 and not isinstance(value, bool | int | float)):
        return None
    if type(value) is tuple:
        items = tuple(_cut(each, depth - 1) for each in value[:MAX_ITEMS])
        is_same = len(items) == len(value) and all(new is old for new, old in zip(items, value, strict=True))
        return value if is_same else items
    if isinstance(value, msgspec.Struct) or dataclasses.is_dataclass(value):
        return shortened(value, depth - 1)
    return value


def _fields(message: object) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(message) if dataclasses.is_dataclass(message) else ()


def _fitted(text: str, limit: int) -> str:
    if len(text) * _MAX_CHARACTER_BYTES <= limit:
        return text
    cut = text[:limit]
    while (size := len(escape_attribute(cut).encode())) > limit:
        cut = cut[: len(cut) * limit // size]  # shorter at each step; the first one is usually enough
    return text if len(cut) == len(text) else f"{cut}…"
