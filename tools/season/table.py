"""A conversation with an official server: connections that send and wait, and the transcript that comes of it."""

import random
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import trio

from spielleiter.wire.conversation import Splitter
from tools.season.rules import Rules

_MIB = 1 << 20
_PAUSE = 0.2
_PAUSES = 6
"""Nothing more is expected after so many pauses of so many seconds in which nothing came. Between two of them all that
has arrived is read: one long pause could pass while this process does something else."""
_BUSY_PAUSES = 50
"""And after so many while the server has something to do, perhaps for another conversation."""
_HANG = 60.0
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ADDRESS = re.compile(r"(?<=\w@)[0-9a-f]{5,8}\b")
_SPECIAL = re.compile(r"[\\\n\r\t\x00-\x1f\x7f\ud800-\udfff]")
_NAMED = {"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t"}


class Transcript:
    """The lines of a conversation, in the form of /transcripts that `replay-wire` and the tests of the server read.

    Ids become numbers in the order in which they appear, memory addresses zeros. The times are those of a machine that
    is never busy: each line takes a millisecond, and only `pause` takes longer. So a conversation that is repeated has
    the same text, and nobody is late in it who was not meant to be.
    """

    def __init__(self, heads: list[str]) -> None:
        self.heads = heads
        self._instant = 0.0
        self._lines: list[str] = []
        self._ids: dict[str, str] = {}
        self.latest = trio.current_time()
        """When something was last sent or received."""
        self.is_over = False
        """Whether what comes now is no part of the conversation: the players are being sent away."""
        self.news = trio.Event()
        """Set, and replaced, when a packet arrives."""

    def add(self, name: str, direction: str, text: str) -> None:
        """Add what was sent or received, or an event such as `(FIN)`."""
        if self.is_over:
            return
        self._instant += 0.001
        self._lines.append(f"{self._instant:9.3f}  {name:<5}  {direction}  {text}")
        self.latest = trio.current_time()
        if direction == "<-":
            self.news.set()
            self.news = trio.Event()

    def pause(self, seconds: float) -> None:
        """Note that this time passes before the next line."""
        self._instant += seconds

    def __str__(self) -> str:
        text = "\n".join([*(f"# {escaped(head.encode())}" for head in self.heads), *self._lines, ""])
        for found in _UUID.findall(text):
            self._ids.setdefault(found, f"00000000-0000-4000-8000-{len(self._ids) + 1:012}")
        text = _UUID.sub(lambda match: self._ids[match[0]], text)
        return _ADDRESS.sub(lambda match: "0" * len(match[0]), text)


def escaped(data: bytes) -> str:
    """Bytes as they are in a line of a transcript."""

    def escape(match: re.Match[str]) -> str:
        return _NAMED.get(match[0]) or f"\\x{ord(match[0]) & 0xFF:02X}"

    return _SPECIAL.sub(escape, data.decode("utf-8", "surrogateescape"))


@dataclass(eq=False)
class Peer:
    """One connection to the server."""

    name: str
    stream: trio.abc.HalfCloseableStream
    transcript: Transcript
    packets: list[str] = field(default_factory=list)
    is_open: bool = True
    _waited_for: int = 0
    """How many packets `wait_for` has passed over."""

    @property
    def received(self) -> list[str]:
        """The packets up to that for which `wait_for` waited."""
        return self.packets[: self._waited_for]

    async def read(self) -> None:
        """Add to the transcript what arrives, until the stream ends."""
        splitter = Splitter(8 * _MIB, _MIB)
        event = "(FIN)"
        try:
            async for data in self.stream:
                for part in splitter.feed(bytes(data), 0.0):
                    self._take(part.data)
        except trio.BrokenResourceError:
            event = "(RST)"
        except trio.ClosedResourceError:
            return
        for part in splitter.finish():
            self._take(part.data)
        self.is_open = False
        self.transcript.add(self.name, "<-", event)

    def _take(self, data: bytes) -> None:
        self.packets.append(data.decode("utf-8", "surrogateescape"))
        self.transcript.add(self.name, "<-", escaped(data))

    async def send(self, text: str) -> None:
        self.transcript.add(self.name, "->", escaped(text.encode("utf-8", "surrogateescape")))
        with suppress(trio.BrokenResourceError):  # what it received before says why
            await self.stream.send_all(text.encode("utf-8", "surrogateescape"))

    async def end_stream(self) -> None:
        self.transcript.add(self.name, "->", "(FIN)")
        await self.stream.send_eof()

    async def close(self) -> None:
        self.transcript.add(self.name, "->", "(closes the connection)")
        self.is_open = False
        await self.stream.aclose()

    async def wait_for(self, *marks: str) -> str:
        """Return the next packet that contains one of the marks; packets before it are passed over.

        Raises EOFError if the game or the stream ends before.
        """
        with trio.fail_after(_HANG):
            while True:
                while self._waited_for < len(self.packets):
                    self._waited_for += 1
                    packet = self.packets[self._waited_for - 1]
                    if any(mark in packet for mark in marks):
                        return packet
                    if "<left " in packet:
                        raise EOFError(f"{self.name} waits for {marks}, and the game has ended")
                if not self.is_open:
                    raise EOFError(f"{self.name} waits for {marks}, and its stream has ended")
                await self.transcript.news.wait()


