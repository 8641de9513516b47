"""Conversations to hold with two servers: what is sent, what came back, and where they differ.

A conversation is a list of steps. The bytes of a step may contain tokens such as ``@kind@``, which are replaced when it
is sent, since the start piece is drawn by the server and ids are made by it. `Exchange` is what one step led to: for
each connection the packets and the end of the stream, with ids, addresses and positions replaced by short names.

An exchange says nothing about the order of packets to different connections, which is not fixed in either server.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Final
from xml.parsers import expat

import trio
from trio.testing import MockClock, memory_stream_pair, wait_all_tasks_blocked

from spielleiter.game.blokus.moves import SetMove
from spielleiter.game.blokus.state import BlokusState
from spielleiter.protocol.messages import MoveData, RoomMessage
from spielleiter.server.app import Server
from spielleiter.server.config import Config
from spielleiter.server.core.policy import Edition
from spielleiter.server.net.fair_queue import WorkMeter
from tests.server.wires import StreamWire

CURRENT: Final = "blokus-2027"
RELEASES: Final[Mapping[str, str]] = {CURRENT: "27.0.4", "blokus-2021-21.4.0": "21.4.0"}
"""The editions that follow a release."""

FIN, CLOSE = "(ends its stream)", "(closes the connection)"
ENDED: Final = "(end of the stream)"
PLAYERS: Final = ("p1", "p2")
MOVER: Final = "(side to move)"
PACKAGES: Final = {CURRENT: "sc.plugin2027", "blokus-2021-21.4.0": "sc.plugin2021"}


@dataclass(frozen=True)
class Step:
    """One connection sends bytes, ends its stream (`FIN`) or closes the connection (`CLOSE`).

    `text` holds bytes as Latin-1, and tokens. After the step nothing is sent for `wait` seconds.
    """

    peer: str
    text: str
    wait: float = 0.0


@dataclass(frozen=True)
class Conversation:
    name: str
    steps: tuple[Step, ...]

    @property
    def is_alone(self) -> bool:
        """Whether it needs the server for itself: a room with a free seat is open to the clients of all conversations.

        The game of a situation, which its administrator prepares first, has none.
        """
        sent = "".join(step.text for step in self.steps if step.peer != "admin" or step is not self.steps[0])
        sent = re.sub(r"_\.([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), sent)
        return re.search(r"\bjoin\b|JoinGame|prepare\b|PrepareGame|slot", sent) is not None


Exchange = dict[str, list[str]]
"""What one step led to, by connection; connections that got nothing are left out."""


@dataclass
class Talk:
    """A conversation and what one server said to it."""

    conversation: Conversation
    start_piece: str
    exchanges: list[Exchange]


# -- tokens, ids, positions -------------------------------------------------------------------------------------------

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_START_PIECE: Final = re.compile(r'startPiece="(\w+)"')
_TURN: Final = re.compile(r' turn="(\d+)"')
_ADDRESS: Final = re.compile(r"(?<=Request)@[0-9a-f]{5,8}\b")
_MEMENTO: Final = re.compile(r'<data class="memento">.*?</data>', re.DOTALL)
_PACKET: Final = re.compile(r"\n  <(?!/)|\n</protocol>|(?<!^)<protocol>|<protocol/>")
_ROOM_JOINED: Final = re.compile(r"\n  <joinedGameRoom [^>]*/>")
_TOKEN: Final = re.compile(r"@(\w+)(?::(\d+))?@")


class NoFirstMoveError(Exception):
    """The server has drawn a start piece that fits into no corner: the conversation has to begin again."""


class Script:
    """Fills in the tokens of one conversation, and gives ids and positions short names.

    `@ID1@` is the first id that the server has sent, `@type@` and `@package@` belong to the season. `@kind@`,
    `@rotation@` and `@flip@` describe a legal first move of BLUE on cell (0, 0), `@reply@` is one of YELLOW after it.
    `@move:7@` is a legal move of the side to move, chosen with the seed 7 and played in the script's own position.
    """

    def __init__(self, edition: Edition, conversation: Conversation) -> None:
        self._edition = edition
        self._is_alone = conversation.is_alone
        self._needs_corner = any(re.search("@(kind|reply|first)@", step.text) for step in conversation.steps)
        self._ids: dict[str, str] = {}
        self.start_piece = ""
        self._state: BlokusState | None = None

    def resolve(self, step: Step) -> tuple[str, bytes] | None:
        """Return who sends what; None if it would be a move after the end of the game."""
        if step.peer == MOVER:
            if not self.start_piece:
                return None
            state = self._state or _begin(self._edition, self.start_piece)
            if state.outcome() is not None:
                return None
            return PLAYERS[state.seat_on_turn], self._fill(step.text)
        return step.peer, self._fill(step.text)

    def _fill(self, text: str) -> bytes:
        return _TOKEN.sub(self._value, text).encode("latin-1")

    def _value(self, match: re.Match[str]) -> str:
        name, seed = match.groups()
        edition = self._edition
        if name.startswith("ID"):
            return next((known for known, label in self._ids.items() if label == name), "unknown")
        if name == "type":
            return edition.game_type
        if name == "package":
            return PACKAGES[edition.name]
        if not self.start_piece:
            return "unknown"
        state = self._state or _begin(self._edition, self.start_piece)
        if name == "move":
            moves = list(state.generate_legal_moves())
            move = random.Random(int(seed)).choice(moves)
            self._state = state.play(move)
            return self._data(move)
        first, reply = _corner_moves(edition, self.start_piece)
        if name == "reply":
            return self._data(reply)
        return {
            "kind": first.shape.name,
            "rotation": first.rotation.name,
            "flip": str(first.is_flipped).lower(),
            "first": self._data(first),
        }.get(name, match[0])  # a variation of a token

    def _data(self, move: object) -> str:
        packet = self._edition.dialect.encode(RoomMessage("", MoveData(move))).decode()
        return re.sub(r"\n\s*", "", packet[packet.index("<data") : packet.index("</room>")])

    def mask(self, received: Mapping[str, bytes], ended: Iterable[str]) -> Exchange:
        """Return what the connections have received, and which of them have ended."""
        exchange: Exchange = {}
        for peer in sorted(received):
            text = received[peer].decode("utf-8", "surrogateescape")
            if not self.start_piece and (drawn := _START_PIECE.search(text)):
                self.start_piece = drawn[1]
                if self._needs_corner:
                    _corner_moves(self._edition, self.start_piece)
            if not self._is_alone:  # administrators are told of the rooms of other conversations, too
                text = _ROOM_JOINED.sub("", text)
            for found in _UUID.findall(text):
                self._ids.setdefault(found, f"ID{len(self._ids) + 1}")
            text = _UUID.sub(lambda match: self._ids[match[0]], text)
            text = _ADDRESS.sub("@ADDRESS", text)
            text = _MEMENTO.sub(_shorten_position, text)
            starts = [match.start() for match in _PACKET.finditer(text)]
            bounds = sorted({0, *starts, len(text)})
            packets = [text[begin:end] for begin, end in pairwise(bounds)]
            if packets:
                exchange[peer] = packets
        for peer in ended:
            exchange.setdefault(peer, []).append(ENDED)
        return exchange


def _begin(edition: Edition, start_piece: str) -> BlokusState:
    state = edition.game.with_options({"startPiece": start_piece}).new_state(random.Random(0))
    assert isinstance(state, BlokusState)
    return state


@cache
def _corner_moves(edition: Edition, start_piece: str) -> tuple[SetMove, SetMove]:
    """Return the first move of BLUE in one corner, and an answer of YELLOW in the opposite corner."""
    state = _begin(edition, start_piece)
    first = _in_corner(state, 0, 0)
    return first, _in_corner(state.play(first), 19, 19)


def _in_corner(state: BlokusState, x: int, y: int) -> SetMove:
    """Return a legal first move that covers the cell (x, y)."""
    for move in state.generate_legal_moves():
        assert isinstance(move, SetMove)
        if state.play(move).color_at(x, y) is not None:
            return move
    raise NoFirstMoveError(state.start_shape.name)


def _shorten_position(match: re.Match[str]) -> str:
    turn = _TURN.search(match[0])
    return f"<<memento turn={turn[1] if turn else '?'}, {hashlib.sha256(match[0].encode()).hexdigest()[:16]}>>"


# -- our server -------------------------------------------------------------------------------------------------------


def talk_to_ours(conversation: Conversation, edition: Edition, start_piece: str) -> Talk:
    """Hold a conversation with our server in virtual time; `start_piece` is drawn in every game."""
    exchanges: list[Exchange] = []
    trio.run(_talk, conversation, edition, start_piece, exchanges, clock=MockClock(autojump_threshold=0))
    return Talk(conversation, start_piece, exchanges)


async def _talk(conversation: Conversation, edition: Edition, start_piece: str, exchanges: list[Exchange]) -> None:
    editions = {edition.game_type: edition.with_options({"startPiece": start_piece} if start_piece else {})}
    server = Server(Config(), io.StringIO(), editions, WorkMeter(lambda: 0.0, lambda: 0.0))
    script = Script(edition, conversation)
    received: dict[str, bytearray] = {}
    ended: set[str] = set()
    peers: dict[str, trio.abc.HalfCloseableStream] = {}

    async def listen(name: str, stream: trio.abc.HalfCloseableStream) -> None:
        try:
            async for data in stream:
                received[name] += data
        except trio.BrokenResourceError:
            pass
        except trio.ClosedResourceError:
            return
        ended.add(name)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.timers.run)
        for step in conversation.steps:
            resolved = script.resolve(step)
            if resolved is not None:
                name, data = resolved
                if name not in peers:
                    peers[name], far = memory_stream_pair()
                    received[name] = bytearray()
                    nursery.start_soon(listen, name, peers[name])
                    nursery.start_soon(server.serve_wire, StreamWire(far), f"127.0.0.1:{len(peers)}")
                    await wait_all_tasks_blocked()
                try:
                    if step.text == FIN:
                        await peers[name].send_eof()
                    elif step.text == CLOSE:
                        await peers[name].aclose()
                    else:
                        await peers[name].send_all(data)
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    pass
            await wait_all_tasks_blocked()
            if step.wait:
                await trio.sleep(step.wait)
                await wait_all_tasks_blocked()
            exchanges.append(script.mask({name: bytes(data) for name, data in received.items()}, ended))
            for data_of in received.values():
                data_of.clear()
            ended.clear()
        nursery.cancel_scope.cancel()


# -- comparing --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """The first difference between two talks: after which step, for whom, and what it was sent."""

    conversation: Conversation
    step: int
    peer: str
    theirs: list[str]
    ours: list[str]

    def __str__(self) -> str:
        lines = [f"{self.conversation.name}:"]
        for number, step in enumerate(self.conversation.steps[: self.step + 1], 1):
            wait = f"  then {step.wait:g} s" if step.wait else ""
            lines.append(f"  {number:2} {step.peer} sends {step.text!r}{wait}")
        return "\n".join([*lines, f"  {self.peer} gets from the release: {brief(self.theirs)}",
                          f"  {self.peer} gets from our server:  {brief(self.ours)}"])  # fmt: skip

    @property
    def kind(self) -> str:
        """What differs, without what depends on the single conversation."""
        texts = re.sub(r'message="[^"]*"', "message", f"{brief(self.theirs)} {brief(self.ours)}")
        return f"{self.peer} {re.sub(r'turn=[^>]*', '', re.sub('<original.*?</errorpacket>', '', texts))}"


def brief(packets: list[str]) -> str:
    """Return packets in one line, results without what is the same in all of them."""
    text = re.sub(r"\s*\n\s*", "", " ".join(packets))
    return re.sub(r"<definition>.*?</definition>", "", text) or "nothing"


@dataclass(frozen=True)
class Case:
    """One step in which the servers differ for `peer`: who has sent what so far, and what both sent after the step."""

    step: Step
    sent: Mapping[str, str]
    has_started: bool
    peer: str
    their_part: Exchange
    our_part: Exchange

    @property
    def theirs(self) -> list[str]:
        return self.their_part.get(self.peer, [])

    @property
    def ours(self) -> list[str]:
        return self.our_part.get(self.peer, [])

    @property
    def text(self) -> str:
        """What the sender of the step has sent so far, as its server reads it: no controls, only valid UTF-8."""
        text = self.sent.get(self.step.peer, "").encode("latin-1").decode("utf-8", "replace")
        return re.sub("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", " ", text)

    def is_cut_off(self, part: Exchange) -> bool:
        """Whether a server has ended the stream of the sender of the step."""
        return part.get(self.step.peer, [])[-1:] == [ENDED]


@dataclass(frozen=True)
class Known:
    """A deliberate difference.

    `place` is a part of docs/compatibility.md, where the reason stands. `is_this` recognises it. After it, the
    conversations have parted if it `ends` them.
    """

    place: str
    is_this: Callable[[Case], bool]
    editions: frozenset[str] = frozenset(RELEASES)
    ends: bool = True


_PART_OF_POSITION: Final = re.compile(
    r"""class=["'](?:result|state)["']|class=["'](?:memento|sc\.protocol\.room\.MementoMessage)["'][^>]*>.*<state""",
    re.DOTALL,
)
_REPEATED: Final = re.compile(
    r'<originalRequest class="room"[^>]*>\s*<(?:<memento|data class="(?:memento|result|state)")'
)
"""Such data in an `errorpacket`."""
_TEST_MODE: Final = re.compile(r"(?:sc\.protocol\.requests\.)?TestModeRequest(?:@ADDRESS|\(testMode=\w+\))")
_CONTROL_REFERENCE: Final = re.compile(r"&#x(?:[0-8bcef]|1[0-9a-f]|d[89a-f]..|fff[ef]);")
_STRICTER: Final = re.compile(
    r"""<!DOCTYPE[^>]*>?|=\s*"[^"<]*<|=\s*'[^'<]*<|"[\w.:-]+\s*=|'[\w.:-]+\s*=|/\s+>|<!--(?:(?!-->).)*?--(?!>)(?:(?!-->).)*(?:-->)?|<\?(?!xml\s)[^\s?]*|"""
    r"""\s([\w.:-]+)\s*=\s*(?:"[^"]*"|'[^']*')(?:\s+[\w.:-]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s+\1\s*=|&#[^;]+;|"""
    r"""^[^<]*[^\s<]|[\u00b7-\U0010ffff]""",
    re.DOTALL,
)
_NO_PACKETS: Final = r"string|int|color|boolean|char|double|list|map|set|state|piece|position"
_ROOM_IS_CLOSED: Final = re.compile(
    r'class="result"|<left |UnknownReservation|find a room|CloseConnection/>|</protocol>|' + re.escape(ENDED)
)
_REQUEST: Final = re.compile("<<memento|[mM]oveRequest")
_MARKUP: Final = re.compile(r"""<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>|<(?:[^<>"']|"[^"]*"|'[^']*')*>""", re.DOTALL)


