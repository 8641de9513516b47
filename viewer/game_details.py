"""What is known about a game besides its replay: from the files that our server and our matches write beside it.

Invariants: these files are optional and may come from anybody. A file that is missing, too large or not of the expected
form gives no details, never an error, and nothing is guessed. Lists are by seat here, whatever the files do.
"""

from __future__ import annotations

import errno
import gzip
import json
import math
import os
import re
import stat
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias

from spielleiter.game.api import Seat
from spielleiter.match.game_folder import SERVER_LOG
from spielleiter.match.records import SETUP
from spielleiter.match.verdict import Verdict
from spielleiter.server.config import Config
from spielleiter.viewer.game_json import Details
from spielleiter.viewer.positions.view import Words

LONGEST_TEXT: Final = 1000
_MOST_SECONDS: Final = 1e9
_MOST_COUNTED: Final = 1_000_000_000
RESULTS: Final = "results.jsonl"
VERDICT: Final = "verdict.json"
_MOST_BYTES: Final = 4 * 1024 * 1024
_MOST_RESULTS: Final = 256 * 1024 * 1024
_MOST_ANSWERS: Final = 1000
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
GAME_STARTED: Final = "game_started"
MOVE_PLAYED: Final = "move_played"
MOST_LINES: Final = 200
"""The number of lines of one answer that are shown."""
LONGEST_LINE: Final = 500
_MOST_LOG_FILE: Final = 9 * 1024 * 1024
_MOST_EVENTS: Final = 20_000
LONGEST_EVENT: Final = 1024 * 1024
"""The bytes of one line in the log, and below of all of them; a compressed file may hold far more."""
_MOST_LOG_BYTES: Final = 64 * 1024 * 1024
_STAMPED: Final = re.compile(rb" *(\d{1,9}\.\d{3})  ?(.*)", re.DOTALL)
_SLACK: Final = 0.0015
"""Seconds by which a time stamp may be too early, since the start of the game is recorded in milliseconds."""

Outputs: TypeAlias = tuple[Sequence[Sequence[str]] | None, Sequence[Sequence[str]] | None]
_Times = tuple[Sequence[float], Sequence[float]]


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading without waiting. Raises OSError or ValueError, also if it is not a regular file."""
    at_once = getattr(os, "O_NONBLOCK", 0)  # a pipe without a writer would be waited for
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | at_once))  # noqa: SIM115 - it is returned
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return file


def read_object(path: Path, most_bytes: int) -> dict[str, Any] | None:
    """Return the JSON object in a file; None if there is none, or if the file has more than `most_bytes` bytes."""
    content = _beginning(path, most_bytes + 1)
    return parse_object(content) if content is not None and len(content) <= most_bytes else None


def _beginning(path: Path, most_bytes: int) -> bytes | None:
    """Return the content of a file, cut to `most_bytes` bytes; None if it cannot be read."""
    try:
        with open_regular(path) as file:
            return file.read(most_bytes)
    except (OSError, ValueError):  # ValueError: a path with a null character
        return None


def parse_object(content: bytes) -> dict[str, Any] | None:
    """Return the JSON object in `content`, with lone surrogates replaced; None for anything else."""
    text = content.decode("utf-8-sig", "replace")
    try:
        value = json.loads(text)
        if _SURROGATE.search(text):
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def text_in(value: Any) -> str | None:
    """Return a text, cut to `LONGEST_TEXT` characters; None for anything else."""
    return value[:LONGEST_TEXT] if isinstance(value, str) else None


def seconds_in(value: Any) -> float | None:
    """Return a number of seconds, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < _MOST_SECONDS and math.isfinite(value) else None


def count_in(value: Any) -> int | None:
    """Return a whole number from 0, None for anything else."""
    return value if type(value) is int and 0 <= value <= _MOST_COUNTED else None


def seat_in(value: Any) -> Seat | None:
    """Return the number of one of two players or programs, 0 or 1; None for anything else."""
    return value if type(value) is int and value in (0, 1) else None


