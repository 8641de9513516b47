"""JSON from anybody: whatever a file or a value is, nothing is raised."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from spielleiter.viewer.replays.untrusted_json import (
    LONGEST_TEXT,
    count_in,
    open_regular,
    parse_object,
    read_object,
    seat_in,
    seats_in,
    seconds_in,
    text_in,
)

VALUES: list[Any] = [None, True, False, 1.0, -1, 2, 10**400, "1", [], {}, [0, 1], {"0": 1}, float("nan"), float("inf")]


def test_an_object_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": "\N{PILE OF POO}"}', encoding="utf-8-sig")
    assert read_object(path, 100) == {"a": "\N{PILE OF POO}"}
    assert read_object(path, 5) is None
    assert read_object(tmp_path / "b.json", 100) is None
    assert read_object(tmp_path / "\0", 100) is None


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b"1" * 5000, b"[" * 100_000, b'{"a":' * 100_000])
def test_what_is_no_object(content: bytes) -> None:
    assert parse_object(content) is None


@pytest.mark.parametrize("content", [rb'{"a\ud800": ["\uDFFF"]}', b'{"a\xed\xa0\x80": ["\xff"]}'])
def test_a_text_can_be_encoded(content: bytes) -> None:
    found = parse_object(content)
    assert found is not None
    json.dumps(found, ensure_ascii=False).encode()


def test_pairs_of_surrogates_are_one_character() -> None:
    assert parse_object(rb'{"a": "\ud83d\udca9"}') == {"a": "\N{PILE OF POO}"}


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no named pipes in its file system")
def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    if sys.platform != "win32":  # for mypy
        os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(tmp_path / "pipe")
    assert read_object(tmp_path / "pipe", 100) is None


@pytest.mark.parametrize("value", VALUES)
def test_values_of_another_form_are_none(value: Any) -> None:
    assert seat_in(value) is None
    assert count_in(value) in {None, 2}
    assert seats_in(value) in (None, (0, 1))
    assert text_in(value) in {None, "1"}
    assert seconds_in(value) in {None, 1.0, 2.0}


def test_values_of_the_expected_form() -> None:
    assert (seat_in(0), seat_in(1), seats_in([1, 0]), count_in(0)) == (0, 1, (1, 0), 0)
    assert (seconds_in(0.5), text_in("x" * 2 * LONGEST_TEXT)) == (0.5, "x" * LONGEST_TEXT)
    wrong: list[Any] = [[0, 0], [0], [0.0, 1.0], [False, True], [[], []]]
    assert [seats_in(value) for value in wrong] == [None] * 5
