"""Writes XML elements as strings, in the form that the official server uses.

`indent` is a line feed and blanks. It is written before every tag that is on a line of its own; nothing follows the
last tag. The same characters are escaped as by the official server: `&`, `<`, `>`, both quotes, carriage return and the
controls from DEL to U+009F everywhere, tab and line feed in attributes. A character that XML does not allow becomes
U+FFFD, so the result is always well-formed.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

from msgspec import Struct

_NOT_XML: Final = "\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff"
_CONTROLS: Final = "\x7f-\x9f"
_REFERENCES: Final = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&apos;",
    "\r": "&#xd;",
    "\t": "&#x9;",
    "\n": "&#xa;",
    **{chr(code): f"&#x{code:x};" for code in range(0x7F, 0xA0)},
}
_REPLACEMENT: Final = "\ufffd"


class Body(Struct, frozen=True):
    """A written message without its tag, which depends on where the message is written."""

    name: str
    """The tag of a packet, or the class of the data of a room packet."""
    attributes: str = ""
    """The attributes as XML, each after a blank."""
    children: str = ""
    """The children as XML, each after its indent."""
    has_end_tag: bool = False
    """Whether there is an end tag even if there are no children."""


def escape_text(text: str) -> str:
    """Return `text` as the content of an element."""
    return text if text.isalnum() else _special().sub(_reference, text)


def escape_document(text: str) -> str:
    """Return JSON or XML as the content of an element; quotes, of which it has many, stay as they are.

    It has many brackets, too. To replace one character at a time takes a tenth of the time of the pattern.
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text if text.isascii() and text.isprintable() else _unusual().sub(_reference, text)


def escape_attribute(value: str) -> str:
    """Return `value` as it is written between the quotes of an attribute."""
    return value if value.isalnum() else _special("\t\n").sub(_reference, value)


def attribute(name: str, value: str | None) -> str:
    """Return ` name="value"` with the value escaped, or an empty string if the value is None.

    >>> attribute("displayName", "Anna & Bo")
    ' displayName="Anna &amp; Bo"'
    """
    return "" if value is None else f' {name}="{escape_attribute(value)}"'


def boolean(*, value: bool) -> str:
    """Return a boolean as it is written in XML."""
    return "true" if value else "false"


def element(indent: str, tag: str, attributes: str = "", children: str = "", *, has_end_tag: bool = False) -> str:
    """Return an element with its children, and with its end tag on a line of its own.

    Without children it is an empty-element tag or, if `has_end_tag`, a start tag and an end tag.

    >>> element("", "left", attribute("roomId", "a<b"))
    '<left roomId="a&lt;b"/>'
    """
    if not children and not has_end_tag:
        return f"{indent}<{tag}{attributes}/>"
    return f"{indent}<{tag}{attributes}>{children}{indent}</{tag}>"


def typed_element(indent: str, tag: str, body: Body) -> str:
    """Return the element `tag` with the content of `body`, whose name becomes the attribute `class`."""
    return element(indent, tag, _class_attribute(body.name) + body.attributes, body.children)


@lru_cache(maxsize=256)  # every position contains one, and a season has few
def _class_attribute(name: str) -> str:
    return attribute("class", name or None)


def leaf(indent: str, tag: str, text: str, attributes: str = "") -> str:
    """Return an element that contains only `text`; `attributes` are already XML."""
    return f"{indent}<{tag}{attributes}>{escape_text(text)}</{tag}>"


@cache
def _unusual() -> re.Pattern[str]:
    return re.compile(f"[\\r{_CONTROLS}{_NOT_XML}]")


@cache
def _special(more: str = "") -> re.Pattern[str]:
    """Return what matches a character that is not written as it is; compiling it at the start would delay that."""
    return re.compile(f"[&<>\"'\r{more}{_CONTROLS}{_NOT_XML}]")


def _reference(match: re.Match[str]) -> str:
    return _REFERENCES.get(match[0], _REPLACEMENT)