def _explains(case: Case) -> bool:
    """The release ends a stream, and ours says why before."""
    common = [each for each in case.theirs[:-1] if each != "<protocol/>"]
    begin, said = case.ours[: len(common)], case.ours[len(common) :]
    return (
        case.theirs[-1:] == [ENDED]
        and begin == common
        and said[-3:] == ["\n  <close/>", "\n</protocol>", ENDED]
        and said[-4].startswith("\n  <errorpacket")
        and said[:-4] in ([], ["<protocol>"])
    )


def _is_stricter(case: Case) -> bool:
    """Our parser fails at something that is no XML; the release does not, but it may fail at what comes after it."""
    text = case.text
    parser = expat.ParserCreate("utf-8")
    try:
        parser.Parse(text.encode())
    except expat.ExpatError:
        index = len(text.encode()[: parser.ErrorByteIndex].decode("utf-8", "ignore"))
        ends = [found.end() for found in _STRICTER.finditer(text) if found.start() <= index <= found.end()]
        return case.is_cut_off(case.our_part) and any(
            end < len(text) or not case.is_cut_off(case.their_part) for end in ends
        )
    return False


def _is_in_open_packet(case: Case) -> bool:
    """The release has found a fault in a packet that has not ended, and ours waits for the end."""
    theirs, ours = (part.get(case.step.peer, []) for part in (case.their_part, case.our_part))
    depth = sum(
        -1 if each[1] == "/" else each[1] not in "!?" and each[-2] != "/" for each in _MARKUP.findall(case.text)
    )
    return theirs == [*ours, ENDED] and (depth > 1 or "<" in _MARKUP.sub("", case.text))


