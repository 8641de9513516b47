"""Every value of a policy has its effect on the connections, and nothing else changes.

Invariants: each test runs the same scenario twice on the same edition, with the value and without it.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from spielleiter.game.blokus.moves import SkipMove
from spielleiter.protocol.messages import (
    Cause,
    JoinPreparedRequest,
    JoinRequest,
    ObserveRequest,
    PauseRequest,
    ScoreForPlayerRequest,
    TestModeRequest,
    TimeoutRequest,
)
from spielleiter.server import events
from spielleiter.server.core.policy import CancelWinner, TimeoutWinner
from spielleiter.server.core.room import Room
from spielleiter.server.errors import Fault
from tests.server.harness import GAME_TYPE, open_harness
from tests.server.room_harness import FakePeer, RoomHarness, first_move

SKIP = SkipMove(None)  # never a colour's first move


def harness_with(**changes: Any) -> RoomHarness:
    """Return a harness of edition r3 with these changes of its policy."""
    harness = RoomHarness()
    harness.edition = replace(harness.edition, policy=harness.edition.policy.evolve(**changes))
    harness.lobby.default_edition = harness.edition
    harness.lobby.editions = {harness.edition.game_type: harness.edition}
    return harness


def prepared(harness: RoomHarness) -> tuple[str, list[str], FakePeer]:
    """Prepare an observed game; return its room id, its codes and the administrator, which has read everything."""
    admin = harness.fake_peer("admin", is_admin=True)
    room_id, codes = harness.prepare(admin)
    admin.send(ObserveRequest(room_id))
    admin.receive()
    return room_id, codes, admin


def game_after(harness: RoomHarness, plies: int) -> tuple[Room, FakePeer]:
    """Play some moves of an observed game; return its room and the administrator, which has read everything."""
    room, admin, *players = harness.game()
    for _ in range(plies):
        players[room.state.seat_on_turn].moves(room, first_move(room))
    admin.receive()
    return room, admin


@pytest.mark.parametrize("together", [False, True])
def test_joins_reserved_together(together: bool) -> None:
    harness = harness_with(joins_reserved_together=together)
    _, codes, _ = prepared(harness)
    one, two = harness.fake_peer("one"), harness.fake_peer("two")
    one.send(JoinPreparedRequest(codes[0]))
    assert one.receive() == ([] if together else ["joined"])
    two.send(JoinPreparedRequest(codes[1]))
    start_packets = ["welcome 0", "state 0", "request"]
    assert one.receive() == (["joined", *start_packets] if together else start_packets)
    assert two.receive() == ["joined", "welcome 1", "state 0"]


@pytest.mark.parametrize("is_told", [True, False])
def test_tells_violators_the_result(is_told: bool) -> None:
    harness = harness_with(tells_violators_the_result=is_told)
    room, admin, one, two = harness.game()
    assert one.moves(room, SKIP) is not None
    result = "result RULE_VIOLATION REGULAR 02 winners [1]"
    game_end = [result, "left"] if is_told else []
    assert one.receive() == ["error", *game_end, "end of stream"]
    assert admin.receive() == ["error", result, "left"]
    assert two.receive() == [result, "left", "end of stream"]


@pytest.mark.parametrize("is_kept", [False, True])
def test_keeps_violators(is_kept: bool) -> None:
    harness = harness_with(keeps_violators=is_kept, ends_players_streams=False)
    room, _, one, _ = harness.game()
    error = one.moves(room, SKIP)
    assert (error is None) == is_kept
    assert one.is_ended == (not is_kept)


@pytest.mark.parametrize("has_none", [False, True])
def test_zeroes_offenders(has_none: bool) -> None:
    harness = harness_with(zeroes_offenders=has_none)
    room, _, one, two = harness.game()
    one.moves(room, first_move(room))
    two.moves(room, first_move(room))
    one.moves(room, SKIP)
    (ended,) = harness.happened(events.GameEnded)
    assert ended.parts == ((0, 0 if has_none else 5), (2, 5))


@pytest.mark.parametrize("cause", [Cause.LEFT, Cause.PROCESS_VIOLATION])
def test_out_of_turn_cause(cause: Cause) -> None:
    harness = harness_with(out_of_turn_cause=cause, ends_players_streams=False)
    room, admin, one, two = harness.game()
    error = two.moves(room, first_move(room))
    assert (error is None) == (cause is not Cause.LEFT)
    assert two.is_ended == (cause is Cause.LEFT)
    result = f"result REGULAR {cause.value} 20 winners [0]"
    assert one.receive() == [result, "left"]
    assert admin.receive() == [result, "left"]
    assert two.receive() == (["error", "end of stream"] if cause is Cause.LEFT else ["error", result, "left"])


@pytest.mark.parametrize("is_first", [False, True])
def test_tells_resuming_first(is_first: bool) -> None:
    harness = harness_with(tells_resuming_first=is_first)
    room, admin, one, _ = harness.game(is_paused=True)
    admin.send(PauseRequest(room.id, is_paused=False))
    assert admin.receive() == (["paused False", "state 0"] if is_first else ["state 0", "paused False"])
    assert one.receive() == ["state 0", "request"]


@pytest.mark.parametrize("one_left", [False, True])
def test_absent_players_left_applies_to_players_that_never_came(one_left: bool) -> None:
    harness = harness_with(absent_players_left=True)
    room_id, codes, admin = prepared(harness)
    if one_left:
        one = harness.fake_peer("one")
        one.send(JoinPreparedRequest(codes[0]))
        one.leave()
    else:
        harness.lobby.rooms[room_id].cancel()
    assert admin.receive() == ["result LEFT LEFT 00 winners []", "left"]


def test_absent_players_left_lets_the_present_player_win() -> None:
    harness = harness_with(absent_players_left=True)
    room_id, codes, admin = prepared(harness)
    one = harness.fake_peer("one")
    one.send(JoinPreparedRequest(codes[1]))
    one.receive()
    harness.lobby.rooms[room_id].cancel()
    assert admin.receive() == ["result LEFT REGULAR 02 winners [1]", "left"]


@pytest.mark.parametrize(
    ("is_only_expected", "after_leaving", "after_cancelling"),
    [
        (False, "result LEFT REGULAR 02 winners [1]", "result REGULAR REGULAR 00 winners [0, 1]"),
        (True, "result LEFT 0 winners []", "result REGULAR 0 winners [0]"),
    ],
)
def test_scores_only_expected(is_only_expected: bool, after_leaving: str, after_cancelling: str) -> None:
    harness = harness_with(scores_only_expected=is_only_expected, cancel_winner=CancelWinner.LEADER)
    for is_cancelled in (False, True):
        admin, one = harness.fake_peer("admin", is_admin=True), harness.fake_peer("one")
        one.send(JoinRequest(GAME_TYPE))
        (room,) = harness.lobby.rooms.values()
        admin.send(ObserveRequest(room.id))
        admin.receive()
        if is_cancelled:
            room.cancel()
        else:
            harness.lobby.drop(one.peer)
        assert admin.receive() == [after_cancelling if is_cancelled else after_leaving, "left"]


@pytest.mark.parametrize(
    ("winner", "plies", "result"),
    [
        (CancelWinner.NOBODY, 1, "00 winners []"),
        (CancelWinner.LEADER, 1, "00 winners [0]"),
        (CancelWinner.LEADER, 2, "00 winners [0, 1]"),
        (CancelWinner.BY_RULES, 1, "20 winners [0]"),
        (CancelWinner.BY_RULES, 2, "11 winners [0, 1]"),
    ],
)
def test_cancel_winner(winner: CancelWinner, plies: int, result: str) -> None:
    room, admin = game_after(harness_with(cancel_winner=winner), plies)
    room.cancel()
    assert admin.receive() == [f"result REGULAR REGULAR {result}", "left"]


@pytest.mark.parametrize(
    ("winner", "plies", "result"),
    [
        (TimeoutWinner.OPPONENT, 1, "REGULAR LEFT 20 winners [0]"),
        (TimeoutWinner.OPPONENT, 2, "LEFT REGULAR 02 winners [1]"),
        (TimeoutWinner.LEADER, 1, "REGULAR LEFT 20 winners [0]"),
        (TimeoutWinner.LEADER, 2, "LEFT REGULAR 02 winners [0, 1]"),
        (TimeoutWinner.NOBODY, 1, "REGULAR LEFT 20 winners []"),
    ],
)
def test_timeout_winner_and_hard_timeout_cause(winner: TimeoutWinner, plies: int, result: str) -> None:
    """The player that is too slow has lost, whoever is named as the winner."""
    harness = harness_with(timeout_winner=winner, hard_timeout_cause=Cause.LEFT)
    _, admin = game_after(harness, plies)
    harness.advance(10.0)
    assert admin.receive() == [f"result {result}", "left"]


def test_a_move_before_the_other_player_has_come_has_no_winner() -> None:
    harness = harness_with(
        absent_players_left=True, out_of_turn_cause=Cause.PROCESS_VIOLATION, scores_only_expected=True
    )
    room_id, codes, admin = prepared(harness)
    one = harness.fake_peer("one")
    one.send(JoinPreparedRequest(codes[0]))
    one.moves(harness.lobby.rooms[room_id], SKIP)
    assert admin.receive() == ["result PROCESS_VIOLATION LEFT 00 winners []", "left"]


@pytest.mark.parametrize("is_ended", [False, True])
def test_ends_idle_players(is_ended: bool) -> None:
    harness = harness_with(ends_idle_players=is_ended, ends_players_streams=False)
    room, admin, one, two = harness.game()
    one.moves(room, SKIP)  # an illegal move: it loses and leaves
    two.receive()
    harness.advance(59.9)
    assert not two.is_ended
    harness.advance(0.2)
    assert two.is_ended == is_ended
    assert not admin.is_ended


@pytest.mark.parametrize("is_refused", [True, False])
def test_refuses_unknown_players(is_refused: bool) -> None:
    harness = harness_with(refuses_unknown_players=is_refused)
    admin = harness.fake_peer("admin", is_admin=True)
    admin.send(TestModeRequest(is_enabled=True))
    admin.receive()
    error = admin.send(ScoreForPlayerRequest("nobody"))
    if is_refused:
        assert error is not None
        assert error.fault is Fault.UNKNOWN_PLAYER
    else:
        assert error is None
        assert admin.receive() == ["playerScore"]


def test_a_slot_s_limits_change_with_its_next_request() -> None:
    harness = harness_with()
    room, admin, one, two = harness.game()
    assert admin.send(TimeoutRequest(room.id, 0, is_active=False)) is None
    harness.advance(1.9)
    one.moves(room, first_move(room))
    two.moves(room, first_move(room))
    harness.advance(100.0)  # far beyond both limits of ONE's second request
    assert harness.happened(events.GameEnded) == []
    assert admin.send(TimeoutRequest(room.id, 1, is_active=True)) is None
    refused = admin.send(TimeoutRequest(room.id, 2, is_active=True))
    assert refused is not None
    assert refused.fault is Fault.BAD_SLOTS


async def test_a_player_whose_request_was_refused_stays_in_its_game(autojump_clock: object) -> None:
    async with open_harness("blokus-2027") as harness:
        one, two = await harness.call(), await harness.call()
        for caller in (one, two):
            await caller.send("<protocol><join/>")
        (room,) = harness.server.lobby.rooms.values()
        for caller in (one, two):
            await caller.receive()
        await one.send('<joinRoom roomId="nowhere"/>')
        assert b"nowhere" in await one.receive()
        assert await two.receive() == b""
        assert list(harness.server.lobby.rooms) == [room.id]
