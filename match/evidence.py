"""Collecting the facts of a game while it is played: from the events of the match's server, or as an observer.

Invariants: at the match's own server, moves, times, result and replay are taken once, from the event that ends the
game. A program is blamed only for what arrives on its own connections, and once it has taken its seat, only for what
arrives on the seat's connection. Nothing that happens after the match has cancelled the game is blamed on a program.
At another server (`--server`), which program uses which connection is not known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final
from xml.parsers import expat

import trio

from spielleiter.client.admin import AdminClient, Observation, PreparedRoom
from spielleiter.client.client_errors import ClientError, plain_text
from spielleiter.game.api import Game, GameOptionError, State
from spielleiter.match.game_folder import WireLog
from spielleiter.match.plan import MatchSetup, PlannedGame
from spielleiter.match.verdict import Attempt, GameFacts
from spielleiter.protocol.messages import ErrorMessage, Memento, Result, RoomData, Slot, UnreadableData
from spielleiter.server import events
from spielleiter.server.core.clock import StampSource
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import choose_editions
from spielleiter.server.errors import Fault

MAX_REMARKS: Final = 20
"""The maximum number of remarks about each program."""
_MAX_REMARK_LENGTH: Final = 300
_MAX_UNREAD: Final = 80
_ATTEMPTS: Final = {Fault.FORBIDDEN_HERE: Attempt.ADMINISTRATE, Fault.FOREIGN_SEAT: Attempt.SEAT}
_MOVE_FAULTS: Final = frozenset({Fault.ILLEGAL_MOVE, Fault.UNREADABLE_MOVE, Fault.INCOMPLETE_MOVE, Fault.NOT_YOUR_TURN})
"""Refusals of moves, which the room reports with events of their own."""


class Evidence:
    """Collects the facts of one game, and everything else that its record and its replay need.

    `seats` are the programs by seat, `names` the programs' names, and `limits` their soft time limits in seconds.
    """

    def __init__(self, seats: tuple[int, int], names: tuple[str, str], limits: tuple[float, float]) -> None:
        self.facts = GameFacts(seats, names)
        self.plies = 0
        self.think_times: tuple[list[float], list[float]] = ([], [])
        """By program: the think time for each answered request, in seconds."""
        self.replay: list[RoomData] = []
        self.attempts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        """By program: what it tried although it is not allowed, by the kinds of `Attempt`, and how often."""
        self.foreign_connections = 0
        """The number of refused connections to the programs' ports that no program was seen to have made."""
        self.start: str | None = None
        """The name of the starting position, if the rules give it one."""
        self.is_over = False
        """Whether nothing more will happen in the game's room."""
        self.changed = trio.Event()
        self.on_request: Callable[[], None] = lambda: None
        """Called whenever a program is asked for a move."""
        self.on_answer: Callable[[int, float], None] = lambda _program, _think_time: None
        """Called with a program and its think time in seconds, when it has moved or is late."""
        self.seconds_waiting: Callable[[int, float], float] = lambda _program, _think_time: 0.0
        """Returns for how many seconds of a think time this machine delayed a program."""
        self.received: Callable[[int], bytes] = lambda _program: b""
        """Returns the beginning of what a program has sent since the last move, or since it connected."""
        self.has_ended: Callable[[State], bool] = lambda state: state.outcome() is not None
        """Returns whether the game is over in a position by the rules; used only with an external server."""
        self._limits = limits
        self._seat_connections: list[str | None] = [None, None]
        self._remarks: tuple[dict[str, None], dict[str, None]] = ({}, {})
        self.is_cancelled = False
        """Set once the match itself ends the game; from then on, no program is blamed for anything."""
        self._requested_at: float | None = None

    # -- for the referee --------------------------------------------------------------------------------------------

    def detach(self) -> None:
        """Let go of all that was set to be called: those know this object, so together they would be freed late."""
        self.on_request = lambda: None
        self.on_answer = lambda _program, _think_time: None
        self.seconds_waiting = lambda _program, _think_time: 0.0
        self.received = lambda _program: b""

    def note_unread(self, program: int) -> None:
        """Record what a program has sent instead of the packet that the server waits for."""
        known = self.facts.programs[program]
        known.unread, known.is_unread_text = describe_unread(self.received(program))

    def add_remark(self, program: int, text: str) -> None:
        """Record something about a program that does not decide the verdict; equal texts are recorded once."""
        known, text = self._remarks[program], " ".join(text.split())[:_MAX_REMARK_LENGTH]
        if len(known) < MAX_REMARKS:
            known[text] = None
        elif text not in known:
            known[next(reversed(known))] = None
            known.setdefault("and more of that kind")

    @property
    def remarks(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The remarks by program."""
        return tuple(self._remarks[0]), tuple(self._remarks[1])

    def notify(self) -> None:
        """Wake the tasks that are in `wait_until`."""
        self.changed.set()
        self.changed = trio.Event()

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until `condition` is true; it is checked whenever something happens in the game."""
        while not condition():
            await self.changed.wait()

    # -- the match's own server -------------------------------------------------------------------------------------

    def handle_event(self, event: events.ServerEvent, program: int | None) -> None:
        """Handle an event of this game; `program` is the one on whose connection it happened, if any."""
        facts, seats = self.facts, self.facts.seats
        match event:
            case events.MovePlayed(seat=seat, think_time=think_time):
                known = facts.programs[seats[seat]]
                known.refusal = known.refused_answer = None  # the refusal had no consequence
                self.on_answer(seats[seat], think_time)
                self.on_request()
                return  # no task waits for a move
            case events.GameStarted():
                facts.has_begun = True
                self.on_request()
            case events.GameEnded(result=result, plies=plies, think_times=think_times, record=record):
                facts.result = result
                last = next(iter(record[-2:-1]), None)
                is_over = isinstance(last, Memento) and last.state.outcome() is not None  # by the rules
                facts.is_cut_short = not is_over
                self.plies, self.replay = plies, list(record)
                for seat, times in enumerate(think_times):
                    self.think_times[seats[seat]][:] = times
            case events.RoomClosed():
                self.is_over = True
            case events.InternalError(error=error) if program is None:
                facts.machine_problem = facts.machine_problem or f"a bug of the server: {_last_line(error)}"
            case _:
                self._handle_program_event(event, program)
        self.notify()

    def _handle_program_event(self, event: events.ServerEvent, program: int | None) -> None:
        seats = self.facts.seats
        match event:
            case events.PlayerJoined(seat=seat, connection=connection):
                self.facts.programs[seats[seat]].has_joined = True
                self._seat_connections[seats[seat]] = connection
            case events.SeatTakenPlainly() if program is not None:
                self.add_remark(program, "took its seat by a plain join; the contest wants joinPrepared")
            case events.RequestRefused(fault=fault) if program is not None and fault in _ATTEMPTS:
                self.attempts[program][_ATTEMPTS[fault]] += 1
                self.add_remark(program, f"tried what is not allowed: it {_ATTEMPTS[fault]}")
                self._record_fault(event, program)
            case events.ConnectionRefused(refusal=refusal, reason=reason) if program is not None:
                if refusal == events.FOREIGN_PORT:
                    self.attempts[program][Attempt.PORT] += 1
                self.add_remark(program, f"tried what is not allowed: {reason}")
            case events.ConnectionRefused(refusal=events.FOREIGN_PORT):
                self.foreign_connections += 1
            case _ if self.is_cancelled:
                pass
            case events.ConnectionOpened() if program is not None:
                self.facts.programs[program].has_connected = True
            case events.PlayerLeft(seat=seat) if not self.facts.has_begun:
                self.facts.programs[seats[seat]].has_left = True
            case events.MoveRefused(seat=seat, fault=Fault.NOT_YOUR_TURN):
                self.facts.programs[seats[seat]].bad_message = "it sent a move when it was not on turn"
            case events.MoveRefused(seat=seat, fault=fault, text=text) if fault is not Fault.ILLEGAL_MOVE:
                self.facts.programs[seats[seat]].bad_message = text
            case events.TimeVerdict(seat=seat, think_time=think_time, loop_lag=loop_lag, source=source):
                known = self.facts.programs[seats[seat]]
                known.exceeded_think_time, known.limit = think_time, self._limits[seats[seat]]
                self.on_answer(seats[seat], think_time)
                if source == StampSource.KERNEL.value:  # which does not depend on how busy this process is
                    loop_lag = 0.0
                known.seconds_waiting = max(loop_lag, self.seconds_waiting(seats[seat], think_time))
                self.note_unread(seats[seat])
            case _ if program is not None:
                self._record_fault(event, program)

    def _record_fault(self, event: events.ServerEvent, program: int) -> None:
        """Record a fault on a program's connection. On a connection other than its seat's, it is only a remark."""
        known = self.facts.programs[program]
        seat_connection = self._seat_connections[program]
        is_elsewhere = seat_connection not in {None, getattr(event, "connection", None)}
        match event:
            case events.RequestRefused(fault=fault, text=text) if fault not in _MOVE_FAULTS:
                text = f"it {_ATTEMPTS[fault]}" if fault in _ATTEMPTS else plain_text(text)
                if is_elsewhere:
                    self.add_remark(program, f"was refused on another connection: {text}")
                elif not self.is_cancelled:
                    known.refusal = text
                    known.plays_another_game = fault is Fault.OTHER_GAME
                    # an answer after the game, as to a hard time limit, is refused because it is late
                    if self.facts.has_begun and self.facts.result is None and fault not in _ATTEMPTS:
                        known.refused_answer = text
            case events.ProtocolBroken() | events.InternalError():
                if isinstance(event, events.ProtocolBroken):
                    text = event.text
                else:
                    text = f"the server could not deal with what it sent: {_last_line(event.error)}"
                if is_elsewhere or self.is_cancelled:
                    self.add_remark(program, f"sent on another connection or after the end: {text}")
                else:
                    known.protocol_error = text
            case _:
                pass

    # -- another server ---------------------------------------------------------------------------------------------

    async def follow(self, observation: Observation) -> None:
        """Handle everything that an observer sees, until the observation ends."""
        facts = self.facts
        try:
            async for event in observation:
                match event:
                    case Memento(state=state):
                        now = trio.current_time()
                        if self._requested_at is None:
                            facts.has_begun = True
                            for known in facts.programs:
                                known.has_joined = True
                            self.start = self.start or start_name(state)
                        elif facts.on_turn is not None:
                            self.plies += 1
                            self.think_times[facts.on_turn].append(now - self._requested_at)
                        self._requested_at = now
                        self.replay.append(event)
                        facts.on_turn = facts.seats[state.seat_on_turn]
                    case Result():
                        facts.result = event
                        # a cancelled game has a result as well, and in some editions a winner
                        last = next((each for each in reversed(self.replay) if isinstance(each, Memento)), None)
                        facts.is_cut_short = last is None or not self.has_ended(last.state)
                        self.replay.append(event)
                    case ErrorMessage(message, original):
                        self.replay.append(event)
                        if isinstance(original, UnreadableData) and facts.on_turn is not None:
                            facts.programs[facts.on_turn].bad_message = " ".join(message.split())
                    case _:
                        pass
                self.notify()
        except ClientError as error:
            facts.machine_problem = facts.machine_problem or str(error)
        self.is_over = True
        self.notify()


def start_name(state: State) -> str | None:
    """Return the name of the piece that all players have to begin with; None in games without such a piece."""
    shape = getattr(state, "start_shape", None)  # not part of game.api: only some games have it
    return getattr(shape, "name", None)


def describe_unread(data: bytes) -> tuple[str, bool]:
    """Return bytes that were received, shortened for people, and whether they can never become a packet.

    White space is nothing. The beginning of a packet can still become one; text between packets cannot, nor can bytes
    that no XML parser accepts.
    """
    sent = data.strip()
    has_text = b"<!DOCTYPE" in sent  # what it declares is not expanded here
    depth = 0

    def start(_name: str, _attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    def characters(text: str) -> None:
        nonlocal has_text
        has_text = has_text or (depth <= 1 and bool(text.strip()))

    parser = expat.ParserCreate()
    parser.buffer_text = False
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, characters
    try:
        if not has_text:
            parser.Parse(sent if sent.startswith((b"<protocol", b"<?xml")) else b"<protocol>" + sent, False)
    except expat.ExpatError:
        has_text = True
    shown = sent.decode("utf-8", "replace")
    return (shown if len(shown) <= _MAX_UNREAD else shown[:_MAX_UNREAD] + "…"), has_text


def _last_line(error: str) -> str:
    return error.strip().splitlines()[-1]


class ExternalRoom:
    """A room that was prepared at another server; `reservations` and `addresses` are indexed by program."""

    def __init__(
        self,
        admin: AdminClient,
        room: PreparedRoom,
        observation: Observation,
        address: tuple[str, int],
        seats: tuple[int, int],
        edition: Edition,
    ) -> None:
        self.observation = observation
        """The game as an observer sees it."""
        self.addresses = address, address
        self.dialect = edition.dialect
        self.has_ended = is_over_by_any_options(edition.game)
        codes = dict(zip(seats, room.reservations, strict=True))
        self.reservations = codes[0], codes[1]
        self._admin = admin
        self._room_id = room.room_id

    async def cancel(self) -> None:
        """Cancel the game. Raises ClientError."""
        await self._admin.cancel(self._room_id)


def is_over_by_any_options(game: Game) -> Callable[[State], bool]:
    """Return a predicate: whether the game is over in a position, under any setting of the options of the rules.

    The server may use any of these settings, and the protocol does not say which.
    """
    variants = [game]
    for name in sorted(game.option_names):
        try:
            game.with_options({name: ""})
        except GameOptionError as error:
            variants += [game.with_options({name: value}) for value in error.known]
    return lambda state: any(variant.resume(state).outcome() is not None for variant in variants)


@asynccontextmanager
async def open_external_room(setup: MatchSetup, planned: PlannedGame, log: WireLog) -> AsyncIterator[ExternalRoom]:
    """Prepare a room for `planned` at the server that the setup names.

    The bytes that the server sends are written to `log`, which the caller has to close. Raises OSError and ClientError,
    alone or in exception groups.
    """
    assert setup.server is not None
    host, port = setup.server
    edition = choose_editions(setup.editions, {})[setup.game_type]
    slots = [Slot(setup.names[program], can_timeout=setup.entrants[program].can_timeout) for program in planned.seats]
    tap = partial(log.write, "observer <")
    async with AdminClient.connect(host, port, setup.password, dialect=edition.dialect, tap=tap) as admin:
        room = await admin.prepare(setup.game_type, slots)
        observation = await admin.observe(room.room_id)
        yield ExternalRoom(admin, room, observation, (host, port), planned.seats, edition)
