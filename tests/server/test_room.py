"""A room says the right things to the right people in the right order, whatever players and administrators do."""

from __future__ import annotations

import pytest

from game.blokus.move import SkipMove
from game.blokus.polyomino import Color
from protocol.messages import (
    CancelRequest,
    JoinPreparedRequest,
    ObserveRequest,
    PauseRequest,
    Slot,
    StepRequest,
)
from server import events
from server.errors import Fault
from server.room import Phase, Room
from tests.server.playbook import Guest, Table, first_move


@pytest.fixture
def table() -> Table:
    return Table()


def play(room: Room, guests: list[Guest], plies: int) -> None:
    """Legal moves by whoever is on turn, heard by all."""
    for _ in range(plies):
        assert guests[room.state.seat_on_turn].moves(room, first_move(room)) is None
    for guest in guests:
        guest.hears()


# -- the order of things ----------------------------------------------------------------------------------------------


def test_both_players_are_welcomed_then_everybody_sees_the_board_then_the_first_is_asked(table: Table) -> None:
    admin, one, two = table.guest("admin", is_admin=True), table.guest("one"), table.guest("two")
    room_id, codes = table.prepare(admin)
    admin.says(ObserveRequest(room_id))
    one.says(JoinPreparedRequest(codes[0]))
    assert one.hears() == ["joined"]
    two.says(JoinPreparedRequest(codes[1]))
    assert admin.hears() == ["observed", "state 0"]
    assert one.hears() == ["welcome 0", "state 0", "request"]
    assert two.hears() == ["joined", "welcome 1", "state 0"]


def test_the_first_reservation_is_the_first_seat_whoever_comes_first(table: Table) -> None:
    admin, one, two = table.guest("admin", is_admin=True), table.guest("one"), table.guest("two")
    _, codes = table.prepare(admin)
    two.says(JoinPreparedRequest(codes[1]))
    one.says(JoinPreparedRequest(codes[0]))
    assert two.hears() == ["joined", "welcome 1", "state 0"]
    assert one.hears() == ["joined", "welcome 0", "state 0", "request"]


def test_a_move_is_shown_to_all_and_the_other_player_is_asked(table: Table) -> None:
    room, admin, one, two = table.game()
    assert one.moves(room, first_move(room), after=0.5) is None
    assert (admin.hears(), one.hears(), two.hears()) == (["state 1"], ["state 1"], ["state 1", "request"])
    (played,) = table.happened(events.MovePlayed)
    assert (played.seat, played.ply, played.turn, played.think_time) == (0, 0, 1, 0.5)


def test_all_receivers_get_the_very_same_bytes(table: Table) -> None:
    room, admin, one, two = table.game()
    for guest in (admin, one, two):
        guest.packets.clear()
    one.moves(room, first_move(room))
    assert admin.packets[0] is one.packets[0]
    assert two.packets[0].startswith(one.packets[0]), "the request stands behind it, in the same write"


def test_a_game_played_to_its_end(table: Table) -> None:
    room, admin, one, two = table.game()
    guests = [one, two]
    play(room, guests, 4)
    admin.hears()
    while room.phase is Phase.RUNNING:
        color = Color(room.state.turn % 4)
        assert guests[room.state.seat_on_turn].moves(room, SkipMove(color)) is None
    assert admin.hears()[-3:] == ["state 100", "result REGULAR REGULAR 11 winners [0, 1]", "left"]
    for guest in guests:
        assert guest.hears()[-4:] == [
            "state 100",
            "result REGULAR REGULAR 11 winners [0, 1]",
            "left",
            "end of stream",
        ]
    (ended,) = table.happened(events.GameEnded)
    assert ended.plies == 100
    assert len(ended.record) == 102  # the empty board, a hundred moves, the result
    assert len(ended.think_times[0]) == 50


def test_the_release_leaves_players_connected_after_the_game() -> None:
    table = Table("blokus-2021-21.4.0")
    room, admin, one, two = table.game()
    admin.says(CancelRequest(room.id))
    assert one.hears() == ["result REGULAR REGULAR 00 winners [0, 1]", "left"]
    assert not one.is_ended
    assert not two.is_ended


def test_hints_are_kept_for_the_record_and_shown_to_nobody(table: Table) -> None:
    room, _, one, _ = table.game()
    one.moves(room, first_move(room), "depth 3", "score 12")
    (played,) = table.happened(events.MovePlayed)
    assert played.hints == ("depth 3", "score 12")
    assert room.record[-1].hints == ("depth 3", "score 12")  # type: ignore[union-attr]
    assert one.hears() == ["state 1"]


