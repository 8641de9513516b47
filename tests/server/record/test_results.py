"""A line for every game, whole or not at all, however the server ended."""

from __future__ import annotations

import errno
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spielleiter.server.errors import StartError
from spielleiter.server.record import results as module
from spielleiter.server.record.results import LINES_AT_ONCE, ResultsFile, result_line
from tests.server.record.test_log import ENDED

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


def write(results: ResultsFile, *lines: dict[str, Any]) -> None:
    for line in lines:
        assert results.append(line)
    results.write_waiting()


def test_the_file_only_grows(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.jsonl"
    for number in range(2):
        results = ResultsFile(path)
        write(results, {"name": "Häschen", "number": number})
        results.sync()
        results.close()
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == [{"name": "Häschen", "number": 0}, {"name": "Häschen", "number": 1}]


def test_a_line_that_was_cut_off_does_not_spoil_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"room": "a"}\n{"room": "b')
    results = ResultsFile(path)
    write(results, {"room": "c"})
    results.close()
    assert path.read_bytes() == b'{"room": "a"}\n{"room": "b\n{"room": "c"}\n'


class Disk:
    """Takes so many bytes more; then it is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.room = 0
        self._write = os.write
        monkeypatch.setattr(os, "write", self.write)

    def write(self, descriptor: int, data: bytes) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self._write(descriptor, data[: self.room])
        self.room -= written
        return written


def test_lines_that_a_full_disk_has_no_room_for_are_written_when_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "results.jsonl"
    results = ResultsFile(path)
    with monkeypatch.context() as patch:
        disk = Disk(patch)
        disk.room = 22  # the first line, and half of the second
        for number, room in enumerate("abc"):
            assert results.append({"room": room})
            if number:
                with pytest.raises(OSError, match="No space left on device"):
                    results.write_waiting()
            else:
                results.write_waiting()
        assert results.waiting == 2
        assert path.read_bytes() == b'{"room": "a"}\n', "half of a line is no line"
        disk.room = 1000
        results.write_waiting()
    assert results.waiting == 0
    results.close()
    assert path.read_bytes() == b'{"room": "a"}\n{"room": "b"}\n{"room": "c"}\n'


def test_where_half_a_line_cannot_be_taken_back_the_rest_follows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "results.jsonl"
    results = ResultsFile(path)

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", fail)
        disk = Disk(patch)
        disk.room = 8
        assert results.append({"room": "a"})
        with pytest.raises(OSError, match="No space left on device"):
            results.write_waiting()
        assert path.read_bytes() == b'{"room":'
        disk.room = 1000
        results.write_waiting()
    results.close()
    assert path.read_bytes() == b'{"room": "a"}\n'


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_is_refused_in_one_line_whether_it_is_read_or_not(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    os.mkfifo(path)
    text = f"results {path}: cannot be written to (it is a pipe, and results need a file)"
    with pytest.raises(StartError) as unread:
        ResultsFile(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(StartError) as read:
        ResultsFile(path)
    os.close(reader)
    assert [str(unread.value), str(read.value)] == [text, text]


def test_what_waits_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING_BYTES", 30)
    results = ResultsFile(tmp_path / "results.jsonl")
    assert [results.append({"room": room}) for room in "abc"] == [True, True, False]
    results.write_waiting()
    assert results.append({"room": "d"})
    results.close()


def test_one_turn_writes_a_few_lines_of_many_that_wait(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    results = ResultsFile(path)
    write(results, *({"number": number} for number in range(LINES_AT_ONCE + 1)))
    assert (results.waiting, path.read_bytes().count(b"\n")) == (1, LINES_AT_ONCE)
    results.write_waiting()
    results.close()
    assert [json.loads(line)["number"] for line in path.read_bytes().splitlines()] == list(range(LINES_AT_ONCE + 1))


def test_a_replay_that_could_not_be_written_is_not_named_by_lines_that_wait(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    results = ResultsFile(path)
    for replay in ("a.xml", "b.xml"):
        assert results.append({"replay": replay})
    results.forget_replay("b.xml")
    results.write_waiting()
    results.close()
    assert path.read_bytes() == b'{"replay": "a.xml"}\n{"replay": null}\n'


@pytest.mark.skipif(sys.platform == "win32", reason="a file that is open cannot be removed")
@pytest.mark.parametrize("way", ["removed", "renamed", "its folder removed"])
def test_a_file_that_is_gone_is_begun_anew(way: str, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "results.jsonl"
    results = ResultsFile(path)
    write(results, {"room": "a"})
    if way == "renamed":
        path.rename(tmp_path / "old.jsonl")
    else:
        path.unlink()
    if way == "its folder removed":
        path.parent.rmdir()
    write(results, {"room": "b"}, {"room": "c"})
    results.close()
    assert path.read_bytes() == b'{"room": "b"}\n{"room": "c"}\n'


def test_no_other_server_writes_into_the_file(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    results = ResultsFile(path)
    with pytest.raises(StartError, match=f"results {path}: another server writes into this file; stop that server"):
        ResultsFile(path)
    results.close()
    ResultsFile(path).close()


def test_what_is_no_disk_need_not_be_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")  # what Linux says of /dev/null

    monkeypatch.setattr(os, "fsync", refuse)
    results = ResultsFile(tmp_path / "results.jsonl")
    results.sync()
    results.close()
    results.sync()


def test_a_file_that_cannot_be_written_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"results .*: cannot be written to"):
        ResultsFile(tmp_path)
