"""Collecting the facts of a game while it is played: from the events of the match's server, or as an observer.

Invariants: at the match's own server, moves, times, result and replay are taken once, from the event that ends the
game. A program is blamed only for what arrives on its own connections, and once it has taken its seat, only for what
arrives on the seat's connection. Nothing that happens after the match has cancelled the game is blamed on a program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import trio

from spielleiter.client.errors import ClientError
from spielleiter.client.observation import Observation
from spielleiter.game.api import State
from spielleiter.match.games.verdict import GameFacts, ProgramFacts
from spielleiter.protocol.messages import ErrorMessage, Memento, Result, RoomData, UnreadableData
from spielleiter.server import events
from spielleiter.server.errors import Fault

MAX_REMARKS: Final = 20
"""The maximum number of remarks about each program."""
_MAX_REMARK_LENGTH: Final = 300
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
        self.start: str | None = None
        """The name of the starting position, if the rules give it one."""
        self.is_over = False
        """Whether nothing more will happen in the game's room."""
        self.changed = trio.Event()
        self.on_request: Callable[[], None] = lambda: None
        """Called whenever a program is asked for a move."""
        self.seconds_waiting: Callable[[int, float], float] = lambda _program, _think_time: 0.0
        """Returns for how many seconds of a think time this machine delayed a program."""
        self.has_ended: Callable[[State], bool] = lambda state: state.outcome() is not None
        """Returns whether the game is over in a position by the rules; used only with an external server."""
        self._limits = limits
        self._seat_connections: list[str | None] = [None, None]
        self._remarks: tuple[dict[str, None], dict[str, None]] = ({}, {})
        self._is_cancelled = False
        self._requested_at: float | None = None

    # -- for the referee --------------------------------------------------------------------------------------------

    def mark_cancelled(self) -> None:
        """Blame no program for anything from now on, since the match itself ends the game."""
        self._is_cancelled = True

    @property
    def is_cancelled(self) -> bool:
        return self._is_cancelled

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
            case events.MovePlayed(seat=seat):
                facts.programs[seats[seat]].refusal = None  # the refusal had no consequence
                self.on_request()
                return  # no task waits for a move
            case events.GameStarted():
                facts.has_begun = True
                self.on_request()
            case events.GameEnded(result=result, plies=plies, think_times=think_times, record=record):
                facts.result = result
                facts.is_cut_short = not _is_played_out(record[-2:-1])
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
            case events.RequestRefused(fault=Fault.FORBIDDEN_HERE, text=text) if program is not None:
                self.add_remark(program, f"tried what is not allowed: {text}")
                self._record_fault(event, program)
            case events.ConnectionRefused(reason=reason) if program is not None:
                self.add_remark(program, f"tried what is not allowed: {reason}")
            case _ if self._is_cancelled:
                pass
            case events.ConnectionOpened() if program is not None:
                self.facts.programs[program].has_connected = True
            case events.PlayerLeft(seat=seat) if not self.facts.has_begun:
                self.facts.programs[seats[seat]].has_left = True
            case events.MoveRefused(seat=seat, fault=Fault.NOT_YOUR_TURN):
                self.facts.programs[seats[seat]].bad_message = "it sent a move when it was not on turn"
            case events.MoveRefused(seat=seat, fault=fault, text=text) if fault is not Fault.ILLEGAL_MOVE:
                self.facts.programs[seats[seat]].bad_message = text
            case events.TimeVerdict(seat=seat, think_time=think_time, loop_lag=loop_lag):
                known = self.facts.programs[seats[seat]]
                known.exceeded_think_time, known.limit = think_time, self._limits[seats[seat]]
                known.seconds_waiting = max(loop_lag, self.seconds_waiting(seats[seat], think_time))
            case _ if program is not None:
                self._record_fault(event, program)

    def _record_fault(self, event: events.ServerEvent, program: int) -> None:
        """Record a fault on a program's connection. On a connection other than its seat's, it is only a remark."""
        known = self.facts.programs[program]
        seat_connection = self._seat_connections[program]
        is_elsewhere = seat_connection not in {None, getattr(event, "connection", None)}
        match event:
            case events.RequestRefused(fault=fault, text=text) if fault not in _MOVE_FAULTS:
                if is_elsewhere:
                    self.add_remark(program, f"was refused on another connection: {text}")
                elif not self._is_cancelled:
                    known.refusal = text
                    known.plays_another_game = fault is Fault.OTHER_GAME
            case events.ProtocolBroken(text=text):
                self._record_protocol_error(known, program, text, is_elsewhere=is_elsewhere)
            case events.InternalError(error=error):
                text = f"the server could not deal with what it sent: {_last_line(error)}"
                self._record_protocol_error(known, program, text, is_elsewhere=is_elsewhere)
            case _:
                pass

    def _record_protocol_error(self, known: ProgramFacts, program: int, text: str, *, is_elsewhere: bool) -> None:
        if is_elsewhere or self._is_cancelled:
            self.add_remark(program, f"sent on another connection or after the end: {text}")
        else:
            known.protocol_error = text

    # -- another server ---------------------------------------------------------------------------------------------

    async def follow(self, observation: Observation) -> None:
        """Handle everything that an observer sees, until the observation ends."""
        facts = self.facts
        try:
            async for event in observation:
                match event:
                    case Memento(state=state):
                        self._handle_position(event)
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

    def _handle_position(self, memento: Memento) -> None:
        now = trio.current_time()
        if self._requested_at is None:
            self.facts.has_begun = True
            for known in self.facts.programs:
                known.has_joined = True
            self.start = self.start or start_name(memento.state)
        elif self.facts.on_turn is not None:
            self.plies += 1
            self.think_times[self.facts.on_turn].append(now - self._requested_at)
        self._requested_at = now
        self.replay.append(memento)


def start_name(state: State) -> str | None:
    """Return the name of the piece that all players have to begin with; None in games without such a piece."""
    shape = getattr(state, "start_shape", None)  # not part of game.api: only some games have it
    return getattr(shape, "name", None)


def _is_played_out(last: Sequence[RoomData]) -> bool:
    """Return whether the game is over by the rules in the last recorded position."""
    return bool(last) and isinstance(last[0], Memento) and last[0].state.outcome() is not None


def _last_line(error: str) -> str:
    return error.strip().splitlines()[-1]
