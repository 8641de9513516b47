"""The verdict of a game, derived from the facts."""

from __future__ import annotations

from typing import Any

import pytest

from spielleiter.match.verdict import (
    BAD_MESSAGE_VERDICTS,
    CRASH_VERDICTS,
    ILLEGAL_VERDICTS,
    LEFTOVER_VERDICTS,
    TIMEOUT_VERDICTS,
    UNCOUNTED_VERDICTS,
    VERDICTS,
    GameFacts,
    Judgement,
    ProgramFacts,
    Verdict,
    has_failed_to_start,
    judge,
)
from spielleiter.protocol.messages import Cause, Result, Score

Known = dict[str, Any]
JOINED = {"has_connected": True, "has_joined": True}
SLOW = {"exceeded_think_time": 2.5, "limit": 2.0}
STOPPED = {"has_stopped_supervisor": True, "returncode": -9}
LEFT_OVER = {"leftovers": ("sleep (7)",)}


def test_each_fault_belongs_to_one_column() -> None:
    columns = [CRASH_VERDICTS, TIMEOUT_VERDICTS, ILLEGAL_VERDICTS, BAD_MESSAGE_VERDICTS, LEFTOVER_VERDICTS]
    assert sum(len(column) for column in columns) == len(frozenset().union(*columns))
    assert frozenset().union(*columns) == set(VERDICTS) - UNCOUNTED_VERDICTS - {Verdict.REGULAR}


def result(first: Cause, second: Cause, winners: tuple[int, ...]) -> Result:
    return Result((), (Score(first, "the server's reason", (0, 7)), Score(second, "", (0, 7))), winners)


def ended(*winners: int) -> Result:
    return result(Cause.REGULAR, Cause.REGULAR, winners)


def facts(first: Known | None = None, second: Known | None = None, **more: Any) -> GameFacts:
    """Return the facts of a game with program 1 on seat 0, so that confusing programs and seats makes a test fail."""
    programs = ProgramFacts(**first or {}), ProgramFacts(**second or {})
    return GameFacts((1, 0), ("new", "old"), programs, **more)


def started(first: Known | None = None, second: Known | None = None, **more: Any) -> GameFacts:
    return facts({**JOINED, **(first or {})}, {**JOINED, **(second or {})}, has_begun=True, **more)


@pytest.mark.parametrize(("winners", "winner"), [((0,), 1), ((1,), 0), ((0, 1), None)])
def test_the_winner_is_the_program_on_the_winning_seat(winners: tuple[int, ...], winner: int | None) -> None:
    assert judge(started(result=ended(*winners))) == Judgement(Verdict.REGULAR, winner=winner)


NONSENSE = {"unread": "hello", "is_unread_text": True}


