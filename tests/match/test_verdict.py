"""The verdict of a game, derived from the facts."""

from __future__ import annotations

from typing import Any

import pytest

from spielleiter.match.verdict import (
    UNCOUNTED_VERDICTS,
    GameFacts,
    Judgement,
    ProgramFacts,
    Verdict,
    has_failed_to_start,
    judge,
)
from spielleiter.protocol.messages import Cause, Result, Score


def result(*causes: Cause, winners: tuple[int, ...], reasons: tuple[str, str] = ("", "")) -> Result:
    scores = tuple(Score(cause, reason, (0, 7)) for cause, reason in zip(causes, reasons, strict=True))
    return Result((), scores, winners)


PLAYED = (Cause.REGULAR, Cause.REGULAR)


def facts(first: dict[str, Any] | None = None, second: dict[str, Any] | None = None, **more: Any) -> GameFacts:
    """Return the facts of a game with program 1 on seat 0, so that confusing programs and seats makes a test fail."""
    programs = ProgramFacts(**first or {}), ProgramFacts(**second or {})
    return GameFacts((1, 0), ("new", "old"), programs, **more)


def started(first: dict[str, Any] | None = None, second: dict[str, Any] | None = None, **more: Any) -> GameFacts:
    joined = {"has_connected": True, "has_joined": True}
    return facts({**joined, **(first or {})}, {**joined, **(second or {})}, has_begun=True, **more)


@pytest.mark.parametrize(("winners", "winner"), [((0,), 1), ((1,), 0), ((0, 1), None)])
def test_the_winner_is_the_program_on_the_winning_seat(winners: tuple[int, ...], winner: int | None) -> None:
    assert judge(started(result=result(*PLAYED, winners=winners))) == Judgement(Verdict.REGULAR, winner=winner)


SLOW = {"exceeded_think_time": 2.5, "limit": 2.0}


@pytest.mark.parametrize(
    ("cause", "known", "verdict", "reason"),
    [
        (Cause.RULE_VIOLATION, {}, Verdict.ILLEGAL_MOVE, "the server's reason"),
        (Cause.RULE_VIOLATION, {"bad_message": "no such shape"}, Verdict.BAD_MESSAGE, "no such shape"),
        (Cause.PROCESS_VIOLATION, {}, Verdict.BAD_MESSAGE, "the server's reason"),
        (Cause.PROCESS_VIOLATION, {"bad_message": "not on turn"}, Verdict.BAD_MESSAGE, "not on turn"),
        (Cause.LEFT, {"bad_message": "not on turn", "returncode": 1}, Verdict.BAD_MESSAGE, "not on turn"),
        (Cause.SOFT_TIMEOUT, {}, Verdict.TIMEOUT, "the server's reason"),
        (Cause.SOFT_TIMEOUT, SLOW, Verdict.TIMEOUT, "2.500 s, allowed are 2 s"),
        (
            Cause.SOFT_TIMEOUT,
            {**SLOW, "seconds_waiting": 0.4},
            Verdict.TIMEOUT,
            "2.500 s, allowed are 2 s; 0.400 s of it waiting for a processor",
        ),
        (
            Cause.SOFT_TIMEOUT,
            {"exceeded_think_time": 2.01, "limit": 2.0, "seconds_waiting": 0.1},
            Verdict.TIMEOUT,
            "2.010 s, allowed are 2 s; 0.100 s of it waiting for a processor",
        ),
        (Cause.HARD_TIMEOUT, {}, Verdict.HANGS, "the server's reason"),
        (Cause.LEFT, {"protocol_error": "not well-formed"}, Verdict.BAD_MESSAGE, "not well-formed"),
        (Cause.LEFT, {"refusal": "not your turn"}, Verdict.BAD_MESSAGE, "not your turn"),
        (Cause.LEFT, {}, Verdict.LEAVES, "it ended its connection, its process runs on"),
        (Cause.LEFT, {"returncode": 0}, Verdict.DIES, "ended with exit code 0"),
        (Cause.LEFT, {"returncode": -11}, Verdict.CRASH, "ended by signal 11"),
        (
            Cause.LEFT,
            {"returncode": 1, "last_words": "no memory"},
            Verdict.CRASH,
            "ended with exit code 1; its last words: no memory",
        ),
    ],
)
@pytest.mark.parametrize("offender", [0, 1])
def test_a_fault_costs_the_offender_the_game(
    offender: int, cause: Cause, known: dict[str, Any], verdict: str, reason: str
) -> None:
    seat = 1 - offender
    causes = [Cause.REGULAR, Cause.REGULAR]
    causes[seat] = cause
    reasons = ("the server's reason", "") if seat == 0 else ("", "the server's reason")
    programs = [known, {}] if offender == 0 else [{}, known]
    final = result(*causes, winners=(1 - seat,), reasons=reasons)
    assert judge(started(*programs, result=final)) == Judgement(verdict, offender, reason, 1 - offender)


