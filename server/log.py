"""The log: a line for each event, for people on a terminal or as JSON for programs.

Invariants: each event is one line with its name and its fields, and nothing else is logged. Levels: moves are `debug`,
normal operation is `info`, mistakes of peers are `warning`, failures of the server are `error`. No event holds a
password. Neither console lines nor JSON contain control characters that a terminal would act on, and the length of a
line is bounded, whatever a peer has sent. No event is lost without a word: the first that cannot be written is reported
on standard error.
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
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, Protocol, TextIO, cast

from spielleiter.common.terminal import shows_colours
from spielleiter.protocol.messages import Cause
from spielleiter.server import events
from spielleiter.server.events import ThinkStats

MOST_BYTES: Final = 4 * 1024 * 1024
"""The maximum size of the lines that wait to be written."""
CHUNK_BYTES: Final = 256 * 1024  # bytes that are written together
BATCH_DELAY: Final = 0.05  # seconds that a line waits for others: every wake-up of the thread delays the event loop
RETRY_INTERVAL: Final = 0.1  # seconds between attempts to write to a file that accepts nothing
CLOSE_TIMEOUT: Final = 5.0  # seconds that `close` waits for lines that have not been written

_NO_READER: Final = frozenset({errno.EPIPE, errno.EBADF, errno.EINVAL})


class LineWriter:
    """A file-like object whose lines a thread writes to `file`; at most `most_bytes` of them wait."""

    def __init__(self, file: TextIO, most_bytes: int = MOST_BYTES) -> None:
        self._file = file
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

    # -- the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        target = _Target(self._file)
        while text := self._gather():
            if not self._write_out(target, text):
                break
            self._note_written(text)
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

    def _note_written(self, text: str) -> None:
        """Free the space of the written `text`; if lines were dropped, queue a line with their number."""
        with self._changed:
            self._bytes -= _size(text)
            if self._lost:
                line = f'{{"event": "log_lines_lost", "level": "warning", "count": {self._lost}}}\n'
                self._lost = 0
                self._lines.appendleft(line)
                self._bytes += _size(line)

    def _write_out(self, target: _Target, text: str) -> bool:
        """Write `text`, with retries if necessary; return False if the file is closed or has no reader."""
        target.set_text(text)
        while True:
            try:
                if target.write():
                    return True
            except (OSError, ValueError) as error:  # a ValueError: the file was closed
                is_over = not isinstance(error, OSError) or error.errno in _NO_READER or self._is_closing.is_set()
                if is_over and not isinstance(error, BlockingIOError):
                    return False
            time.sleep(RETRY_INTERVAL)


class _Target:
    """The file to write to, without its buffers if it has any.

    A buffer that cannot be flushed, because a pipe or a disk is full, drops text or writes some of it twice.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        binary: Any = getattr(file, "buffer", None)
        self._raw: Any = getattr(binary, "raw", binary)
        self._rest = memoryview(b"")
        self._text = ""
        with suppress(OSError, ValueError):
            file.flush()  # earlier text has to be written first

    def set_text(self, text: str) -> None:
        """Set the text to write next."""
        if self._raw is None:
            self._text = text
        else:
            text = text if os.linesep == "\n" else text.replace("\n", os.linesep)
            encoding, errors = self._file.encoding or "utf-8", self._file.errors or "backslashreplace"
            try:
                self._rest = memoryview(text.encode(encoding, errors))
            except UnicodeEncodeError:  # the file is strict, and its encoding lacks a character
                self._rest = memoryview(text.encode(encoding, "backslashreplace"))

    def write(self) -> bool:
        """Write what the file accepts; return whether this was the whole text. Raises OSError and ValueError."""
        if self._raw is None:
            self._file.write(self._text)
            self._text = ""  # it must not be written again if only the flush fails
            self._file.flush()
            return True
        while self._rest:
            written = self._raw.write(self._rest)
            if not written:  # None: writing would block
                return False
            self._rest = self._rest[written:]
        return True


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
    events.InternalError: logging.ERROR,
    events.ReplayFailed: logging.ERROR,
    events.ResultsLost: logging.ERROR,
    events.ResultsWaiting: logging.ERROR,
    events.TraceFailed: logging.ERROR,
}
"""The level of each kind of event; `info` for the others."""