# -- observing --------------------------------------------------------------------------------------------------------


def test_who_observes_a_running_game_sees_it_at_once_and_only_once(table: Table) -> None:
    room, admin, *_ = table.game()
    late = table.guest("late", is_admin=True)
    late.says(ObserveRequest(room.id))
    assert late.hears() == ["observed", "state 0"]
    late.says(ObserveRequest(room.id))
    assert late.hears() == ["observed"]
    assert list(room.observers) == [admin.peer, late.peer]


def test_the_release_shows_nothing_until_the_next_move() -> None:
    table = Table("blokus-2021-21.4.0")
    room, *_ = table.game()
    late = table.guest("late", is_admin=True)
    late.says(ObserveRequest(room.id))
    assert late.hears() == ["observed"]


def test_an_observer_that_leaves_changes_nothing(table: Table) -> None:
    room, admin, one, two = table.game()
    admin.leaves()
    assert room.phase is Phase.RUNNING
    assert one.moves(room, first_move(room)) is None
    assert admin.hears() == []
    assert two.hears() == ["state 1", "request"]


# -- pause and step ---------------------------------------------------------------------------------------------------


def test_a_game_prepared_paused_is_shown_to_observers_only_until_it_is_resumed(table: Table) -> None:
    admin, one, two = table.guest("admin", is_admin=True), table.guest("one"), table.guest("two")
    room_id, codes = table.prepare(admin, is_paused=True)
    admin.says(ObserveRequest(room_id))
    one.says(JoinPreparedRequest(codes[0]))
    two.says(JoinPreparedRequest(codes[1]))
    assert admin.hears() == ["observed", "state 0"]
    assert one.hears() == ["joined", "welcome 0"]
    assert two.hears() == ["joined", "welcome 1"]
    admin.says(PauseRequest(room_id, False))
    assert admin.hears() == ["state 0", "paused False"]
    assert one.hears() == ["state 0", "request"]
    assert two.hears() == ["state 0"]


def test_one_slot_that_should_be_paused_pauses_the_game(table: Table) -> None:
    admin = table.guest("admin", is_admin=True)
    room_id, _ = table.prepare(admin, Slot("Eins"), Slot("Zwei", should_be_paused=True))
    assert table.lobby.rooms[room_id].is_paused


def test_pausing_with_a_request_pending_accepts_the_answer_and_shows_it_to_observers_only(table: Table) -> None:
    room, admin, one, two = table.game()
    admin.says(PauseRequest(room.id, True))
    assert (admin.hears(), one.hears()) == (["paused True"], [])
    assert one.moves(room, first_move(room)) is None
    assert (admin.hears(), one.hears(), two.hears()) == (["state 1"], [], [])
    admin.says(PauseRequest(room.id, False))
    assert (admin.hears(), one.hears(), two.hears()) == (
        ["state 1", "paused False"],
        ["state 1"],
        ["state 1", "request"],
    )


def test_resuming_or_stepping_with_a_request_pending_asks_nothing_again(table: Table) -> None:
    room, admin, one, two = table.game()
    admin.says(PauseRequest(room.id, True))
    admin.says(StepRequest(room.id, True))
    admin.says(PauseRequest(room.id, False))
    assert admin.hears() == ["paused True", "paused False"]
    assert (one.hears(), two.hears()) == ([], [])
    assert table.pending_alarms == 1
    assert one.moves(room, first_move(room)) is None


def test_a_step_asks_for_one_move_and_no_more(table: Table) -> None:
    room, admin, one, two = table.game(is_paused=True)
    admin.says(StepRequest(room.id))
    assert (admin.hears(), one.hears(), two.hears()) == (["state 0"], ["state 0", "request"], ["state 0"])
    assert one.moves(room, first_move(room)) is None
    assert (admin.hears(), one.hears(), two.hears()) == (["state 1"], [], [])
    assert room.is_paused


def test_a_step_that_ends_the_game_shows_the_last_board_to_all(table: Table) -> None:
    room, admin, one, two = table.game()
    guests = [one, two]
    play(room, guests, 4)
    while room.state.turn < 99:
        guests[room.state.seat_on_turn].moves(room, SkipMove(None))
    admin.says(PauseRequest(room.id, True))
    for guest in (admin, one, two):
        guest.hears()
    guests[room.state.seat_on_turn].moves(room, SkipMove(None))
    assert one.hears()[0] == "state 100"
    assert two.hears()[0] == "state 100"