def seats_in(value: Any) -> tuple[Seat, Seat] | None:
    """Return both numbers in the order of a list; None if `value` is not a list of both."""
    if not isinstance(value, list) or len(value) != 2:
        return None
    first, second = (seat_in(each) for each in value)
    return None if first is None or second is None or first == second else (first, second)


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
        if start is None or not requests[seat]:
            continue
        lines = _stamped_lines(folder / stderr_log(program))
        if lines is None:
            continue
        # to each request belong the lines that were written after it and before the next one
        answers: list[list[str]] = [[] for _ in requests[seat]]
        for seconds, text in lines:
            answer = answers[max(0, bisect_right(requests[seat], begin + start + _SLACK + seconds) - 1)]
            if len(answer) < MOST_LINES:
                answer.append(text)
            elif len(answer) == MOST_LINES:
                answer.append("…")
        found[seat] = answers
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
    content = _beginning(path, _MOST_LOG_FILE)
    if content is None:
        return None
    lines: list[tuple[float, str]] = []
    for raw in content.splitlines():
        match = _STAMPED.fullmatch(raw)
        seconds, rest = (float(match[1]), match[2]) if match else (lines[-1][0] if lines else 0.0, raw)
        text = rest[: 4 * LONGEST_LINE].decode("utf-8", "replace")
        lines.append((seconds, text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}…"))
    return lines


_VERDICTS: Final[Mapping[str, Words]] = {
    Verdict.REGULAR: {"de": "regulär zu Ende gespielt", "en": "played to its end"},
    Verdict.NO_START: {"de": "startet nicht", "en": "does not start"},
    Verdict.NEVER_JOINS: {"de": "nimmt seinen Platz nicht ein", "en": "never takes its seat"},
    Verdict.NONSENSE: {"de": "hält sich nicht an das Protokoll", "en": "does not follow the protocol"},
    Verdict.DIES: {"de": "hat sich mitten im Spiel beendet", "en": "ended during the game"},
    Verdict.CRASH: {"de": "ist abgestürzt", "en": "crashed"},
    Verdict.LEAVES: {"de": "hat die Verbindung getrennt", "en": "closed its connection"},
    Verdict.TAMPERS: {
        "de": "hat den Prozess angehalten, der es überwacht",
        "en": "stopped the process that supervises it",
    },
    Verdict.TIMEOUT: {"de": "hat für einen Zug zu lange gebraucht", "en": "took too long for a move"},
    Verdict.HANGS: {"de": "hat nicht mehr geantwortet", "en": "did not answer any more"},
    Verdict.ILLEGAL_MOVE: {"de": "regelwidriger Zug", "en": "illegal move"},
    Verdict.BAD_MESSAGE: {"de": "ungültige Nachricht", "en": "invalid message"},
    Verdict.NEVER_ENDS: {"de": "beendet sich nach dem Spiel nicht", "en": "does not end after the game"},
    Verdict.LEFTOVERS: {"de": "lässt nach dem Spiel Prozesse zurück", "en": "leaves processes behind after the game"},
    Verdict.OVERLOAD: {
        "de": "der Rechner war überlastet, das Spiel zählt nicht",
        "en": "the machine was overloaded, the game does not count",
    },
    Verdict.CONTESTED: {
        "de": "unklar, welches Programm hier gespielt hat, das Spiel zählt nicht",
        "en": "nobody can tell which program played here, the game does not count",
    },
    Verdict.CANCELLED: {"de": "abgebrochen, das Spiel zählt nicht", "en": "cancelled, the game does not count"},
    Verdict.SERVER_FAILED: {
        "de": "der Server ist ausgefallen, das Spiel zählt nicht",
        "en": "the server failed, the game does not count",
    },
}


def verdict_words(verdict: str, offender: str | None, reason: str) -> Words:
    """Return a verdict as a sentence in both languages.

    - `verdict`: the text in the record of the game; one that is not in the table is shown as it is.
    - `offender`: the name of the program at fault; None if neither is.
    - `reason`: the explanation in the record, which is in English; it may be empty.
    """
    known = _VERDICTS.get(verdict, {"de": verdict, "en": verdict})
    who = "" if offender is None else f"{offender}: "
    why = f" ({reason})" if reason else ""
    return {language: f"{who}{text}{why}" for language, text in known.items()}


def details_beside(replay: Path) -> Details:
    """Return what the files beside a replay say: the ``.json`` of our server, its results, or the folder of a match."""
    folder = replay.parent
    stem = replay.name.removesuffix(".gz").removesuffix(".xml")
    line = read_object(replay.with_name(f"{stem}.json"), _MOST_BYTES) or _line_of(folder / RESULTS, replay.name)
    if line is not None:
        return Details(_times(line.get("think_times")))
    record = read_object(folder / VERDICT, _MOST_BYTES)
    seats = None if record is None else seats_in(record.get("seats"))
    if record is None or seats is None or record.get("replay") != replay.name:
        return Details()
    # a game of a match, in whose record lists are by program
    times = _times(record.get("think_times"))
    offender = seat_in(record.get("offender"))
    verdict = text_in(record.get("verdict"))
    words = None
    if verdict is not None:
        names = record.get("names")
        name = None
        if offender is not None and isinstance(names, list) and len(names) == 2:
            name = text_in(names[offender])
        words = verdict_words(verdict, name, text_in(record.get("reason")) or "")
    return Details(
        (times[seats[0]], times[seats[1]]),
        _soft_limit(read_object(folder.parent.parent / SETUP, _MOST_BYTES)),
        read_outputs(folder, record, seats, None if offender is None else seats.index(offender)),
        verdict,
        words,
    )


def _soft_limit(setup: dict[str, Any] | None) -> float | None:
    """Return the shorter one of both programs' limits for a move; None if neither has one that is enforced."""
    if setup is None:
        return None
    options = setup.get("server_options")
    common = seconds_in(options.get("soft_timeout")) if isinstance(options, dict) else None
    limits = []
    entrants = setup.get("entrants")
    for entrant in entrants if isinstance(entrants, list) else ():
        if isinstance(entrant, dict) and entrant.get("can_timeout") is True:
            own = seconds_in(entrant.get("soft_timeout")) or common or Config().soft_timeout
            limits.append(own * (seconds_in(entrant.get("time_factor")) or 1.0))
    return min(limits, default=None)


def _line_of(results: Path, name: str) -> dict[str, Any] | None:
    """Return the last line of a results file that names the replay `name`; None if there is none."""
    needle = json.dumps(name, ensure_ascii=False).encode("utf-8", "surrogatepass")
    found: dict[str, Any] | None = None
    read = 0
    try:
        with open_regular(results) as file:
            while read < _MOST_RESULTS and (line := file.readline(_MOST_BYTES)):
                read += len(line)
                if needle in line:
                    parsed = parse_object(line)
                    if parsed is not None and parsed.get("replay") == name:
                        found = parsed
    except (OSError, ValueError):
        return None
    return found


def _times(value: Any) -> _Times:
    """Return think times in seconds for two players; empty lists for anything else."""
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(times, list) for times in value):
        return (), ()
    first, second = ([seconds_in(time) for time in times[:_MOST_ANSWERS]] for times in value)
    if None in first or None in second:
        return (), ()
    return [time for time in first if time is not None], [time for time in second if time is not None]