def _without(pattern: re.Pattern[str], packets: list[str], new: str = "") -> list[str]:
    return [pattern.sub(new, each) for each in packets]


_THIS_YEAR: Final = frozenset({CURRENT})
_IN_2021: Final = frozenset(RELEASES) - _THIS_YEAR

KNOWN: Final = (
    Known("| malformed XML, an unknown packet | an `errorpacket`", _explains, _THIS_YEAR, ends=False),
    Known(
        "| a first tag that cannot be read |",
        lambda case: case.theirs == ["<protocol/>", ENDED] and case.ours == [ENDED],
        ends=False,
    ),
    Known(
        "| a packet that is not a move is answered with its name |",
        lambda case: [each.replace("MoveRequest@ADDRESS", "MoveRequest") for each in case.theirs] == case.ours,
        _THIS_YEAR,
        ends=False,
    ),
    Known(
        "| An error names a request by its address in memory",
        lambda case: _without(_TEST_MODE, case.theirs) == _without(_TEST_MODE, case.ours),
        _IN_2021,
        ends=False,
    ),
    Known(
        "| such a character in a value that the server repeats |",
        lambda case: _without(_CONTROL_REFERENCE, case.theirs, "\ufffd") == case.ours,
        ends=False,
    ),
    Known(
        "| a part of a `result` (21.4.0) |",
        lambda case: (
            'class="result"' in case.step.text
            and case.their_part.get(case.step.peer) == [ENDED]
            and case.is_cut_off(case.our_part)
        ),
        _IN_2021,
    ),
    Known(
        "| a part of a position, also in `memento`; a `result` without players (27.0.4) |",
        lambda case: (
            _PART_OF_POSITION.search(case.step.text) is not None
            and _REPEATED.search("".join(case.their_part.get(case.step.peer, []))) is not None
            and case.is_cut_off(case.our_part)
        ),
    ),
    Known("We are stricter than the releases only where bytes are not well-formed XML", _is_stricter),
    Known("| a fault in a packet that has not ended |", _is_in_open_packet),
    Known(
        "| a player closes its connection after all of a packet but its last end tags |",
        lambda case: (
            case.step.text == CLOSE
            and "<<memento" in "".join(case.theirs)
            and sorted(each.replace("PROTOCOL_ERROR", "LOST_CONNECTION") for each in case.theirs) == sorted(case.ours)
        ),
        _THIS_YEAR,
        ends=False,
    ),
    Known(
        "| a packet that is a value (`<string>`, `<color>`) |",
        lambda case: (
            case.is_cut_off(case.our_part)
            and not case.is_cut_off(case.their_part)
            and re.search(rf"<({_NO_PACKETS})\b(?!.*</\1\s*>)", case.text, re.DOTALL) is not None
        ),
    ),
    Known(
        "| `<status/>` from an administrator |",
        lambda case: (
            case.theirs[-1:] == [ENDED]
            and case.ours[: len(case.theirs) - 1] == case.theirs[:-1]
            and "<status>" in "".join(case.ours[len(case.theirs) - 1 :])
        ),
    ),
    Known(
        "| A reservation of a closed room is answered with `joined`",
        lambda case: (
            "<joinPrepared " in case.step.text
            and case.theirs[-1:] == ['\n  <joined roomId="ID1"/>']
            and case.ours[:-1] == case.theirs[:-1]
            and "UnknownReservation" in case.ours[-1]
        ),
        _THIS_YEAR,
        ends=False,
    ),
    Known(
        "| A player that leaves before the second one has joined leaves a room that is never closed",
        lambda case: (
            not case.has_started
            and (not case.theirs or "<joined " in case.theirs[-1])
            and all(each in case.theirs or _ROOM_IS_CLOSED.search(each) for each in case.ours)
        ),
        _IN_2021,
    ),
    Known(
        "| a `piece` without `rotation` or `position`, while no move is requested or the room is not known |",
        lambda case: (
            re.search(r"<piece(?![^>]*\srotation\s*=)|<piece[^>]*>(?!.*<position)", case.step.text) is not None
            and case.is_cut_off(case.their_part)
            and "<errorpacket" in "".join(case.their_part[case.step.peer])
            and case.our_part.get(case.step.peer) == [ENDED]
        ),
        _IN_2021,
    ),
    Known(
        "| A client that observes a room twice gets everything about it twice. |",
        lambda case: (
            case.sent.get(case.peer, "").count("bserv") > 1
            and [packet for packet, _ in groupby(case.theirs)] == case.ours
        ),
        ends=False,
    ),
    Known(
        "A connection never plays against itself",
        lambda case: all(
            f'color="{each}"' in "".join(case.their_part.get(case.step.peer, [])) for each in ("ONE", "TWO")
        ),
    ),
    Known(
        "while a request is pending",
        lambda case: (
            case.step.peer == "admin"
            and re.search("<(step|pause)|Step|Pause", case.step.text) is not None
            and len(case.theirs) > len(case.ours)
            and [each for each in case.theirs if each in case.ours or not _REQUEST.search(each)] == case.ours
        ),
    ),
)


