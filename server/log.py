"""The log: a line for each event, for people on a terminal or as JSON for programs.

Invariants: each event is one line with its name and its fields, and nothing else is logged. Levels: moves are `debug`,
normal operation is `info`, mistakes of peers are `warning`, failures of the server are `error`. No event holds a
password. Neither console lines nor JSON contain control characters that a terminal would act on, and the length of a
line is bounded, whatever a peer has sent. No event is lost without a word.
"""

from __future__ import annotations

import enum
import errno
import json
import logging
import os
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, Final, Protocol, TextIO

from spielleiter.common.json_text import json_text
from spielleiter.common.terminal import shows_colours
from spielleiter.protocol.messages import Cause
from spielleiter.server import events
from spielleiter.server.events import ThinkStats

LEVELS: Final[dict[type[events.ServerEvent], int]] = {
    events.MovePlayed: logging.DEBUG,
    events.ConnectionOpened: logging.DEBUG,
    events.RoomClosed: logging.DEBUG,
    events.AdminsExcluded: logging.WARNING,
    events.AnswerDelayed: logging.WARNING,
    events.CommandIgnored: logging.WARNING,
    events.ConnectionRefused: logging.WARNING,
    events.ConnectionsLimited: logging.WARNING,
    events.ContentIgnored: logging.WARNING,
    events.MoveRefused: logging.WARNING,
    events.PeerTooSlow: logging.WARNING,
    events.ProtocolBroken: logging.WARNING,
    events.RequestRefused: logging.WARNING,
    events.SettingIgnored: logging.WARNING,
    events.TimeVerdict: logging.WARNING,
    events.ViewerEnded: logging.WARNING,
    events.InternalError: logging.ERROR,
    events.ReplayFailed: logging.ERROR,
    events.ResultsLost: logging.ERROR,
    events.ResultsWaiting: logging.ERROR,
    events.TraceFailed: logging.ERROR,
}
"""The level of each kind of event; `info` for the others."""

MOST_TRACEBACK: Final = 20_000
"""The maximum length of a traceback in characters; its end is kept."""
_MOST_TEXT: Final = 1000  # characters of any other text
_MOST_ITEMS: Final = 50  # of a list
_NOT_LOGGED: Final = frozenset({"player_addresses", "position", "record", "result", "think_times", "was_silent"})
"""Fields that are too long for a line, only determine its level, or are part of its text."""

MOST_BYTES: Final = 4 * 1024 * 1024
"""The maximum size of the lines that wait to be written."""
CHUNK_BYTES: Final = 256 * 1024  # bytes that are written together
BATCH_DELAY: Final = 0.05  # seconds that a line waits for others: every wake-up of the thread delays the event loop
RETRY_INTERVAL: Final = 0.1  # seconds between attempts to write to a file that accepts nothing
CLOSE_TIMEOUT: Final = 5.0  # seconds that `close` waits for lines that have not been written
_NO_READER: Final = frozenset({errno.EPIPE, errno.EBADF, errno.EINVAL})


class LogFile(Protocol):
    """The destination of log lines: a text file, or a `LineWriter`."""

    def write(self, line: str, /) -> object: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool: ...


