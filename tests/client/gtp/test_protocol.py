"""GTP as bytes: commands, responses in any pieces, and what is not GTP."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.client.gtp.errors import EngineProtocolError
from spielleiter.client.gtp.protocol import MAX_SIZE, Response, ResponseReader, encode_command


def test_a_command_is_one_line() -> None:
    assert encode_command(1, "name") == b"1 name\n"


def test_a_line_break_in_an_argument_is_refused() -> None:
    with pytest.raises(ValueError, match="control characters"):
        encode_command(1, "play", "1", "a1\nquit")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"= \n\n", Response(None, True, "")),
        (b"=12 a1,b1\n\n", Response(12, True, "a1,b1")),
        (b"=12\n\n", Response(12, True, "")),
        (b"= pass\n\n", Response(None, True, "pass")),
        (b"?3 illegal move\r\n\r\n", Response(3, False, "illegal move")),
        (b"=4 name\nversion\nplay\n\n", Response(4, True, "name\nversion\nplay")),
        (b"=5 \nplay\tb\x07\n\n", Response(5, True, "play b")),
        (b"=6 \xff\n\n", Response(6, True, "\N{REPLACEMENT CHARACTER}")),
    ],
)
def test_a_response_is_read(data: bytes, expected: Response) -> None:
    assert ResponseReader().feed(data) == [expected]


def test_text_outside_of_a_response_is_ignored() -> None:
    data = b"Engine 1.0, ready\n\n\n=x\n=1 yes\n\ndebug: 3\n=2 no\n\n"
    assert ResponseReader().feed(data) == [Response(1, True, "yes"), Response(2, True, "no")]


_WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1).filter(
    lambda word: word[0] not in "=?"
)
_RESPONSES = st.builds(
    Response, st.integers(0, 999_999_999), st.booleans(), st.lists(_WORDS, max_size=5).map("\n".join)
)


@given(st.lists(_RESPONSES), st.data())
def test_responses_arrive_in_any_pieces(responses: list[Response], data: st.DataObject) -> None:
    stream = b"".join(f"{'=' if each.is_success else '?'}{each.number} {each.text}\n\n".encode() for each in responses)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)))))
    reader, found = ResponseReader(), []
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += reader.feed(stream[begin:end])
    assert found == responses


@pytest.mark.parametrize("chunk", [b"x" * 1000, b"x\n" * 500, b"= x\n" + b"y\n" * 500])
def test_text_without_a_complete_response_is_bounded(chunk: bytes) -> None:
    reader = ResponseReader()
    for _ in range(MAX_SIZE // len(chunk)):
        reader.feed(chunk)
    with pytest.raises(EngineProtocolError, match="without a complete response"):
        reader.feed(chunk)


def test_many_responses_are_not_too_much_text() -> None:
    reader = ResponseReader()
    for _ in range(2 * MAX_SIZE // 1000):
        assert len(reader.feed(b"= " + b"x" * 1000 + b"\n\n")) == 1


@given(st.binary(max_size=200))
def test_any_bytes_are_read(data: bytes) -> None:
    assert all(response.text.isprintable() or "\n" in response.text for response in ResponseReader().feed(data))
