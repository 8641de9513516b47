"""Every event is one line in the configured format, from the configured level on; a slow file blocks no caller."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import sys
import threading
from typing import Any

import msgspec
import pytest

from spielleiter.game.blokus.moves import SetMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.messages import Result
from spielleiter.server import events
from spielleiter.server import log as module
from spielleiter.server.errors import Fault
from spielleiter.server.events import ThinkStats
from spielleiter.server.log import LineWriter, line_writer, log_events
from tests.timeouts import HANG_TIMEOUT

PLACED = SetMove(Color.BLUE, Shape.MONO, Rotation.NONE, is_flipped=False, x=1, y=2)
MOVE = events.MovePlayed("room", 0, "Eins", 4, 5, PLACED, 0.123456789, ("a hint",))
REFUSED = events.RequestRefused("c1", Fault.UNKNOWN_ROOM, "Couldn't find a room with id ü\nfake line")
ENDED = events.GameEnded(
    "room",
    "blokus-2021-r3",
    ("Eins", "Zwei"),
    ("REGULAR", "LEFT"),
    ("", "gone"),
    ((2, 5), (0, 0)),
    (0,),
    1,
    (ThinkStats.of((0.1,)), ThinkStats()),
    ((0.1,), ()),
    Result(BLOKUS_2021_R3.score_definition, (), (0,)),
    [],
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def logged(file: io.StringIO, log_format: str, *server_events: events.ServerEvent, level: str = "debug") -> list[str]:
    log = log_events(file, log_format, level)
    for event in server_events:
        log(event)
    return file.getvalue().splitlines()


def as_json(*server_events: events.ServerEvent, level: str = "debug") -> list[dict[str, Any]]:
    return [json.loads(line) for line in logged(io.StringIO(), "json", *server_events, level=level)]


def test_a_move_names_room_player_ply_and_think_time() -> None:
    (line,) = as_json(MOVE)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "move_played",
        "level": "debug",
        "room": "room",
        "seat": 0,
        "name": "Eins",
        "ply": 4,
        "turn": 5,
        "move": str(PLACED),
        "think_time": 0.123457,
        "hints": ["a hint"],
    }


def test_control_characters_from_the_wire_are_escaped_on_a_console() -> None:
    refused = events.RequestRefused("c1", Fault.UNKNOWN_ROOM, "\x1b[2J\x9b\u202e")
    ended = msgspec.structs.replace(ENDED, names=("\x9b2J", "\u2066"))
    for line in logged(io.StringIO(), "console", refused, ended):
        assert not set("\x1b\x9b\u202e\u2066") & set(line)
        assert "x9b" in line


def test_json_escapes_control_characters_and_keeps_the_text() -> None:
    text = "\x1b[2J\x9b\u202e\u2028"
    (line,) = logged(io.StringIO(), "json", events.RequestRefused("c1", Fault.UNKNOWN_ROOM, text))
    assert line.isprintable()
    assert json.loads(line)["text"] == text
    (line,) = logged(io.StringIO(), "json", events.RequestRefused("c1", Fault.UNKNOWN_ROOM, "Häschen ∞"))
    assert "Häschen ∞" in line


@pytest.mark.parametrize("log_format", ["json", "console"])
@pytest.mark.parametrize(
    "event",
    [
        events.RequestRefused("c1", Fault.UNKNOWN_ROOM, "x" * 60_000),
        events.ContentIgnored("c1", tuple("x" * 60_000 for _ in range(10))),
        msgspec.structs.replace(ENDED, names=("x" * 60_000, ""), reasons=("", "x" * 60_000)),
        msgspec.structs.replace(MOVE, hints=("x",) * 4000),
        events.InternalError("c1", "x" * 60_000),
    ],
    ids=lambda event: type(event).__name__,
)
def test_the_length_of_a_line_is_bounded(event: events.ServerEvent, log_format: str) -> None:
    (line,) = logged(io.StringIO(), log_format, event)
    assert len(line) < 21_000


def test_shortened_texts_say_how_much_is_missing_and_a_traceback_keeps_its_end() -> None:
    refused, moved, bug = as_json(
        events.RequestRefused("c1", Fault.UNKNOWN_ROOM, "x" * 1003),
        msgspec.structs.replace(MOVE, hints=tuple("abc" * 20)),
        events.InternalError("c1", "y" * 30_000 + "ValueError"),
    )
    assert refused["text"] == "x" * 1000 + "… (3 more characters)"
    assert moved["hints"][-2:] == ["b", "… (10 more)"]
    assert bug["error"].startswith("(10010 characters more) …yyy")
    assert bug["error"].endswith("ValueError")


@pytest.mark.parametrize(
    ("level", "names"),
    [
        ("debug", ["move_played", "connection_closed", "room_opened", "request_refused", "internal_error"]),
        ("info", ["room_opened", "request_refused", "internal_error"]),
        ("warning", ["request_refused", "internal_error"]),
        ("error", ["internal_error"]),
    ],
)
def test_events_below_the_level_are_not_logged(level: str, names: list[str]) -> None:
    opened = events.RoomOpened("room", "blokus-2021-r3", is_prepared=True)
    silent = events.ConnectionClosed("c1", "end of input", was_silent=True)
    bug = events.InternalError("c1", "…")
    assert [line["event"] for line in as_json(MOVE, silent, opened, REFUSED, bug, level=level)] == names


def test_auto_means_console_on_a_terminal_and_json_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    (line,) = logged(io.StringIO(), "auto", REFUSED)
    assert json.loads(line)["event"] == "request_refused"
    (line,) = logged(Terminal(), "auto", REFUSED)
    assert ("\x1b[" in line) is (sys.platform != "win32")  # this stand-in is no console of Windows
    (line,) = logged(io.StringIO(), "console", REFUSED)
    assert "\x1b[" not in line
    assert "request_refused" in line
    assert "fault=unknown_room" in line


@pytest.mark.parametrize(
    ("winners", "names", "causes", "result"),
    [
        ((0,), ("Eins", "Zwei"), ("REGULAR", "LEFT"), "Eins wins 5/1:0/0; Zwei: LEFT gone"),
        ((1,), ("", ""), ("REGULAR", "REGULAR"), "player 2 wins 5/1:0/0"),
        ((0, 1), ("Eins", ""), ("REGULAR", "REGULAR"), "a draw 5/1:0/0"),
        ((), ("Eins", ""), ("REGULAR", "LEFT"), "nobody wins 5/1:0/0; player 2: LEFT gone"),
    ],
)
def test_the_end_of_a_game_is_summarized_on_a_console_and_complete_in_json(
    winners: tuple[int, ...], names: tuple[str, str], causes: tuple[str, str], result: str
) -> None:
    ended = msgspec.structs.replace(
        ENDED, winners=winners, names=names, causes=causes, parts=((2, 5, 1), (0, 0, 0)), plies=68
    )
    (line,) = logged(io.StringIO(), "console", ended)
    assert re.search(rf"game_ended +room=room result='{re.escape(result)}' plies=68$", line)
    (value,) = as_json(ended)
    keys = {"names", "causes", "reasons", "parts", "winners", "plies", "thinking"}
    assert keys <= set(value)
    assert value["causes"] == list(causes)
    assert {"record", "result", "think_times"} & set(value) == set()


class StandardError(io.StringIO):
    """A stand-in that tells when something has been written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.has_text = threading.Event()

    def flush(self) -> None:
        self.has_text.set()


