"""Replays a recorded conversation with an official server against our server, and reports differences.

Invariants: what the clients sent is sent at the recorded instant (of a virtual clock), and our server has to answer
like the official one: the same packets to the same connection in the same order, byte for byte, and the same
closings. Room ids and reservation codes differ in each run; a position that the recording has cut is compared by
its turn and its length in bytes. The order of packets to different connections does not matter.
"""

from __future__ import annotations

import codecs
import difflib
import gzip
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import trio
from msgspec.structs import replace

from spielleiter.game.api import Game, State, package_of
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import Memento, RoomMessage
from spielleiter.protocol.packet_reader import parse_element
from spielleiter.server.app import Server
from spielleiter.server.core.policy import Edition
from tests.server.wires import StreamWire

_LINE = re.compile(r"\s*([0-9.]+)\s+(\S+)\s+(->|<-)\s{1,2}(.*)", re.DOTALL)
_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_PACKET = re.compile(rb"\n  <(?!/)|\n</protocol>|<protocol/>")
_MEMENTO = re.compile(rb'<data class="memento">.*</data>', re.DOTALL)
_TURN = re.compile(rb'<state class="[^"]*"[^>]*? turn="(\d+)"')
_EXACT_START = "# start: "
_CUT = re.compile(rb"<<memento turn=(\d+), (\d+) bytes>>")

CONNECTS, CLOSES, STREAM_ENDS, STAYS_OPEN, RESETS = (
    "(connects)",
    "(closes the connection)",
    "(FIN)",
    "(still open at the end)",
    "(RST)",
)


@dataclass(frozen=True)
class Line:
    instant: float
    connection: str
    is_to_server: bool
    text: str

    @property
    def data(self) -> bytes:
        """Return the bytes that the recording has escaped."""
        unescaped = re.sub(r"\\(n|t|r|\\|x[0-9A-F a-f]{2})", _unescape, self.text)
        return unescaped.encode("utf-8", "surrogateescape")


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    if code.startswith("x"):
        return bytes([int(code[1:], 16)]).decode("ascii", "surrogateescape")
    return codecs.decode("\\" + code, "unicode_escape")


class Transcript(list[Line]):
    """The lines of a recording; `exact_start` is the first position with everything hidden, if the recording has it."""

    exact_start: str | None = None


def read_transcript(path: Path) -> Transcript:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = Transcript()
    for text in raw.decode().split("\n"):
        if text.startswith(_EXACT_START):
            lines.exact_start = text.removeprefix(_EXACT_START)
        elif text and not text.startswith("#"):
            match = _LINE.fullmatch(text)
            assert match is not None, text
            lines.append(Line(float(match[1]), match[2], match[3] == "->", match[4]))
    return lines


_EXPLANATION = re.compile(
    rb'(<protocol>)?\n  <errorpacket message="[^"]+">(\n    .*)?\n  </errorpacket>'
    rb"\n  <(close|sc\.protocol\.CloseConnection)/>\n</protocol>",
    re.DOTALL,
)
"""An error, the goodbye and the end of the stream."""


class DifferenceError(AssertionError):
    """Our answer differs from the recording."""


@dataclass
class _Client:
    """A connection of the recording, and what our server has sent to it."""

    name: str
    near: trio.abc.HalfCloseableStream
    received: bytearray = field(default_factory=bytearray)
    is_ended: bool = False
    is_gone: bool = False
    """Whether it has closed the connection; the recording does not contain what was sent to it after that."""

    async def read(self) -> None:
        try:
            async for data in self.near:
                self.received += data
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return
        self.is_ended = True

    def take_packet(self) -> bytes | None:
        """Return the next complete packet; the root's start tag counts as one."""
        if not self.received:
            return None
        if self.received.startswith(b"<protocol>"):
            end = len(b"<protocol>")
        else:
            after = _PACKET.search(self.received, 1)
            end = after.start() if after else len(self.received)
        packet = bytes(self.received[:end])
        del self.received[:end]
        return packet


