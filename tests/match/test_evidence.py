"""The facts of a game, at the match's own server and at another one."""

from __future__ import annotations

import dataclasses
import gzip
import random
from pathlib import Path

import pytest
import trio

from spielleiter.client.player import Player
from spielleiter.client.responders import make_responder
from spielleiter.game.api import State
from spielleiter.match.evidence import (
    MAX_REMARKS,
    Evidence,
    describe_unread,
    is_over_by_any_options,
    open_external_room,
)
from spielleiter.match.game_folder import WIRE_LOG, WireLog
from spielleiter.match.plan import PlannedGame
from spielleiter.match.verdict import Attempt, ProgramFacts
from spielleiter.protocol.messages import Cause, Memento, Result, RoomData, Score
from spielleiter.server import events
from spielleiter.server.editions import choose_editions
from spielleiter.server.errors import Fault
from spielleiter.server.events import ThinkStats
from tests.cli.background import background_server
from tests.match.refereed import setup_of
from tests.timeouts import HANG_TIMEOUT

REFUSED = events.RequestRefused("seat", Fault.UNKNOWN_ROOM, "sc.server.GameRoomException: no such room")
FORBIDDEN = events.RequestRefused("seat", Fault.FORBIDDEN_HERE, "sc.server.AuthenticationFailedException: who are you")
NONSENSE = events.ProtocolBroken("seat", "malformed", "not XML")
BUG = events.InternalError("seat", "Traceback\nValueError: oh\n")
STARTED = events.GameStarted("room", ("new", "old"), False, 0)
MOVED = events.MovePlayed("room", 0, "old", 0, 1, "move", 0.1, ())
LEFT = events.PlayerLeft("room", 0, "old")


def late(source: str = "kernel", lag: float = 0.0) -> events.TimeVerdict:
    return events.TimeVerdict("room", 0, "old", 3, 3, 2.5, 2.0, False, source, lag)


def evidence_of(*happened: events.ServerEvent) -> Evidence:
    """The evidence of a game in which program 1 has taken seat 0 on the connection `seat`."""
    evidence = Evidence((1, 0), ("new", "old"), limits=(1.0, 2.0))
    evidence.handle_event(events.PlayerJoined("room", "seat", 0, "old"), 1)
    for event in happened:
        evidence.handle_event(event, 1)
    return evidence


def facts_of_program_1(evidence: Evidence) -> ProgramFacts:
    assert evidence.facts.programs[0] == ProgramFacts()
    return evidence.facts.programs[1]


@pytest.mark.parametrize(
    ("event", "refusal", "protocol_error"),
    [
        (REFUSED, "no such room", None),
        (FORBIDDEN, f"it {Attempt.ADMINISTRATE}", None),
        (NONSENSE, None, "not XML"),
        (BUG, None, "the server could not deal with what it sent: ValueError: oh"),
    ],
)
def test_a_program_is_blamed_for_what_it_sends_on_its_seats_connection(
    event: events.ServerEvent, refusal: str | None, protocol_error: str | None
) -> None:
    evidence = evidence_of(event)
    blamed = ProgramFacts(has_joined=True, refusal=refusal, protocol_error=protocol_error)
    assert facts_of_program_1(evidence) == blamed
    assert evidence.facts.machine_problem is None
    # before it has a seat, every connection is its own
    evidence = Evidence((1, 0), ("new", "old"), limits=(1.0, 2.0))
    evidence.handle_event(event, 1)
    assert facts_of_program_1(evidence) == dataclasses.replace(blamed, has_joined=False)
    # afterwards, a fault on another connection is only a remark
    values = {name: getattr(event, name) for name in event.__struct_fields__}
    evidence = evidence_of(type(event)(**{**values, "connection": "another"}))
    assert facts_of_program_1(evidence) == ProgramFacts(has_joined=True)
    assert [bool(remarks) for remarks in evidence.remarks] == [False, True]


