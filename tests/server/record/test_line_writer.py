"""Lines are written completely and in order, and a slow file blocks no caller."""

from __future__ import annotations

import errno
import io
import os
import sys
import threading
from typing import Any

import pytest

from spielleiter.server import log as module
from spielleiter.server.log import LineWriter, line_writer


class Gate(io.StringIO):
    """A file whose `write` blocks until the gate is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open = threading.Event()
        self.is_blocking = threading.Event()

    def write(self, text: str) -> int:
        self.is_blocking.set()
        self.is_open.wait()
        return super().write(text)


def test_lines_are_written_in_order() -> None:
    file = io.StringIO()
    with line_writer(file) as writer:
        assert not writer.isatty()
        for number in range(1000):
            assert writer.write(f"{number}\n") == len(f"{number}\n")
        writer.flush()
    assert file.getvalue().split() == [str(number) for number in range(1000)]


def test_a_blocking_file_blocks_no_caller_and_dropped_lines_are_counted() -> None:
    file = Gate()
    writer = LineWriter(file, most_bytes=6)
    writer.write("a\n")
    file.is_blocking.wait()
    for line in ("b\n", "lost\n", "c\n", "lost\n"):
        writer.write(line)
    file.is_open.set()
    writer.close()
    assert file.getvalue() == 'a\n{"event": "log_lines_lost", "level": "warning", "count": 2}\nb\nc\n'


def test_close_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLOSE_TIMEOUT", 0.01)
    file = Gate()
    writer = LineWriter(file)
    writer.write("a\n")
    file.is_blocking.wait()
    writer.write("b\n")
    writer.close()
    assert file.getvalue() == ""
    file.is_open.set()


class Pipe(io.RawIOBase):
    """A file whose calls of `write` have the given outcomes: a number of bytes, would block (None), or an error."""

    def __init__(self, *outcomes: int | OSError | None) -> None:
        self.outcomes = list(outcomes)
        self.written = b""
        self.has_accepted_all = threading.Event()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int | None:
        if not self.outcomes:
            self.has_accepted_all.set()
        outcome = self.outcomes.pop(0) if self.outcomes else len(memoryview(data))
        if isinstance(outcome, OSError):
            raise outcome
        if outcome is not None:
            self.written += bytes(memoryview(data)[:outcome])
        return outcome


class AlwaysFull(Pipe):
    def write(self, data: Any) -> int | None:
        raise full()


def as_text(pipe: io.RawIOBase) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedWriter(pipe), encoding="utf-8")


def full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("outcomes", [(None, 3, None, 1), (full(), 3, full(), full()), (3, BlockingIOError(), 1)])
def test_no_line_is_lost_while_a_file_accepts_nothing_for_a_moment(
    outcomes: tuple[int | OSError | None, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY_INTERVAL", 0.0)
    pipe = Pipe(*outcomes)
    writer = LineWriter(as_text(pipe))
    for line in ("eins\n", "zwei\n"):
        writer.write(line)
    pipe.has_accepted_all.wait()  # since `close` does not wait for a full disk
    writer.close()
    writer.write("after the end\n")
    assert pipe.written == b"eins\nzwei\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_no_line_is_lost_on_a_non_blocking_pipe_with_a_slow_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    monkeypatch.setattr(module, "RETRY_INTERVAL", 0.0)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    lines = [f"{number} {'x' * 5000}\n" for number in range(200)]
    with os.fdopen(writing, "w", encoding="utf-8") as file, os.fdopen(reading, encoding="utf-8") as reader:
        writer = LineWriter(file)
        for line in lines:
            writer.write(line)
        assert [reader.readline() for _ in lines] == lines
        writer.close()


def test_the_limit_is_in_bytes() -> None:
    file = Gate()
    writer = LineWriter(file, most_bytes=10_000)
    writer.write("a\n")
    file.is_blocking.wait()
    for _ in range(10):
        writer.write("ü" * 2000 + "\n")
    file.is_open.set()
    writer.close()
    assert file.getvalue().count("ü") == 4000
    assert '"count": 8' in file.getvalue()


def test_close_does_not_wait_for_a_disk_that_stays_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_INTERVAL", 0.0)
    pipe = AlwaysFull()
    writer = LineWriter(as_text(pipe))
    writer.write("a\n")
    writer.close()
    assert not writer._thread.is_alive()
    assert pipe.written == b""


def test_lines_end_as_on_this_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "linesep", "\r\n")
    pipe = Pipe()
    with line_writer(as_text(pipe)) as writer:
        writer.write("a\n")
    assert pipe.written == b"a\r\n"


def test_the_thread_stops_when_the_reader_is_gone() -> None:
    pipe = Pipe(BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)))
    writer = LineWriter(as_text(pipe))
    writer.write("a\n")
    writer._thread.join()
    writer.write("b\n")
    writer.close()
    assert (pipe.written, writer._bytes) == (b"", 2)


def test_the_thread_stops_when_the_file_was_closed() -> None:
    file = io.StringIO()
    file.close()
    writer = LineWriter(file)
    writer.write("a\n")
    writer._thread.join()
    writer.close()


def test_a_character_that_the_encoding_lacks_is_escaped() -> None:
    pipe = Pipe()
    with line_writer(io.TextIOWrapper(io.BufferedWriter(pipe), encoding="ascii", errors="strict")) as writer:
        writer.write("Jörg\n")
        writer.write("next\n")
    assert pipe.written == b"J\\xf6rg\nnext\n".replace(b"\n", os.linesep.encode())