@pytest.mark.parametrize(
    ("is_paused", "command", "why"),
    [
        (False, StepRequest("id-3"), "the game is not paused"),
        (False, PauseRequest("id-3", False), "the game is not paused"),
        (True, PauseRequest("id-3", True), "the game is paused already"),
    ],
)
def test_a_command_that_changes_nothing_is_ignored_and_logged(
    table: Table, is_paused: bool, command: StepRequest | PauseRequest, why: str
) -> None:
    _, admin, one, two = table.game(is_paused=is_paused)
    assert admin.says(command) is None
    assert (admin.hears(), one.hears(), two.hears()) == ([], [], [])
    assert [ignored.why for ignored in table.happened(events.CommandIgnored)] == [why]


@pytest.mark.parametrize("is_forced", [False, True])
def test_a_step_before_all_are_in_is_ignored(table: Table, is_forced: bool) -> None:
    admin, one = table.guest("admin", is_admin=True), table.guest("one")
    room_id, codes = table.prepare(admin, is_paused=True)
    one.says(JoinPreparedRequest(codes[0]))
    one.hears()
    assert admin.says(StepRequest(room_id, is_forced)) is None
    assert one.hears() == []


def test_resuming_before_the_players_are_there_starts_the_game_unpaused(table: Table) -> None:
    admin, one, two = table.guest("admin", is_admin=True), table.guest("one"), table.guest("two")
    room_id, codes = table.prepare(admin, is_paused=True)
    admin.says(ObserveRequest(room_id))
    admin.says(PauseRequest(room_id, False))
    assert admin.hears() == ["observed", "paused False"]
    one.says(JoinPreparedRequest(codes[0]))
    two.says(JoinPreparedRequest(codes[1]))
    assert one.hears() == ["joined", "welcome 0", "state 0", "request"]


# -- cancelling and leaving -------------------------------------------------------------------------------------------


def test_a_cancelled_game_has_no_winner(table: Table) -> None:
    room, admin, one, two = table.game()
    play(room, [one, two], 1)
    admin.hears()
    admin.says(CancelRequest(room.id))
    assert admin.hears() == ["result REGULAR REGULAR 00 winners []", "left"]
    assert one.hears() == ["result REGULAR REGULAR 00 winners []", "left", "end of stream"]
    assert room.record[-1].scores[0].parts == (0, 5)  # type: ignore[union-attr]
    assert table.pending_alarms == 0


def test_the_release_names_the_leader_of_a_cancelled_game() -> None:
    table = Table("blokus-2021-21.4.0")
    room, admin, one, two = table.game()
    play(room, [one, two], 1)
    admin.says(CancelRequest(room.id))
    assert one.hears() == ["result REGULAR REGULAR 00 winners [0]", "left"]


def test_cancelling_before_both_are_in_leaves_nothing(table: Table) -> None:
    admin, one, late = table.guest("admin", is_admin=True), table.guest("one"), table.guest("late")
    room_id, codes = table.prepare(admin)
    admin.says(ObserveRequest(room_id))
    one.says(JoinPreparedRequest(codes[0]))
    admin.says(CancelRequest(room_id))
    assert admin.hears() == ["observed", "left"]
    assert one.hears() == ["joined", "left", "end of stream"]
    error = late.says(JoinPreparedRequest(codes[1]))
    assert error is not None
    assert error.fault is Fault.UNKNOWN_RESERVATION
    assert table.lobby.rooms == {}
    assert not table.happened(events.GameEnded)


def test_who_leaves_a_running_game_has_lost_it(table: Table) -> None:
    room, admin, one, two = table.game()
    two.leaves()
    assert admin.hears() == ["result REGULAR LEFT 20 winners [0]", "left"]
    assert one.hears() == ["result REGULAR LEFT 20 winners [0]", "left", "end of stream"]
    assert two.hears() == []
    one.leaves()
    assert len(table.happened(events.GameEnded)) == 1
    assert room.phase is Phase.OVER


def test_who_leaves_before_the_other_comes_takes_the_room_with_him(table: Table) -> None:
    admin, one, two = table.guest("admin", is_admin=True), table.guest("one"), table.guest("two")
    room_id, codes = table.prepare(admin)
    admin.says(ObserveRequest(room_id))
    one.says(JoinPreparedRequest(codes[0]))
    one.leaves()
    assert admin.hears() == ["observed", "left"]
    error = two.says(JoinPreparedRequest(codes[1]))
    assert error is not None
    assert error.fault is Fault.UNKNOWN_RESERVATION
    assert (table.lobby.rooms, table.lobby.reservations, table.pending_alarms) == ({}, {}, 0)
