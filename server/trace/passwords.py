"""Finds passwords in bytes, so that they are not written to a file.

Invariants: this is a search for text, not for XML: it finds passwords in packets that cannot be parsed as well. If it
is not clear where a password ends, too much is found rather than too little. The time is proportional to the length.
"""

from __future__ import annotations

import re
from typing import Final

# A quote ends a value only if something follows that can follow a value: `pass"word` is one password.
_QUOTED: Final = rb"""(?:"(?:[^"]|"(?![\s/>?&,.]|\Z))*|'(?:[^']|'(?![\s/>?&,.]|\Z))*)"""
_NAME: Final = rb"(?:pass(?:word|phrase|wort)|pwd)"
_CONTENT: Final = rb"(?:[^<]|<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|<!)*"
"""The content of an element up to the next tag, with comments and CDATA sections."""
_FINDERS: Final = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        _NAME + rb"""["']?(?:\s*[=:][\s=:]*|\s+)(?P<value>""" + _QUOTED + rb""")""",
        _NAME + rb"""\s*=[\s=]*(?P<value>[^\s<>"'][^\s<>]*)""",
        rb"<" + _NAME + rb"\b[^<>]*>(?P<value>" + _CONTENT + rb")",
    )
)
"""``password="..."``, also with quotes around the name, ``password=...`` and ``<password>...``."""
_AUTHENTICATE: Final = re.compile(rb"<[\w.]*authenticate\w*", re.IGNORECASE)
_JSON: Final = re.compile(rb"""[^<]*?[{\[](?=\s*["'{\[])""")
"""The beginning of JSON, up to the first name or value."""
_VALUE: Final = re.compile(rb"""\s+[\w:.-]+\s*=\s*(?:"([^"<]*)"|'([^'<]*)')""")
_TAG_END: Final = re.compile(rb"\s*(/?)>")
_TEXT: Final = re.compile(_CONTENT, re.DOTALL)
_WORDS: Final = (b"pass", b"pwd", b"authenticate")
_QUOTES: Final = (b'"', b"'")


def find_passwords(data: bytes) -> list[tuple[int, int]]:
    """Return the beginning and the end of each password in `data`, in order; the spans do not overlap."""
    lowered = data.lower()
    if not any(word in lowered for word in _WORDS):
        if b"\0" in data:  # another encoding, such as UTF-16
            narrow = lowered.replace(b"\0", b"")
            if any(word in narrow for word in _WORDS):
                return [(0, len(data))]
        return []
    if b"authenticate" in lowered and (opening := _JSON.match(data)):
        return [(opening.end(), len(data))]  # a program of another protocol; any value may be the password
    spans = []
    for finder in _FINDERS:
        for found in finder.finditer(data):
            start, end = found.span("value")
            spans.append((start + (data[start : start + 1] in _QUOTES), end))
    reached = 0
    for tag in _AUTHENTICATE.finditer(data):
        if tag.start() >= reached:  # otherwise hidden already; searching again would make the time quadratic
            values = _values_of_tag(data, tag.end())
            reached = max((end for _, end in values), default=reached)
            spans += values
    return merged_spans([(start, end) for start, end in spans if start < end])


def _values_of_tag(data: bytes, start: int) -> list[tuple[int, int]]:
    """Return all values of a tag whose name ends at `start`, and its text; everything up to the next tag if unclear."""
    spans = []
    position = start
    while value := _VALUE.match(data, position):
        spans.append(value.span(1 if value[1] is not None else 2))
        position = value.end()
    end = _TAG_END.match(data, position)
    if end is not None and end[1]:
        return spans
    text = _TEXT.match(data, position if end is None else end.end())
    assert text is not None  # it matches nothing as well
    return [*spans, text.span()]


def merged_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the same bytes as spans in order that do not overlap."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
