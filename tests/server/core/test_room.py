"""A room sends the right packets to the right peers in the right order."""

from __future__ import annotations

import pytest

from spielleiter.game.blokus.moves import SkipMove
from spielleiter.game.blokus.pieces import Color
from spielleiter.protocol.messages import (
    CancelRequest,
    JoinPreparedRequest,
    JoinRequest,
    MoveRequest,
    ObserveRequest,
    PauseRequest,
    Prepared,
    PrepareRequest,
    RoomMessage,
    Slot,
    StepRequest,
)
from spielleiter.server import events
from spielleiter.server.core.room import Phase, Room
from spielleiter.server.editions import EDITIONS
from spielleiter.server.errors import Fault
from tests.server.room_harness import FakePeer, RoomHarness, first_move

TELLS_NO_PAUSES = {"blokus-2021-r1", "blokus-2021-r2", "hase-und-igel-2018"}


@pytest.fixture
def harness() -> RoomHarness:
    return RoomHarness()


def play(room: Room, fake_peers: list[FakePeer], plies: int) -> None:
    """Let the side to move make legal moves; everybody reads what is sent."""
    for _ in range(plies):
        assert fake_peers[room.state.seat_on_turn].moves(room, first_move(room)) is None
    for fake_peer in fake_peers:
        fake_peer.receive()


# -- the order of packets ---------------------------------------------------------------------------------------------


def test_a_start_sends_welcomes_then_the_position_then_the_first_request(harness: RoomHarness) -> None:
    admin, one, two = harness.peers()
    room_id, codes = harness.prepare(admin)
    admin.send(ObserveRequest(room_id))
    one.send(JoinPreparedRequest(codes[0]))
    assert one.receive() == ["joined"]
    two.send(JoinPreparedRequest(codes[1]))
    assert admin.receive() == ["observed", "state 0"]
    assert one.receive() == ["welcome 0", "state 0", "request"]
    assert two.receive() == ["joined", "welcome 1", "state 0"]


def test_a_move_is_sent_to_all_and_the_opponent_gets_the_next_request(harness: RoomHarness) -> None:
    room, admin, one, two = harness.game()
    assert one.moves(room, first_move(room), after=0.5) is None
    assert (admin.receive(), one.receive(), two.receive()) == (["state 1"], ["state 1"], ["state 1", "request"])
    (played,) = harness.happened(events.MovePlayed)
    assert (played.seat, played.ply, played.turn, played.think_time) == (0, 0, 1, 0.5)


def test_everybody_gets_the_same_bytes_observers_first_and_the_side_to_move_last(harness: RoomHarness) -> None:
    room, admin, one, _ = harness.game()
    harness.fake_peer("late", is_admin=True).send(ObserveRequest(room.id))
    harness.order.clear()
    one.moves(room, first_move(room))
    assert [name for name, _ in harness.order] == ["admin", "late", "one", "two"]
    (_, position), *others = harness.order
    request = room.edition.dialect.encode(RoomMessage(room.id, MoveRequest()))
    assert [packet for _, packet in others] == [position, position, position + request], "both in one write"
    harness.order.clear()
    admin.send(CancelRequest(room.id))
    result, left = harness.order[0][1], harness.order[4][1]
    players_first = ("one", "two", "admin", "late")
    assert harness.order == [(name, packet) for packet in (result, left) for name in players_first]


def test_no_position_is_encoded_if_nobody_reads_it(harness: RoomHarness) -> None:
    """The built-in players of a match read the room's state, not its packets."""
    room, admin, one, two = harness.game()
    admin.leave()
    one.peer.reads_packets = two.peer.reads_packets = False
    harness.order.clear()
    one.moves(room, first_move(room))
    request = room.edition.dialect.encode(RoomMessage(room.id, MoveRequest()))
    assert harness.order == [("one", b""), ("two", request)]


def test_a_game_that_is_played_to_its_end(harness: RoomHarness) -> None:
    room, admin, one, two = harness.game()
    fake_peers = [one, two]
    play(room, fake_peers, 4)
    admin.receive()
    while room.phase is Phase.RUNNING:
        color = Color(room.state.turn % 4)
        assert fake_peers[room.state.seat_on_turn].moves(room, SkipMove(color)) is None
    assert admin.receive()[-3:] == ["state 100", "result REGULAR REGULAR 11 winners [0, 1]", "left"]
    for fake_peer in fake_peers:
        assert fake_peer.receive()[-4:] == [
            "state 100",
            "result REGULAR REGULAR 11 winners [0, 1]",
            "left",
            "end of stream",
        ]
    (ended,) = harness.happened(events.GameEnded)
    assert ended.plies == 100
    assert len(ended.record) == 102  # the empty board, one hundred moves, the result
    assert len(ended.think_times[0]) == 50


