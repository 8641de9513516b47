"""The verdict on a finished game, decided from the facts that were collected about it.

Nothing here waits or measures; the same facts give the same verdict. The server's result has priority, since only the
server saw what was sent and when; the way a process ended explains a result with the cause "left". The program at fault
loses, unless the server says otherwise. That includes a program that never took its seat: its game is lost, as it is in
the contest, unless its opponent failed as well or this machine could not start it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from spielleiter.protocol.messages import Cause, Result


class Verdict:
    """The kinds of verdicts; the values are the texts in journals and reports."""

    REGULAR: Final = "regular"
    """The game was played to its end by the rules."""
    NO_START: Final = "does not start"
    """The program does not exist, or it ended before it connected."""
    NEVER_JOINS: Final = "never joins"
    """It ran, but did not take its seat in time."""
    NONSENSE: Final = "speaks nonsense"
    """What it sent before the game began does not follow the protocol."""
    DIES: Final = "dies"
    """It ended during the game by itself, with exit code 0."""
    CRASH: Final = "crash"
    """It ended during the game by a signal, or with an exit code other than 0."""
    LEAVES: Final = "leaves"
    """It closed its connection during the game and kept running."""
    TAMPERS: Final = "tampers with its supervisor"
    """It repeatedly stopped the process that keeps track of its processes, and was ended."""
    TIMEOUT: Final = "timeout"
    """It answered after the soft limit."""
    HANGS: Final = "hangs"
    """It did not answer within the hard limit."""
    ILLEGAL_MOVE: Final = "illegal move"
    """The rules refuse its move."""
    BAD_MESSAGE: Final = "bad message"
    """What it sent during the game was not a valid move message, came out of turn, or was refused."""
    NEVER_ENDS: Final = "does not end"
    """The game was played to its end and counts, but the program did not exit in time."""
    LEFTOVERS: Final = "leaves processes behind"
    """The game was played to its end and counts, but processes that the program had started outlived it."""
    OVERLOAD: Final = "overloaded machine"
    """A program was too slow only because it had to wait for a processor; the game does not count."""
    CONTESTED: Final = "contested seat"
    """Nobody can tell which program was in a seat, or who kept one from it; the game does not count."""
    CANCELLED: Final = "cancelled"
    """The game was cancelled; it does not count."""
    SERVER_FAILED: Final = "server failed"
    """The server or this machine failed; the game does not count."""


class Attempt:
    """What a program must not try, in the words of the reports; the match refuses it, and the result stays as it is."""

    ADMINISTRATE: Final = "asked for the rights of an administrator"
    """It sent a password, or a request that only administrators may send."""
    SEAT: Final = "asked for another seat than its own"
    """It named a reservation code that is not its own, or a room."""
    PORT: Final = "connected to the port of another program"
    """On that port is only the other program's seat."""


VERDICTS: Final = tuple(value for name, value in vars(Verdict).items() if name.isupper())
"""All kinds of verdicts."""

CRASH_VERDICTS: Final = frozenset(
    {Verdict.NO_START, Verdict.NEVER_JOINS, Verdict.DIES, Verdict.CRASH, Verdict.LEAVES, Verdict.TAMPERS}
)
TIMEOUT_VERDICTS: Final = frozenset({Verdict.TIMEOUT, Verdict.HANGS})
ILLEGAL_VERDICTS: Final = frozenset({Verdict.ILLEGAL_MOVE})
BAD_MESSAGE_VERDICTS: Final = frozenset({Verdict.NONSENSE, Verdict.BAD_MESSAGE})
"""The columns of the table of faults; together they are all verdicts that cost a program the game."""
LEFTOVER_VERDICTS: Final = frozenset({Verdict.NEVER_ENDS, Verdict.LEFTOVERS})
"""The last column: faults after the end of the game, which do not change its result."""
UNCOUNTED_VERDICTS: Final = frozenset({Verdict.OVERLOAD, Verdict.CONTESTED, Verdict.CANCELLED, Verdict.SERVER_FAILED})
"""The verdicts on games that do not count, because of the machine or a cancellation."""

FAILED_AS_WELL: Final = "failed as well: "
"""The beginning of the remark on a program that failed before the game began, if its opponent is the offender."""