@pytest.mark.parametrize(
    ("cause", "known", "verdict", "reason"),
    [
        (Cause.RULE_VIOLATION, {}, Verdict.ILLEGAL_MOVE, "the server's reason"),
        (Cause.RULE_VIOLATION, {"bad_message": "no such shape"}, Verdict.BAD_MESSAGE, "no such shape"),
        (Cause.PROCESS_VIOLATION, {}, Verdict.BAD_MESSAGE, "the server's reason"),
        (Cause.LEFT, {"bad_message": "not on turn", "returncode": 1}, Verdict.BAD_MESSAGE, "not on turn"),
        (Cause.SOFT_TIMEOUT, {}, Verdict.TIMEOUT, "the server's reason"),
        (Cause.SOFT_TIMEOUT, SLOW, Verdict.TIMEOUT, "2.500 s, allowed are 2 s"),
        # waiting excuses only what would have been in time without it, and only if it was a tenth of the time
        (
            Cause.SOFT_TIMEOUT,
            {**SLOW, "seconds_waiting": 0.49},
            Verdict.TIMEOUT,
            "2.500 s, allowed are 2 s; 0.490 s of it waiting for a processor",
        ),
        (
            Cause.SOFT_TIMEOUT,
            {"exceeded_think_time": 2.1, "limit": 2.0, "seconds_waiting": 0.2},
            Verdict.TIMEOUT,
            "2.100 s, allowed are 2 s; 0.200 s of it waiting for a processor",
        ),
        # a late answer is a timeout whatever was sent before
        (
            Cause.SOFT_TIMEOUT,
            {**SLOW, "refused_answer": "no such room", "unread": "<room"},
            Verdict.TIMEOUT,
            "2.500 s, allowed are 2 s",
        ),
        (Cause.HARD_TIMEOUT, SLOW, Verdict.HANGS, "2.500 s, allowed are 2 s"),
        (
            Cause.HARD_TIMEOUT,
            {**SLOW, "unread": "<room"},
            Verdict.HANGS,
            "2.500 s, allowed are 2 s; it sent only the beginning of a message: <room",
        ),
        (
            Cause.HARD_TIMEOUT,
            {**SLOW, "refused_answer": "no such room"},
            Verdict.BAD_MESSAGE,
            "the server refused: no such room",
        ),
        (
            Cause.HARD_TIMEOUT,
            {**SLOW, **NONSENSE},
            Verdict.BAD_MESSAGE,
            "it sent something that is not a message: hello",
        ),
        (Cause.LEFT, {"protocol_error": "not well-formed"}, Verdict.BAD_MESSAGE, "not well-formed"),
        (Cause.LEFT, {"refusal": "not your turn"}, Verdict.BAD_MESSAGE, "not your turn"),
        (Cause.LEFT, {}, Verdict.LEAVES, "it ended its connection, its process runs on"),
        (Cause.LEFT, {"returncode": 0}, Verdict.DIES, "ended with exit code 0"),
        (Cause.LEFT, {"returncode": -11}, Verdict.CRASH, "ended by signal 11"),
        (
            Cause.LEFT,
            {"returncode": 1, "memory": "it was allowed 1 MiB", "last_words": "no memory"},
            Verdict.CRASH,
            "ended with exit code 1; it was allowed 1 MiB; its last words: no memory",
        ),
        # a regular end
        (Cause.REGULAR, LEFT_OVER, Verdict.LEFTOVERS, "1 process outlived it: sleep (7)"),
        (Cause.REGULAR, {"missed_exit_timeout": 5.0}, Verdict.NEVER_ENDS, "it still ran 5 s after the end of the game"),
    ],
)
@pytest.mark.parametrize("offender", [0, 1])
def test_a_fault_costs_the_offender_the_game(
    offender: int, cause: Cause, known: Known, verdict: str, reason: str
) -> None:
    final = result(cause, Cause.REGULAR, (1,)) if offender == 1 else result(Cause.REGULAR, cause, (0,))
    if offender == 0:  # the reason is that of the seat
        first, second = final.scores
        final = Result((), (Score(Cause.REGULAR, "", first.parts), Score(cause, first.reason, second.parts)), (0,))
    programs = [known, {}] if offender == 0 else [{}, known]
    assert judge(started(*programs, result=final)) == Judgement(verdict, offender, reason, 1 - offender)


def test_faults_after_the_game_do_not_change_its_result() -> None:
    judged = judge(started({}, {"leftovers": ("sleep (7)", "java (8)")}, result=ended(0)))
    assert judged == Judgement(Verdict.LEFTOVERS, 1, "2 processes outlived it: sleep (7), java (8)", 1)
    assert judge(started({}, {"missed_exit_timeout": 5.0}, result=ended(0))).winner == 1


def test_the_server_decides_who_wins_after_a_timeout() -> None:
    assert judge(started(result=result(Cause.SOFT_TIMEOUT, Cause.REGULAR, (0,)))).winner == 1
    assert judge(started(result=result(Cause.SOFT_TIMEOUT, Cause.REGULAR, ()))).winner == 0


@pytest.mark.parametrize("cause", [Cause.SOFT_TIMEOUT, Cause.HARD_TIMEOUT])
@pytest.mark.parametrize(("seconds", "waiting"), [(2.5, 0.5), (2.1, 0.22)])
def test_a_timeout_on_an_overloaded_machine_has_its_own_verdict(cause: Cause, seconds: float, waiting: float) -> None:
    known = {"exceeded_think_time": seconds, "limit": 2.0, "seconds_waiting": waiting}
    judged = judge(started(known, result=result(Cause.REGULAR, cause, (0,))))
    reason = f"new: {seconds:.3f} s, allowed are 2 s; {waiting:.3f} s of it waiting for a processor"
    assert judged == Judgement(Verdict.OVERLOAD, None, reason, is_counted=False)


