r"""Reads recorded conversations: traces, and the transcripts of official releases, which have the same columns.

The form is described in docs/wire.md. In a transcript the lines of several connections alternate, a line has the whole
packet with ``\n`` for each line feed, and positions may be shortened to ``<<memento turn=3, 4320 bytes>>``.

The bytes are those that were sent, except for passwords, in whose place there is `PASSWORD`, and for what
the file says to be left out. A file that is not a recording is refused with its line.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from spielleiter.common.errors import SetupError
from spielleiter.server.tracing import CONNECTS, FROM_SERVER
from spielleiter.wire.conversation import MIB
from spielleiter.wire.trace_lines import FAULT, LEFT_OUT, LINE_FEED, NOTE, READING_BREAK, RESET, STAYS_OPEN, STREAM_ENDS

PASSWORD: Final = b"\0password\0"
"""Stands for a password that is blacked out."""
CLOSES: Final = "(closes the connection)"
CUT: Final = "(cut)"
"""Stands for the line that says that the rest of a file is missing."""
EVENTS: Final = frozenset({CONNECTS, STREAM_ENDS, RESET, STAYS_OPEN, CLOSES})

_LINE: Final = re.compile(r" *(-?[0-9]{1,9}\.[0-9]+) +(?:\+([0-9.]+) +)?(\S+) +(->|<-|!!) ([ |+~])(.*)", re.DOTALL)
_MORE: Final = re.compile(r" {20,}([|:+!~])(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_CUT_LINE: Final = "# cut: "
_GZIP: Final = b"\x1f\x8b"
_BEGAN: Final = re.compile(r"# began (\S+)")
_SIMPLE: Final = {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\", "*": PASSWORD}
_BETWEEN_LEAVES: Final = re.compile(r"(?<=>) (?=<)")
_MOST_DIGITS: Final = 18
_FOREIGN: Final = "is not a trace of `serve --trace` or `proxy --trace`, or a transcript"
_FOREIGN_LINE: Final = "is not a line of a trace (`serve --trace`, `proxy --trace`) or of a transcript"
MOST_BYTES: Final = 256 * MIB
"""The size of a file, also without its compression. A trace has 8 MiB at most."""


class RecordingError(SetupError):
    """A file is not a recording; the text is one line with the file, the line and what is wrong."""


@dataclass(slots=True)
class Step:
    """Something that happened: bytes that were sent, or an event.

    `instant` is in seconds since the beginning of the recording; `line` is that in the file, from 1 on. `event` is a
    text such as ``(FIN)``; it is empty for bytes. After `data`, `left_out` bytes were sent that were not recorded.
    `text` is that of a note or of the line about a cut. With `may_be_incomplete`, what follows next in this direction
    is missing, and the end of this packet may be missing with it.
    """

    instant: float
    connection: str
    is_to_server: bool
    line: int
    data: bytes = b""
    event: str = ""
    left_out: int = 0
    text: str = ""
    may_be_incomplete: bool = False


@dataclass(slots=True)
class Recording:
    """The steps of one or more connections, in the order in which they happened."""

    steps: list[Step] = field(default_factory=list)

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
        steps, began = _read(path)
        recordings.append((steps, began, f"{number}:" if len(paths) > 1 else ""))
    starts = [began for _, began, _ in recordings]
    known = [each for each in starts if each is not None]
    if len(known) < len(paths) > 1:
        raise RecordingError(f"{paths[starts.index(None)]}: has no line `# began`, so it cannot be ordered with others")
    merged = Recording()
    for steps, began, prefix in recordings:
        offset = (began - min(known)).total_seconds() if began is not None else 0.0
        for step in steps:
            step.instant += offset
            step.connection = prefix + step.connection
        merged.steps += steps
    merged.steps.sort(key=lambda step: step.instant)  # stable: the order within a file stays
    return merged


def _read(path: Path) -> tuple[list[Step], datetime | None]:
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if content.startswith(_GZIP):
            content = _decompressed(content)
        if len(content) > MOST_BYTES:
            raise RecordingError(f"{path}: {_FOREIGN} (it is larger than {MOST_BYTES // MIB} MiB)")
        text = content.decode("utf-8-sig")  # an editor may have added a byte order mark
    except (OSError, EOFError, zlib.error) as error:
        raise RecordingError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    except UnicodeDecodeError:
        raise RecordingError(f"{path}: {_FOREIGN} (not UTF-8)") from None
    reader = _Reader(path)
    for number, line in enumerate(text.split("\n"), 1):
        reader.read_line(number, line.removesuffix("\r"))
    return reader.finish(), reader.began


def _decompressed(content: bytes) -> bytes:
    """Return what the parts of a compressed file contain, or its beginning if that is too much. Raises EOFError."""
    pieces = []
    room = MOST_BYTES + 1
    while content.startswith(_GZIP) and room:
        part = zlib.decompressobj(wbits=31)
        pieces.append(part.decompress(content, room))
        room -= len(pieces[-1])
        if not part.eof and room:
            raise EOFError("the compressed file is cut off")
        content = part.unused_data
    return b"".join(pieces)


class _Reader:
    """Reads the lines of the file `path`. `began` is when the recording began, if the file says so."""

    def __init__(self, path: Path) -> None:
        self.began: datetime | None = None
        self._path = path
        self._steps: list[Step] = []
        self._data = bytearray()
        """The bytes of the last step; joined only once, since a packet may have very many lines."""
        self._size = 0
        """The bytes of all further lines."""
        self._last_packets: dict[tuple[str, bool], Step] = {}
        """The last packet of each direction of each connection."""

    def read_line(self, number: int, line: str) -> None:
        """Read the line with this number. Raises RecordingError."""
        if line.startswith("#"):
            if found := _BEGAN.match(line):
                try:
                    began = datetime.fromisoformat(found[1])
                except ValueError:
                    raise RecordingError(f"{self._path}, line {number}: {found[1]!r} is no time") from None
                self.began = began if began.tzinfo is not None else began.replace(tzinfo=UTC)
            if line.startswith(_CUT_LINE) and self._steps:
                last = self._steps[-1]
                step = self._begin_step(last.instant, last.connection, last.is_to_server, number)
                step.event, step.text = CUT, line.removeprefix(_CUT_LINE)
                last.may_be_incomplete = not last.event
        elif line.strip():
            self._read_step(number, line)

    def finish(self) -> list[Step]:
        """Return the steps. Raises RecordingError if there is none."""
        if not self._steps:
            raise RecordingError(f"{self._path}: {_FOREIGN} (it has no packet)")
        self._end_step()
        return self._steps

    def _read_step(self, number: int, line: str) -> None:
        where = f"{self._path}, line {number}"
        first = _LINE.fullmatch(line)
        if first is None:
            more = _MORE.fullmatch(line)
            if more is None or not self._steps:
                raise RecordingError(f"{where}: {_FOREIGN_LINE}: {line[:40]!r}")
            self._continue(more[1], more[2], where)
            return
        _, _, connection, direction, sign, text = first.groups()
        step = self._begin_step(float(first[1]), connection, direction != FROM_SERVER, number)
        if direction == NOTE:
            step.event, step.text = NOTE, text
        elif sign == " " and text in EVENTS:
            step.event = text
        elif sign == " ":
            self._data += _unescaped(text)
        else:
            self._continue(sign, text, where)

    def _begin_step(self, instant: float, connection: str, is_to_server: bool, number: int) -> Step:
        self._end_step()
        if self._steps:
            instant = max(instant, self._steps[-1].instant)  # the order of the lines is what counts
        step = Step(instant, connection, is_to_server, number)
        self._steps.append(step)
        return step

    def _end_step(self) -> None:
        if not self._steps or self._steps[-1].event:
            return
        step = self._steps[-1]
        step.data = bytes(self._data)
        self._data.clear()
        direction = step.connection, step.is_to_server
        if step.data:
            self._last_packets[direction] = step
        elif step.left_out and direction in self._last_packets:
            self._last_packets.pop(direction).may_be_incomplete = True

    def _continue(self, sign: str, text: str, where: str) -> None:
        """Add a further line to the bytes of the last step."""
        step, data = self._steps[-1], self._data
        if step.event or sign == FAULT:
            return
        before = len(data)
        if sign == LEFT_OUT:
            count = text.split(maxsplit=1)[:1]
            if count and len(count[0]) > _MOST_DIGITS:
                raise RecordingError(f"{where}: is not a number of bytes: {count[0][:40]!r}")
            step.left_out += int(count[0]) if count and count[0].isdecimal() else 1
        elif sign == READING_BREAK:
            data += _unescaped(text.lstrip(" "))
        elif sign == LINE_FEED:
            data += b"\n" + _unescaped(text)
        else:
            indent = text[: len(text) - len(text.lstrip(" "))]
            # checked before: a short line with a long indentation may stand for very many bytes
            if len(text) + len(indent) * sum(1 for _ in _BETWEEN_LEAVES.finditer(text)) > MOST_BYTES:
                raise self._too_large(where)
            data += b"\n" + _unescaped(_BETWEEN_LEAVES.sub(lambda _: f"\n{indent}", text))
        self._size += len(data) - before
        if self._size > MOST_BYTES:  # joined lines may be much longer than their text
            raise self._too_large(where)

    def _too_large(self, where: str) -> RecordingError:
        return RecordingError(f"{where}: is more than {MOST_BYTES // MIB} MiB of packets")


def _unescaped(text: str) -> bytes:
    data, position = bytearray(), 0
    for found in _ESCAPE.finditer(text):
        data += text[position : found.start()].encode()
        code = found[1]
        data += bytes.fromhex(code[1:]) if len(code) > 1 else _SIMPLE.get(code, code.encode())
        position = found.end()
    return bytes(data) + text[position:].encode()
