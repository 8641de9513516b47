"""Elements as text, which can always be read back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from spielleiter.protocol.writer import (
    attribute,
    escape_attribute,
    escape_document,
    escape_text,
    leaf,
)

NOT_XML = "\x00\x01\x08\x0b\x0c\x0e\x1f\ud800\udfff\ufffe\uffff"


@pytest.mark.parametrize(
    ("raw", "in_text", "in_attribute"),
    [
        ("Häschen & Co", "Häschen &amp; Co", "Häschen &amp; Co"),
        ("<Ä\"ö'&> €😀", "&lt;Ä&quot;ö&apos;&amp;&gt; €😀", "&lt;Ä&quot;ö&apos;&amp;&gt; €😀"),
        ("a\tb\nc\rd", "a\tb\nc&#xd;d", "a&#x9;b&#xa;c&#xd;d"),
        (NOT_XML, "\ufffd" * len(NOT_XML), "\ufffd" * len(NOT_XML)),
        ("\x7f\x85\xa0\ufffd\U0001ffff", "&#x7f;&#x85;\xa0\ufffd\U0001ffff", "&#x7f;&#x85;\xa0\ufffd\U0001ffff"),
        ("", "", ""),
    ],
)
def test_escapes_are_those_of_the_official_server(raw: str, in_text: str, in_attribute: str) -> None:
    assert (escape_text(raw), escape_attribute(raw)) == (in_text, in_attribute)


@given(st.text(alphabet=st.characters()))
def test_a_document_is_escaped_like_a_text_apart_from_its_quotes(text: str) -> None:
    plain = escape_text(text).replace("&quot;", '"').replace("&apos;", "'")
    assert escape_document(text) == plain


@settings(max_examples=50)
@given(st.text(alphabet=st.characters()), st.text(alphabet=st.characters()))
def test_any_text_is_read_as_it_was_or_with_replacements(value: str, text: str) -> None:
    written = leaf("\n", "a", text, attribute("b", value)).encode()
    read = etree.fromstring(written)
    replaced = str.maketrans(dict.fromkeys([*map(chr, range(0x20)), *map(chr, range(0xD800, 0xE000))], "\ufffd"))
    for allowed in "\t\n\r":
        replaced.pop(ord(allowed))
    replaced |= {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}
    assert (read.get("b"), read.text or "") == (value.translate(replaced), text.translate(replaced))