# -- before the game --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "is_start_over", "verdict", "reason"),
    [
        ({"not_started": "no such program"}, False, Verdict.NO_START, "no such program"),
        ({"not_started": "no such program", "has_lost_its_file": True}, False, Verdict.NO_START, "no such program"),
        ({"protocol_error": "GET /"}, False, Verdict.NONSENSE, "GET /"),
        ({"returncode": 3}, False, Verdict.NO_START, "ended with exit code 3 and had not connected"),
        (
            {"returncode": -9, "has_connected": True, "last_words": "oh"},
            False,
            Verdict.NO_START,
            "ended by signal 9 and connected, but had not taken its seat; its last words: oh",
        ),
        (
            {"returncode": 1, "refusal": "who are you"},
            False,
            Verdict.NEVER_JOINS,
            "ended with exit code 1; the server had refused: who are you",
        ),
        ({"refusal": "who are you"}, True, Verdict.NEVER_JOINS, "the server refused: who are you"),
        (
            {"refusal": "chess is played here", "plays_another_game": True},
            False,
            Verdict.NEVER_JOINS,
            "the server refused: chess is played here",
        ),
        ({}, True, Verdict.NEVER_JOINS, "it did not connect to the host and port that it was given (-h, -p)"),
        (
            {"has_connected": True, **NONSENSE},
            True,
            Verdict.NONSENSE,
            "it sent something that is not a message: hello",
        ),
        ({"has_connected": True}, True, Verdict.NEVER_JOINS, "it connected and then did not take its seat"),
        ({**JOINED, "returncode": 1}, False, Verdict.CRASH, "ended with exit code 1"),
        ({**JOINED, "has_left": True}, False, Verdict.LEAVES, "it ended its connection, its process runs on"),
        (STOPPED, False, Verdict.TAMPERS, "it stopped the process that watches over it again and again, and was ended"),
        (
            {**JOINED, **STOPPED},
            False,
            Verdict.TAMPERS,
            "it stopped the process that watches over it again and again, and was ended",
        ),
    ],
)
@pytest.mark.parametrize("offender", [0, 1])
def test_a_program_that_prevents_the_start_is_at_fault(
    offender: int, known: Known, is_start_over: bool, verdict: str, reason: str
) -> None:
    programs = [known, JOINED] if offender == 0 else [JOINED, known]
    game = facts(*programs, is_start_over=is_start_over)
    assert [has_failed_to_start(game, program) for program in (0, 1)] == [offender == 0, offender == 1]
    is_lost = "not_started" not in known or "has_lost_its_file" in known  # otherwise this machine could not start it
    wanted = Judgement(verdict, offender, reason, 1 - offender if is_lost else None, is_counted=is_lost)
    assert judge(game) == wanted
    game.result = result(Cause.LEFT, Cause.REGULAR, (offender,))  # the result of a game that never began is ignored
    assert judge(game) == wanted


@pytest.mark.parametrize(
    ("first", "second", "verdict", "how"),
    [
        (
            {"not_started": "no such program"},
            {"returncode": 0},
            Verdict.NO_START,
            "does not start, ended with exit code 0 and had not connected",
        ),
        (STOPPED, {"returncode": 1}, Verdict.TAMPERS, "does not start, ended with exit code 1 and had not connected"),
    ],
)
def test_a_game_that_neither_program_could_play_does_not_count(
    first: Known, second: Known, verdict: str, how: str
) -> None:
    judged = judge(facts(first, second))
    assert (judged.verdict, judged.offender, judged.winner, judged.is_counted) == (verdict, 0, None, False)
    assert judged.reason.endswith(f"; old fails, too: {how}")
    assert judged.also == (1, how)


def test_no_program_has_failed_before_the_time_to_start_is_over() -> None:
    game = facts({"refusal": "try again"}, {"has_connected": True})
    assert not has_failed_to_start(game, 0)
    assert not has_failed_to_start(game, 1)


@pytest.mark.parametrize(
    ("first", "second", "judgement"),
    [
        # a program that waits is not blamed for one that died
        (
            {"returncode": 1},
            {},
            Judgement(Verdict.NO_START, 0, "ended with exit code 1 before the game began", 1),
        ),
        # the program that the end of the room does not reach has lost
        ({}, {"has_followed_the_end": True}, Judgement(Verdict.NEVER_JOINS, 0, "it did not take its seat", 1)),
        # nobody is blamed if both behave alike
        *(
            (
                *(known, known),
                Judgement(
                    Verdict.CANCELLED,
                    reason="one of the programs has not taken its seat; another server does not tell which",
                    is_counted=False,
                ),
            )
            for known in ({}, {"has_followed_the_end": True})
        ),
        (
            {"returncode": 1},
            {"returncode": 2},
            Judgement(
                Verdict.NO_START,
                0,
                "ended with exit code 1 before the game began; old fails, too: "
                "does not start, ended with exit code 2 before the game began",
                is_counted=False,
                also=(1, "does not start, ended with exit code 2 before the game began"),
            ),
        ),
    ],
)
def test_at_another_server_connections_are_not_known(first: Known, second: Known, judgement: Judgement) -> None:
    assert judge(facts(first, second, is_start_over=True, sees_connections=False)) == judgement
    if judgement.winner == 1:
        mirrored = Judgement(judgement.verdict, 1, judgement.reason, 0)
        assert judge(facts(second, first, is_start_over=True, sees_connections=False)) == mirrored