@dataclass(slots=True)
class ProgramFacts:
    """What is known about one program in one game."""

    not_started: str | None = None
    """Why its process could not be started; None if it was started."""
    has_lost_its_file: bool = False
    """Whether it was not started because its file is not the one that the match began with, or is gone."""
    has_connected: bool = False
    has_joined: bool = False
    has_left: bool = False
    """Whether its connection ended before the game began."""
    returncode: int | None = None
    """The return code of its process, as in subprocess; None if it did not end by itself before the verdict."""
    last_words: str = ""
    """The exception that its outputs report, or else the last line of standard error or standard output."""
    memory: str = ""
    """How much memory it was allowed and used, if its memory was limited and it ended with an error."""
    refusal: str | None = None
    """The server's message for a request that it refused."""
    refused_answer: str | None = None
    """The server's message for a packet that was refused since it was last asked for a move."""
    plays_another_game: bool = False
    """Whether the refused request was for a different game."""
    protocol_error: str | None = None
    """What was wrong with bytes that the server could not parse."""
    bad_message: str | None = None
    """What was wrong with a move that could not be parsed, or was sent out of turn."""
    exceeded_think_time: float | None = None
    """Its think time in seconds, if the server found it too long; known only at the match's own server."""
    limit: float | None = None
    """Its soft time limit in seconds, even if it was the hard limit that ended the game."""
    seconds_waiting: float = 0.0
    """How many seconds of its think time it waited for a processor."""
    missed_exit_timeout: float | None = None
    """The seconds that it had to exit after its game, if it did not; None if it did, or was ended at once."""
    leftovers: tuple[str, ...] = ()
    """The processes that outlived its process."""
    has_stopped_supervisor: bool = False
    """Whether it was killed because it stopped its supervisor repeatedly."""
    unread: str = ""
    """The beginning of what it sent although the server still waits for a packet."""
    is_unread_text: bool = False
    """Whether that can never become a packet."""
    has_followed_the_end: bool = False
    """Whether it ended by itself after the match had closed a room in which the game had not begun."""
    doubtful_connections: int = 0
    """How many connections were served as its own, if one of them may be its opponent's; otherwise 0."""
    was_turned_away: bool = False
    """Whether a connection was refused that may have been its own, since too many waited whose owner was not known."""


@dataclass(slots=True)
class GameFacts:
    """What is known about one game. `seats` are the programs by seat; `names` and `programs` are indexed by program."""

    seats: tuple[int, int]
    names: tuple[str, str]
    programs: tuple[ProgramFacts, ProgramFacts] = field(default_factory=lambda: (ProgramFacts(), ProgramFacts()))
    has_begun: bool = False
    result: Result | None = None
    on_turn: int | None = None
    """The program that was last asked for a move."""
    is_start_over: bool = False
    """Whether the time to take the seats is over."""
    is_game_over: bool = False
    """Whether the time for the whole game is over."""
    is_cut_short: bool = False
    """Whether there is a result although the game was not over by the rules."""
    sees_connections: bool = True
    """Whether it is known who connects and takes a seat; not known at another server."""
    machine_problem: str | None = None
    """How the server or this machine failed; None if neither did."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict, as fields of a game's record."""

    verdict: str
    offender: int | None = None
    reason: str = ""
    winner: int | None = None
    is_counted: bool = True
    also: tuple[int, str] | None = None
    """The other program and how it failed, if neither program could play."""


OVERLOAD_SHARE: Final = 0.1
"""Waiting for a processor for less than this share of its time does not excuse a program."""

STOPPED_SUPERVISOR: Final = "stopped the process that watches over it"
_TAMPERED: Final = f"it {STOPPED_SUPERVISOR} again and again, and was ended"

_TIMEOUTS: Final = {Cause.SOFT_TIMEOUT: Verdict.TIMEOUT, Cause.HARD_TIMEOUT: Verdict.HANGS}


def judge(facts: GameFacts) -> Judgement:
    """Return the verdict on a game that is over or has to be ended."""
    found = _judge(facts)
    for program, known in enumerate(facts.programs):
        is_lost_there = found.offender == program and found.verdict not in LEFTOVER_VERDICTS
        if known.doubtful_connections > 1 or (known.doubtful_connections and is_lost_there):
            name, opponent = facts.names[program], facts.names[1 - program]
            doubt = f"the connection in the seat of {name} may be that of {opponent}"
            text = f"{doubt}, since neither shows all of its open files; {found.verdict}"
            return Judgement(Verdict.CONTESTED, reason=text, is_counted=False)
        if known.was_turned_away and program in _absent(facts, found):
            text = f"too many unknown connections may have kept {facts.names[program]} from its seat; {found.verdict}"
            return Judgement(Verdict.CONTESTED, reason=text, is_counted=False)
    return found


def _absent(facts: GameFacts, found: Judgement) -> set[int]:
    """Return the programs that are blamed for not having taken their seats, although they were started."""
    if facts.has_begun or facts.machine_problem is not None:
        return set()
    blamed = {found.offender, None if found.also is None else found.also[0]}
    waited_for = {
        program for program, known in enumerate(facts.programs) if known.not_started is None and not known.has_joined
    }
    faults = {program: _judge_start(facts, facts.programs[program]) for program in waited_for & blamed}
    return {
        program for program, fault in faults.items() if fault and fault[0] in {Verdict.NO_START, Verdict.NEVER_JOINS}
    }


