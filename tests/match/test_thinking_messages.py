"""The messages between a match and its workers."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.match.builtin_process import BadMessageError, Decoder, encode, read_messages

MESSAGES = st.lists(st.one_of(st.none(), st.tuples(st.text(), st.integers()), st.binary(max_size=300)), max_size=5)


@given(MESSAGES, st.integers(1, 40))
def test_messages_are_decoded_from_pieces_of_any_size(messages: list[object], size: int) -> None:
    data, decoder = b"".join(map(encode, messages)), Decoder()
    decoded: list[object] = []
    for start in range(0, len(data), size):
        decoded += decoder.feed(data[start : start + size])
    assert decoded == messages


@given(MESSAGES)
def test_messages_are_read_until_the_stream_ends(messages: list[object]) -> None:
    assert list(read_messages(io.BytesIO(b"".join(map(encode, messages))))) == messages


def test_a_message_is_decoded_as_soon_as_it_is_complete() -> None:
    decoder, data = Decoder(), encode("message")
    assert list(decoder.feed(data[:-1])) == []
    assert list(decoder.feed(data[-1:])) == ["message"]


@pytest.mark.parametrize("data", [b"text", b"\n\n\n\n", b"\xff" * 8, b"\0\0\0\4text"])
def test_what_is_not_a_message_is_an_error_at_once(data: bytes) -> None:
    with pytest.raises(BadMessageError):
        list(Decoder().feed(data))
