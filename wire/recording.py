r"""Reads recorded conversations: traces, and the transcripts of official releases, which have the same columns.

The form is described in docs/wire.md. In a transcript the lines of several connections alternate, a line has the whole
packet with ``\n`` for each line feed, and positions may be shortened to ``<<memento turn=3, 4320 bytes>>``.

Invariants: the bytes are those that were sent, except for passwords, in whose place there is `PASSWORD`, and for what
the file says to be left out. A file that is not a recording is refused with its line.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from spielleiter.server.trace.form import (
    CONNECTS,
    FAULT,
    FROM_SERVER,
    LEFT_OUT,
    LINE_FEED,
    NOTE,
    READING_BREAK,
    RESET,
    STAYS_OPEN,
    STREAM_ENDS,
)
from spielleiter.server.trace.limits import MIB

PASSWORD: Final = b"\0password\0"
"""Stands for a password that is blacked out."""
CLOSES: Final = "(closes the connection)"
EVENTS: Final = frozenset({CONNECTS, STREAM_ENDS, RESET, STAYS_OPEN, CLOSES})

_LINE: Final = re.compile(r" *(-?[0-9]+\.[0-9]+) +(?:\+([0-9.]+) +)?(\S+) +(->|<-|!!) ([ |+~])(.*)", re.DOTALL)
_MORE: Final = re.compile(r" {20,}([|:+!~])(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_BEGAN: Final = re.compile(r"# began (\S+)")
_SIMPLE: Final = {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\", "*": PASSWORD}
_BETWEEN_LEAVES: Final = re.compile(r"(?<=>) (?=<)")
_MOST_DIGITS: Final = 18
_MOST_BYTES: Final = 256 * MIB
"""The size of a file, also without its compression. A trace has 8 MiB at most."""


class RecordingError(Exception):
    """A file is not a recording; the text is one line with the file, the line and what is wrong."""


@dataclass(slots=True)
class Step:
    """Something that happened: bytes that were sent, or an event.

    `instant` is in seconds since the beginning of the recording; `line` is that in the file, from 1 on. `event` is a
    text such as ``(FIN)``; it is empty for bytes. After `data`, `left_out` bytes were sent that were not recorded.
    """

    instant: float
    connection: str
    is_to_server: bool
    line: int
    data: bytes = b""
    event: str = ""
    left_out: int = 0


@dataclass(slots=True)
class Recording:
    """The steps of one or more connections, in the order in which they happened; `cut` says why the rest is missing."""

    steps: list[Step] = field(default_factory=list)
    cut: str = ""

    @property
    def connections(self) -> list[str]:
        """The names of the connections, in the order in which they appear."""
        return list(dict.fromkeys(step.connection for step in self.steps))


def read_recordings(paths: list[Path]) -> Recording:
    """Read files that were recorded at the same time, and bring their steps into one order. Raises RecordingError.

    Connections of several files with the same name are told apart by the number of their file.
    """
    recordings = []
    for number, path in enumerate(paths, 1):
        recording, began = _read(path)
        recordings.append((recording, began, f"{number}:" if len(paths) > 1 else ""))
    starts = [began for _, began, _ in recordings]
    known = [each for each in starts if each is not None]
    if len(known) < len(paths) > 1:
        raise RecordingError(f"{paths[starts.index(None)]}: has no line `# began`, so it cannot be ordered with others")
    merged = Recording()
    for recording, began, prefix in recordings:
        offset = (began - min(known)).total_seconds() if began is not None else 0.0
        for step in recording.steps:
            step.instant += offset
            step.connection = prefix + step.connection
        merged.steps += recording.steps
        merged.cut = merged.cut or recording.cut
    merged.steps.sort(key=lambda step: step.instant)  # stable: the order within a file stays
    return merged


def _read(path: Path) -> tuple[Recording, datetime | None]:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if content[:2] == b"\x1f\x8b":
            content = zlib.decompressobj(wbits=31).decompress(content, _MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise RecordingError(f"{path}: is not a trace or a transcript (it is larger than {_MOST_BYTES // MIB} MiB)")
        text = content.decode("utf-8")
    except (OSError, zlib.error) as error:
        raise RecordingError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    except UnicodeDecodeError:
        raise RecordingError(f"{path}: is not a trace or a transcript (not UTF-8)") from None
    recording = Recording()
    began = None
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")  # noqa: PLW2901
        if line.startswith("#"):
            if found := _BEGAN.match(line):
                began = _instant(path, number, found[1])
            if line.startswith("# cut: "):
                recording.cut = line.removeprefix("# cut: ")
        elif line.strip():
            _read_line(recording, path, number, line)
    if not recording.steps:
        raise RecordingError(f"{path}: is not a trace or a transcript (it has no packet)")
    return recording, began


def _instant(path: Path, number: int, text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise RecordingError(f"{path}, line {number}: {text!r} is no time") from None
    return instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)


def _read_line(recording: Recording, path: Path, number: int, line: str) -> None:
    steps = recording.steps
    where = f"{path}, line {number}"
    first = _LINE.fullmatch(line)
    if first is None:
        more = _MORE.fullmatch(line)
        if more is None or not steps:
            raise RecordingError(f"{where}: is not a line of a trace or a transcript: {line[:40]!r}")
        _continue(steps[-1], more[1], more[2], where)
        return
    instant = max(float(first[1]), steps[-1].instant if steps else 0.0)  # the order of the lines is what counts
    step = Step(instant, first[3], first[4] != FROM_SERVER, number)
    steps.append(step)
    if first[4] == NOTE:
        step.event = NOTE
        return
    if first[5] == " " and first[6] in EVENTS:
        step.event = first[6]
    elif first[5] == " ":
        step.data = _unescaped(first[6])
    else:
        _continue(step, first[5], first[6], where)


def _continue(step: Step, sign: str, text: str, where: str) -> None:
    """Add a further line to the bytes of a step."""
    if step.event or sign == FAULT:
        return
    if sign == LEFT_OUT:
        count = text.split(maxsplit=1)[:1]
        if count and len(count[0]) > _MOST_DIGITS:
            raise RecordingError(f"{where}: is not a number of bytes: {count[0][:40]!r}")
        step.left_out += int(count[0]) if count and count[0].isdecimal() else 1
    elif sign == READING_BREAK:
        step.data += _unescaped(text.lstrip(" "))
    elif sign == LINE_FEED:
        step.data += b"\n" + _unescaped(text)
    else:
        indent = text[: len(text) - len(text.lstrip(" "))]
        step.data += b"\n" + _unescaped(_BETWEEN_LEAVES.sub(lambda _: f"\n{indent}", text))


def _unescaped(text: str) -> bytes:
    return b"".join(_pieces(text))


def _pieces(text: str) -> Iterator[bytes]:
    position = 0
    for found in _ESCAPE.finditer(text):
        yield text[position : found.start()].encode()
        code = found[1]
        yield bytes.fromhex(code[1:]) if len(code) > 1 else _SIMPLE.get(code, code.encode())
        position = found.end()
    yield text[position:].encode()