class Full(io.StringIO):
    """A file on a disk that is full; with an `encoding`, one whose encoding lacks a character."""

    def __init__(self, encoding: str | None = None) -> None:
        super().__init__()
        self._encoding = encoding

    def write(self, text: str) -> int:
        if self._encoding is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        text.encode(self._encoding)
        return super().write(text)


def closed() -> io.StringIO:
    file = io.StringIO()
    file.close()
    return file


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (Full(), os.strerror(errno.ENOSPC)),
        (Full("ascii"), "can't encode character"),
        (closed(), "I/O operation on closed file"),
    ],
)
@pytest.mark.parametrize("log_format", ["json", "console"])
def test_an_event_that_cannot_be_written_is_reported_once_on_standard_error(
    file: io.StringIO, why: str, log_format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = StandardError()
    monkeypatch.setattr(sys, "stderr", errors)
    log = log_events(file, log_format, "debug")
    for _ in range(3):
        with pytest.raises((OSError, ValueError)):
            log(REFUSED)
    assert errors.has_text.wait(HANG_TIMEOUT)
    (line,) = errors.getvalue().splitlines()
    assert line.startswith("spielleiter: ")
    assert "request_refused" in line
    assert why in line


def test_what_the_console_cannot_show_is_written_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise SystemError("no colours")

    errors = StandardError()
    monkeypatch.setattr(sys, "stderr", errors)
    monkeypatch.setattr("structlog.dev.ConsoleRenderer.__call__", fail)
    file = io.StringIO()
    log = log_events(file, "console", "debug")
    for event in (REFUSED, MOVE):
        with pytest.raises(SystemError):  # so that it is counted, and the others learn of it
            log(event)
    assert [json.loads(line)["event"] for line in file.getvalue().splitlines()] == ["request_refused", "move_played"]
    assert errors.has_text.wait(HANG_TIMEOUT)
    assert errors.getvalue().count("no colours") == 1


def full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


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


def as_text(pipe: io.RawIOBase) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedWriter(pipe), encoding="utf-8")


def test_a_blocking_file_blocks_no_caller_and_dropped_lines_are_counted() -> None:
    file = Gate()
    writer = LineWriter(file, most_bytes=7)
    writer.write("a\n")
    file.is_blocking.wait()
    for line in ("ü\n", "ab\n", "c\n", "lost\n"):  # the second one has few enough characters, and too many bytes
        writer.write(line)
    file.is_open.set()
    writer.close()
    assert file.getvalue() == 'a\n{"event": "log_lines_lost", "level": "warning", "count": 2}\nü\nc\n'


@pytest.mark.parametrize("error", [full(), BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)), None])
def test_close_waits_neither_for_a_full_disk_nor_for_a_reader_that_is_gone_or_reads_nothing(
    error: OSError | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CLOSE_TIMEOUT", 0.01 if error is None else HANG_TIMEOUT)
    monkeypatch.setattr(module, "RETRY_INTERVAL", 0.0)
    gate, pipe = Gate(), Pipe(*[error] * 100_000)
    writer = LineWriter(gate if error is None else as_text(pipe))
    writer.write("a\n")
    writer.close()
    writer.write("after the end\n")
    assert (gate.getvalue(), pipe.written) == ("", b"")
    gate.is_open.set()


@pytest.mark.parametrize("outcomes", [(None, 3, None, 1), (full(), 3, full()), (3, BlockingIOError(), 1)])
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


def test_a_character_that_the_encoding_lacks_is_escaped_and_lines_end_as_on_this_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "linesep", "\r\n")
    pipe = Pipe()
    with line_writer(io.TextIOWrapper(io.BufferedWriter(pipe), encoding="ascii", errors="strict")) as writer:
        writer.write("Jörg\n")
        writer.write("next\n")
    assert pipe.written == b"J\\xf6rg\r\nnext\r\n"