@cache
def event_name(kind: type[events.ServerEvent]) -> str:
    """Return the name of a kind of event in the log: ``move_played`` for ``MovePlayed``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def logged_kinds(log_level: str) -> frozenset[type[events.ServerEvent]]:
    """Return the kinds of events that are logged at `log_level` (``debug``, ``info``, ``warning`` or ``error``)."""
    threshold = getattr(logging, log_level.upper())
    return frozenset(kind for kind in events.KINDS if LEVELS.get(kind, logging.INFO) >= threshold)


def level_name(kind: type[events.ServerEvent]) -> str:
    """Return the name of the level of a kind of event: ``debug``, ``info``, ``warning`` or ``error``."""
    return logging.getLevelName(LEVELS.get(kind, logging.INFO)).lower()


def _level_of(event: events.ServerEvent) -> int:
    if isinstance(event, events.ConnectionClosed) and event.was_silent:
        return logging.DEBUG  # health checks connect and disconnect all day
    return LEVELS.get(type(event), logging.INFO)


def log_events(file: LogFile, log_format: str, log_level: str) -> Callable[[events.ServerEvent], None]:
    """Return a subscriber that writes events to `file`.

    `log_format` is ``console``, ``json``, or ``auto`` (json unless `file` is a terminal). `log_level` is the name of
    the lowest level that is written. An event that cannot be written in this format is written as JSON if possible; the
    subscriber raises the reason, and the first one is also a line on standard error.
    """
    threshold = getattr(logging, log_level.upper())
    is_console = log_format == "console" or (log_format == "auto" and file.isatty())
    has_failed = False
    renderer: Any = None

    def write(line: str) -> None:
        file.write(line + "\n")
        file.flush()

    def console_line(event: events.ServerEvent) -> str:
        nonlocal renderer
        if renderer is None:
            # Loading structlog takes a fifth of the server's start, so it is loaded for the first event. By then the
            # port is open, and clients that connect in the meantime wait in the kernel's queue.
            import structlog

            longest = max(len(event_name(kind)) for kind in events.KINDS)
            renderer = structlog.dev.ConsoleRenderer(longest, colors=shows_colours(file), sort_keys=False)
        level = logging.getLevelName(_level_of(event)).lower()
        now = datetime.now().astimezone().strftime("%H:%M:%S.%f")
        fields = _console_fields(event)
        return str(
            renderer(None, level, {**fields, "event": event_name(type(event)), "level": level, "timestamp": now})
        )

    def log(event: events.ServerEvent) -> None:
        nonlocal has_failed
        if _level_of(event) < threshold:
            return
        try:
            write(console_line(event) if is_console else json_line(event, time.time()))
        except Exception as error:
            if not has_failed:
                has_failed = True
                _report_failure(event, error)
            if is_console:
                with suppress(Exception):  # for example because the file is closed
                    write(json_line(event, time.time()))
            raise

    return log


def _report_failure(event: events.ServerEvent, error: Exception) -> None:
    """Say on standard error that the log is not complete, without waiting for a slow terminal."""
    why = " ".join(str(error).split()) or type(error).__name__
    what = f"the event {event_name(type(event))} cannot be written to the log as intended"
    text = f"spielleiter: {what}: {why}; further ones are not reported\n"

    def write() -> None:
        with suppress(OSError, ValueError, AttributeError):  # nobody reads it; there is none
            sys.stderr.write(text)
            sys.stderr.flush()

    threading.Thread(target=write, name="log failure", daemon=True).start()


# -- what is shown of an event ----------------------------------------------------------------------------------------


def json_line(event: events.ServerEvent, instant: float) -> str:
    """Return the JSON of an event, without the line end; `instant` is in seconds since the epoch.

    All characters that a terminal would act on are escaped.
    """
    shown = _fields_of(event)
    shown["event"] = event_name(type(event))
    shown["level"] = _level_text(_level_of(event))
    second, fraction = divmod(round(instant * 1e6), 1_000_000)
    shown["timestamp"] = f"{_time_text(second)}.{fraction:06}Z"
    text = json_text(shown)
    return text if text.isprintable() else json.dumps(shown)


@cache
def _level_text(level: int) -> str:
    return logging.getLevelName(level).lower()


@lru_cache(maxsize=1)
def _time_text(second: int) -> str:
    """Return the date and the time of a second since the epoch."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _fields_of(event: events.ServerEvent) -> dict[str, object]:
    if isinstance(event, events.InternalError):
        cut = len(event.error) - MOST_TRACEBACK
        error = event.error if cut <= 0 else f"({cut} characters more) …{event.error[cut:]}"
        return {"connection": event.connection, "error": error}
    return {name: _shown(getattr(event, name)) for name in logged_fields(type(event))}


@cache
def logged_fields(kind: type[events.ServerEvent]) -> tuple[str, ...]:
    """Return the names of the fields of a kind of event that the log has."""
    return tuple(name for name in kind.__struct_fields__ if name not in _NOT_LOGGED)


def _shown(value: object) -> object:
    """Return `value` as it is logged: of a type that JSON has, and of bounded length."""
    if isinstance(value, str):
        cut = len(value) - _MOST_TEXT
        return value if cut <= 0 else f"{value[:_MOST_TEXT]}… ({cut} more characters)"
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, ThinkStats):
        return {name: _shown(part) for name, part in value.as_dict().items()}
    if isinstance(value, tuple):
        shown = [_shown(part) for part in value[:_MOST_ITEMS]]
        return shown if len(value) <= _MOST_ITEMS else [*shown, f"… ({len(value) - _MOST_ITEMS} more)"]
    return _shown(value.value if isinstance(value, enum.Enum) else str(value))


def _console_fields(event: events.ServerEvent) -> Mapping[str, object]:
    """Return what a console shows of an event: fewer fields, whose unprintable texts are Python string literals."""
    fields = _fields_of(event)
    if isinstance(event, events.GameEnded):
        names = [name or f"player {seat + 1}" for seat, name in enumerate(event.names)]
        who = "nobody wins"
        if event.winners:
            who = "a draw" if len(event.winners) > 1 else f"{names[event.winners[0]]} wins"
        # the first part of a score says who won
        points = ":".join("/".join(str(part) for part in parts[1:]) for parts in event.parts)
        faults = [
            f"{name}: {cause} {reason}".rstrip()
            for name, cause, reason in zip(names, event.causes, event.reasons, strict=True)
            if cause != Cause.REGULAR.value
        ]
        result = "; ".join([f"{who} {points}", *faults])
        fields = {"room": event.room, "result": _shown(result), "plies": event.plies}
    elif isinstance(event, events.ViewerStarted):
        shown = {"url": event.url, "elsewhere": event.elsewhere, "access": event.access, "note": event.note}
        fields = {name: text for name, text in shown.items() if text}
    return {
        name: _Quoted(value) if isinstance(value, str) and not value.isprintable() else value
        for name, value in fields.items()
    }