_LEVEL_BY_CONTENT: Final[Mapping[type[events.ServerEvent], Callable[[Any], int]]] = {
    # health checks connect and disconnect all day
    events.ConnectionClosed: lambda closed: logging.DEBUG if closed.was_silent else logging.INFO,
}
"""The levels that depend on the fields of an event."""

_LEVEL_NAMES: Final = {level: logging.getLevelName(level).lower() for level in (10, 20, 30, 40)}

MOST_TEXT: Final = 1000
"""The maximum length of a text in characters; longer ones are cut."""
MOST_TRACEBACK: Final = 20_000
"""The maximum length of a traceback in characters; its end is kept."""
MOST_ITEMS: Final = 50
"""The maximum number of items of a list; further ones are left out."""

_encode: Final = json.JSONEncoder(ensure_ascii=False).encode  # `dumps` makes a new encoder for each call
_NOT_LOGGED: Final = frozenset({"position", "record", "result", "think_times", "was_silent"})
"""Fields that are too long for a line, only determine its level, or are part of its text."""


def level_of(event: events.ServerEvent) -> int:
    """Return the level of an event, as a number of the module `logging`."""
    kind = type(event)
    decide = _LEVEL_BY_CONTENT.get(kind)
    return LEVELS.get(kind, logging.INFO) if decide is None else decide(event)


