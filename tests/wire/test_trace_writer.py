"""Traces are written by a thread, into new files, within limits; a failing disk ends one trace."""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spielleiter.server.errors import StartError
from spielleiter.server.tracing import FROM_SERVER, TO_SERVER
from spielleiter.wire import trace_writer as recorder_module
from spielleiter.wire.conversation import TRACE_LIMITS, Conversation, TraceLimits
from spielleiter.wire.trace_writer import Recorder, Trace
from tests.timeouts import HANG_TIMEOUT

NOW = datetime(2026, 11, 22, 12, 30, tzinfo=UTC)
Failures = list[tuple[str, str]]


@pytest.fixture(autouse=True)
def no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "REST_FACTOR", 0.0)


@contextmanager
def recording(folder: Path, limits: TraceLimits = TRACE_LIMITS) -> Iterator[tuple[Recorder, Failures]]:
    failures: Failures = []
    recorder = Recorder(folder, lambda path, why: failures.append((path, why)), limits, lambda: NOW)
    try:
        yield recorder, failures
    finally:
        recorder.close()


def opened(recorder: Recorder, name: str = "c1", instant: float = 5.0) -> Trace:
    trace = recorder.open(name, (), instant)
    assert trace is not None
    return trace


def lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def test_a_trace_is_on_the_disk_when_the_recorder_is_closed(tmp_path: Path) -> None:
    with recording(tmp_path / "new" / "folder") as (recorder, failures):
        trace = opened(recorder)
        trace.event(TO_SERVER, 5.0, "(connects)")
        trace.add(TO_SERVER, 5.5, b"<protocol>")
        trace.note(6.0, "a note")
        trace.reset(TO_SERVER, 6.0)
        trace.close(7.0, "the end")
    recorder.close()
    assert lines(tmp_path / "new" / "folder" / "2026-11-22T12-30-00_c1.txt") == [
        "   0.000000   +0.000  c1     ->  (connects)",
        "   0.500000   +0.500  c1     ->  <protocol>",
        "   1.000000   +0.500  c1     !!  a note",
        "   1.000000   +0.000  c1     ->  (RST)",
        "   2.000000   +1.000  c1     !!  the end",
    ]
    assert failures == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has other rights")
def test_only_the_owner_can_read_traces(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with recording(tmp_path / "traces") as (recorder, _):
            opened(recorder).event(TO_SERVER, 5.0, "(FIN)")
            opened(recorder).event(TO_SERVER, 5.0, "(FIN)")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "traces").stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "traces").iterdir()] == [0o600, 0o600]


@pytest.mark.skipif(os.name == "nt", reason="links need privileges there")
def test_a_link_that_was_planted_in_the_folder_is_not_followed(tmp_path: Path) -> None:
    """Its name can be guessed from the id of the process, or from those of earlier traces."""
    victim, folder = tmp_path / "victim", tmp_path / "traces"
    victim.write_text("precious")
    folder.mkdir()
    with recording(tmp_path / "model") as (recorder, _):
        opened(recorder).event(TO_SERVER, 5.0, "(FIN)")
    names = [path.name for path in (tmp_path / "model").iterdir()]
    for name in (*names, f".spielleiter-{os.getpid()}"):
        (folder / name).symlink_to(victim)
    with recording(folder) as (recorder, _):
        opened(recorder).event(TO_SERVER, 5.0, "(FIN)")
    assert victim.read_text() == "precious"
    assert len(list(folder.iterdir())) == len(names) + 2


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    for _ in range(3):
        with recording(tmp_path) as (recorder, _failures):
            opened(recorder).event(TO_SERVER, 5.0, "(connects)")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "2026-11-22T12-30-00_c1.txt",
        "2026-11-22T12-30-00_c1~2.txt",
        "2026-11-22T12-30-00_c1~3.txt",
    ]


def test_a_folder_that_cannot_be_written_is_an_error_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(StartError, match=re.escape(f"trace {file}: traces cannot be written there (File exists)")):
        Recorder(file, lambda *_: None)


def test_held_packets_are_written_at_the_end(tmp_path: Path) -> None:
    with recording(tmp_path, replace(TRACE_LIMITS, hold_time=HANG_TIMEOUT)) as (recorder, _):
        trace = recorder.open("c1", (), 5.0, holds=True)
        assert trace is not None
        trace.add(TO_SERVER, 5.0, b"<protocol><join/>")
    assert lines(trace.path)[-1].endswith("->  <join/>")


def test_what_does_not_fit_into_the_queue_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, may_go_on = threading.Event(), threading.Event()
    add = Conversation.add

    def slow_add(self: Conversation, direction: str, instant: float, data: bytes) -> None:
        entered.set()
        assert may_go_on.wait(HANG_TIMEOUT)
        add(self, direction, instant, data)

    monkeypatch.setattr(Conversation, "add", slow_add)
    with recording(tmp_path, replace(TRACE_LIMITS, queue_bytes=1000)) as (recorder, _):
        trace = opened(recorder)
        trace.add(FROM_SERVER, 5.0, b"<protocol>")
        assert entered.wait(HANG_TIMEOUT)
        for _ in range(10):
            trace.add(FROM_SERVER, 6.0, b"\n  <room>" + b"x" * 300 + b"</room>")
        trace.add(TO_SERVER, 6.0, b"<protocol>" + b"\n" * 990)
        trace.close(7.0)
        may_go_on.set()
    text = trace.path.read_text(encoding="utf-8")
    shown = text.count("</room>")
    assert 0 < shown < 10
    assert f"~ {(10 - shown) * 316} bytes" in text
    assert "~ 1000 bytes" in text


