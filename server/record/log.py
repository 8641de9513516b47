"""The events as a person or a program reads them.

Invariants: one line an event, named after what happened, with its fields; nothing else is logged. Moves are `debug`,
what an operator wants to know `info`, what somebody did wrong `warning`, our own failures `error`. Passwords are in no
event. A line holds no character that may command a terminal, in JSON either, and its length is bounded whatever a peer
has sent.
"""

from __future__ import annotations

import enum
import json
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, Protocol, TextIO, cast

from spielleiter.protocol.messages import Cause
from spielleiter.server import events
from spielleiter.server.think_stats import ThinkStats

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
}
"""Everything else is `info`."""

_LEVEL_NAMES: Final = {level: logging.getLevelName(level).lower() for level in (10, 20, 30, 40)}

MOST_TEXT: Final = 1000
"""Characters of a text; what is longer is cut."""
MOST_TRACEBACK: Final = 20_000
"""Characters of a traceback, of which the end is kept."""
MOST_ITEMS: Final = 50
"""Items of a list; what comes behind them is left out."""

_encode: Final = json.JSONEncoder(ensure_ascii=False).encode  # `dumps` makes a new encoder for each call
_NOT_LOGGED: Final = frozenset({"record", "result", "think_times", "was_silent"})


def level_of(event: events.ServerEvent) -> int:
    """How important this event is: what its kind says, but that health checks come and go at `debug`."""
    if isinstance(event, events.ConnectionClosed) and event.was_silent:
        return logging.DEBUG
    return LEVELS.get(type(event), logging.INFO)


def event_name(kind: type[events.ServerEvent]) -> str:
    """``MovePlayed`` is logged as ``move_played``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


class LogFile(Protocol):
    """What lines are written to."""

    def write(self, line: str, /) -> object: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool: ...


_LONGEST_NAME: Final = max(len(event_name(kind)) for kind in events.KINDS)


def logged_kinds(log_level: str) -> frozenset[type[events.ServerEvent]]:
    """What is logged at this level and below nothing."""
    threshold = getattr(logging, log_level.upper())
    return frozenset(kind for kind in events.KINDS if LEVELS.get(kind, logging.INFO) >= threshold)


def log_events(file: LogFile, log_format: str, log_level: str) -> Callable[[events.ServerEvent], None]:
    """A subscriber that writes events to `file`.

    `log_format` is ``console``, ``json``, or ``auto`` (json unless `file` is a terminal); `log_level` a level's name.
    """
    threshold = getattr(logging, log_level.upper())
    is_console = log_format == "console" or (log_format == "auto" and file.isatty())
    loggers: list[Any] = []

    def log(event: events.ServerEvent) -> None:
        level = level_of(event)
        if level < threshold:
            return
        if not loggers:
            loggers.append(_logger(file, threshold, is_console=is_console))
        name, fields = _names(type(event))
        if is_console and isinstance(event, events.GameEnded):
            loggers[0].log(level, name, **_for_terminals(_ended_for_people(event)))
        else:
            shown = _fields_of(event, fields)
            loggers[0].log(level, name, **_for_terminals(shown) if is_console else shown)

    return log


def _fields_of(event: events.ServerEvent, fields: tuple[str, ...]) -> dict[str, object]:
    shown = {field: _shown(getattr(event, field)) for field in fields}
    if isinstance(event, events.InternalError):
        shown["error"] = _end_of(event.error)
    return shown


def json_line(event: events.ServerEvent, instant: float) -> str:
    """The line, without its end, that `log_events` writes as JSON for an event; `instant` in seconds since the epoch.

    For whoever keeps events and writes few of them: no library has to be loaded, and it costs a third.
    """
    name, fields = _names(type(event))
    shown = _fields_of(event, fields)
    shown["event"] = name
    shown["level"] = _LEVEL_NAMES[level_of(event)]
    shown["timestamp"] = datetime.fromtimestamp(instant, UTC).isoformat(timespec="microseconds")[: -len("+00:00")] + "Z"
    return _json(shown)


def _logger(file: LogFile, threshold: int, *, is_console: bool) -> Any:
    """The library takes a fifth of the server's start to load, so it is when there is something to log: by then the
    port is open, and who calls meanwhile waits in the kernel.
    """
    import structlog

    renderer: Any = (
        structlog.dev.ConsoleRenderer(_LONGEST_NAME, colors=file.isatty(), sort_keys=False)
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
    """JSON in which what a terminal might take for a command is escaped, for those who read it there."""
    text = json.dumps(value, ensure_ascii=False, **options) if options else _encode(value)
    return text if text.isprintable() else json.dumps(value, **options)


@cache
def _names(kind: type[events.ServerEvent]) -> tuple[str, tuple[str, ...]]:
    fields = tuple(name for name in kind.__struct_fields__ if name not in _NOT_LOGGED)
    return event_name(kind), fields


def _ended_for_people(game: events.GameEnded) -> dict[str, object]:
    """How a game ended, in a few words; programs are told all of it (every field), and read JSON."""
    names = [name or f"player {seat + 1}" for seat, name in enumerate(game.names)]
    points = ":".join("/".join(str(part) for part in parts[1:]) for parts in game.parts)  # the first part: who won
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


def _for_terminals(fields: dict[str, object]) -> dict[str, object]:
    """The same, but what may command a terminal is shown as a Python string, with escapes."""
    return {
        name: _Quoted(value) if isinstance(value, str) and not value.isprintable() else value
        for name, value in fields.items()
    }


@dataclass(frozen=True, slots=True, repr=False)
class _Quoted:
    """A text that the library must not write as it is, which it does with texts without blanks."""

    text: str

    def __repr__(self) -> str:
        return repr(self.text)


def _shown(value: object) -> object:
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
    """The end, which says what was raised and where."""
    cut = len(traceback) - MOST_TRACEBACK
    return traceback if cut <= 0 else f"({cut} characters more) …{traceback[cut:]}"
