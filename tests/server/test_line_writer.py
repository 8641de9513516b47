"""Lines come out whole and in order, and a file that takes nothing stops nobody."""

from __future__ import annotations

import io
import threading

import pytest

from server import line_writer as module
from server.line_writer import LineWriter, line_writer


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
    writer = LineWriter(file, most_lines=2)
    writer.write("a\n")
    file.is_waited_for.wait()
    for line in ("b\n", "c\n", "lost\n", "lost\n"):
        writer.write(line)
    file.is_open.set()
    writer.close()
    assert file.getvalue() == 'a\n{"event": "log_lines_lost", "level": "warning", "count": 2}\nb\nc\n'


def test_the_end_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LAST_WORDS", 0.01)
    file = Gate()
    writer = LineWriter(file, most_lines=1)
    writer.write("a\n")
    file.is_waited_for.wait()
    writer.write("b\n")
    writer.close()
    assert file.getvalue() == ""
    file.is_open.set()


def test_nobody_reads_any_more() -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    writer = LineWriter(Broken(), most_lines=1)
    writer.write("a\n")
    writer._thread.join()
    writer.write("b\n")
    writer.write("c\n")
    writer.close()  # the queue is full and nobody empties it: no reason to wait
