"""What is known about a game besides its replay: from the files that our server and our matches write beside it.

Invariants: these files are optional and may come from anybody. A file that is missing, too large or not of the expected
form gives no details, never an error, and nothing is guessed. Lists are by seat here, whatever the files do.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import stat
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final, Literal, TypeAlias

import msgspec

from spielleiter.game.api import Seat
from spielleiter.match.game_folder import SERVER_LOG
from spielleiter.match.records import SETUP
from spielleiter.match.verdict import Verdict
from spielleiter.protocol.thinking import MOST_LINES as MOST_THOUGHTS
from spielleiter.protocol.thinking import Thinking, may_be_thinking, read_thinking
from spielleiter.server.config import Config
from spielleiter.viewer.game_json import Details
from spielleiter.viewer.positions.view import Words

LONGEST_TEXT: Final = 1000
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]
Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, lt=1e9)]
OneSeat: TypeAlias = Literal[0, 1]
_Address: TypeAlias = Annotated[str, msgspec.Meta(max_length=80)]
BothSeats: TypeAlias = tuple[OneSeat, OneSeat]
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
Thoughts: TypeAlias = Sequence[tuple[int, Thinking]]
"""What a program thought, each with the number of the answer, from 0, that it was asked for last."""
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


def known(values: dict[str, Any] | None, key: str, kind: Any) -> Any:
    """Return the value of a key in a JSON object; None if it is missing, or not of the type `kind`."""
    try:
        return msgspec.convert((values or {}).get(key), kind)
    except msgspec.ValidationError:
        return None


def known_text(values: dict[str, Any] | None, key: str) -> str | None:
    """Return a text in a JSON object, cut to `LONGEST_TEXT` characters; None if there is none."""
    text: str | None = known(values, key, str)
    return None if text is None else text[:LONGEST_TEXT]


def known_seats(record: dict[str, Any] | None) -> tuple[Seat, Seat] | None:
    """Return the program in each seat of a game of a match; None if its record does not say so."""
    seats: tuple[Seat, Seat] | None = known(record, "seats", BothSeats)
    return None if seats is None or seats[0] == seats[1] else seats


def stderr_log(program: int) -> str:
    """Return the name of the file with the standard error of a program (0 or 1)."""
    return f"program{program + 1}.stderr.log"


def read_outputs(
    folder: Path, record: dict[str, Any], seats: Sequence[int], offender: Seat | None
) -> tuple[Outputs, tuple[Thoughts, Thoughts]]:
    """Return, by seat, the lines of each answer (None if nothing is known about the program), and what it thought.

    - `folder`: the folder of the game.
    - `record`: the record of the game.
    - `seats`: by seat the program in it.
    - `offender`: the seat of the program at fault, whose last request has no move; None if neither is.
    """
    requests = _requests(folder / SERVER_LOG, offender)
    starts = known(record, "program_starts", tuple[Any, Any])
    begin = _instant(record.get("started_at"))
    if requests is None or begin is None or starts is None:
        return (None, None), ((), ())
    found: list[Sequence[Sequence[str]] | None] = [None, None]
    thoughts: list[list[tuple[int, Thinking]]] = [[], []]
    for seat, program in enumerate(seats):
        content = _beginning(folder / stderr_log(program), _MOST_LOG_FILE)
        start = known({"start": starts[program]}, "start", Seconds)
        if content is None or start is None or not requests[seat]:
            continue
        # to each request belong the lines that were written after it and before the next one
        answers: list[list[str]] = [[] for _ in requests[seat]]
        read: Counter[int] = Counter()
        """By answer: the lines that were read to see what the program thinks, which takes much longer than others."""
        for seconds, raw in _stamped_lines(content):
            number = max(0, bisect_right(requests[seat], begin + start + _SLACK + seconds) - 1)
            answer = answers[number]
            if may_be_thinking(raw):
                read[number] += 1
                if read[number] > MOST_THOUGHTS:
                    continue
                if (thinking := read_thinking(raw)) is not None:
                    thoughts[seat].append((number, thinking))
                    continue
            if len(answer) < MOST_LINES:
                answer.append(_shown_line(raw))
            elif len(answer) == MOST_LINES:
                answer.append("…")
        found[seat] = answers
    return (found[0], found[1]), (thoughts[0], thoughts[1])


def _requests(path: Path, offender: Seat | None) -> tuple[list[float], list[float]] | None:
    """Return, by seat, the instants at which its moves were requested; None if the log does not say so."""
    requests: tuple[list[float], list[float]] = ([], [])
    latest: float | None = None
    for event in _events(path):
        name, instant = event.get("event"), _instant(event.get("timestamp"))
        seat: Seat | None = known(event, "seat", OneSeat)
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


def _stamped_lines(content: bytes) -> Iterator[tuple[float, bytes]]:
    """Yield the lines of a program's log, each with its time in seconds."""
    seconds = 0.0
    for raw in content.splitlines():
        match = _STAMPED.fullmatch(raw)
        line = raw
        if match is not None:
            seconds, line = float(match[1]), match[2]
        yield seconds, line


def _shown_line(line: bytes) -> str:
    text = line[: 4 * LONGEST_LINE].decode("utf-8", "replace")
    return text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}…"


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
        return Details(_times(line), addresses=known_addresses(line))
    record = read_object(folder / VERDICT, _MOST_BYTES)
    seats = known_seats(record)
    if record is None or seats is None or record.get("replay") != replay.name:
        return Details()
    # a game of a match, in whose record lists are by program
    times = _times(record)
    offender: Seat | None = known(record, "offender", OneSeat)
    verdict = known_text(record, "verdict")
    words = None
    if verdict is not None:
        names = known(record, "names", tuple[str, str])
        name = None if offender is None or names is None else names[offender][:LONGEST_TEXT]
        words = verdict_words(verdict, name, known_text(record, "reason") or "")
    outputs, thoughts = read_outputs(folder, record, seats, None if offender is None else seats.index(offender))
    return Details(
        (times[seats[0]], times[seats[1]]),
        _soft_limit(read_object(folder.parent.parent / SETUP, _MOST_BYTES)),
        outputs,
        verdict,
        words,
        thoughts,
    )


def known_addresses(values: dict[str, Any] | None) -> tuple[str, str]:
    """Return the addresses of both players, as far as they are texts for an address."""
    found: tuple[str, str] | None = known(values, "addresses", tuple[_Address, _Address])
    return found or ("", "")


def _soft_limit(setup: dict[str, Any] | None) -> float | None:
    """Return the shorter one of both programs' limits for a move; None if neither has one that is enforced."""
    common = known(known(setup, "server_options", dict), "soft_timeout", Seconds) or Config().soft_timeout
    return min(
        (
            (known(entrant, "soft_timeout", Seconds) or common) * (known(entrant, "time_factor", Seconds) or 1.0)
            for entrant in known(setup, "entrants", list[dict[str, Any]]) or ()
            if entrant.get("can_timeout") is True
        ),
        default=None,
    )


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


def _times(values: dict[str, Any]) -> _Times:
    """Return the think times of both players in seconds; empty lists if they are not known."""
    times: _Times | None = known(values, "think_times", tuple[list[Seconds], list[Seconds]])
    return ((), ()) if times is None else (times[0][:_MOST_ANSWERS], times[1][:_MOST_ANSWERS])
