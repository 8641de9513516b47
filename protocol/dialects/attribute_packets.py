"""Readers and writers of packets and data that consist of a few attributes, or of nothing but their name.

Invariants: such an element has no children. What a reader returns, the writer of the same arguments writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from spielleiter.protocol.dialect import Dialect, Reading, Writer
from spielleiter.protocol.reading import Element, read_boolean
from spielleiter.protocol.writer import Body, attribute, boolean

AnyReader: TypeAlias = Callable[[Element, Reading], Any]
"""A reader of a packet or of a room's data."""


def empty_reader(message: Callable[[], Any]) -> AnyReader:
    """Return a reader of elements without any content."""

    def read(element: Element, reading: Reading) -> Any:
        reading.skip_children(element)
        return message()

    return read


def empty_writer(name: str) -> Writer:
    """Return a writer of elements without any content; `name` is the tag or the class."""

    def write(_message: Any, _dialect: Dialect, _indent: str) -> Body:
        return Body(name)

    return write


def attribute_reader(message: Callable[[str | None], Any], name: str) -> AnyReader:
    """Return a reader of elements whose only content is the attribute `name`, a text that may be missing."""

    def read(element: Element, reading: Reading) -> Any:
        reading.skip_children(element)
        return message(element.get(name))

    return read


def attribute_writer(tag: str, name: str, field: str) -> Writer:
    """Return a writer of elements whose attribute `name` has the value of the message's text `field`."""

    def write(message: Any, _dialect: Dialect, _indent: str) -> Body:
        return Body(tag, attribute(name, getattr(message, field)))

    return write


def flag_reader(message: Callable[[bool], Any], name: str) -> AnyReader:
    """Return a reader of elements whose only content is the truth value `name`; without it, it is False."""

    def read(element: Element, reading: Reading) -> Any:
        reading.skip_children(element)
        return message(read_boolean(element, name, default=False))

    return read


def flag_writer(tag: str, name: str, field: str) -> Writer:
    """Return a writer of elements whose attribute `name` is the truth value of the message's `field`."""

    def write(message: Any, _dialect: Dialect, _indent: str) -> Body:
        return Body(tag, f' {name}="{boolean(value=getattr(message, field))}"')

    return write


def room_flag_reader(message: Callable[[str | None, bool], Any], name: str) -> AnyReader:
    """Return a reader of requests about a room: its id, and the truth value `name`, which is False if missing."""

    def read(element: Element, reading: Reading) -> Any:
        reading.skip_children(element)
        return message(element.get("roomId"), read_boolean(element, name, default=False))

    return read


def room_flag_writer(tag: str, name: str, field: str) -> Writer:
    """Return a writer of requests about a room: its id, and the truth value of the message's `field` as `name`."""

    def write(message: Any, _dialect: Dialect, _indent: str) -> Body:
        return Body(tag, attribute("roomId", message.room_id) + f' {name}="{boolean(value=getattr(message, field))}"')

    return write
