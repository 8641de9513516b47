"""Lines come out whole and in order, and a file that takes nothing stops nobody."""

from __future__ import annotations

import errno
import io
import os
import sys
import threading
from typing import Any

import pytest

from spielleiter.server.record import line_writer as module
from spielleiter.server.record.line_writer import LineWriter, line_writer


class Gate(io.StringIO):
    """A file that takes nothing until it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open = threading.Event()
        self.is_waited_for = threading.Event()

    def write(self, text: str) -> int:
        self.is_waited_for.set()
        self.is_open.wait()
        return super().write(text)


def test_lines_come_out_in_order() -> None:
    file = io.StringIO()
    with line_writer(file) as writer:
        assert not writer.isatty()
        for number in range(1000):
            assert writer.write(f"{number}\n") == len(f"{number}\n")
        writer.flush()
    assert file.getvalue().split() == [str(number) for number in range(1000)]


def test_a_file_that_takes_nothing_stops_nobody_and_what_was_lost_is_said() -> None:
    file = Gate()
    writer = LineWriter(file, most_bytes=6)
    writer.write("a\n")
    file.is_waited_for.wait()
    for line in ("b\n", "lost\n", "c\n", "lost\n"):
        writer.write(line)
    file.is_open.set()
    writer.close()
    assert file.getvalue() == 'a\n{"event": "log_lines_lost", "level": "warning", "count": 2}\nb\nc\n'


def test_the_end_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LAST_WORDS", 0.01)
    file = Gate()
    writer = LineWriter(file)
    writer.write("a\n")
    file.is_waited_for.wait()
    writer.write("b\n")
    writer.close()
    assert file.getvalue() == ""
    file.is_open.set()


class Pipe(io.RawIOBase):
    """Takes what `takes` says, one after the other: so many bytes, nothing for now (None), or an error."""

    def __init__(self, *takes: int | OSError | None) -> None:
        self.takes = list(takes)
        self.written = b""
        self.has_taken_all = threading.Event()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int | None:
        if not self.takes:
            self.has_taken_all.set()
        take = self.takes.pop(0) if self.takes else len(memoryview(data))
        if isinstance(take, OSError):
            raise take
        if take is not None:
            self.written += bytes(memoryview(data)[:take])
        return take


class AlwaysFull(Pipe):
    def write(self, data: Any) -> int | None:
        raise full()


def as_text(pipe: io.RawIOBase) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedWriter(pipe), encoding="utf-8")


def full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("takes", [(None, 3, None, 1), (full(), 3, full(), full()), (3, BlockingIOError(), 1)])
def test_a_file_that_takes_nothing_for_a_moment_loses_nothing(
    takes: tuple[int | OSError | None, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY", 0.0)
    pipe = Pipe(*takes)
    writer = LineWriter(as_text(pipe))
    for line in ("eins\n", "zwei\n"):
        writer.write(line)
    pipe.has_taken_all.wait()  # since the end does not wait for a full disk
    writer.close()
    writer.write("after the end\n")
    assert pipe.written == b"eins\nzwei\n"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes")
def test_a_pipe_that_does_not_wait_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY", 0.0)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    lines = [f"{number} {'x' * 5000}\n" for number in range(200)]
    with os.fdopen(writing, "w", encoding="utf-8") as file, os.fdopen(reading, encoding="utf-8") as reader:
        writer = LineWriter(file)
        for line in lines:
            writer.write(line)
        assert [reader.readline() for _ in lines] == lines
        writer.close()


def test_what_a_line_takes_up_counts_not_how_many_there_are() -> None:
    file = Gate()
    writer = LineWriter(file, most_bytes=10_000)
    writer.write("a\n")
    file.is_waited_for.wait()
    for _ in range(10):
        writer.write("ü" * 2000 + "\n")
    file.is_open.set()
    writer.close()
    assert file.getvalue().count("ü") == 4000
    assert '"count": 8' in file.getvalue()


def test_a_disk_that_stays_full_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY", 0.0)
    pipe = AlwaysFull()
    writer = LineWriter(as_text(pipe))
    writer.write("a\n")
    writer.close()
    assert not writer._thread.is_alive()
    assert pipe.written == b""


def test_lines_end_as_usual_on_this_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "linesep", "\r\n")
    pipe = Pipe()
    with line_writer(as_text(pipe)) as writer:
        writer.write("a\n")
    assert pipe.written == b"a\r\n"


def test_nobody_reads_any_more() -> None:
    pipe = Pipe(BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)))
    writer = LineWriter(as_text(pipe))
    writer.write("a\n")
    writer._thread.join()
    writer.write("b\n")
    writer.close()
    assert (pipe.written, writer._bytes) == (b"", 2)


def test_a_file_that_was_closed_ends_the_writing() -> None:
    file = io.StringIO()
    file.close()
    writer = LineWriter(file)
    writer.write("a\n")
    writer._thread.join()
    writer.close()
