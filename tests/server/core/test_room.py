"""A room sends the right packets to the right peers in the right order."""

from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.game.api import Outcome
from spielleiter.game.blokus.moves import SetMove, SkipMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.protocol.messages import (
    CancelRequest,
    Cause,
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
    UnreadableData,
    WelcomeMessage,
)
from spielleiter.server import events
from spielleiter.server.core.policy import CancelWinner
from spielleiter.server.core.room import Ending, Phase, Room, leaders
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


def test_an_observer_of_a_running_game_gets_the_position_at_once_and_only_once(harness: RoomHarness) -> None:
    room, admin, *_ = harness.game()
    late = harness.fake_peer("late", is_admin=True)
    late.send(ObserveRequest(room.id))
    assert late.receive() == ["observed", "state 0"]
    late.send(ObserveRequest(room.id))
    assert late.receive() == ["observed"]
    assert list(room.observers) == [admin.peer, late.peer]


def test_the_release_sends_observers_nothing_until_the_next_move() -> None:
    harness = RoomHarness("blokus-2021-21.4.0")
    room, *_ = harness.game()
    late = harness.fake_peer("late", is_admin=True)
    late.send(ObserveRequest(room.id))
    assert late.receive() == ["observed"]


def test_an_observer_that_leaves_changes_nothing(harness: RoomHarness) -> None:
    room, admin, one, two = harness.game()
    admin.leave()
    assert room.phase is Phase.RUNNING
    assert one.moves(room, first_move(room)) is None
    assert admin.receive() == []
    assert two.receive() == ["state 1", "request"]


# -- pause and step ---------------------------------------------------------------------------------------------------


def test_a_game_that_starts_paused_is_sent_to_observers_only_until_it_is_resumed(harness: RoomHarness) -> None:
    admin, one, two = harness.peers()
    room_id, codes = harness.prepare(admin, is_paused=True)
    admin.send(ObserveRequest(room_id))
    one.send(JoinPreparedRequest(codes[0]))
    two.send(JoinPreparedRequest(codes[1]))
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


def test_one_slot_that_should_be_paused_pauses_the_game(harness: RoomHarness) -> None:
    admin = harness.fake_peer("admin", is_admin=True)
    room_id, _ = harness.prepare(admin, Slot("Eins"), Slot("Zwei", should_be_paused=True))
    assert harness.lobby.rooms[room_id].is_paused


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


@pytest.mark.parametrize("is_forced", [False, True])
def test_a_step_before_the_start_is_ignored(harness: RoomHarness, is_forced: bool) -> None:
    admin, one = harness.fake_peer("admin", is_admin=True), harness.fake_peer("one")
    room_id, codes = harness.prepare(admin, is_paused=True)
    one.send(JoinPreparedRequest(codes[0]))
    one.receive()
    assert admin.send(StepRequest(room_id, is_forced)) is None
    assert one.receive() == []


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


def test_cancelling_before_the_start_leaves_nothing(harness: RoomHarness) -> None:
    admin, one, late = harness.fake_peer("admin", is_admin=True), harness.fake_peer("one"), harness.fake_peer("late")
    room_id, codes = harness.prepare(admin)
    admin.send(ObserveRequest(room_id))
    one.send(JoinPreparedRequest(codes[0]))
    admin.send(CancelRequest(room_id))
    result = "result REGULAR REGULAR 00 winners []"
    assert admin.receive() == ["observed", result, "left"]
    assert one.receive() == ["joined", result, "left", "end of stream"]
    error = late.send(JoinPreparedRequest(codes[1]))
    assert error is not None
    assert error.fault is Fault.UNKNOWN_RESERVATION
    assert harness.lobby.rooms == {}
    assert not harness.happened(events.GameEnded)


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


def test_a_player_that_leaves_before_the_start_closes_the_room(harness: RoomHarness) -> None:
    admin, one, two = harness.peers()
    room_id, codes = harness.prepare(admin)
    admin.send(ObserveRequest(room_id))
    one.send(JoinPreparedRequest(codes[0]))
    one.leave()
    assert admin.receive() == ["observed", "result LEFT REGULAR 02 winners [1]", "left"]
    error = two.send(JoinPreparedRequest(codes[1]))
    assert error is not None
    assert error.fault is Fault.UNKNOWN_RESERVATION
    assert (harness.lobby.rooms, harness.lobby.reservations, harness.pending_timers) == ({}, {}, 0)