def _judge(facts: GameFacts) -> Judgement:
    if facts.machine_problem is not None:
        return Judgement(Verdict.SERVER_FAILED, reason=facts.machine_problem, is_counted=False)
    if facts.has_begun and any(known.has_stopped_supervisor for known in facts.programs):
        # the program loses, whatever the result says: how the game would have ended otherwise is not known
        if all(known.has_stopped_supervisor for known in facts.programs):
            also = 1, f"{Verdict.TAMPERS}, {_TAMPERED}"
            return Judgement(Verdict.TAMPERS, 0, _TAMPERED, is_counted=False, also=also)
        offender = 0 if facts.programs[0].has_stopped_supervisor else 1
        return Judgement(Verdict.TAMPERS, offender, _TAMPERED, 1 - offender)
    if facts.result is None or not facts.has_begun:  # a result is also sent if the game never began
        return _judge_without_result(facts)
    for seat, score in enumerate(facts.result.scores):
        if score.cause is not Cause.REGULAR:
            return _judge_fault(facts, facts.result, facts.seats[seat], score.cause, score.reason)
    # some editions name a winner of a cancelled game
    if not facts.result.winners or facts.is_game_over or facts.is_cut_short:
        return _judge_cancelled(facts)
    winner = _winner(facts)
    for program, each in enumerate(facts.programs):
        if each.missed_exit_timeout is not None:
            return Judgement(
                Verdict.NEVER_ENDS,
                program,
                f"it still ran {each.missed_exit_timeout:g} s after the end of the game",
                winner,
            )
        if each.leftovers:
            count = len(each.leftovers)
            text = f"{count} process{'es' if count > 1 else ''} outlived it: {', '.join(each.leftovers)}"
            return Judgement(Verdict.LEFTOVERS, program, text, winner)
    return Judgement(Verdict.REGULAR, winner=winner)


def _judge_fault(facts: GameFacts, result: Result, program: int, cause: Cause, reason: str) -> Judgement:
    known = facts.programs[program]
    winner = _winner(facts) if result.winners else 1 - program
    if cause is Cause.HARD_TIMEOUT and known.refused_answer is not None:
        return Judgement(Verdict.BAD_MESSAGE, program, f"the server refused: {known.refused_answer}", winner)
    if cause is Cause.HARD_TIMEOUT and known.is_unread_text:
        text = f"it sent something that is not a message: {known.unread}"
        return Judgement(Verdict.BAD_MESSAGE, program, text, winner)
    if cause in _TIMEOUTS:
        return _judge_timeout(facts, program, _TIMEOUTS[cause], reason, winner)
    if known.bad_message is not None:
        return Judgement(Verdict.BAD_MESSAGE, program, known.bad_message, winner)
    if cause is Cause.RULE_VIOLATION:
        return Judgement(Verdict.ILLEGAL_MOVE, program, reason, winner)
    if cause is Cause.PROCESS_VIOLATION:
        return Judgement(Verdict.BAD_MESSAGE, program, reason, winner)
    if known.protocol_error is not None:
        return Judgement(Verdict.BAD_MESSAGE, program, known.protocol_error, winner)
    if known.refusal is not None:
        return Judgement(Verdict.BAD_MESSAGE, program, known.refusal, winner)
    verdict, text = _how_it_left(known)
    return Judgement(verdict, program, text, winner)


def _judge_timeout(facts: GameFacts, program: int, verdict: str, reason: str, winner: int | None) -> Judgement:
    known = facts.programs[program]
    if known.exceeded_think_time is None or known.limit is None:
        return Judgement(verdict, program, reason, winner)
    text = f"{known.exceeded_think_time:.3f} s, allowed are {known.limit:g} s"
    if known.unread and verdict == Verdict.HANGS:
        text += f"; it sent only the beginning of a message: {known.unread}"
    if known.seconds_waiting:
        text += f"; {known.seconds_waiting:.3f} s of it waiting for a processor"
    if is_machines_fault(known.exceeded_think_time, known.seconds_waiting, known.limit):
        return Judgement(Verdict.OVERLOAD, None, f"{facts.names[program]}: {text}", is_counted=False)
    return Judgement(verdict, program, text, winner)


def is_machines_fault(seconds: float, seconds_waiting: float, limit: float) -> bool:
    """Return whether something took longer than `limit` seconds only because it waited for a processor."""
    return seconds_waiting >= OVERLOAD_SHARE * seconds and seconds - seconds_waiting <= limit


def _how_it_left(known: ProgramFacts) -> tuple[str, str]:
    code = known.returncode
    if code is None:
        return Verdict.LEAVES, "it ended its connection, its process runs on"
    return Verdict.CRASH if code else Verdict.DIES, _with_last_words(exit_text(code), known)