def compare(theirs: Talk, ours: Talk, edition: str) -> tuple[Difference | None, list[Known]]:
    """Return the first difference that is not in `KNOWN`, and those before it that are."""
    found: list[Known] = []
    sent: dict[str, str] = {}
    conversation = theirs.conversation
    for number, (step, their_part, our_part) in enumerate(
        zip(conversation.steps, theirs.exchanges, ours.exchanges, strict=True)
    ):
        if step.text not in (FIN, CLOSE):
            sent[step.peer] = sent.get(step.peer, "") + step.text
        for peer in sorted({*their_part, *our_part}):
            their_packets, our_packets = their_part.get(peer, []), our_part.get(peer, [])
            if their_packets == our_packets:
                continue
            case = Case(step, sent, bool(theirs.start_piece), peer, their_part, our_part)
            known = next((each for each in KNOWN if edition in each.editions and each.is_this(case)), None)
            if known is None:
                return Difference(conversation, number, peer, their_packets, our_packets), found
            found.append(known)
            if known.ends:
                return None, found
    return None, found


_DRAWN: Final = re.compile(
    r"PENTO_[A-Z]|\b(?:NONE|RIGHT|MIRROR|LEFT)\b|, [0-9a-f]{16}>>|(?<=isFlipped=)\W*(?:true|false)|, gespiegelt|"
    r", gedreht um \d+\\u00b0|"
    r"\[\d+,\d+\]|<position [^>]*>"
)


