"""Text of XML elements, built as strings: the form the official server gives its packets.

Law: `indent` is a line feed and blanks, written before every tag that stands on a line of its own; nothing follows the
last tag. Escapes are those of the official server: the five named ones everywhere, tab and line feed in attributes,
carriage return everywhere. A character that XML cannot carry becomes U+FFFD: what is written is always well-formed.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_NOT_XML: Final = "\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff"
_SPECIAL: Final = re.compile(f"[&<>\"'\r{_NOT_XML}]")
_SPECIAL_IN_ATTRIBUTE: Final = re.compile(f"[&<>\"'\r\t\n{_NOT_XML}]")
_REFERENCES: Final = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&apos;",
    "\r": "&#xd;",
    "\t": "&#x9;",
    "\n": "&#xa;",
}
_REPLACEMENT: Final = "\ufffd"


class Body(NamedTuple):
    """What a message becomes, before it is known under which tag it stands."""

    name: str
    """The tag of a packet, or the class of a room's data."""
    attributes: str = ""
    """Written attributes, each with a blank before it."""
    children: str = ""
    """Written children, each with its indent before it."""
    has_end_tag: bool = False
    """An end tag is written even where there are no children."""


def escape_text(text: str) -> str:
    """`text` as the content of an element."""
    return _SPECIAL.sub(_reference, text)


def escape_attribute(value: str) -> str:
    """`value` as it stands between the quotes of an attribute."""
    return _SPECIAL_IN_ATTRIBUTE.sub(_reference, value)


def attribute(name: str, value: str | None) -> str:
    """` name="value"`, or nothing for None."""
    return "" if value is None else f' {name}="{escape_attribute(value)}"'


def boolean(*, value: bool) -> str:
    return "true" if value else "false"


def element(indent: str, tag: str, attributes: str = "", children: str = "", *, has_end_tag: bool = False) -> str:
    """An element with its children on lines of their own; without children it closes itself, or has its end tag.

    >>> element("", "left", attribute("roomId", "a<b"))
    '<left roomId="a&lt;b"/>'
    """
    if not children and not has_end_tag:
        return f"{indent}<{tag}{attributes}/>"
    return f"{indent}<{tag}{attributes}>{children}{indent}</{tag}>"


def typed_element(indent: str, tag: str, body: Body) -> str:
    """A body under another tag: its own name becomes the class."""
    return element(indent, tag, attribute("class", body.name or None) + body.attributes, body.children)


def leaf(indent: str, tag: str, text: str, attributes: str = "") -> str:
    """An element with nothing but text in it."""
    return f"{indent}<{tag}{attributes}>{escape_text(text)}</{tag}>"


def _reference(match: re.Match[str]) -> str:
    return _REFERENCES.get(match[0], _REPLACEMENT)
