"""Every game has a complete line, even if the disk is full, the file is removed or the server is stopped."""

from __future__ import annotations

import errno
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spielleiter.server import archive as module
from spielleiter.server.archive import LINES_AT_ONCE, ResultsFile, result_line
from spielleiter.server.errors import StartError
from tests.server.record.test_log import ENDED

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def test_the_line_of_a_game() -> None:
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


def test_lines_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.jsonl"
    for number in range(2):
        results = ResultsFile(path)
        write(results, {"name": "Häschen", "number": number})
        results.sync()
        results.close()
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == [{"name": "Häschen", "number": 0}, {"name": "Häschen", "number": 1}]


def test_the_next_line_starts_after_a_partial_one(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"room": "a"}\n{"room": "b')
    results = ResultsFile(path)
    write(results, {"room": "c"})
    results.close()
    assert path.read_bytes() == b'{"room": "a"}\n{"room": "b\n{"room": "c"}\n'


class Disk:
    """Lets `os.write` accept a number of bytes; then the disk is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free_bytes = 0
        self._write = os.write
        monkeypatch.setattr(os, "write", self.write)

    def write(self, descriptor: int, data: bytes) -> int:
        if not self.free_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self._write(descriptor, data[: self.free_bytes])
        self.free_bytes -= written
        return written


def test_lines_wait_while_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.jsonl"
    results = ResultsFile(path)
    with monkeypatch.context() as patch:
        disk = Disk(patch)
        disk.free_bytes = 22  # the first line, and half of the second
        for number, room in enumerate("abc"):
            assert results.append({"room": room})
            if number:
                with pytest.raises(OSError, match="No space left on device"):
                    results.write_waiting()
            else:
                results.write_waiting()
        assert results.waiting == 2
        assert path.read_bytes() == b'{"room": "a"}\n', "no partial line"
        disk.free_bytes = 1000
        results.write_waiting()
    assert results.waiting == 0
    results.close()
    assert path.read_bytes() == b'{"room": "a"}\n{"room": "b"}\n{"room": "c"}\n'


def test_a_partial_line_that_cannot_be_removed_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.jsonl"
    results = ResultsFile(path)

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", fail)
        disk = Disk(patch)
        disk.free_bytes = 8
        assert results.append({"room": "a"})
        with pytest.raises(OSError, match="No space left on device"):
            results.write_waiting()
        assert path.read_bytes() == b'{"room":'
        disk.free_bytes = 1000
        results.write_waiting()
    results.close()
    assert path.read_bytes() == b'{"room": "a"}\n'


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_with_or_without_a_reader(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
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


def test_the_waiting_lines_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING_BYTES", 30)
    results = ResultsFile(tmp_path / "results.jsonl")
    assert [results.append({"room": room}) for room in "abc"] == [True, True, False]
    results.write_waiting()
    assert results.append({"room": "d"})
    results.close()


def test_one_call_writes_a_limited_number_of_waiting_lines(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    results = ResultsFile(path)
    write(results, *({"number": number} for number in range(LINES_AT_ONCE + 1)))
    assert (results.waiting, path.read_bytes().count(b"\n")) == (1, LINES_AT_ONCE)
    results.write_waiting()
    results.close()
    assert [json.loads(line)["number"] for line in path.read_bytes().splitlines()] == list(range(LINES_AT_ONCE + 1))


def test_waiting_lines_do_not_name_a_replay_that_could_not_be_written(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    results = ResultsFile(path)
    for replay in ("a.xml", "b.xml"):
        assert results.append({"replay": replay})
    results.forget_replay("b.xml")
    results.write_waiting()
    results.close()
    assert path.read_bytes() == b'{"replay": "a.xml"}\n{"replay": null}\n'


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not remove open files")
@pytest.mark.parametrize("way", ["removed", "renamed", "its directory removed"])
def test_a_file_that_was_removed_or_renamed_is_started_again(way: str, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "results.jsonl"
    results = ResultsFile(path)
    write(results, {"room": "a"})
    if way == "renamed":
        path.rename(tmp_path / "old.jsonl")
    else:
        path.unlink()
    if way == "its directory removed":
        path.parent.rmdir()
    write(results, {"room": "b"}, {"room": "c"})
    results.close()
    assert path.read_bytes() == b'{"room": "b"}\n{"room": "c"}\n'


def test_no_other_server_can_write_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    results = ResultsFile(path)
    with pytest.raises(StartError, match=f"results {path}: another server writes to this file; stop that server"):
        ResultsFile(path)
    results.close()
    ResultsFile(path).close()


def test_a_device_that_cannot_be_flushed_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")  # as on Linux for /dev/null

    monkeypatch.setattr(os, "fsync", refuse)
    results = ResultsFile(tmp_path / "results.jsonl")
    results.sync()
    results.close()
    results.sync()


def test_a_file_that_is_not_writable_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"results .*: cannot be written to"):
        ResultsFile(tmp_path)
