"""What is found out about a game while it is played: from our own server's events, or as an observer elsewhere.

Invariants: an own game's moves, times, result and replay are those of the event that ends it, taken once. A program is
charged only with what came over its own connections, and after it took its seat only with what came over that one;
nothing that happens after we have called the game off is anybody's fault.
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

MOST_REMARKS: Final = 20
"""Remarks kept of each program."""
_LONGEST_REMARK: Final = 300
_MOVES: Final = frozenset({Fault.ILLEGAL_MOVE, Fault.UNREADABLE_MOVE, Fault.NOT_YOUR_TURN})
"""Refusals of moves, of which the room has told already."""


class Evidence:
    """Gathers `facts` and what is kept of a game; `seats` the programs by seat, `limits` the soft ones by program."""

    def __init__(self, seats: tuple[int, int], names: tuple[str, str], limits: tuple[float, float]) -> None:
        self.facts = GameFacts(seats, names)
        self.plies = 0
        self.think_times: tuple[list[float], list[float]] = ([], [])
        """By program: seconds of each answered request."""
        self.replay: list[RoomData] = []
        self.start: str | None = None
        """The name of the position the game began from, where the rules give it one."""
        self.is_over = False
        """Nothing more will happen in the game's room."""
        self.changed = trio.Event()
        self.on_request: Callable[[], None] = lambda: None
        """Is called whenever somebody begins to think."""
        self.seconds_waiting: Callable[[int, float], float] = lambda _program, _think_time: 0.0
        """How long a program that was too slow waited for this machine while it thought."""
        self.has_ended: Callable[[State], bool] = lambda state: state.outcome() is not None
        """Whether the rules end the game in this position; for a server that is not ours."""
        self._limits = limits
        self._seat_connections: list[str | None] = [None, None]
        self._remarks: tuple[dict[str, None], dict[str, None]] = ({}, {})
        self._is_called_off = False
        self._asked_at: float | None = None

    # -- for whoever runs the game ----------------------------------------------------------------------------------

    def call_off(self) -> None:
        """From here on nothing is held against a program: the game ends by our own doing."""
        self._is_called_off = True

    @property
    def is_called_off(self) -> bool:
        return self._is_called_off

    def remark(self, program: int, text: str) -> None:
        """Keep what a program did besides; the same text once."""
        known, text = self._remarks[program], " ".join(text.split())[:_LONGEST_REMARK]
        if len(known) < MOST_REMARKS:
            known[text] = None
        elif text not in known:
            known[next(reversed(known))] = None
            known.setdefault("and more of that kind")

    @property
    def remarks(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """By program."""
        return tuple(self._remarks[0]), tuple(self._remarks[1])

    def note(self) -> None:
        """Wake whoever waits for `until`."""
        self.changed.set()
        self.changed = trio.Event()

    async def until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            await self.changed.wait()

    # -- our own server ---------------------------------------------------------------------------------------------

    def hear(self, event: events.ServerEvent, program: int | None) -> None:
        """What our own server tells of this game; `program`: at whose connection it happened."""
        facts, seats = self.facts, self.facts.seats
        match event:
            case events.MovePlayed(seat=seat):
                facts.programs[seats[seat]].refusal = None  # it was kept, and played on
                self.on_request()
                return  # nobody waits for a move
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
                self._hear_of_programs(event, program)
        self.note()

    def _hear_of_programs(self, event: events.ServerEvent, program: int | None) -> None:
        seats = self.facts.seats
        match event:
            case events.PlayerJoined(seat=seat, connection=connection):
                self.facts.programs[seats[seat]].has_joined = True
                self._seat_connections[seats[seat]] = connection
            case events.SeatTakenPlainly() if program is not None:
                self.remark(program, "took its seat by a plain join; the contest wants joinPrepared")
            case events.RequestRefused(fault=Fault.FORBIDDEN_HERE, text=text) if program is not None:
                self.remark(program, f"tried what is not allowed: {text}")
                self._charge(event, program)
            case events.ConnectionRefused(reason=reason) if program is not None:
                self.remark(program, f"tried what is not allowed: {reason}")
            case _ if self._is_called_off:
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
                known.too_slow, known.limit = think_time, self._limits[seats[seat]]
                known.seconds_waiting = max(loop_lag, self.seconds_waiting(seats[seat], think_time))
            case _ if program is not None:
                self._charge(event, program)

    def _charge(self, event: events.ServerEvent, program: int) -> None:
        """What a program's connection is refused; over another one than its seat's it is worth a remark only."""
        known = self.facts.programs[program]
        seat_connection = self._seat_connections[program]
        is_beside = seat_connection not in {None, getattr(event, "connection", None)}
        match event:
            case events.RequestRefused(fault=fault, text=text) if fault not in _MOVES:
                if is_beside:
                    self.remark(program, f"was refused on another connection: {text}")
                elif not self._is_called_off:
                    known.refusal = text
                    known.plays_another_game = fault is Fault.OTHER_GAME
            case events.ProtocolBroken(text=text):
                self._charge_nonsense(known, program, text, is_beside=is_beside)
            case events.InternalError(error=error):
                text = f"the server could not deal with what it sent: {_last_line(error)}"
                self._charge_nonsense(known, program, text, is_beside=is_beside)
            case _:
                pass

    def _charge_nonsense(self, known: ProgramFacts, program: int, text: str, *, is_beside: bool) -> None:
        if is_beside or self._is_called_off:
            self.remark(program, f"sent on another connection or after the end: {text}")
        else:
            known.nonsense = text

    # -- a server that is not ours ----------------------------------------------------------------------------------

    async def watch(self, observation: Observation) -> None:
        """Follow what an observer sees, to its end."""
        facts = self.facts
        try:
            async for event in observation:
                match event:
                    case Memento(state=state):
                        self._see_position(event)
                        facts.on_turn = facts.seats[state.seat_on_turn]
                    case Result():
                        facts.result = event
                        # a game that somebody calls off has a result, too, and in some editions a winner
                        last = next((seen for seen in reversed(self.replay) if isinstance(seen, Memento)), None)
                        facts.is_cut_short = last is None or not self.has_ended(last.state)
                        self.replay.append(event)
                    case ErrorMessage(message, original):
                        self.replay.append(event)
                        if isinstance(original, UnreadableData) and facts.on_turn is not None:
                            facts.programs[facts.on_turn].bad_message = " ".join(message.split())
                    case _:
                        pass
                self.note()
        except ClientError as error:
            facts.machine_problem = facts.machine_problem or str(error)
        self.is_over = True
        self.note()

    def _see_position(self, memento: Memento) -> None:
        now = trio.current_time()
        if self._asked_at is None:
            self.facts.has_begun = True
            for known in self.facts.programs:
                known.has_joined = True
            self.start = self.start or start_name(memento.state)
        elif self.facts.on_turn is not None:
            self.plies += 1
            self.think_times[self.facts.on_turn].append(now - self._asked_at)
        self._asked_at = now
        self.replay.append(memento)


def start_name(state: State) -> str | None:
    """The name of the piece that all begin with, in the games that have one."""
    shape = getattr(state, "start_shape", None)  # not something the rules ask of every game
    return getattr(shape, "name", None)


def _is_played_out(last: Sequence[RoomData]) -> bool:
    """Whether the rules have ended the game in the position that was recorded last."""
    return bool(last) and isinstance(last[0], Memento) and last[0].state.outcome() is not None


def _last_line(error: str) -> str:
    return error.strip().splitlines()[-1]