class Replayer:
    """Plays one recording against a server of its own.

    If `may_explain`, our server may say why before it ends a stream that the recorded server ends without a word.
    """

    def __init__(self, server: Server, lines: list[Line], *, may_explain: bool = False) -> None:
        self._server = server
        self._may_explain = may_explain
        self._lines = lines
        self._clients: dict[str, _Client] = {}
        self._ours_by_theirs: dict[bytes, bytes] = {}

    async def run(self) -> None:
        """Raise DifferenceError if our answer differs from the recording."""
        start = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._server.timers.run)
            for line in self._lines:
                await trio.sleep_until(start + line.instant)
                if line.is_to_server:
                    await self._act(line, nursery)
                    await trio.testing.wait_all_tasks_blocked()
                else:
                    await trio.testing.wait_all_tasks_blocked()
                    self._expect(line)
            for client in self._clients.values():
                rest = client.take_packet()
                if rest is not None and not client.is_gone:
                    raise DifferenceError(f"{client.name}: ours sends too much: {rest!r}")
            nursery.cancel_scope.cancel()

    async def _act(self, line: Line, nursery: trio.Nursery) -> None:
        if line.connection not in self._clients:  # the recordings of whole games do not say when a client connects
            near, far = trio.testing.memory_stream_pair()
            client = self._clients[line.connection] = _Client(line.connection, near)
            nursery.start_soon(client.read)
            address = f"127.0.0.1:{len(self._clients)}"  # where the recordings were made
            nursery.start_soon(self._server.serve_wire, StreamWire(far), address)
        if line.text == CONNECTS:
            return
        if line.text in (CLOSES, RESETS):
            client = self._clients[line.connection]
            await client.near.aclose()
            client.is_gone = True
        elif line.text == STREAM_ENDS:
            await self._clients[line.connection].near.send_eof()
        else:
            data = _UUID.sub(lambda match: self._ours_by_theirs.get(match[0], match[0]), line.data)
            await self._clients[line.connection].near.send_all(data)

    def _expect(self, line: Line) -> None:
        client = self._clients[line.connection]
        where = f"{line.instant:.3f} {line.connection}"
        if line.text in (STREAM_ENDS, STAYS_OPEN):
            if line.text == STREAM_ENDS and self._may_explain and _EXPLANATION.fullmatch(client.received):
                client.received.clear()
            rest = client.take_packet()
            if rest is not None:
                raise DifferenceError(f"{where}: ours sends before {line.text}: {rest!r:.200}")
            if client.is_ended != (line.text == STREAM_ENDS):
                raise DifferenceError(f"{where}: recorded {line.text}, ours {'ended' if client.is_ended else 'open'}")
            return
        ours = client.take_packet()
        if ours is None:
            raise DifferenceError(f"{where}: ours says nothing, recorded {line.data!r:.200}")
        self._compare(where, ours, line.data)

    def _compare(self, where: str, ours: bytes, theirs: bytes) -> None:
        if _CUT.search(theirs):
            ours = _MEMENTO.sub(_cut, ours)
        our_ids, their_ids = _UUID.findall(ours), _UUID.findall(theirs)
        if len(our_ids) == len(their_ids):
            for our_id, their_id in zip(our_ids, their_ids, strict=True):
                self._ours_by_theirs.setdefault(their_id, our_id)
        theirs = _UUID.sub(lambda match: self._ours_by_theirs.get(match[0], match[0]), theirs)
        if ours != theirs:
            raise DifferenceError(f"{where}:\n{_differing_lines(ours, theirs)}")


def _differing_lines(ours: bytes, theirs: bytes) -> str:
    recorded, answered = (data.decode("utf-8", "backslashreplace").split("\n") for data in (theirs, ours))
    return "\n".join(difflib.unified_diff(recorded, answered, "recorded", "ours", n=1, lineterm=""))


def _cut(match: re.Match[bytes]) -> bytes:
    turn = _TURN.search(match[0])
    assert turn is not None
    return b"<<memento turn=%s, %d bytes>>" % (turn[1], len(match[0]))


class FixedStart:
    """A game whose games all start from one position."""

    def __init__(self, game: Game, start: State) -> None:
        self.name, self.option_names = game.name, game.option_names
        self._game, self._start = game, start

    def with_options(self, options: Mapping[str, str]) -> Game:
        return FixedStart(self._game.with_options(options), self._start)

    def new_state(self, rng: random.Random) -> State:
        return self._start

    def resume(self, state: State) -> State:
        return self._game.resume(state)


def with_recorded_start(edition: Edition, lines: Transcript) -> Edition:
    """Return the edition with games that all begin as the recorded one; unchanged if the recording shows no position.

    What a game hides is added by `with_hidden` of `tests.game.PACKAGE.hidden`.
    """
    state = first_position(lines, edition.dialect)
    if state is None:
        return edition
    state = edition.game.resume(state)
    hidden = f"tests.game.{package_of(state)}.hidden"
    if lines.exact_start is not None and find_spec(hidden):
        state = import_module(hidden).with_hidden(state, lines.exact_start)
    return replace(edition, rules=FixedStart(edition.game, state))


def first_position(lines: list[Line], dialect: Dialect) -> State | None:
    """Return the first position that the recording shows; None if it shows none."""
    for line in lines:
        if not line.is_to_server and b'<data class="memento">' in line.data:
            message = dialect.decode(parse_element(line.data.decode()), is_from_server=True)
            assert isinstance(message, RoomMessage)
            assert isinstance(message.data, Memento)
            return message.data.state
    return None


def moved_shapes(lines: list[Line]) -> Iterator[str]:
    """Yield the kinds of pieces that the players placed, in order; the first legal one is the start piece."""
    for line in lines:
        if line.is_to_server:
            yield from re.findall(r'kind="(\w+)"', line.text)
