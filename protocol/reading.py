"""Reads values from parsed elements, with errors that say what is wrong and what is allowed.

Invariants: a value that is missing or cannot be read raises UnreadableError. Its German text says exactly which element
and attribute is wrong and what is allowed; such texts become part of a game's result, like the German texts of the
official server. Unknown children are noted and skipped; in a strict dialect they are an error. Unknown attributes are
ignored.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Final, Protocol, TypeVar, overload

from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.messages import Message, UnknownPacket

_E = TypeVar("_E", bound=enum.Enum)

_INTEGER: Final = re.compile(r"\s*([+-]?[0-9]+)\s*", re.ASCII)
_INT_MIN: Final = -(2**31)
_INT_MAX: Final = 2**31 - 1
_LONGEST_QUOTE: Final = 60


class Element(Protocol):
    """The interface of a parsed element that is used here. The elements of `xml.etree` and of lxml have it."""

    @property
    def tag(self) -> str: ...

    @property
    def text(self) -> str | None: ...

    @overload
    def get(self, key: str) -> str | None: ...

    @overload
    def get(self, key: str, default: str) -> str: ...

    def items(self) -> Iterable[tuple[str, str]]: ...

    def __iter__(self) -> Iterator[Element]: ...

    def __len__(self) -> int: ...


class UnreadableError(Exception):
    """Something in a packet could not be read.

    `problem` says what, in German. `original` is the packet as far as it was understood. `is_incomplete` says that
    every value could be read, but that one is missing without which the official server fails.
    """

    def __init__(self, problem: str, original: Message | None = None, *, is_incomplete: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.original = original
        self.is_incomplete = is_incomplete


def unknown_packet(tag: str) -> RemoteProtocolError:
    """Return the error for a packet that the dialect does not know."""
    text = f"<{quote(tag)}> is not a packet of this protocol"
    # the official server has no object for these two, and fails in the code after its parser
    refusal = Refusal.INCOMPLETE_PACKET if tag in {"", "null"} else Refusal.UNKNOWN_PACKET
    return RemoteProtocolError(refusal, text, UnknownPacket(tag))


def quote(text: str) -> str:
    """Return `text`, shortened to a length that fits into a message."""
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"


def read_boolean(element: Element, name: str, *, default: bool) -> bool:
    """Return the boolean attribute `name`, or `default` if it is missing; see `is_true`."""
    value = element.get(name)
    return default if value is None else is_true(value)


def is_true(text: str) -> bool:
    """Return whether `text` means true: `true` in upper or lower case does, everything else means false."""
    return text.strip().lower() == "true"


def read_text(element: Element) -> str:
    """Return the text of an element without the white space around it."""
    return (element.text or "").strip()


def read_enum(element: Element, name: str, values: dict[str, _E]) -> _E:
    """Return the one of `values` that the attribute `name` names exactly. Raises UnreadableError."""
    text = element.get(name)
    if text is None:
        raise UnreadableError(f"im Element {element.tag} fehlt das Attribut {name}; {allowed(values)}")
    value = values.get(text)
    if value is None:
        raise UnreadableError(f'{element.tag} {name}="{quote(text)}" gibt es nicht; {allowed(values)}')
    return value


def read_enum_text(element: Element, values: dict[str, _E]) -> _E:
    """Return the one of `values` that the text of an element names exactly. Raises UnreadableError."""
    text = read_text(element)
    value = values.get(text)
    if value is None:
        raise UnreadableError(f'"{quote(text)}" im Element {element.tag} gibt es nicht; {allowed(values)}')
    return value


def read_integer(element: Element, name: str) -> int:
    """Return the attribute `name` as a signed integer of 32 bits. Raises UnreadableError."""
    text = element.get(name)
    if text is None:
        raise UnreadableError(f"im Element {element.tag} fehlt das Attribut {name} (eine ganze Zahl)")
    return parse_integer(text, f'{element.tag} {name}="{quote(text)}"')


def read_integer_text(element: Element) -> int:
    """Return the text of an element as a signed integer of 32 bits. Raises UnreadableError."""
    text = read_text(element)
    return parse_integer(text, f'"{quote(text)}" im Element {element.tag}')


def parse_integer(text: str, where: str) -> int:
    """Return `text` as a signed integer of 32 bits. Raises UnreadableError, whose text names `where`."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise UnreadableError(f"{where} ist keine ganze Zahl")
    value = int(match[1]) if len(match[1]) <= len(str(_INT_MIN)) else _INT_MAX + 1
    if not _INT_MIN <= value <= _INT_MAX:
        raise UnreadableError(f"{where} liegt nicht zwischen {_INT_MIN} und {_INT_MAX}")
    return value


def read_decimal_text(element: Element) -> Decimal:
    """Return the text of an element as a finite decimal number. Raises UnreadableError."""
    text = read_text(element)
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        raise UnreadableError(f'"{quote(text)}" im Element {element.tag} ist keine Zahl')
    return value


def allowed(names: Iterable[str]) -> str:
    """Return the end of an error's text that lists the allowed `names`."""
    return f"erlaubt: {', '.join(names)}"