def test_the_server_decides_who_wins_after_a_timeout() -> None:
    final = result(Cause.SOFT_TIMEOUT, Cause.REGULAR, winners=(0,))
    assert judge(started(result=final)).winner == 1
    final = result(Cause.SOFT_TIMEOUT, Cause.REGULAR, winners=())
    assert judge(started(result=final)).winner == 0


@pytest.mark.parametrize("cause", [Cause.SOFT_TIMEOUT, Cause.HARD_TIMEOUT])
def test_a_timeout_on_an_overloaded_machine_has_its_own_verdict(cause: Cause) -> None:
    final = result(Cause.REGULAR, cause, winners=(0,))
    judged = judge(started({**SLOW, "seconds_waiting": 0.6}, result=final))
    reason = "new: 2.500 s, allowed are 2 s; 0.600 s of it waiting for a processor"
    assert judged == Judgement(Verdict.OVERLOAD, None, reason, is_counted=False)


@pytest.mark.parametrize(
    ("seconds", "waiting", "is_excused"),
    [
        (2.5, 0.49, False),  # late even without the waiting
        (2.5, 0.5, True),
        (2.1, 0.2, False),  # less than a tenth of the time
        (2.1, 0.22, True),
    ],
)
def test_waiting_excuses_only_what_would_have_been_in_time_without_it(
    seconds: float, waiting: float, is_excused: bool
) -> None:
    known = {"exceeded_think_time": seconds, "limit": 2.0, "seconds_waiting": waiting}
    judged = judge(started({}, known, result=result(Cause.SOFT_TIMEOUT, Cause.REGULAR, winners=(1,))))
    assert judged.verdict == (Verdict.OVERLOAD if is_excused else Verdict.TIMEOUT)
    assert judged.winner == (None if is_excused else 0)


@pytest.mark.parametrize(
    ("leftovers", "reason"),
    [
        (("sleep (7)",), "1 process outlived it: sleep (7)"),
        (("sleep (7)", "java (8)"), "2 processes outlived it: sleep (7), java (8)"),
    ],
)
def test_leftovers_do_not_change_the_result(leftovers: tuple[str, ...], reason: str) -> None:
    judged = judge(started({}, {"leftovers": leftovers}, result=result(*PLAYED, winners=(0,))))
    assert judged == Judgement(Verdict.LEFTOVERS, 1, reason, 1)


def test_a_program_that_does_not_end_keeps_its_result() -> None:
    judged = judge(started({}, {"missed_exit_timeout": 5.0}, result=result(*PLAYED, winners=(0,))))
    assert judged == Judgement(Verdict.NEVER_ENDS, 1, "it still ran 5 s after the end of the game", 1)


JOINED = {"has_connected": True, "has_joined": True}


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
            {"has_connected": True, "unread": "hello", "is_unread_text": True},
            True,
            Verdict.NONSENSE,
            "it sent something that is not a message: hello",
        ),
        ({"has_connected": True}, True, Verdict.NEVER_JOINS, "it connected and then did not take its seat"),
        ({**JOINED, "returncode": 1}, False, Verdict.CRASH, "ended with exit code 1"),
        ({**JOINED, "has_left": True}, False, Verdict.LEAVES, "it ended its connection, its process runs on"),
    ],
)
@pytest.mark.parametrize("offender", [0, 1])
def test_a_program_that_prevents_the_start_is_at_fault(
    offender: int, known: dict[str, Any], is_start_over: bool, verdict: str, reason: str
) -> None:
    programs = [known, JOINED] if offender == 0 else [JOINED, known]
    game = facts(*programs, is_start_over=is_start_over)
    assert [has_failed_to_start(game, program) for program in (0, 1)] == [offender == 0, offender == 1]
    is_lost = "not_started" not in known or "has_lost_its_file" in known  # otherwise this machine could not start it
    winner = 1 - offender if is_lost else None
    assert judge(game) == Judgement(verdict, offender, reason, winner, is_counted=is_lost)


