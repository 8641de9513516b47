"""Values out of parsed elements, and what happens to what nobody asked for.

Law: a value that is not there or cannot be read raises UnreadableError, which says in German exactly which element and
attribute was wrong and what is allowed (such texts end up in a game's result, beside the official German ones).
Unknown children are noted and skipped, or, in a strict dialect, unreadable; unknown attributes are never looked at.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Final, Protocol, TypeVar, overload

from spielleiter.protocol.messages import Message

_E = TypeVar("_E", bound=enum.Enum)

_INTEGER: Final = re.compile(r"\s*([+-]?[0-9]+)\s*", re.ASCII)
_INT_MIN: Final = -(2**31)
_INT_MAX: Final = 2**31 - 1
_LONGEST_QUOTE: Final = 60


class Element(Protocol):
    """What a parsed element is asked for; those of `xml.etree` satisfy it, and lxml's."""

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
    """Something in a packet could not be read; `original` is the packet as far as it was understood."""

    def __init__(self, problem: str, original: Message | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.original = original


def quote(text: str) -> str:
    """`text`, cut to a length that fits into a message."""
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"


def read_boolean(element: Element, name: str, *, default: bool) -> bool:
    """`true` in any case is true, everything else false."""
    value = element.get(name)
    return default if value is None else is_true(value)


def is_true(text: str) -> bool:
    return text.strip().lower() == "true"


def read_text(element: Element) -> str:
    """The text of an element without white space around it."""
    return (element.text or "").strip()


def read_enum(element: Element, name: str, values: dict[str, _E]) -> _E:
    """An attribute that names one of `values`, written exactly so."""
    text = element.get(name)
    if text is None:
        raise UnreadableError(f"im Element {element.tag} fehlt das Attribut {name}; {allowed(values)}")
    value = values.get(text)
    if value is None:
        raise UnreadableError(f'{element.tag} {name}="{quote(text)}" gibt es nicht; {allowed(values)}')
    return value


def read_enum_text(element: Element, values: dict[str, _E]) -> _E:
    """An element whose text names one of `values`."""
    text = read_text(element)
    value = values.get(text)
    if value is None:
        raise UnreadableError(f'"{quote(text)}" im Element {element.tag} gibt es nicht; {allowed(values)}')
    return value


def read_integer(element: Element, name: str) -> int:
    """An attribute that is a whole number of 32 bits."""
    text = element.get(name)
    if text is None:
        raise UnreadableError(f"im Element {element.tag} fehlt das Attribut {name} (eine ganze Zahl)")
    return parse_integer(text, f'{element.tag} {name}="{quote(text)}"')


def read_integer_text(element: Element) -> int:
    """An element whose text is a whole number of 32 bits."""
    text = read_text(element)
    return parse_integer(text, f'"{quote(text)}" im Element {element.tag}')


def parse_integer(text: str, where: str) -> int:
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise UnreadableError(f"{where} ist keine ganze Zahl")
    value = int(match[1]) if len(match[1]) <= len(str(_INT_MIN)) else _INT_MAX + 1
    if not _INT_MIN <= value <= _INT_MAX:
        raise UnreadableError(f"{where} liegt nicht zwischen {_INT_MIN} und {_INT_MAX}")
    return value


def read_decimal_text(element: Element) -> Decimal:
    """An element whose text is a finite decimal number."""
    text = read_text(element)
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        raise UnreadableError(f'"{quote(text)}" im Element {element.tag} ist keine Zahl')
    return value


def allowed(names: Iterable[str]) -> str:
    return f"erlaubt: {', '.join(names)}"
