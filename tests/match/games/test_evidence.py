"""Who is charged with what: over its own connections only, and never after the game was called off."""

from __future__ import annotations

import pytest

from spielleiter.match.games.evidence import MOST_REMARKS, Evidence
from spielleiter.match.games.verdict import ProgramFacts
from spielleiter.server import events
from spielleiter.server.errors import Fault

REFUSED = events.RequestRefused("seat", Fault.UNKNOWN_ROOM, "no such room")
FORBIDDEN = events.RequestRefused("seat", Fault.FORBIDDEN_HERE, "who are you")
NONSENSE = events.ProtocolBroken("seat", "malformed", "not XML")
BUG = events.InternalError("seat", "Traceback\nValueError: oh\n")


def evidence() -> Evidence:
    """Program 1 has taken seat 0 over the connection `seat`."""
    found = Evidence((1, 0), ("new", "old"), limits=(2.0, 2.0))
    found.hear(events.PlayerJoined("room", "seat", 0, "old"), 1)
    return found


def known(found: Evidence) -> ProgramFacts:
    assert found.facts.programs[0] == ProgramFacts()
    return found.facts.programs[1]


@pytest.mark.parametrize(
    ("event", "refusal", "nonsense"),
    [
        (REFUSED, "no such room", None),
        (FORBIDDEN, "who are you", None),
        (NONSENSE, None, "not XML"),
        (BUG, None, "the server could not deal with what it sent: ValueError: oh"),
    ],
)
def test_a_program_answers_for_what_comes_over_its_seats_connection(
    event: events.ServerEvent, refusal: str | None, nonsense: str | None
) -> None:
    found = evidence()
    found.hear(event, 1)
    assert (known(found).refusal, known(found).nonsense) == (refusal, nonsense)
    assert found.facts.machine_problem is None


@pytest.mark.parametrize("event", [REFUSED, FORBIDDEN, NONSENSE, BUG])
def test_what_comes_over_another_of_its_connections_is_remarked_only(event: events.ServerEvent) -> None:
    found = evidence()
    values = {name: getattr(event, name) for name in event.__struct_fields__}
    found.hear(type(event)(**{**values, "connection": "another"}), 1)
    assert (known(found).refusal, known(found).nonsense) == (None, None)
    assert found.remarks[0] == ()
    assert found.remarks[1]


@pytest.mark.parametrize(
    "event",
    [
        REFUSED,
        NONSENSE,
        BUG,
        events.PlayerLeft("room", 0, "old"),
        events.MoveRefused("room", 0, "old", 3, 3, Fault.UNREADABLE_MOVE, "what?"),
        events.TimeVerdict("room", 0, "old", 3, 3, 2.5, 2.0, False, "kernel", 0.0),
    ],
)
def test_nothing_is_held_against_anybody_once_the_game_was_called_off(event: events.ServerEvent) -> None:
    found = evidence()
    found.call_off()
    found.hear(event, 1)
    assert known(found) == ProgramFacts(has_joined=True)


def test_who_was_refused_and_played_on_is_not_charged_with_it_later() -> None:
    found = evidence()
    found.hear(REFUSED, 1)
    found.hear(events.MovePlayed("room", 0, "old", 0, 1, "move", 0.1, ()), None)
    assert known(found).refusal is None


def test_a_move_out_of_turn_is_a_bad_message() -> None:
    found = evidence()
    found.hear(events.MoveRefused("room", 0, "old", 3, 3, Fault.NOT_YOUR_TURN, "not on turn"), None)
    found.hear(events.RequestRefused("seat", Fault.NOT_YOUR_TURN, "not on turn"), 1)
    assert known(found).bad_message == "it sent a move when it was not on turn"
    assert known(found).refusal is None


def test_a_bug_at_nobodys_connection_is_the_servers() -> None:
    found = evidence()
    found.hear(BUG, None)
    found.hear(events.InternalError("", "KeyError"), None)
    assert found.facts.machine_problem == "a bug of the server: ValueError: oh"
    assert known(found) == ProgramFacts(has_joined=True)


@pytest.mark.parametrize(("lag", "lost", "waiting"), [(0.3, 0.1, 0.3), (0.0, 0.4, 0.4)])
def test_a_late_server_counts_as_waiting(lag: float, lost: float, waiting: float) -> None:
    found = evidence()
    found.seconds_waiting = lambda program, think_time: lost if (program, think_time) == (1, 2.5) else 9.0
    found.hear(events.TimeVerdict("room", 0, "old", 3, 3, 2.5, 2.0, False, "kernel", lag), None)
    assert (known(found).too_slow, known(found).limit, known(found).seconds_waiting) == (2.5, 2.0, waiting)


def test_remarks_are_few_and_each_stands_once() -> None:
    found = evidence()
    for number in range(3 * MOST_REMARKS):
        found.remark(0, f"a remark\nof  number {number}")
        found.remark(0, f"a remark of number {number}")
    first, *_, last = found.remarks[0]
    assert first == "a remark of number 0"
    assert last == "and more of that kind"
    assert len(found.remarks[0]) == MOST_REMARKS + 1