@pytest.mark.parametrize("offender", [0, 1])
def test_at_another_server_a_program_that_waits_is_not_blamed_for_one_that_died(offender: int) -> None:
    programs = [{"returncode": 1}, {}] if offender == 0 else [{}, {"returncode": 1}]
    judged = judge(facts(*programs, is_start_over=True, sees_connections=False))
    assert (judged.verdict, judged.offender, judged.winner) == (Verdict.NO_START, offender, 1 - offender)
    assert judged.is_counted


@pytest.mark.parametrize("offender", [0, 1])
def test_at_another_server_the_program_that_the_end_of_the_room_does_not_reach_has_lost(offender: int) -> None:
    in_seat = {"has_followed_the_end": True}
    programs = [{}, in_seat] if offender == 0 else [in_seat, {}]
    judged = judge(facts(*programs, is_start_over=True, sees_connections=False))
    assert judged == Judgement(Verdict.NEVER_JOINS, offender, "it did not take its seat", 1 - offender)


@pytest.mark.parametrize("known", [{}, {"has_followed_the_end": True}])
def test_at_another_server_nobody_is_blamed_if_both_behave_alike(known: dict[str, Any]) -> None:
    judged = judge(facts(known, known, is_start_over=True, sees_connections=False))
    assert (judged.verdict, judged.offender, judged.winner, judged.is_counted) == (Verdict.CANCELLED, None, None, False)


def test_at_another_server_two_programs_that_died_have_both_failed() -> None:
    judged = judge(facts({"returncode": 1}, {"returncode": 2}, sees_connections=False))
    assert (judged.verdict, judged.offender, judged.is_counted) == (Verdict.NO_START, 0, False)
    assert judged.also == (1, "does not start, ended with exit code 2 before the game began")


@pytest.mark.parametrize(
    ("known", "verdict", "reason"),
    [
        ({"refused_answer": "no such room"}, Verdict.BAD_MESSAGE, "the server refused: no such room"),
        (
            {"unread": "hello", "is_unread_text": True},
            Verdict.BAD_MESSAGE,
            "it sent something that is not a message: hello",
        ),
        ({"unread": "<room", "is_unread_text": False}, Verdict.HANGS, "it sent only the beginning of a message: <room"),
        ({}, Verdict.HANGS, "3.000 s, allowed are 2 s"),
    ],
)
def test_what_was_sent_instead_of_an_answer_is_the_cause(known: dict[str, Any], verdict: str, reason: str) -> None:
    final = result(Cause.HARD_TIMEOUT, Cause.REGULAR, winners=(1,))
    judged = judge(started({}, {"exceeded_think_time": 3.0, "limit": 2.0, **known}, result=final))
    assert (judged.verdict, judged.offender, judged.winner) == (verdict, 1, 0)
    assert reason in judged.reason


def test_a_late_answer_is_a_timeout_whatever_was_sent_before() -> None:
    final = result(Cause.SOFT_TIMEOUT, Cause.REGULAR, winners=(1,))
    known = {"exceeded_think_time": 3.0, "limit": 2.0, "refused_answer": "no such room", "unread": "<room"}
    assert judge(started({}, known, result=final)).reason == "3.000 s, allowed are 2 s"


@pytest.mark.parametrize(("connections", "is_void"), [(0, False), (1, True), (2, True)])
def test_nobody_loses_by_a_connection_that_may_be_the_opponents(connections: int, is_void: bool) -> None:
    final = result(Cause.RULE_VIOLATION, Cause.REGULAR, winners=(1,))
    judged = judge(started({}, {"doubtful_connections": connections}, result=final))
    assert judged.is_counted is not is_void
    assert (judged.verdict == Verdict.CONTESTED) is is_void
    assert (judged.offender is None) is is_void


@pytest.mark.parametrize(("connections", "is_void"), [(1, False), (2, True)])
@pytest.mark.parametrize("leftovers", [(), ("sleep (7)",)])
def test_a_regular_game_is_void_only_if_two_claimed_the_seat(
    connections: int, is_void: bool, leftovers: tuple[str, ...]
) -> None:
    known = {"doubtful_connections": connections, "leftovers": leftovers}
    judged = judge(started(known, result=result(*PLAYED, winners=(0,))))
    assert (judged.verdict == Verdict.CONTESTED) is is_void


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
def test_nobody_loses_who_may_have_been_kept_from_its_seat(
    known: dict[str, Any], opponent: dict[str, Any], is_void: bool
) -> None:
    judged = judge(facts(opponent, known, is_start_over=True))
    assert (judged.verdict == Verdict.CONTESTED) is is_void
    assert (judged.offender is None) is is_void
    assert not (is_void and judged.is_counted)