# -- faults of players ------------------------------------------------------------------------------------------------


def illegal_move(room: Room) -> SetMove:
    """Return a first piece in the middle of the board."""
    shape = next(iter(room.state.generate_legal_moves())).shape  # type: ignore[attr-defined]
    return SetMove(Color(room.state.turn % 4), shape, Rotation.NONE, False, 7, 7)


def test_an_illegal_move_is_reported_to_player_and_observers_and_loses(harness: RoomHarness) -> None:
    room, admin, one, two = harness.game()
    error = one.moves(room, illegal_move(room))
    assert error is not None
    assert error.fault is Fault.ILLEGAL_MOVE
    assert "Der erste Zug muss auf eine freie Ecke gesetzt werden" in str(error)
    result = "result RULE_VIOLATION REGULAR 02 winners [1]"
    assert admin.receive() == ["error", result, "left"]
    assert one.receive() == ["error", result, "left", "end of stream"]
    assert two.receive() == [result, "left", "end of stream"]


def test_an_unreadable_move_loses_with_the_reason(harness: RoomHarness) -> None:
    room, admin, one, _ = harness.game()
    error = one.send(RoomMessage(room.id, UnreadableData("sc.plugin2021.SetMove", "x fehlt")))
    assert error is not None
    assert error.fault is Fault.UNREADABLE_MOVE
    assert "Der Zug konnte nicht erkannt werden" in str(error)
    assert "x fehlt" in str(error)
    assert admin.receive() == ["error", "result RULE_VIOLATION REGULAR 02 winners [1]", "left"]


@pytest.mark.parametrize("data", [None, MoveRequest(), WelcomeMessage(0)])
def test_a_room_packet_without_a_move_is_refused_and_counts_as_leaving(
    harness: RoomHarness, data: MoveRequest | WelcomeMessage | None
) -> None:
    room, admin, one, _ = harness.game()
    error = one.send(RoomMessage(room.id, data))
    assert error is not None
    assert error.fault is Fault.NOT_A_MOVE
    assert admin.receive() == ["result LEFT REGULAR 02 winners [1]", "left"]


def test_a_move_out_of_turn_is_refused_and_counts_as_leaving(harness: RoomHarness) -> None:
    room, admin, one, two = harness.game()
    error = two.moves(room, first_move(room))
    assert error is not None
    assert error.fault is Fault.NOT_YOUR_TURN
    assert "expected=Team 1(Eins), actual=Team 2(Zwei)" in str(error)
    assert two.receive() == ["error", "end of stream"]
    assert one.receive() == ["result REGULAR LEFT 20 winners [0]", "left", "end of stream"]
    assert admin.receive() == ["result REGULAR LEFT 20 winners [0]", "left"]


def test_a_move_that_was_not_requested_is_out_of_turn(harness: RoomHarness) -> None:
    room, _, one, _ = harness.game(is_paused=True)
    error = one.moves(room, first_move(room))
    assert error is not None
    assert error.fault is Fault.NOT_YOUR_TURN
    assert "Move from Team 1(Eins) has not been requested." in str(error)


def test_a_stranger_s_move_is_refused_without_effect_on_the_game(harness: RoomHarness) -> None:
    room, _, one, two = harness.game()
    stranger = harness.fake_peer("stranger")
    error = stranger.moves(room, first_move(room))
    assert error is not None
    assert error.fault is Fault.NOT_A_MEMBER
    assert one.receive() == two.receive() == []


def test_the_first_piece_must_be_the_one_that_was_drawn(harness: RoomHarness) -> None:
    room, _, one, _ = harness.game()
    other = next(shape for shape in Shape if shape is not first_move(room).shape)  # type: ignore[attr-defined]
    error = one.moves(room, SetMove(Color.BLUE, other, Rotation.NONE, False, 0, 0))
    assert error is not None
    assert "Der erste Zug muss den festgelegten Spielstein setzen" in str(error)


# -- endings ----------------------------------------------------------------------------------------------------------

EDITION = EDITIONS["blokus-2021-r3"]
START = EDITION.game.new_state(random.Random(1))
AFTER_A_MOVE = START.play(next(iter(START.generate_legal_moves())))