@pytest.mark.parametrize(
    "event",
    [REFUSED, NONSENSE, BUG, LEFT, late(), events.MoveRefused("room", 0, "old", 3, 3, Fault.UNREADABLE_MOVE, "what?")],
)
def test_no_program_is_blamed_after_the_game_was_cancelled(event: events.ServerEvent) -> None:
    evidence = evidence_of()
    evidence.is_cancelled = True
    evidence.handle_event(event, 1)
    assert facts_of_program_1(evidence) == ProgramFacts(has_joined=True)


@pytest.mark.parametrize(
    ("happened", "refusal", "answer"),
    [
        ((REFUSED,), "no such room", None),  # nobody has been asked yet
        ((STARTED, FORBIDDEN), f"it {Attempt.ADMINISTRATE}", None),  # an attempt is not an answer
        ((STARTED, REFUSED), "no such room", "no such room"),
        ((STARTED, REFUSED, MOVED), None, None),  # it had no consequence
    ],
)
def test_only_what_was_refused_since_the_last_move_is_the_answer_to_a_request(
    happened: tuple[events.ServerEvent, ...], refusal: str | None, answer: str | None
) -> None:
    known = facts_of_program_1(evidence_of(*happened))
    assert (known.refusal, known.refused_answer) == (refusal, answer)


def test_leaving_counts_as_such_before_the_game_begins() -> None:
    """A program that leaves a game has a result with that cause."""
    assert facts_of_program_1(evidence_of(LEFT)).has_left
    assert not facts_of_program_1(evidence_of(STARTED, LEFT)).has_left


@pytest.mark.parametrize("is_played_out", [False, True])
def test_a_result_before_the_rules_end_the_game_is_cut_short(is_played_out: bool) -> None:
    state: State = choose_editions({}, {})["swc_2027_blokus"].game.new_state(random.Random(1))
    while is_played_out and state.outcome() is None:
        state = state.play(next(iter(state.generate_legal_moves())))
    final = Result((), (Score(Cause.REGULAR, "", (1,)),) * 2, (0,), ("old", "new"), ((), ()))
    record: list[RoomData] = [Memento(state), final]
    stats, times = (ThinkStats(), ThinkStats()), ((0.1,), (0.2, 0.3))
    ended = events.GameEnded("room", "", ("new", "old"), (), (), (), (0,), 4, stats, times, final, record)
    evidence = evidence_of(STARTED, ended, REFUSED)
    assert facts_of_program_1(evidence).refused_answer is None  # what comes after the end is not the cause of it
    assert evidence.facts.is_cut_short is not is_played_out
    assert (evidence.plies, evidence.think_times) == (4, ([0.2, 0.3], [0.1]))


@pytest.mark.parametrize(
    ("data", "is_text"),
    [
        (b"", False),
        (b"\n <room><data", False),  # the beginning of a packet
        (b"<protocol><room>text</room", False),
        (b"<?xml version='1.0'?><protocol><room>", False),
        (b"nonsense", True),  # no packet can begin with it, whatever follows
        (b"<room/>nonsense", True),
        (b"<protocol>nonsense", True),
        (b"<room <<<", True),
        (b"<!DOCTYPE protocol [<!ENTITY a 'b'>]>", True),
    ],
)
def test_what_can_never_become_a_packet_is_told_from_the_beginning_of_one(data: bytes, is_text: bool) -> None:
    assert describe_unread(data) == (data.strip().decode(), is_text)


def test_a_move_out_of_turn_is_a_bad_message() -> None:
    evidence = evidence_of(
        events.MoveRefused("room", 0, "old", 3, 3, Fault.NOT_YOUR_TURN, "not on turn"),
        events.RequestRefused("seat", Fault.NOT_YOUR_TURN, "not on turn"),
    )
    known = facts_of_program_1(evidence)
    assert (known.bad_message, known.refusal) == ("it sent a move when it was not on turn", None)