class Table:
    """Two seats, an observing administrator and whoever else is wanted, in one conversation with a server.

    `nursery` has the tasks that read; the server listens on `port` of this machine. `door` is held while a connection
    begins or ends, since the releases keep their connections in a list without a lock; `start` from `make_start`, which
    gives server and rules the same seed for the next game, until the server has made that game. `is_busy` says whether
    the server has something to do. `rng` chooses moves. If `ours` is given, it chooses those of team TWO, from a state,
    both as XML, and team ONE plays as the release's own player.
    """

    def __init__(
        self,
        nursery: trio.Nursery,
        port: int,
        door: trio.Lock,
        start: trio.Lock,
        rules: Rules,
        game_type: str,
        transcript: Transcript,
        rng: random.Random,
        make_start: Callable[[], None],
        is_busy: Callable[[], bool],
        ours: Callable[[str], str] | None = None,
    ) -> None:
        self._nursery = nursery
        self._port = port
        self._door = door
        self._start = start
        self._rules = rules
        self._make_start = make_start
        self._is_busy = is_busy
        self.game_type = game_type
        self.transcript = transcript
        self.rng = rng
        self.room = ""
        self._is_requested = False
        self._ours = ours
        self.peers: list[Peer] = []
        self.seats: dict[str, Peer] = {}

    @property
    def rules(self) -> Rules:
        """The release's rules in this table's position. Not across an `await`."""
        self._rules.use(str(id(self)))
        return self._rules

    # -- connections ---------------------------------------------------------------------------------------------------

    async def connect(self, name: str, first: str = "<protocol>") -> Peer:
        """Open a connection that says this first."""
        async with self._door:
            peer = Peer(name, await trio.open_tcp_stream("127.0.0.1", self._port), self.transcript)
            self.peers.append(peer)
            self.transcript.add(name, "->", "(connects)")
            self._nursery.start_soon(peer.read)
            await peer.send(first)
            await trio.sleep(0.02)
        return peer

    async def administrator(self) -> Peer:
        return await self.connect("A", '<protocol><authenticate password="examplepassword"/>')

    async def pause(self, seconds: float) -> None:
        """Let time pass on purpose."""
        await trio.sleep(seconds)
        self.transcript.pause(seconds)

    async def settle(self) -> None:
        """Wait until the server has said all that it has to say."""
        quiet = 0.0
        while quiet < 1:
            before = self.transcript.latest
            await trio.sleep(_PAUSE)
            step = 1 / (_BUSY_PAUSES if self._is_busy() else _PAUSES)
            quiet = quiet + step if self.transcript.latest == before else 0.0

    async def leave(self) -> None:
        """End the conversation: wait for silence, note which streams are open, and close them one after another."""
        await self.settle()
        for peer in self.peers:
            if peer.is_open:
                self.transcript.add(peer.name, "<-", "(still open at the end)")
        self.transcript.is_over = True
        for peer in self.peers:
            async with self._door:
                peer.is_open = False
                await peer.stream.aclose()
                await trio.sleep(0.02)

    @asynccontextmanager
    async def start_of_a_game(self) -> AsyncIterator[None]:
        """Let the game that the server makes within the block begin as this table's seed says."""
        async with self._start:
            self._make_start()
            yield

    # -- beginning -----------------------------------------------------------------------------------------------------

    async def prepare(self, *, pause: bool = False, can_timeout: bool = False, observe: bool = True) -> list[str]:
        """An administrator prepares a game with two reserved slots; returns the reservations.

        Without `can_timeout` nobody is late, however busy the machine is on which this is recorded.
        """
        admin = await self.administrator()
        slots = "".join(
            f'<slot displayName="{name}" canTimeout="{str(can_timeout).lower()}" reserved="true"/>'
            for name in ("Alice", "Bob")
        )
        async with self.start_of_a_game():
            await admin.send(f'<prepare gameType="{self.game_type}" pause="{str(pause).lower()}">{slots}</prepare>')
            prepared = await admin.wait_for("<prepared")
        self.room, *reservations = _UUID.findall(prepared)
        if observe:
            await admin.send(f'<observe roomId="{self.room}"/>')
            await admin.wait_for("<observed")
        return reservations

    async def take_seats(self, reservations: list[str]) -> None:
        """Two clients redeem the reservations: `a` is team ONE, `b` is team TWO."""
        for name, team, reservation in zip("ab", ("ONE", "TWO"), reservations, strict=True):
            seat = await self.connect(name)
            await seat.send(f'<joinPrepared reservationCode="{reservation}"/>')
            await seat.wait_for("<joined")
            self.seats[team] = seat

    async def begin(self, *, can_timeout: bool = False) -> None:
        """Prepare a game, observe it, and take both seats."""
        await self.take_seats(await self.prepare(can_timeout=can_timeout))

    # -- moves ---------------------------------------------------------------------------------------------------------

    @property
    def admin(self) -> Peer:
        return self.peers[0]

    @property
    def is_over(self) -> bool:
        return bool(self.rules.position()["over"])

    @property
    def on_turn(self) -> Peer:
        return self.seats[self.rules.position()["team"]]

    @property
    def off_turn(self) -> Peer:
        return next(seat for seat in self.seats.values() if seat is not self.on_turn)

    def legal_move(self) -> str:
        """A legal move of the team on turn, one of those after which it can go on if there are."""
        rules = self.rules
        position = rules.position()
        if self._ours and position["team"] == "TWO":
            return self._ours(position["state"])
        moves: list[str] = rules.sensible_moves() or rules.moves(200)["moves"]
        if self._ours:
            return self.rng.choice(moves)  # as the release's own player
        tried = self.rng.sample(moves, min(6, len(moves)))
        counts = rules.foresee(tried)
        return self.rng.choice([move for move, count in zip(tried, counts, strict=True) if 2 * count >= max(counts)])

    def message(self, data: str) -> str:
        return f'<room roomId="{self.room}">{data}</room>'

    async def requested(self) -> Peer:
        """Wait until the team on turn has been asked for its move, and return its seat.

        Raises AssertionError if the position that it was sent is another one than that of the rules.
        """
        seat = self.on_turn
        if self._is_requested:
            return seat
        await seat.wait_for('oveRequest"')
        self._is_requested = True
        memento = next(packet for packet in reversed(seat.received) if 'class="memento"' in packet)
        state = memento[memento.index("<state") : memento.index("</state>")]
        expected = self.rules.position()["state"].removesuffix("</state>")
        assert state == expected, f"the server is at\n{state}\nthe rules are at\n{expected}"
        return seat

    async def answer(self, move: str = "") -> None:
        """The seat on turn sends this move, or any legal one; it is played in the rules as well."""
        seat = self.on_turn
        move = move or self.legal_move()
        self.rules.play(move)
        self._is_requested = False
        await seat.send(self.message(move))

    async def play(self, plies: int = 1000) -> None:
        """Both seats play legal moves, until the game is over or so many were played and the next one is asked for."""
        for _ in range(plies):
            if self.is_over:
                break
            await self.requested()
            await self.answer()
        else:
            if not self.is_over:
                await self.requested()

    async def play_to_end(self) -> None:
        await self.play()
        for seat in self.seats.values():
            await seat.wait_for("<left")