def test_a_program_that_was_turned_away_once_may_still_lose_its_game() -> None:
    final = result(Cause.RULE_VIOLATION, Cause.REGULAR, winners=(1,))
    judged = judge(started({}, {"was_turned_away": True}, result=final))
    assert (judged.verdict, judged.offender) == (Verdict.ILLEGAL_MOVE, 1)
    judged = judge(facts({"returncode": 1}, {**JOINED, "was_turned_away": True}))
    assert (judged.verdict, judged.offender, judged.is_counted) == (Verdict.NO_START, 0, True)


def test_the_result_of_a_game_that_never_began_is_ignored() -> None:
    final = result(Cause.LEFT, Cause.REGULAR, winners=(1,))
    judged = judge(facts({"not_started": "no such program"}, JOINED, result=final))
    assert judged == Judgement(Verdict.NO_START, 0, "no such program", is_counted=False)


def test_a_game_that_neither_program_could_play_does_not_count() -> None:
    judged = judge(facts({"not_started": "no such program"}, {"returncode": 0}))
    reason = "no such program; old fails, too: does not start, ended with exit code 0 and had not connected"
    also = (1, "does not start, ended with exit code 0 and had not connected")
    assert judged == Judgement(Verdict.NO_START, 0, reason, is_counted=False, also=also)


def test_no_program_has_failed_before_the_time_to_start_is_over() -> None:
    game = facts({"refusal": "try again"}, {"has_connected": True})
    assert not has_failed_to_start(game, 0)
    assert not has_failed_to_start(game, 1)


def test_the_program_to_move_hangs_when_the_time_is_over() -> None:
    reason = "it was on turn when the time for the game was over"
    cancelled = result(*PLAYED, winners=())
    leading = result(*PLAYED, winners=(0,))
    for final in (cancelled, leading, None):
        judged = judge(started(result=final, is_game_over=True, on_turn=1))
        assert judged == Judgement(Verdict.HANGS, 1, reason, 0)


@pytest.mark.parametrize(
    ("game", "verdict", "reason"),
    [
        (started(machine_problem="the cable"), Verdict.SERVER_FAILED, "the cable"),
        (started(), Verdict.SERVER_FAILED, "the server gave no result"),
        (started(result=result(*PLAYED, winners=())), Verdict.CANCELLED, "the game was called off"),
        (
            started(result=result(*PLAYED, winners=(1,)), is_cut_short=True),
            Verdict.CANCELLED,
            "the game was called off",
        ),
        (facts(JOINED, {}), Verdict.CANCELLED, "the game was called off before it began"),
    ],
)
def test_a_game_without_a_fault_or_a_result_is_not_counted(game: GameFacts, verdict: str, reason: str) -> None:
    assert verdict in UNCOUNTED_VERDICTS
    assert judge(game) == Judgement(verdict, None, reason, is_counted=False)


STOPPED = {"has_stopped_supervisor": True, "returncode": -9}


def test_a_program_that_keeps_stopping_its_supervisor_loses_whatever_the_result_is() -> None:
    judged = judge(started(STOPPED, result=result(*PLAYED, winners=(1,))))
    assert (judged.verdict, judged.offender, judged.winner, judged.is_counted) == (Verdict.TAMPERS, 0, 1, True)
    assert "stopped the process that watches over it" in judged.reason
    assert judge(started(None, STOPPED)).winner == 0


def test_stopping_the_supervisor_before_the_game_does_not_excuse_an_opponent_that_failed_as_well() -> None:
    judged = judge(facts(STOPPED, {"returncode": 1}))
    assert (judged.verdict, judged.offender, judged.winner, judged.is_counted) == (Verdict.TAMPERS, 0, None, False)
    assert judged.also is not None


def test_if_both_programs_keep_stopping_their_supervisors_the_game_does_not_count() -> None:
    judged = judge(started(STOPPED, STOPPED, result=result(*PLAYED, winners=(1,))))
    assert (judged.verdict, judged.winner, judged.is_counted) == (Verdict.TAMPERS, None, False)
    assert judged.also is not None


@pytest.mark.parametrize("has_joined", [True, False])
def test_a_program_that_stops_its_supervisor_before_the_game_has_lost(has_joined: bool) -> None:
    judged = judge(facts({**STOPPED, "has_joined": has_joined}, {"has_joined": True}))
    assert (judged.verdict, judged.offender, judged.winner, judged.is_counted) == (Verdict.TAMPERS, 0, 1, True)
