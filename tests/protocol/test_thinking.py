"""Lines of thinking: what is read of them, whatever programs write."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.protocol.thinking import (
    LARGEST,
    LONGEST_LINE,
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_CELLS,
    MOST_LINES,
    MOST_MOVE_CELLS,
    MOST_MOVES,
    MOST_NUMBERS,
    MOST_TEXTS,
    Candidate,
    Mark,
    Thinking,
    ThinkingByRequest,
    ThinkingReader,
    read_thinking,
    request_of,
)

WHOLE = {
    "thinking": 1,
    "turn": 8,
    "value": -2.5,
    "text": "ä corner",
    "numbers": {"depth": 4, "nodes": 1e6},
    "cells": [[3, 4, 0.5], [19.0, 0]],
    "moves": [{"text": "PENTO_W", "value": 7, "cells": [[0, 0], [1, 0]]}, {"text": "pass"}],
    "later": {"is": "ignored"},
}
READ = Thinking(
    turn=8,
    value=-2.5,
    texts=("ä corner",),
    numbers={"depth": 4.0, "nodes": 1e6},
    cells=(Mark(3, 4, 0.5), Mark(19, 0, 1.0)),
    moves=(Candidate("PENTO_W", 7.0, ((0, 0), (1, 0))), Candidate("pass")),
)


def read(**parts: Any) -> Thinking:
    found = read_thinking(json.dumps({"thinking": 1, **parts}).encode())
    assert found is not None
    return found


def test_a_line_with_everything() -> None:
    assert read(**WHOLE) == READ
    assert read_thinking(b"  " + json.dumps(WHOLE, ensure_ascii=False).encode() + b"\r") == READ


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"thinking",
        b'{"value": 1}',
        b'"thinking"',
        b'["thinking", 1]',
        b'{"text": "\\"thinking\\": 1"}',
        b'{"thinking": 2}',
        b'{"thinking": true}',
        b'{"thinking": "1"}',
        b'{"thinking": [1]}',
        b'{"thinking": 1',
        b'{"thinking": 1} and more',
        b'info: {"thinking": 1}',
        b'{"thinking": 1, "value": ' + b"9" * 10_000 + b"}",
        b'{"thinking": 1, "later": ' + b"[" * 16_000,
        b'{"thinking": 1, "text": "' + b"x" * LONGEST_LINE + b'"}',
    ],
)
def test_other_lines_are_ordinary_output(line: bytes) -> None:
    assert read_thinking(line) is None


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"value": float("nan")}, Thinking()),
        ({"value": float("inf"), "text": "x"}, Thinking(texts=("x",))),
        ({"value": 10**400, "turn": -1}, Thinking()),
        ({"value": 1.1 * LARGEST, "turn": 1.5}, Thinking()),
        ({"value": True, "turn": "3", "text": 5}, Thinking()),
        ({"text": ["x"], "numbers": [1], "cells": {"x": 1}, "moves": "x"}, Thinking()),
        ({"numbers": {"a": "1", "": 2, "b": None, "c": 3}}, Thinking(numbers={"c": 3.0})),
        ({"cells": [[1], 5, [1, "2"], [-1, 0], [100, 0], [1, 2, "x"], [1, 2, 1e999]]}, Thinking()),
        ({"moves": [5, {}, {"cells": [[1, 1], [1]]}]}, Thinking(moves=(Candidate(), Candidate(cells=((1, 1),))))),
        ({"text": "\ud800 \0\u202e"}, Thinking(texts=("? \0\u202e",))),
    ],
)
def test_parts_of_another_form_are_left_out(parts: Any, expected: Thinking) -> None:
    assert read(**parts) == expected


def test_bytes_that_are_no_text_are_replaced_and_a_raw_infinity_is_no_value() -> None:
    assert read_thinking(b'{"thinking": 1, "value": -Infinity, "text": "\xff"}') == Thinking(texts=("\ufffd",))


def test_what_is_kept_of_a_line_is_bounded() -> None:
    assert read(text="x" * 5000).texts == ("x" * LONGEST_TEXT,)
    assert read(numbers={f"{number}": number for number in range(50)}).numbers == {
        f"{number}": float(number) for number in range(MOST_NUMBERS)
    }
    assert list(read(numbers={"n" * 100: 1}).numbers) == ["n" * LONGEST_NAME]
    assert len(read(cells=[[0, 0]] * 1000).cells) == MOST_CELLS
    moves = read(moves=[{"text": "m" * 100, "cells": [[1, 1]] * 30}] * 30).moves
    assert moves == (Candidate("m" * LONGEST_NAME, None, ((1, 1),) * MOST_MOVE_CELLS),) * MOST_MOVES


def test_later_lines_replace_parts_and_add_texts() -> None:
    both = READ.followed_by(read(value=3, text="more", numbers={"depth": 5}, turn=9))
    assert (both.turn, both.value, both.texts) == (8, 3.0, ("ä corner", "more"))
    assert both.numbers == {"depth": 5.0, "nodes": 1e6}
    assert (both.cells, both.moves) == (READ.cells, READ.moves)
    assert READ.followed_by(read(cells=[[1, 1]])).cells == (Mark(1, 1),)
    many = Thinking()
    for number in range(50):
        many = many.followed_by(read(text=f"{number}", numbers={f"{number}": 1}))
    assert many.texts == tuple(f"{number}" for number in range(50 - MOST_TEXTS, 50))
    assert len(many.numbers) == MOST_NUMBERS


def test_a_line_belongs_to_the_request_whose_turn_it_names_or_to_the_latest() -> None:
    assert request_of(Thinking(turn=6), (2, 6, 10), 2) == 1
    assert request_of(Thinking(turn=7), (2, 6, 10), 2) == 2
    assert request_of(Thinking(), (), 0) == 0


@given(st.lists(st.integers(1, 40)))
def test_lines_are_found_in_pieces_of_any_length(lengths: list[int]) -> None:
    text = b'noise\n{"thinking": 1, "value": 1}\n{"other": 1}\n{"thinking": 1, "value": 2}\n{"thinking": 1, "value": 3}'
    reader, found, start = ThinkingReader(), list[float | None](), 0
    for length in [*lengths, len(text)]:
        found += [each.value for each in reader.read(text[start : start + length])]
        start += length
    assert found == [1.0, 2.0]
    assert [each.value for each in reader.read(b"\n")] == [3.0]


def test_a_line_without_an_end_takes_no_memory() -> None:
    reader = ThinkingReader()
    for _ in range(100):
        assert list(reader.read(b'{"thinking": 1, "text": "' + b"x" * 50_000)) == []
    assert [each.value for each in reader.read(b'"}\n{"thinking": 1, "value": 1}\n')] == [1.0]


@pytest.mark.parametrize("line", [b'{"thinking": 1}', b'{"thinking": 2}', b'{"thinking": [[['])
def test_a_flood_of_lines_is_not_read_until_the_next_request(line: bytes) -> None:
    reader = ThinkingReader()
    assert len(list(reader.read((line + b"\n") * 3 * MOST_LINES))) <= MOST_LINES
    value = b'{"thinking": 1, "value": 1}\n'
    assert list(reader.read(value)) == []
    reader.note_request()
    assert [each.value for each in reader.read(value)] == [1.0]


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists))
def test_whatever_a_part_is_reading_it_raises_nothing(value: Any) -> None:
    for key in ("turn", "value", "text", "numbers", "cells", "moves"):
        for part in (value, [value], [[value, value, value]], {"x": value}, [{"cells": [[value]], "text": value}]):
            read(**{key: part})


def test_what_is_said_about_a_move_is_gathered_up_to_a_number_of_lines() -> None:
    thoughts = ThinkingByRequest()
    assert all(thoughts.add(2, Thinking(value=float(number))) for number in range(MOST_LINES))
    assert not thoughts.add(2, Thinking(value=-1.0))
    assert thoughts.add(0, Thinking(texts=("first",)))
    assert thoughts.said == {2: Thinking(value=float(MOST_LINES - 1)), 0: Thinking(texts=("first",))}