def event_name(kind: type[events.ServerEvent]) -> str:
    """Return the name of a kind of event in the log: ``move_played`` for ``MovePlayed``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


class LogFile(Protocol):
    """The destination of log lines: a text file, or a `LineWriter`."""

    def write(self, line: str, /) -> object: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool: ...


_LONGEST_NAME: Final = max(len(event_name(kind)) for kind in events.KINDS)


def logged_kinds(log_level: str) -> frozenset[type[events.ServerEvent]]:
    """Return the kinds of events that are logged at `log_level` (``debug``, ``info``, ``warning`` or ``error``)."""
    threshold = getattr(logging, log_level.upper())
    return frozenset(kind for kind in events.KINDS if LEVELS.get(kind, logging.INFO) >= threshold)


def log_events(file: LogFile, log_format: str, log_level: str) -> Callable[[events.ServerEvent], None]:
    """Return a subscriber that writes events to `file`.

    `log_format` is ``console``, ``json``, or ``auto`` (json unless `file` is a terminal). `log_level` is the name of
    the lowest level that is written. An event that cannot be written in this format is written as JSON if possible; the
    subscriber raises the reason, and the first one is also a line on standard error.
    """
    threshold = getattr(logging, log_level.upper())
    is_console = log_format == "console" or (log_format == "auto" and file.isatty())
    loggers: list[Any] = []
    has_failed = False

    def write(event: events.ServerEvent, level: int) -> None:
        if not loggers:
            loggers.append(_logger(file, threshold, is_console=is_console))
        kind = type(event)
        name, fields = _names(kind)
        summarize = _SUMMARIES.get(kind) if is_console else None
        shown = _fields_of(event, fields) if summarize is None else summarize(event)
        loggers[0].log(level, name, **_for_terminals(shown) if is_console else shown)

    def log(event: events.ServerEvent) -> None:
        nonlocal has_failed
        level = level_of(event)
        if level < threshold:
            return
        try:
            write(event, level)
        except Exception as error:
            if not has_failed:
                has_failed = True
                _report_failure(event, error)
            with suppress(Exception):  # for example because the file is closed
                file.write(json_line(event, time.time()) + "\n")
                file.flush()
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


def _fields_of(event: events.ServerEvent, fields: tuple[str, ...]) -> dict[str, object]:
    form = _FORMS.get(type(event), _shown)
    return {field: form(getattr(event, field)) for field in fields}


def json_line(event: events.ServerEvent, instant: float) -> str:
    """Return the JSON that `log_events` writes for an event, without the line end.

    `instant` is in seconds since the epoch. This is for callers that keep events and write few of them: it loads no
    library and takes a third of the time.
    """
    name, fields = _names(type(event))
    shown = _fields_of(event, fields)
    shown["event"] = name
    shown["level"] = _LEVEL_NAMES[level_of(event)]
    shown["timestamp"] = datetime.fromtimestamp(instant, UTC).isoformat(timespec="microseconds")[: -len("+00:00")] + "Z"
    return _json(shown)


def _logger(file: LogFile, threshold: int, *, is_console: bool) -> Any:
    """Return a structlog logger that writes lines to `file`.

    Loading structlog takes a fifth of the server's start, so it is loaded for the first event. By then the port is
    open, and clients that connect in the meantime wait in the kernel's queue.
    """
    import structlog

    renderer: Any = (
        structlog.dev.ConsoleRenderer(_LONGEST_NAME, colors=shows_colours(file), sort_keys=False)
        if is_console
        else structlog.processors.JSONRenderer(serializer=_json)
    )
    return structlog.wrap_logger(
        structlog.WriteLogger(cast("TextIO", file)),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper("%H:%M:%S.%f" if is_console else "iso", utc=not is_console),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        cache_logger_on_first_use=True,
    )


def _json(value: Any, **options: Any) -> str:
    """Return `value` as JSON in which all characters that a terminal would act on are escaped."""
    text = json.dumps(value, ensure_ascii=False, **options) if options else _encode(value)
    return text if text.isprintable() else json.dumps(value, **options)


@cache
def _names(kind: type[events.ServerEvent]) -> tuple[str, tuple[str, ...]]:
    """Return the name of this kind of event in the log, and those of the fields that are logged."""
    fields = tuple(name for name in kind.__struct_fields__ if name not in _NOT_LOGGED)
    return event_name(kind), fields


def _ended_for_people(game: events.GameEnded) -> dict[str, object]:
    """Return a short summary of a finished game, for the console; JSON has every field."""
    names = [name or f"player {seat + 1}" for seat, name in enumerate(game.names)]
    points = ":".join("/".join(str(part) for part in parts[1:]) for parts in game.parts)  # the first part says who won
    if not game.winners:
        head = "nobody wins"
    else:
        head = "a draw" if len(game.winners) > 1 else f"{names[game.winners[0]]} wins"
    faults = [
        f"{name}: {cause} {reason}".rstrip()
        for name, cause, reason in zip(names, game.causes, game.reasons, strict=True)
        if cause != Cause.REGULAR.value
    ]
    return {"room": game.room, "result": _cut("; ".join([f"{head} {points}", *faults])), "plies": game.plies}


def _viewer_for_people(viewer: events.ViewerStarted) -> dict[str, object]:
    """Return the addresses of the pages for the console, and the note only if there is one."""
    shown = {"url": viewer.url, "elsewhere": viewer.elsewhere, "access": viewer.access, "note": viewer.note}
    return {name: text for name, text in shown.items() if text}


def _for_terminals(fields: dict[str, object]) -> dict[str, object]:
    """Return `fields`, in which texts with unprintable characters are shown as Python string literals."""
    return {
        name: _Quoted(value) if isinstance(value, str) and not value.isprintable() else value
        for name, value in fields.items()
    }


@dataclass(frozen=True, slots=True, repr=False)
class _Quoted:
    """A text that is written as its `repr`; structlog would write a text without blanks unchanged."""

    text: str

    def __repr__(self) -> str:
        return repr(self.text)


def _shown(value: object) -> object:
    """Return `value` as it is logged: of a type that JSON has, and of bounded length."""
    if isinstance(value, str):
        return value if len(value) <= MOST_TEXT else _cut(value)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, ThinkStats):
        return {name: _shown(part) for name, part in value.as_dict().items()}
    if isinstance(value, tuple):
        shown = [_shown(part) for part in value[:MOST_ITEMS]]
        return shown if len(value) <= MOST_ITEMS else [*shown, f"… ({len(value) - MOST_ITEMS} more)"]
    if isinstance(value, enum.Enum):
        return _shown(value.value)
    return _cut(str(value))


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}… ({len(text) - MOST_TEXT} more characters)"


def _end_of(traceback: str) -> str:
    """Return the end of a traceback, which says what was raised and where."""
    cut = len(traceback) - MOST_TRACEBACK
    return traceback if cut <= 0 else f"({cut} characters more) …{traceback[cut:]}"


_SUMMARIES: Final[Mapping[type[events.ServerEvent], Callable[[Any], dict[str, object]]]] = {
    events.GameEnded: _ended_for_people,
    events.ViewerStarted: _viewer_for_people,
}
"""What is shown on a console instead of all fields."""

_FORMS: Final[Mapping[type[events.ServerEvent], Callable[[Any], object]]] = {events.InternalError: _end_of}
"""The functions that convert the fields of an event, where it is not `_shown`."""