def test_an_internal_error_without_a_connection_is_blamed_on_the_server() -> None:
    evidence = evidence_of()
    evidence.handle_event(BUG, None)
    evidence.handle_event(events.InternalError("", "KeyError"), None)
    assert evidence.facts.machine_problem == "a bug of the server: ValueError: oh"
    assert facts_of_program_1(evidence) == ProgramFacts(has_joined=True)


@pytest.mark.parametrize(
    ("source", "lag", "lost", "waiting"),
    # the lag of the event loop counts only if the kernel has not stamped the answer
    [("monotonic", 0.3, 0.1, 0.3), ("monotonic", 0.0, 0.4, 0.4), ("kernel", 0.3, 0.1, 0.1), ("kernel", 0.3, 0.0, 0.0)],
)
def test_a_late_program_has_its_own_limit_and_what_it_sent_is_kept(
    source: str, lag: float, lost: float, waiting: float
) -> None:
    evidence = evidence_of()
    evidence.received = lambda program: b"" if program == 0 else b" <room roomId='7'"
    evidence.seconds_waiting = lambda program, think_time: lost if (program, think_time) == (1, 2.5) else 9.0
    evidence.handle_event(late(source, lag), None)
    known = facts_of_program_1(evidence)
    assert (known.exceeded_think_time, known.limit, known.seconds_waiting) == (2.5, 2.0, waiting)
    assert (known.unread, known.is_unread_text) == ("<room roomId='7'", False)


def test_remarks_are_limited_and_unique() -> None:
    evidence = evidence_of()
    for number in range(3 * MAX_REMARKS):
        evidence.add_remark(0, f"a remark\nof  number {number}")
        evidence.add_remark(0, f"a remark of number {number}")
    first, *_, last = evidence.remarks[0]
    assert (first, last) == ("a remark of number 0", "and more of that kind")
    assert len(evidence.remarks[0]) == MAX_REMARKS + 1


# -- another server ---------------------------------------------------------------------------------------------------

GAME = PlannedGame(1, 1, 7, (1, 0))


def test_a_game_is_over_if_any_options_say_so() -> None:
    """A game that the server ends by another option than the default is over by the rules, and was not cancelled."""
    game = choose_editions({}, {})["swc_2021_blokus"].game
    state: State = game.with_options({"gameEnd": "noMovesLeft"}).new_state(random.Random(1))
    is_over = is_over_by_any_options(game)
    answers = []
    while state.outcome() is None:
        answers.append(is_over(state))
        state = state.play(next(iter(state.generate_legal_moves())))
    assert is_over(game.resume(state))
    assert not any(answers[: len(answers) // 2])


@pytest.mark.slow
async def test_a_game_at_another_server_is_observed_and_can_be_cancelled(tmp_path: Path) -> None:
    with background_server() as server, trio.fail_after(HANG_TIMEOUT):
        setup = setup_of("new", "old", server=("127.0.0.1", server.port), password="examplepassword")
        wire_log = WireLog(tmp_path / WIRE_LOG)
        async with open_external_room(setup, GAME, wire_log) as room, trio.open_nursery() as nursery:

            async def take_part(program: int, strategy: str) -> None:
                async with Player.connect(*room.addresses[program], dialect=room.dialect) as player:
                    await player.join_prepared(room.reservations[program])
                    await player.play_with(make_responder(strategy, seed=1))

            nursery.start_soon(take_part, 0, "first")
            nursery.start_soon(take_part, 1, "illegal")
            seen = [event async for event in room.observation if isinstance(event, Memento | Result)]
        async with open_external_room(setup, GAME, WireLog(tmp_path / "other")) as room:
            await room.cancel()
            assert not [event async for event in room.observation if isinstance(event, Memento)]
    assert (type(seen[0]), type(seen[-1])) == (Memento, Result)
    wire_log.close()
    log = gzip.decompress((tmp_path / WIRE_LOG).read_bytes())
    assert log.startswith(b"\n--- 0.")
    assert b" observer < " in log
    assert b'class="result"' in log