def is_same_course(one: Talk, other: Talk) -> bool:
    """Whether a server has said the same both times, apart from what depends on the start piece."""
    if one.start_piece == other.start_piece:
        return one.exchanges == other.exchanges
    return _DRAWN.sub("", json.dumps(one.exchanges)) == _DRAWN.sub("", json.dumps(other.exchanges))


# -- packets ----------------------------------------------------------------------------------------------------------

AUTHENTICATE: Final = '<authenticate password="examplepassword"/>'
PREPARE: Final = (
    '<prepare gameType="@type@" pause="false"><slot displayName="Alice" canTimeout="false" reserved="true"/>'
    '<slot displayName="Bob" canTimeout="false" reserved="true"/></prepare>'
)
PROBE: Final = '<joinRoom roomId="none"/>'
"""A request that a server refuses, and so shows that it still reads."""


def on_turn(packet: str) -> Conversation:
    """A player sends a packet instead of its first move."""
    steps = (
        Step("admin", f"<protocol>{AUTHENTICATE}{PREPARE}"),
        Step("admin", '<observe roomId="@ID1@"/>'),
        Step("p1", '<protocol><joinPrepared reservationCode="@ID2@"/>'),
        Step("p2", '<protocol><joinPrepared reservationCode="@ID3@"/>'),
        Step("p1", packet),
        Step("p2", '<room roomId="@ID1@">@reply@</room>'),
        Step("p1", PROBE),
        Step("admin", '<cancel roomId="@ID1@"/>'),
        Step("admin", PROBE),
    )
    return Conversation(f"on turn: {packet}", steps)