def test_hints_are_recorded_and_not_sent(harness: RoomHarness) -> None:
    room, _, one, _ = harness.game()
    one.moves(room, first_move(room), "depth 3", "score 12")
    (played,) = harness.happened(events.MovePlayed)
    assert played.hints == ("depth 3", "score 12")
    assert room.record[-1].hints == ("depth 3", "score 12")  # type: ignore[union-attr]
    assert one.receive() == ["state 1"]


# -- observing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("edition", "seen"), [("blokus-2021-r3", ["state 0"]), ("blokus-2021-21.4.0", [])])
def test_an_observer_of_a_running_game_gets_the_position_only_once(edition: str, seen: list[str]) -> None:
    """At once, or, as from the release, with the next move."""
    harness = RoomHarness(edition)
    room, admin, *_ = harness.game()
    late = harness.fake_peer("late", is_admin=True)
    late.send(ObserveRequest(room.id))
    assert late.receive() == ["observed", *seen]
    late.send(ObserveRequest(room.id))
    assert late.receive() == ["observed"]
    assert list(room.observers) == [admin.peer, late.peer]


# -- pause and step ---------------------------------------------------------------------------------------------------


def test_a_game_that_starts_paused_is_sent_to_observers_only_until_it_is_resumed(harness: RoomHarness) -> None:
    admin, one, two = harness.peers()
    room_id, codes = harness.prepare(admin, Slot("Eins"), Slot("Zwei", should_be_paused=True))
    admin.send(ObserveRequest(room_id))
    assert admin.send(StepRequest(room_id, is_forced=True)) is None
    one.send(JoinPreparedRequest(codes[0]))
    two.send(JoinPreparedRequest(codes[1]))
    assert [ignored.why for ignored in harness.happened(events.CommandIgnored)] == ["the game has not started"]
    assert admin.receive() == ["observed", "state 0"]
    assert one.receive() == ["joined", "welcome 0"]
    assert two.receive() == ["joined", "welcome 1"]
    admin.send(PauseRequest(room_id, False))
    assert admin.receive() == ["state 0", "paused False"]
    assert one.receive() == ["state 0", "request"]
    assert two.receive() == ["state 0"]


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_pause_is_told_to_observers_if_the_edition_has_a_packet_for_it(edition: str) -> None:
    harness = RoomHarness(edition)
    admin, one, two = harness.peers()
    for fake_peer in (one, two):
        fake_peer.send(JoinRequest(EDITIONS[edition].game_type))
    (room,) = harness.lobby.rooms.values()
    admin.send(ObserveRequest(room.id))
    admin.receive()
    assert admin.send(PauseRequest(room.id, is_paused=True)) is None
    assert (admin.receive(), room.is_paused) == ([] if edition in TELLS_NO_PAUSES else ["paused True"], True)


def test_a_pause_accepts_the_answer_to_a_pending_request_and_sends_it_to_observers_only(harness: RoomHarness) -> None:
    room, admin, one, two = harness.game()
    admin.send(PauseRequest(room.id, True))
    assert (admin.receive(), one.receive()) == (["paused True"], [])
    assert one.moves(room, first_move(room)) is None
    assert (admin.receive(), one.receive(), two.receive()) == (["state 1"], [], [])
    admin.send(PauseRequest(room.id, False))
    assert (admin.receive(), one.receive(), two.receive()) == (
        ["state 1", "paused False"],
        ["state 1"],
        ["state 1", "request"],
    )


def test_resuming_or_stepping_with_a_pending_request_requests_nothing(harness: RoomHarness) -> None:
    room, admin, one, two = harness.game()
    admin.send(PauseRequest(room.id, True))
    admin.send(StepRequest(room.id, True))
    admin.send(PauseRequest(room.id, False))
    assert admin.receive() == ["paused True", "paused False"]
    assert (one.receive(), two.receive()) == ([], [])
    assert harness.pending_timers == 1
    assert one.moves(room, first_move(room)) is None


