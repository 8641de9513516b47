"""A game as one JSON object: plies, think times, hints, outputs, names, and the end in words."""

from __future__ import annotations

import json

import pytest

from spielleiter.game.blokus import SetMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.protocol.messages import Cause, ErrorMessage, Memento, Result, RoomData, UnreadableData
from spielleiter.server.core.room import Ending
from spielleiter.server.editions import EDITIONS
from spielleiter.server.replay import encode_replay
from spielleiter.viewer.game_json import (
    LONGEST_HINT,
    LONGEST_NAME,
    MOST_HINTS,
    Details,
    describe_end,
    describe_game,
    names_in,
)
from spielleiter.viewer.replay_files import read_replay
from tests.viewer.replay_files import NAMES, described, ended, played, record_of, refused_record, replay_of, score_of

EDITION = EDITIONS["blokus-2027"]
STATES = played(EDITION, plies=4)
CORNER = SetMove(Color.BLUE, Shape.MONO, Rotation.NONE, is_flipped=False, x=40, y=2)


@pytest.mark.parametrize("cause", [cause for cause in Cause if cause is not Cause.REGULAR])
def test_a_fault_is_told_with_the_name_of_the_player(cause: Cause) -> None:
    ending = Ending.by_faults({0: (cause, "Grund der Ausgabe")})
    end = describe_end([Memento(STATES[-1], NAMES), ended(EDITION, ending, STATES[-1])])
    assert end is not None
    assert (end["cause"], end["offender"], end["winner"], end["isDraw"]) == (cause.value, 0, 1, False)
    assert end["reason"] == "Grund der Ausgabe"
    assert end["illegal"] is None
    first, second = STATES[-1].points(0)[0], STATES[-1].points(1)[0]
    assert first > 0
    assert end["points"] == [0, second]  # in this season a player at fault gets no points
    assert end["words"]["de"].startswith("Anton hat ")
    assert end["words"]["de"].endswith(f"; Berta gewinnt (0 : {second} Punkte; auf dem Brett {first} : {second}).")
    assert end["words"]["en"].startswith("Anton ")
    assert end["words"]["en"].endswith(f"; Berta wins (0 : {second} points; {first} : {second} on the board).")


def test_a_season_in_which_a_player_at_fault_keeps_its_points_needs_no_more_words() -> None:
    edition = EDITIONS["blokus-2021-r3"]
    states = played(edition, plies=4)
    end = describe_end([Memento(states[-1]), ended(edition, Ending.by_faults({0: (Cause.LEFT, "")}), states[-1])])
    assert end is not None
    assert end["points"] == [states[-1].points(seat)[0] for seat in (0, 1)]
    assert end["words"]["en"].endswith(f"({end['points'][0]} : {end['points'][1]} points).")


def test_a_file_whose_result_has_no_points_shows_those_of_its_last_position() -> None:
    result = Result((), (score_of(Cause.REGULAR, parts=()), score_of(Cause.REGULAR, parts=(2,))), (1,))
    end = describe_end([Memento(STATES[-1], NAMES), result])
    assert end is not None
    assert end["points"] == [STATES[-1].points(seat)[0] for seat in (0, 1)]


def test_each_cause_has_words_of_its_own() -> None:
    sentences = set()
    for cause in Cause:
        end = describe_end([Memento(STATES[0], NAMES), ended(EDITION, Ending.by_faults({1: (cause, "")}), STATES[0])])
        assert end is not None
        sentences |= set(end["words"].values())
    assert len(sentences) == 2 * len(Cause)


def test_a_draw_and_a_game_without_a_winner() -> None:
    draw = describe_end([Memento(STATES[0], NAMES), ended(EDITION, Ending.won_by((0, 1)), STATES[0])])
    nobody = describe_end([Memento(STATES[0], NAMES), ended(EDITION, Ending.cancelled(()), STATES[0])])
    assert draw is not None
    assert nobody is not None
    assert (draw["winner"], draw["isDraw"]) == (None, True)
    assert draw["words"] == {"de": "Unentschieden (0 : 0 Punkte).", "en": "A draw (0 : 0 points)."}
    assert (nobody["winner"], nobody["isDraw"]) == (None, False)
    assert nobody["words"] == {"de": "Niemand gewinnt (0 : 0 Punkte).", "en": "Nobody wins (0 : 0 points)."}


def test_players_without_a_name_have_a_number_and_long_names_are_cut() -> None:
    result = ended(EDITION, Ending.won_by((1,)), STATES[0], ("", ""))
    end = describe_end([Memento(STATES[0]), result])
    assert end is not None
    assert end["words"]["de"].startswith("Spieler 2 gewinnt")
    assert end["words"]["en"].startswith("Player 2 wins")
    hostile = "{name} {number} <b>" + 1000 * "x"
    end = describe_end([Memento(STATES[0], ("a", hostile)), result])
    assert end is not None
    assert end["words"]["en"].startswith("{name} {number} <b>xxx")
    assert len(end["words"]["en"]) < LONGEST_NAME + 50


def test_names_come_from_the_positions_or_from_the_result() -> None:
    result = ended(EDITION, Ending.won_by((1,)), STATES[0], ("x", "y"))
    assert names_in([Memento(STATES[0], NAMES), result]) == ("x", "y")
    assert names_in([Memento(STATES[0], NAMES)]) == NAMES
    assert names_in([Memento(STATES[0])]) == ("", "")


def test_a_game_that_goes_on_has_no_end() -> None:
    assert describe_end([Memento(STATES[0], NAMES)]) is None
    assert describe_end([]) is None