def stranger(*packets: str) -> Conversation:
    """A client that has no part in the game that an administrator has prepared sends packets."""
    steps = (
        Step("admin", f"<protocol>{AUTHENTICATE}{PREPARE}"),
        Step("x", "<protocol>"),
        *(Step("x", each) for each in packets),
        Step("x", PROBE),
        Step("admin", '<cancel roomId="@ID1@"/>'),
    )
    return Conversation(f"a stranger: {' '.join(packets)}", steps)


# -- recordings -------------------------------------------------------------------------------------------------------


def write_recording(path: Path | str, talks: Iterable[Talk], unstable: Iterable[str] = ()) -> None:
    """Write talks as compressed lines of JSON, after the names of those in which the server was unstable."""
    lines = [json.dumps({"unstable": sorted(unstable)})]
    lines += [
        json.dumps(
            [
                talk.conversation.name,
                talk.start_piece,
                [
                    [step.peer, step.text, step.wait, exchange]
                    for step, exchange in zip(talk.conversation.steps, talk.exchanges, strict=True)
                ],
            ]
        )
        for talk in sorted(talks, key=lambda each: each.conversation.name)
    ]
    Path(path).write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))


def read_recording(path: Path) -> list[Talk]:
    talks = []
    for line in gzip.decompress(path.read_bytes()).decode().splitlines()[1:]:
        name, start_piece, lines = json.loads(line)
        steps = tuple(Step(peer, text, wait) for peer, text, wait, _ in lines)
        talks.append(Talk(Conversation(name, steps), start_piece, [part for *_, part in lines]))
    return talks
