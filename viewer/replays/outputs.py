"""What the programs of a match wrote to their standard error, divided among their moves by time stamps.

A program's log has the seconds since the start of its process before each line; the record of the game says when that
was; and the log of the server has the instant of every move. So a line belongs to the move that was requested last
before it was written. What was written before the first request belongs to the first move.

Invariants: nothing is guessed. Without one of these files, or with one of another form, nothing is known.
"""

from __future__ import annotations

import gzip
import re
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

from spielleiter.game.api import Seat
from spielleiter.viewer.replays.untrusted_json import open_regular, parse_object, seat_in, seconds_in

SERVER_LOG: Final = "server.log.gz"
GAME_STARTED: Final = "game_started"
MOVE_PLAYED: Final = "move_played"

MOST_LINES: Final = 200
"""The number of lines of one answer that are shown."""
LONGEST_LINE: Final = 500
_MOST_BYTES: Final = 9 * 1024 * 1024
_MOST_EVENTS: Final = 20_000
LONGEST_EVENT: Final = 1024 * 1024
"""The bytes of one line in the log, and below of all of them; a compressed file may hold far more."""
_MOST_LOG_BYTES: Final = 64 * 1024 * 1024
_STAMPED: Final = re.compile(rb" *(\d{1,9}\.\d{3})  ?(.*)", re.DOTALL)
_SLACK: Final = 0.0015
"""Seconds by which a time stamp may be too early, since the start of the game is recorded in milliseconds."""

Outputs: TypeAlias = tuple[Sequence[Sequence[str]] | None, Sequence[Sequence[str]] | None]


def stderr_log(program: int) -> str:
    """Return the name of the file with the standard error of a program (0 or 1)."""
    return f"program{program + 1}.stderr.log"


def read_outputs(folder: Path, record: dict[str, Any], seats: Sequence[int], offender: Seat | None) -> Outputs:
    """Return, by seat, the lines of each answer; None for a seat about whose program nothing is known.

    - `folder`: the folder of the game.
    - `record`: the record of the game.
    - `seats`: by seat the program in it.
    - `offender`: the seat of the program at fault, whose last request has no move; None if neither is.
    """
    requests = _requests(folder / SERVER_LOG, offender)
    starts = record.get("program_starts")
    begin = _instant(record.get("started_at"))
    if requests is None or begin is None or not isinstance(starts, list) or len(starts) != 2:
        return None, None
    found: list[Sequence[Sequence[str]] | None] = [None, None]
    for seat, program in enumerate(seats):
        start = seconds_in(starts[program])
        if start is not None and requests[seat]:
            lines = _stamped_lines(folder / stderr_log(program))
            if lines is not None:
                found[seat] = _divided(lines, requests[seat], begin + start + _SLACK)
    return found[0], found[1]


def _requests(path: Path, offender: Seat | None) -> tuple[list[float], list[float]] | None:
    """Return, by seat, the instants at which its moves were requested; None if the log does not say so."""
    requests: tuple[list[float], list[float]] = ([], [])
    latest: float | None = None
    for event in _events(path):
        name, instant, seat = event.get("event"), _instant(event.get("timestamp")), seat_in(event.get("seat"))
        if instant is None:
            continue
        if name == GAME_STARTED:
            latest = instant
        elif name == MOVE_PLAYED and latest is not None and seat is not None:
            requests[seat].append(latest)
            latest = instant
    if latest is None:
        return None
    if offender is not None:
        requests[offender].append(latest)
    return requests


def _events(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of a game's log, up to the first line that is not one."""
    remaining = _MOST_LOG_BYTES
    try:
        with open_regular(path) as packed, gzip.GzipFile(fileobj=packed) as file:
            for _ in range(_MOST_EVENTS):
                line = file.readline(min(LONGEST_EVENT, remaining))
                remaining -= len(line)
                event = parse_object(line)
                if event is None:
                    return
                yield event
    except (OSError, EOFError, zlib.error, ValueError):
        return


def _instant(text: Any) -> float | None:
    """Return a time with its time zone, in seconds since the epoch; None for anything else."""
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return None if moment.tzinfo is None else moment.timestamp()


def _stamped_lines(path: Path) -> list[tuple[float, str]] | None:
    """Return the lines of a program's log, each with its time in seconds; None if there is no log."""
    try:
        with open_regular(path) as file:
            content = file.read(_MOST_BYTES)
    except (OSError, ValueError):
        return None
    lines: list[tuple[float, str]] = []
    for raw in content.splitlines():
        match = _STAMPED.fullmatch(raw)
        seconds, rest = (float(match[1]), match[2]) if match else (lines[-1][0] if lines else 0.0, raw)
        text = rest[: 4 * LONGEST_LINE].decode("utf-8", "replace")
        lines.append((seconds, text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}…"))
    return lines


def _divided(lines: Sequence[tuple[float, str]], requests: Sequence[float], start: float) -> list[list[str]]:
    """Return for each request the lines that were written after it and before the next one.

    `start` is the instant, in seconds since the epoch, from which the times of the lines count.
    """
    answers: list[list[str]] = [[] for _ in requests]
    for seconds, text in lines:
        answer = answers[max(0, bisect_right(requests, start + seconds) - 1)]
        if len(answer) < MOST_LINES:
            answer.append(text)
        elif len(answer) == MOST_LINES:
            answer.append("…")
    return answers
