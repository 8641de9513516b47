"""A line for every game, whole or not at all, however the server ended."""

from __future__ import annotations

import errno
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from server.errors import StartError
from server.results import ResultsFile, result_line
from tests.server.test_log import ENDED

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def test_what_is_kept_of_a_game() -> None:
    line = result_line(ENDED, NOON, "a.xml")
    assert json.loads(json.dumps(line)) == {
        "ended_at": "2026-11-21T12:00:00.000+00:00",
        "room": "room",
        "edition": "blokus-2021-r3",
        "names": ["Eins", "Zwei"],
        "causes": ["REGULAR", "LEFT"],
        "reasons": ["", "gone"],
        "parts": [[2, 5], [0, 0]],
        "winners": [0],
        "plies": 1,
        "thinking": [
            {"count": 1, "median": 0.1, "p95": 0.1, "maximum": 0.1},
            {"count": 0, "median": 0.0, "p95": 0.0, "maximum": 0.0},
        ],
        "think_times": [[0.1], []],
        "replay": "a.xml",
    }


def test_the_file_only_grows(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.jsonl"
    for number in range(2):
        results = ResultsFile(path)
        results.append({"name": "Häschen", "number": number})
        results.sync()
        results.close()
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == [{"name": "Häschen", "number": 0}, {"name": "Häschen", "number": 1}]


def test_a_line_that_was_cut_off_does_not_spoil_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"room": "a"}\n{"room": "b')
    results = ResultsFile(path)
    results.append({"room": "c"})
    results.close()
    assert path.read_bytes() == b'{"room": "a"}\n{"room": "b\n{"room": "c"}\n'


def test_a_full_disk_is_told_and_costs_no_line_but_those_it_had_no_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "results.jsonl"
    results = ResultsFile(path)
    write = os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:8]))
        for _ in range(2):
            with pytest.raises(OSError, match=r"No space left on device: 8 of 1[45] bytes"):
                results.append({"room": "a"})
    results.append({"room": "b"})
    results.append({"room": "c"})
    results.close()
    assert path.read_bytes() == b'{"room":\n{"room"\n{"room": "b"}\n{"room": "c"}\n'


def test_what_is_no_disk_need_not_be_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")  # what Linux says of /dev/null

    monkeypatch.setattr(os, "fsync", refuse)
    results = ResultsFile(tmp_path / "results.jsonl")
    results.sync()
    results.close()


def test_a_file_that_cannot_be_written_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"results .*: cannot be written to"):
        ResultsFile(tmp_path)