# -- who cannot be blamed ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cause", "known", "is_void"),
    [
        (Cause.RULE_VIOLATION, {"doubtful_connections": 0}, False),
        (Cause.RULE_VIOLATION, {"doubtful_connections": 1}, True),
        (Cause.RULE_VIOLATION, {"was_turned_away": True}, False),  # it has played
        # a regular game is void only if two claimed the seat
        (Cause.REGULAR, {"doubtful_connections": 1}, False),
        (Cause.REGULAR, {"doubtful_connections": 1, **LEFT_OVER}, False),
        (Cause.REGULAR, {"doubtful_connections": 2}, True),
    ],
)
def test_nobody_loses_by_a_connection_that_may_be_the_opponents(cause: Cause, known: Known, is_void: bool) -> None:
    judged = judge(started({}, known, result=result(cause, Cause.REGULAR, (1,))))
    assert (judged.verdict == Verdict.CONTESTED) is is_void
    assert judged.is_counted is not is_void
    assert not (is_void and judged.offender is not None)


@pytest.mark.parametrize("opponent", [JOINED, {}])
@pytest.mark.parametrize(
    ("known", "is_void"),
    [
        ({"was_turned_away": True}, True),
        ({"was_turned_away": True, "returncode": 1}, True),
        ({"was_turned_away": False}, False),
        # these faults are its own, whoever else has connected
        ({"was_turned_away": True, "not_started": "no such program"}, False),
        ({"was_turned_away": True, "protocol_error": "GET /"}, False),
    ],
)
def test_nobody_loses_who_may_have_been_kept_from_its_seat(known: Known, opponent: Known, is_void: bool) -> None:
    judged = judge(facts(opponent, known, is_start_over=True))
    assert (judged.verdict == Verdict.CONTESTED) is is_void
    assert (judged.offender is None) is is_void
    assert not (is_void and judged.is_counted)


def test_a_program_that_was_turned_away_and_joined_later_is_not_the_one_to_blame() -> None:
    judged = judge(facts({"returncode": 1}, {**JOINED, "was_turned_away": True}))
    assert (judged.verdict, judged.offender, judged.is_counted) == (Verdict.NO_START, 0, True)


@pytest.mark.parametrize("final", [ended(), ended(0), None])
def test_the_program_to_move_hangs_when_the_time_is_over(final: Result | None) -> None:
    judged = judge(started(result=final, is_game_over=True, on_turn=1))
    assert judged == Judgement(Verdict.HANGS, 1, "it was on turn when the time for the game was over", 0)


@pytest.mark.parametrize(
    ("game", "verdict", "reason"),
    [
        (started(machine_problem="the cable"), Verdict.SERVER_FAILED, "the cable"),
        (started(), Verdict.SERVER_FAILED, "the server gave no result"),
        (started(result=ended()), Verdict.CANCELLED, "the game was called off"),
        (started(result=ended(1), is_cut_short=True), Verdict.CANCELLED, "the game was called off"),
        (facts(JOINED, {}), Verdict.CANCELLED, "the game was called off before it began"),
    ],
)
def test_a_game_without_a_fault_or_a_result_is_not_counted(game: GameFacts, verdict: str, reason: str) -> None:
    assert verdict in UNCOUNTED_VERDICTS
    assert judge(game) == Judgement(verdict, None, reason, is_counted=False)


@pytest.mark.parametrize(
    ("first", "second", "winner"), [(STOPPED, None, 1), (None, STOPPED, 0), (STOPPED, STOPPED, None)]
)
def test_a_program_that_keeps_stopping_its_supervisor_loses_whatever_the_result_is(
    first: Known | None, second: Known | None, winner: int | None
) -> None:
    for final in (ended(0), ended(1), None):
        judged = judge(started(first, second, result=final))
        assert (judged.verdict, judged.winner) == (Verdict.TAMPERS, winner)
        assert judged.offender == (0 if winner is None else 1 - winner)
        assert judged.is_counted is (winner is not None)
        assert (judged.also is None) is judged.is_counted