def exit_text(code: int) -> str:
    return f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}"


def _judge_cancelled(facts: GameFacts) -> Judgement:
    """The game was cancelled: by the match because its time was over, or by somebody else."""
    if facts.is_game_over and facts.on_turn is not None:
        return Judgement(
            Verdict.HANGS, facts.on_turn, "it was on turn when the time for the game was over", 1 - facts.on_turn
        )
    return Judgement(Verdict.CANCELLED, reason="the game was called off", is_counted=False)


def _judge_without_result(facts: GameFacts) -> Judgement:
    """The game never began, or the server did not send a result."""
    if facts.has_begun:
        if facts.is_game_over and facts.on_turn is not None:
            return _judge_cancelled(facts)
        return Judgement(Verdict.SERVER_FAILED, reason="the server gave no result", is_counted=False)
    judged = [_judge_start(facts, known) for known in facts.programs]
    if not facts.sees_connections and facts.is_start_over:
        # another server does not tell which program has taken its seat: one that waits for its opponent looks like one
        # that never joins, but it ends when its room is closed
        failed = {
            program
            for program, known in enumerate(facts.programs)
            if known.not_started is not None or known.has_stopped_supervisor or known.returncode is not None
        }
        waiting = {program for program, known in enumerate(facts.programs) if known.has_followed_the_end}
        suspects = failed or (({0, 1} - waiting) if waiting else set())
        judged = [each if program in suspects else None for program, each in enumerate(judged)]
        if not suspects:
            reason = "one of the programs has not taken its seat; another server does not tell which"
            return Judgement(Verdict.CANCELLED, reason=reason, is_counted=False)
    guilty = [program for program, each in enumerate(judged) if each is not None]
    if not guilty:
        return Judgement(Verdict.CANCELLED, reason="the game was called off before it began", is_counted=False)
    offender = guilty[0]
    first = judged[offender]
    assert first is not None
    verdict, reason = first
    if len(guilty) == 1:
        known = facts.programs[offender]
        if known.not_started is not None and not known.has_lost_its_file:  # this machine could not start it
            return Judgement(verdict, offender, reason, is_counted=False)
        return Judgement(verdict, offender, reason, 1 - offender)
    other = judged[1]
    assert other is not None
    how = f"{other[0]}, {other[1]}"
    text = f"{reason}; {facts.names[1]} fails, too: {how}"
    return Judgement(verdict, offender, text, is_counted=False, also=(1, how))


def has_failed_to_start(facts: GameFacts, program: int) -> bool:
    """Return whether this program has made the game impossible."""
    return _judge_start(facts, facts.programs[program]) is not None


def _judge_start(facts: GameFacts, known: ProgramFacts) -> tuple[str, str] | None:
    """Return the verdict and reason for a fault of a program before the game began; None without a fault."""
    if known.not_started is not None:
        return Verdict.NO_START, known.not_started
    if known.has_stopped_supervisor:
        return Verdict.TAMPERS, _TAMPERED
    if known.protocol_error is not None:
        return Verdict.NONSENSE, known.protocol_error
    if known.has_joined:
        return _how_it_left(known) if known.has_left or known.returncode is not None else None
    if known.returncode is not None:
        ended = exit_text(known.returncode)
        if known.refusal is not None:
            return Verdict.NEVER_JOINS, f"{ended}; the server had refused: {known.refusal}"
        if not facts.sees_connections:
            return Verdict.NO_START, _with_last_words(f"{ended} before the game began", known)
        done = "connected, but had not taken its seat" if known.has_connected else "had not connected"
        return Verdict.NO_START, _with_last_words(f"{ended} and {done}", known)
    if not facts.is_start_over and not known.plays_another_game:
        return None
    if known.refusal is not None:
        return Verdict.NEVER_JOINS, f"the server refused: {known.refusal}"
    if known.is_unread_text:
        return Verdict.NONSENSE, f"it sent something that is not a message: {known.unread}"
    if not facts.sees_connections:
        done = "it did not take its seat"
    elif known.has_connected:
        done = "it connected and then did not take its seat"
    else:
        done = "it did not connect to the host and port that it was given (-h, -p)"
    return Verdict.NEVER_JOINS, _with_last_words(done, known)


def _with_last_words(text: str, known: ProgramFacts) -> str:
    words = f"its last words: {known.last_words}" if known.last_words else ""
    return "; ".join(each for each in (text, known.memory, words) if each)


def _winner(facts: GameFacts) -> int | None:
    """Return the program that won; None for a draw."""
    assert facts.result is not None
    winners = facts.result.winners
    return facts.seats[winners[0]] if len(winners) == 1 else None
