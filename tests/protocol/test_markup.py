"""The ends of markup, however the bytes arrive; scanning one markup agrees with scanning many at once."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.protocol.markup import (
    REPLACED,
    MarkupScanner,
    end_of_markups,
    find_section_end_in_value,
    replace_controls,
)
from tests.example_counts import examples

MARKUP = {
    "a tag": b"<a>",
    "an end tag": b"</a>",
    "text before it": b" text > <a/>",
    "values": b"""<a b='">' c="'>"/>""",
    "an empty value": b"<a b='' c=\"\">",
    "a comment": b"<!-- <a> -- > -->",
    "an instruction": b"<?x > ?>",
    "an instruction without a name": b"<?>?>",
    "a section": b"<![CDATA[ ]]> "[:-1],
    "a section with brackets": b"<![CDATA[ ]> ] ]]]>",
    "a document type": b"<!DOCTYPE a>",
    "nearly a comment": b"<!-x>",
    "nearly a section": b"<![CDAT[>",
    "nothing": b"<>",
    "no declaration": b"<!>",
    "a tag in a tag": b"<a <b>",
    "a tag in a value": b"<a b='>' c='<b>",
}
FRAGMENTS = st.sampled_from(
    [*(b"<", b">", b"'", b'"', b"!", b"-", b"--", b"[", b"]]", b"?", b"/", b"a", b" ", b"<!--", b"-->"), b"<![CDATA["]
)


def ends(stream: bytes, sizes: list[int]) -> list[int]:
    """The ends of all markups if the bytes arrive in pieces of these sizes; the last size is repeated."""
    scanner, buffer, found, start, taken = MarkupScanner(), bytearray(), [], 0, 0
    while start < len(stream):
        size = sizes.pop(0) if len(sizes) > 1 else sizes[0]
        buffer += stream[start : start + size]
        start += size
        while end := scanner.find_end(buffer):
            del buffer[:end]
            scanner.restart()
            taken += end
            found.append(taken)
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("markup", MARKUP.values(), ids=MARKUP)
def test_the_end_of_markup_is_found(markup: bytes, size: int) -> None:
    assert ends(markup + b"<b>" + markup, [size]) == [len(markup), len(markup) + 3, 2 * len(markup) + 3]
    assert ends(markup[:-1], [size]) == []


@settings(max_examples=examples(300))
@given(st.lists(FRAGMENTS, max_size=30).map(b"".join), st.lists(st.integers(1, 9), min_size=1, max_size=10))
def test_the_ends_do_not_depend_on_the_cut(stream: bytes, sizes: list[int]) -> None:
    assert ends(stream, sizes) == ends(stream, [max(1, len(stream))])


@settings(max_examples=examples(300))
@given(st.lists(FRAGMENTS, max_size=30).map(b"".join))
def test_several_markups_end_with_the_last_complete_one(stream: bytes) -> None:
    end = end_of_markups(bytearray(stream), len(stream))
    assert end in (0, *ends(stream, [max(1, len(stream))]))


@pytest.mark.parametrize("long", [b"<!--" + b" <a/> " * 30_000 + b"-->", b"<a b='" + b"x" * 200_000 + b"'/>"])
def test_markup_may_be_longer_than_a_slice(long: bytes) -> None:
    many = b"<a/>" * 50_000
    stream = bytearray(many + long + many + b"<b")
    assert end_of_markups(stream, len(stream)) == len(stream) - 2
    assert end_of_markups(stream, len(many) + len(long) - 1) == len(many)


def test_control_characters_around_a_fault() -> None:
    """The time must be proportional to the length, whatever seems to begin after the fault."""
    for opening in (b"<!--", b"<?", b"<![CDATA[", b"<a b='"):
        broken = b"\1<a b='\2' '" + opening * 20_000 + b"\3>"
        expected = broken.replace(b"\1", REPLACED).replace(b"\2", REPLACED).replace(b"\3", REPLACED)
        assert replace_controls(broken, is_inside=True) == expected
        assert find_section_end_in_value(broken + b"]]>") == -1
    assert replace_controls(b"\0 \1<a\2/>", is_inside=False) == b"   <a />"


def test_many_markups_need_little_memory() -> None:
    stream = bytearray(b"<a/>" * 250_000)
    tracemalloc.start()
    try:
        assert end_of_markups(stream, len(stream)) == len(stream)
        assert tracemalloc.get_traced_memory()[1] < 20 * len(stream)
    finally:
        tracemalloc.stop()