@pytest.mark.parametrize(
    ("winner", "first_parts", "winners"), [(None, (1, 1), (0, 1)), (0, (2, 0), (0,)), (1, (0, 2), (1,))]
)
def test_a_game_that_was_played_to_its_end(
    winner: int | None, first_parts: tuple[int, int], winners: tuple[int, ...]
) -> None:
    ending = Ending.by_rules(Outcome(winner, "points"))
    assert (ending.causes, ending.reasons) == ((Cause.REGULAR, Cause.REGULAR), ("", ""))
    assert (ending.first_parts, ending.winners) == (first_parts, winners)


@given(st.integers(0, 1), st.sampled_from(Cause), st.text(), st.sampled_from([(), (0,), (1,), (0, 1)]))
def test_the_player_at_fault_has_lost_whoever_is_named_as_winner(
    seat: int, cause: Cause, reason: str, winners: tuple[int, ...]
) -> None:
    ending = Ending.against(seat, cause, reason, winners)
    assert (ending.causes[seat], ending.reasons[seat], ending.first_parts[seat]) == (cause, reason, 0)
    other = 1 - seat
    assert (ending.causes[other], ending.reasons[other], ending.first_parts[other]) == (Cause.REGULAR, "", 2)
    assert ending.winners == winners


@pytest.mark.parametrize(("zeroes_offenders", "points"), [(False, 5), (True, 0)])
def test_a_result_has_the_points_of_the_last_position(zeroes_offenders: bool, points: int) -> None:
    policy = EDITION.policy.evolve(zeroes_offenders=zeroes_offenders)
    ending = Ending.against(0, Cause.LEFT, "gone", (1,))
    result = ending.result(dataclasses.replace(EDITION, policy=policy), AFTER_A_MOVE, ("Eins", "Zwei"))
    assert [score.parts for score in result.scores] == [(0, points), (2, 0)]
    assert [(score.cause, score.reason) for score in result.scores] == [(Cause.LEFT, "gone"), (Cause.REGULAR, "")]
    assert (result.definition, result.winners, result.names) == (
        EDITION.dialect.score_definition,
        (1,),
        ("Eins", "Zwei"),
    )


def test_players_missing_from_a_game_that_never_started_have_left() -> None:
    ending = Ending.by_faults({1: (Cause.LEFT, "never came")})
    assert (ending.causes, ending.reasons) == ((Cause.REGULAR, Cause.LEFT), ("", "never came"))
    assert (ending.first_parts, ending.winners) == ((2, 0), (0,))
    nobody = Ending.by_faults({0: (Cause.PROCESS_VIOLATION, "moved"), 1: (Cause.LEFT, "never came")})
    assert (nobody.causes, nobody.reasons) == ((Cause.PROCESS_VIOLATION, Cause.LEFT), ("moved", "never came"))
    assert (nobody.first_parts, nobody.winners) == ((0, 0), ())


def test_a_seat_that_nobody_was_expected_to_take_has_no_score() -> None:
    alone = Ending.by_faults({0: (Cause.LEFT, "went")}, (0,))
    assert (alone.causes, alone.winners) == ((Cause.LEFT, Cause.REGULAR), ())
    result = alone.result(EDITION, START, ("Eins", ""), seats=(0,))
    assert [(score.cause, score.parts) for score in result.scores] == [(Cause.LEFT, (0, 0))]
    assert Ending.by_command(CancelWinner.LEADER, START, (0,)).winners == (0,)
    assert Ending.by_command(CancelWinner.BY_RULES, START, (0,)).winners == (0, 1)


def test_the_leader_has_more_points() -> None:
    assert leaders(START) == (0, 1)
    one_move = AFTER_A_MOVE
    assert leaders(one_move) == (0,)
    two_moves = one_move.play(next(iter(one_move.generate_legal_moves())))
    assert leaders(two_moves) == (0, 1)

    class SecondLeads:
        def points(self, seat: int) -> tuple[int, ...]:
            return (seat,)

    assert leaders(SecondLeads()) == (1,)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("winner", "first_parts", "winners"),
    [
        (CancelWinner.NOBODY, (0, 0), ()),
        (CancelWinner.LEADER, (0, 0), (0,)),
        (CancelWinner.BY_RULES, (2, 0), (0,)),
    ],
)
def test_endings_of_games_that_an_administrator_cancelled(
    winner: CancelWinner, first_parts: tuple[int, int], winners: tuple[int, ...]
) -> None:
    ending = Ending.by_command(winner, AFTER_A_MOVE)
    assert (ending.first_parts, ending.winners) == (first_parts, winners)
    assert ending.causes == (Cause.REGULAR, Cause.REGULAR)