def test_a_step_requests_exactly_one_move(harness: RoomHarness) -> None:
    room, admin, one, two = harness.game(is_paused=True)
    admin.send(StepRequest(room.id))
    assert (admin.receive(), one.receive(), two.receive()) == (["state 0"], ["state 0", "request"], ["state 0"])
    assert one.moves(room, first_move(room)) is None
    assert (admin.receive(), one.receive(), two.receive()) == (["state 1"], [], [])
    assert room.is_paused


def test_a_step_that_ends_the_game_sends_the_last_position_to_all(harness: RoomHarness) -> None:
    room, admin, one, two = harness.game()
    fake_peers = [one, two]
    play(room, fake_peers, 4)
    while room.state.turn < 99:
        fake_peers[room.state.seat_on_turn].moves(room, SkipMove(None))
    admin.send(PauseRequest(room.id, True))
    for fake_peer in (admin, one, two):
        fake_peer.receive()
    fake_peers[room.state.seat_on_turn].moves(room, SkipMove(None))
    assert one.receive()[0] == "state 100"
    assert two.receive()[0] == "state 100"


@pytest.mark.parametrize(
    ("is_paused", "command", "why"),
    [
        (False, StepRequest("id-3"), "the game is not paused"),
        (False, PauseRequest("id-3", False), "the game is not paused"),
        (True, PauseRequest("id-3", True), "the game is paused already"),
    ],
)
def test_a_command_that_changes_nothing_is_ignored_and_logged(
    harness: RoomHarness, is_paused: bool, command: StepRequest | PauseRequest, why: str
) -> None:
    _, admin, one, two = harness.game(is_paused=is_paused)
    assert admin.send(command) is None
    assert (admin.receive(), one.receive(), two.receive()) == ([], [], [])
    assert [ignored.why for ignored in harness.happened(events.CommandIgnored)] == [why]


def test_resuming_before_the_start_starts_the_game_unpaused(harness: RoomHarness) -> None:
    admin, one, two = harness.peers()
    room_id, codes = harness.prepare(admin, is_paused=True)
    admin.send(ObserveRequest(room_id))
    admin.send(PauseRequest(room_id, False))
    assert admin.receive() == ["observed", "paused False"]
    one.send(JoinPreparedRequest(codes[0]))
    two.send(JoinPreparedRequest(codes[1]))
    assert one.receive() == ["joined", "welcome 0", "state 0", "request"]


# -- cancelling and leaving -------------------------------------------------------------------------------------------


def test_a_cancelled_game_has_no_winner(harness: RoomHarness) -> None:
    room, admin, one, two = harness.game()
    play(room, [one, two], 1)
    admin.receive()
    admin.send(CancelRequest(room.id))
    assert admin.receive() == ["result REGULAR REGULAR 00 winners []", "left"]
    assert one.receive() == ["result REGULAR REGULAR 00 winners []", "left", "end of stream"]
    assert room.record[-1].scores[0].parts == (0, 5)  # type: ignore[union-attr]
    assert harness.pending_timers == 0


@pytest.mark.parametrize("edition", EDITIONS)
def test_every_edition_sends_a_result_to_a_player_whose_opponent_never_came(edition: str) -> None:
    """A real client ends only after a result."""
    harness = RoomHarness(edition)
    admin, one = harness.fake_peer("admin", is_admin=True), harness.fake_peer("one")
    admin.send(PrepareRequest(EDITIONS[edition].game_type, (Slot("Eins"), Slot("Zwei"))))
    prepared = admin.last_message
    assert isinstance(prepared, Prepared)
    one.send(JoinPreparedRequest(prepared.reservations[0]))
    one.receive()
    admin.send(CancelRequest(prepared.room_id))
    result, left, *_ = one.receive()
    assert (result.split()[0], left) == ("result", "left")


def test_a_player_that_leaves_a_running_game_loses(harness: RoomHarness) -> None:
    room, admin, one, two = harness.game()
    two.leave()
    assert admin.receive() == ["result REGULAR LEFT 20 winners [0]", "left"]
    assert one.receive() == ["result REGULAR LEFT 20 winners [0]", "left", "end of stream"]
    assert two.receive() == []
    one.leave()
    assert len(harness.happened(events.GameEnded)) == 1
    assert room.phase is Phase.OVER


# -- faults of players ------------------------------------------------------------------------------------------------


def test_a_move_that_was_not_requested_is_out_of_turn(harness: RoomHarness) -> None:
    room, _, one, _ = harness.game(is_paused=True)
    error = one.moves(room, first_move(room))
    assert error is not None
    assert error.fault is Fault.NOT_YOUR_TURN
    assert "Move from Team 1(Eins) has not been requested." in str(error)