@pytest.mark.parametrize("name", [name for name in EDITIONS if name.startswith("blokus")])
def test_the_illegal_move_is_found_in_the_file(name: str) -> None:
    edition = EDITIONS[name]
    record = refused_record(edition, played(edition, plies=4), CORNER, "Text der Ausgabe")
    end = describe_end(read_replay(encode_replay(edition.dialect, "", record), "").record)
    assert end is not None
    assert end["cause"] == "RULE_VIOLATION"
    if end["illegal"] is not None:  # one season does not repeat the move in its error
        assert end["illegal"]["piece"] == "MONO"
        assert end["illegal"]["cells"] == end["illegal"]["offendingCells"] == [[40, 2]]
        assert end["illegal"]["text"] == "Text der Ausgabe"
    else:
        assert b"originalMessage" not in encode_replay(edition.dialect, "", record)


def test_a_move_that_could_not_be_read_has_no_picture() -> None:
    record = refused_record(EDITION, STATES, CORNER)
    record[-2] = ErrorMessage("Ungueltig", UnreadableData("SetMove", "kaputt"))
    end = describe_end(record)
    assert end is not None
    assert end["illegal"] is None
    without = [data for data in record if not isinstance(data, ErrorMessage)]
    end = describe_end(without)
    assert end is not None
    assert end["illegal"] is None


@pytest.mark.parametrize("name", ["blokus-2027", "hase-und-igel-2018"])
def test_a_file_and_a_running_game_give_the_same_object(name: str) -> None:
    edition = EDITIONS[name]
    record = record_of(edition, played(edition, plies=9))
    game = described(edition, record, "a.xml")
    assert game == describe_game(read_replay(encode_replay(edition.dialect, "", record), "a.xml"))
    assert json.loads(json.dumps(game)) == game
    assert (game["format"], game["edition"], game["gameType"]) == (1, name, edition.game_type)
    assert game["title"] == "Anton – Berta"
    assert [player["name"] for player in game["players"]] == list(NAMES)
    assert [player["team"] for player in game["players"]] == list(edition.dialect.team_names)
    assert len(game["positions"]) == 10
    assert [ply["ply"] for ply in game["plies"]] == list(range(1, 10))
    assert bool(game["pieces"]) == name.startswith("blokus")
    for ply in game["plies"]:
        before, after = game["positions"][ply["ply"] - 1], game["positions"][ply["ply"]]
        assert (ply["player"], ply["color"]) == (before["sideToMove"]["player"], before["sideToMove"]["color"])
        assert after["lastMove"]["player"] == ply["player"]
        assert (ply["thinkSeconds"], ply["hints"], ply["stderr"]) == (None, [], None)
    assert game["softLimitSeconds"] is None


def test_a_running_game_has_no_end() -> None:
    states = played(EDITION, plies=3)
    game = described(EDITION, [Memento(state) for state in states], "")
    assert game["end"] is None
    assert game["title"] == "1 – 2"
    assert len(game["positions"]) == 4


def test_details_belong_to_the_moves_of_their_player() -> None:
    states = played(EDITION, plies=5)
    record = record_of(EDITION, states)
    details = Details(((0.1, 0.2, 0.3), (1.1,)), 2.0, (([], ["b"], ["c"]), None))
    plies = described(EDITION, record, "", details)["plies"]
    assert [ply["player"] for ply in plies] == [0, 1, 0, 1, 0]
    assert [ply["thinkSeconds"] for ply in plies] == [0.1, 1.1, 0.2, None, 0.3]
    assert [ply["stderr"] for ply in plies] == [[], None, ["b"], None, ["c"]]
    assert described(EDITION, record, "", details)["softLimitSeconds"] == 2.0


def test_hints_are_bounded() -> None:
    first, second = played(EDITION, plies=1)
    hints = ("<b>hint</b>", "x" * 5000, *["y"] * 100)
    plies = described(EDITION, [Memento(first), Memento(second, NAMES, hints)], "")["plies"]
    assert plies[0]["hints"][0] == {"content": "<b>hint</b>"}
    assert len(plies[0]["hints"]) == MOST_HINTS
    assert len(plies[0]["hints"][1]["content"]) == LONGEST_HINT


def test_a_position_that_was_sent_twice_is_one_position() -> None:
    states = played(EDITION, plies=2)
    record: list[RoomData] = [Memento(state) for state in (states[0], states[0], *states[1:], states[-1])]
    assert len(described(EDITION, record, "")["positions"]) == 3


def test_the_end_shows_the_last_words_of_the_program_at_fault() -> None:
    states = played(EDITION, plies=4)
    result = ended(EDITION, Ending.by_faults({0: (Cause.LEFT, "")}), states[-1])
    record: list[RoomData] = [*(Memento(state, NAMES) for state in states), result]
    outputs = ([["a"], ["b"], ["Traceback", "ValueError"]], None)
    details = Details(outputs=outputs, verdict="crash", verdict_words={"de": "abgestürzt", "en": "crashed"})
    end = described(EDITION, record, "", details)["end"]
    assert end["stderr"] == ["Traceback", "ValueError"]
    assert (end["verdict"], end["verdictWords"]["de"]) == ("crash", "abgestürzt")
    assert described(EDITION, record, "")["end"]["stderr"] is None
    fewer = Details(outputs=([["a"], ["b"]], None))
    assert described(EDITION, record, "", fewer)["end"]["stderr"] is None


@pytest.mark.slow
def test_a_whole_game_has_its_moves_counted() -> None:
    game = describe_game(read_replay(replay_of("blokus-2027"), "x"))
    assert all(min(position["legalMoves"]) >= 0 for position in game["positions"])
    assert game["positions"][0]["legalMoves"][0] > 0
    assert game["positions"][-1]["legalMoves"] == [0, 0]