def test_nothing_is_recorded_between_what_is_missing_and_the_line_about_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise there would be answers to packets whose absence is noted only after them."""
    with recording(tmp_path) as (recorder, _):
        trace = opened(recorder)
        put = recorder.put
        refused: set[str] = set()

        def put_if_not_refused(trace: Trace, method: str, *more: Any, is_urgent: bool = False) -> bool:
            return (is_urgent or method not in refused) and put(trace, method, *more, is_urgent=is_urgent)

        monkeypatch.setattr(recorder, "put", put_if_not_refused)
        trace.add(TO_SERVER, 5.0, b"<protocol>")
        refused.add("add")
        trace.add(TO_SERVER, 6.0, b"<join/>")
        refused.symmetric_difference_update({"add", "missing"})  # there is room again, but not for the line
        trace.add(FROM_SERVER, 7.0, b"<protocol><joined/>")
        trace.note(7.0, "a note")
        refused.clear()
        trace.add(FROM_SERVER, 8.0, b"<left/>")
        refused.update({"add", "missing"})
        trace.add(TO_SERVER, 9.0, b"<step/>")
        trace.add(TO_SERVER, 9.5, b"")
        trace.reset(FROM_SERVER, 9.75)
        trace.close(10.0)
    assert [line[29:] + line[:11] for line in lines(trace.path)] == [
        "->  <protocol>   0.000000",
        "->     1.000000",
        "   ~ 7 bytes           ",
        "<-     2.000000",
        "   ~ 19 bytes           ",
        "<-  <left/>   3.000000",
        "->     4.000000",
        "   ~ 7 bytes           ",
        "->  (FIN)   4.500000",
        "<-  (RST)   4.750000",
    ]


def test_a_failing_disk_ends_one_trace_and_is_reported_once(tmp_path: Path) -> None:
    with recording(tmp_path) as (recorder, failures):
        one, two = opened(recorder, "c1"), opened(recorder, "c2")
        one.path = tmp_path / "missing" / "file.txt"
        for trace in (one, two):
            trace.event(TO_SERVER, 5.0, "(connects)")
        wait_until_written(opened(recorder, "last"))
        one.add(TO_SERVER, 6.0, b"<protocol>")
        two.add(TO_SERVER, 6.0, b"<protocol>")
    assert failures == [(str(one.path), f"{one.path}: No such file or directory")]
    assert len(lines(two.path)) == 2


def wait_until_written(last: Trace) -> None:
    """Wait until the thread has written what is queued before an event of `last`."""
    done = threading.Event()
    last.conversation.event = lambda *_: done.set()  # type: ignore[method-assign]
    last.event(TO_SERVER, 0.0, "")
    assert done.wait(HANG_TIMEOUT)


def test_a_bug_ends_one_trace(tmp_path: Path) -> None:
    with recording(tmp_path) as (recorder, failures):
        one, two = opened(recorder, "c1"), opened(recorder, "c2")
        one.conversation.event = lambda *_: 1 / 0  # type: ignore[method-assign, assignment]
        for trace in (one, two):
            trace.event(TO_SERVER, 5.0, "(connects)")
    assert failures == [(str(one.path), "ZeroDivisionError: division by zero")]
    assert len(lines(two.path)) == 1


def test_the_number_of_files_is_bounded(tmp_path: Path) -> None:
    with recording(tmp_path, replace(TRACE_LIMITS, files=2)) as (recorder, failures):
        traces = [recorder.open(f"c{number}", (), 5.0) for number in range(4)]
    assert [trace is not None for trace in traces] == [True, True, False, False]
    assert failures == [(str(tmp_path), "no more traces are written: there are 2 already")]


@pytest.mark.slow
def test_the_size_of_all_files_is_bounded(tmp_path: Path) -> None:
    with recording(tmp_path, replace(TRACE_LIMITS, total_bytes=1 << 20)) as (recorder, failures):
        one, two = opened(recorder, "c1"), opened(recorder, "c2")
        last = opened(recorder, "last")
        packet = b'\n<join gameType="%b"/>' % (b"x" * 2000)
        for number in range(12):
            one.add(TO_SERVER, 5.0, (b"" if number else b"<protocol>") + packet * 50)
        two.add(TO_SERVER, 5.0, b"<protocol>")
        wait_until_written(last)
        for trace in (one, two):
            trace.add(TO_SERVER, 6.0, b"<join/>")
    assert recorder.open("c3", (), 7.0) is None
    assert failures == [(str(tmp_path), "no more traces are written: they have reached 1 MiB")]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 6 << 20
    for trace in (one, two):
        assert trace.path.read_text(encoding="utf-8").splitlines()[-1].startswith("# cut: ")