class _Quoted:
    """A text that is written as its `repr`; structlog would write a text without blanks unchanged."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return repr(self._text)


# -- a file that may be slow ------------------------------------------------------------------------------------------


class LineWriter:
    """A file-like object whose lines a thread writes to `file`, completely and in order; no caller waits for it.

    At most `most_bytes` of lines wait: those beyond the limit are dropped, and a line with their number is written as
    soon as the file accepts data again. While a file accepts nothing (a full pipe, a full disk), writing is retried. It
    stops permanently only when the file has been closed or its reader is gone.
    """

    def __init__(self, file: TextIO, most_bytes: int = MOST_BYTES) -> None:
        self._file = file
        # Without the buffers of the file, if it has any: a buffer that cannot be flushed, because a pipe or a disk is
        # full, drops text or writes some of it twice.
        binary: Any = getattr(file, "buffer", None)
        self._raw: Any = getattr(binary, "raw", binary)
        self._most_bytes = most_bytes
        self._lines: deque[str] = deque()
        self._bytes = 0
        """The size of the lines that wait or are being written."""
        self._lost = 0
        self._changed = threading.Condition()
        self._is_closing = threading.Event()
        self._has_stopped = False
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def isatty(self) -> bool:
        return self._file.isatty()

    def fileno(self) -> int:
        """Return the descriptor of the file; it tells a console of Windows from others."""
        return self._file.fileno()

    def write(self, line: str) -> int:
        """Queue one line, which includes its line end; return its length in characters."""
        size = _size(line)
        with self._changed:
            if self._has_stopped:
                return len(line)
            if self._bytes + size > self._most_bytes:
                self._lost += 1
            else:
                self._bytes += size
                self._lines.append(line)
                self._changed.notify()
        return len(line)

    def flush(self) -> None:
        """Do nothing: the thread flushes after writing all lines."""

    def close(self) -> None:
        """Stop the thread after it has written all queued lines, or after CLOSE_TIMEOUT seconds."""
        self._is_closing.set()
        with self._changed:
            self._changed.notify()
        self._thread.join(CLOSE_TIMEOUT)

    def _run(self) -> None:
        with suppress(OSError, ValueError):
            self._file.flush()  # earlier text has to be written first
        while text := self._gather():
            if not self._write_out(text):
                break
            with self._changed:
                self._bytes -= _size(text)
                if self._lost:
                    line = f'{{"event": "log_lines_lost", "level": "warning", "count": {self._lost}}}\n'
                    self._lost = 0
                    self._lines.appendleft(line)
                    self._bytes += _size(line)
        with self._changed:
            self._has_stopped = True
            self._lines.clear()

    def _gather(self) -> str:
        """Wait for a line, and a moment longer for others; return their text, or an empty text at the end."""
        with self._changed:
            while not self._lines and not self._is_closing.is_set():
                self._changed.wait()
        self._is_closing.wait(BATCH_DELAY)
        with self._changed:
            lines, size = [], 0
            while self._lines and size < CHUNK_BYTES:
                lines.append(self._lines.popleft())
                size += len(lines[-1])
        return "".join(lines)

    def _write_out(self, text: str) -> bool:
        """Write `text`, with retries if necessary; return False if the file is closed or has no reader."""
        rest = memoryview(b"")
        if self._raw is not None:
            native = text if os.linesep == "\n" else text.replace("\n", os.linesep)
            encoding = self._file.encoding or "utf-8"
            try:
                rest = memoryview(native.encode(encoding, self._file.errors or "backslashreplace"))
            except UnicodeEncodeError:  # the file is strict, and its encoding lacks a character
                rest = memoryview(native.encode(encoding, "backslashreplace"))
        while True:
            try:
                if self._raw is None:
                    self._file.write(text)
                    text = ""  # it must not be written again if only the flush fails
                    self._file.flush()
                while rest and (count := self._raw.write(rest)):
                    rest = rest[count:]
                if not rest:
                    return True
            except (OSError, ValueError) as error:  # a ValueError: the file was closed
                is_over = not isinstance(error, OSError) or error.errno in _NO_READER or self._is_closing.is_set()
                if is_over and not isinstance(error, BlockingIOError):
                    return False
            time.sleep(RETRY_INTERVAL)


def _size(text: str) -> int:
    """Return the size of `text` in bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


@contextmanager
def line_writer(file: TextIO) -> Iterator[LineWriter]:
    """Give a LineWriter for `file`, and close it at the end of the block."""
    writer = LineWriter(file)
    try:
        yield writer
    finally:
        writer.close()
