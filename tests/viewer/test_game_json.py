"""A game as one JSON object: plies, think times, hints, outputs, names, and the end in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from spielleiter.game.blokus import SetMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.protocol.messages import Cause, ErrorMessage, Memento, Result, RoomData, Score, UnreadableData
from spielleiter.protocol.thinking import MOST_LINES, MOST_TEXTS, Candidate, Mark, Thinking
from spielleiter.server.core.room import Ending
from spielleiter.server.editions import EDITIONS
from spielleiter.server.replay import encode_replay
from spielleiter.viewer.game_json import LONGEST_HINT, LONGEST_NAME, MOST_HINTS, Details, describe_end, describe_game
from spielleiter.viewer.replay_files import read_replay
from tests.viewer.replay_files import NAMES, described, played, record_of, refused_record

EDITION = EDITIONS["blokus-2027"]
STATES = played(EDITION, plies=4)
POINTS = [STATES[-1].points(seat)[0] for seat in (0, 1)]
CORNER = SetMove(Color.BLUE, Shape.MONO, Rotation.NONE, is_flipped=False, x=40, y=2)


def end_of(ending: Ending, names: tuple[str, str] = NAMES, edition: str = "blokus-2027") -> dict[str, Any]:
    """The end of a game of four plies."""
    found = EDITIONS[edition]
    state = played(found, plies=4)[-1]
    end = describe_end([Memento(state, names), ending.result(found, state, names)])
    assert end is not None
    return end


def test_each_fault_is_told_with_the_name_of_the_player() -> None:
    sentences = set()
    for cause in set(Cause) - {Cause.REGULAR}:
        end = end_of(Ending.by_faults({0: (cause, "Grund der Ausgabe")}))
        assert (end["cause"], end["offender"], end["winner"], end["isDraw"]) == (cause.value, 0, 1, False)
        assert (end["reason"], end["illegal"]) == ("Grund der Ausgabe", None)
        first, second = POINTS
        assert end["points"] == [0, second]  # in this season a player at fault gets no points
        assert end["words"]["de"].startswith("Anton hat ")
        assert end["words"]["de"].endswith(f"; Berta gewinnt (0 : {second} Punkte; auf dem Brett {first} : {second}).")
        assert end["words"]["en"].startswith("Anton ")
        assert end["words"]["en"].endswith(f"; Berta wins (0 : {second} points; {first} : {second} on the board).")
        sentences |= set(end["words"].values())
    assert len(sentences) == 2 * (len(Cause) - 1)


def test_points_are_those_of_the_result_or_else_of_the_last_position() -> None:
    kept = end_of(Ending.by_faults({0: (Cause.LEFT, "")}), edition="blokus-2021-r3")  # here, faults cost no points
    assert kept["words"]["en"].endswith(f"({kept['points'][0]} : {kept['points'][1]} points).")
    without = Result((), (Score(Cause.REGULAR, "", ()), Score(Cause.REGULAR, "", (2,))), (1,))
    end = describe_end([Memento(STATES[-1], NAMES), without])
    assert end is not None
    assert end["points"] == POINTS


@pytest.mark.parametrize(
    ("ending", "is_draw", "german", "english"),
    [
        (Ending.won_by((0, 1)), True, "Unentschieden (", "A draw ("),
        (Ending.cancelled(()), False, "Niemand gewinnt (", "Nobody wins ("),
    ],
)
def test_a_draw_and_a_game_without_a_winner(ending: Ending, is_draw: bool, german: str, english: str) -> None:
    end = end_of(ending)
    assert (end["winner"], end["isDraw"]) == (None, is_draw)
    assert (end["words"]["de"].startswith(german), end["words"]["en"].startswith(english)) == (True, True)


def test_names_are_those_of_the_record_cut_or_a_number() -> None:
    assert end_of(Ending.won_by((1,)), ("", ""))["words"]["de"].startswith("Spieler 2 gewinnt")
    assert end_of(Ending.won_by((1,)), ("", ""))["words"]["en"].startswith("Player 2 wins")
    hostile = end_of(Ending.won_by((1,)), ("a", "{name} {number} <b>" + 1000 * "x"))["words"]["en"]
    assert hostile.startswith("{name} {number} <b>xxx")
    assert len(hostile) < LONGEST_NAME + 50
    result = Ending.won_by((1,)).result(EDITION, STATES[0], ("x", "y"))
    rows: list[tuple[list[RoomData], list[str]]] = [
        ([Memento(STATES[0], NAMES), result], ["x", "y"]),
        ([Memento(STATES[0], NAMES)], list(NAMES)),
        ([Memento(STATES[0])], ["", ""]),
    ]
    for record, names in rows:
        game = described(EDITION, record)
        assert [player["name"] for player in game["players"]] == names
        assert game["title"] == (" – ".join(names) if any(names) else "1 – 2")
        assert (game["end"] is None) == (len(record) == 1)


@pytest.mark.parametrize("name", [name for name in EDITIONS if name.startswith("blokus")])
def test_the_illegal_move_is_found_in_the_file(name: str) -> None:
    edition = EDITIONS[name]
    content = encode_replay(
        edition.dialect, "", refused_record(edition, played(edition, plies=4), CORNER, "Text der Ausgabe")
    )
    end = describe_end(read_replay(content, "").record)
    assert end is not None
    assert end["cause"] == "RULE_VIOLATION"
    illegal = end["illegal"]
    if illegal is None:  # one season does not repeat the move in its error
        assert b"originalMessage" not in content
    else:
        assert (illegal["piece"], illegal["text"]) == ("MONO", "Text der Ausgabe")
        assert illegal["cells"] == illegal["offendingCells"] == [[40, 2]]


def test_a_move_that_could_not_be_read_has_no_picture() -> None:
    record = refused_record(EDITION, STATES, CORNER)
    record[-2] = ErrorMessage("Ungueltig", UnreadableData("SetMove", "kaputt"))
    for each in (record, [data for data in record if not isinstance(data, ErrorMessage)]):
        end = describe_end(each)
        assert end is not None
        assert end["illegal"] is None


@pytest.mark.parametrize("name", ["blokus-2027", "hase-und-igel-2018"])
def test_the_object_of_a_game(name: str) -> None:
    edition = EDITIONS[name]
    record = record_of(edition, played(edition, plies=9))
    repeated = [data for data in record for _ in range(2)]  # a position that was sent twice is one position
    game = described(edition, repeated, "a.xml")
    assert game == describe_game(read_replay(encode_replay(edition.dialect, "", record), "a.xml"))
    assert json.loads(json.dumps(game)) == game
    assert (game["format"], game["edition"], game["gameType"]) == (1, name, edition.game_type)
    assert [player["name"] for player in game["players"]] == list(NAMES)
    assert [player["team"] for player in game["players"]] == list(edition.dialect.team_names)
    assert (len(game["positions"]), bool(game["pieces"])) == (10, name.startswith("blokus"))
    assert [ply["ply"] for ply in game["plies"]] == list(range(1, 10))
    for ply in game["plies"]:
        before, after = game["positions"][ply["ply"] - 1], game["positions"][ply["ply"]]
        assert {"player": ply["player"], "color": ply["color"]} == before["sideToMove"]
        assert after["lastMove"]["player"] == ply["player"]
        assert (ply["thinkSeconds"], ply["hints"], ply["stderr"]) == (None, [], None)
    assert game["softLimitSeconds"] is None


def test_details_belong_to_the_moves_of_their_player() -> None:
    states = played(EDITION, plies=5)
    details = Details(((0.1, 0.2, 0.3), (1.1,)), 2.0, (([], ["b"], ["c"]), None))
    game = described(EDITION, record_of(EDITION, states), "", details)
    assert [ply["player"] for ply in game["plies"]] == [0, 1, 0, 1, 0]
    assert [ply["thinkSeconds"] for ply in game["plies"]] == [0.1, 1.1, 0.2, None, 0.3]
    assert [ply["stderr"] for ply in game["plies"]] == [[], None, ["b"], None, ["c"]]
    assert game["softLimitSeconds"] == 2.0
    hints = ("<b>hint</b>", "x" * 5000, *["y"] * 100)
    shown = described(EDITION, [Memento(states[0]), Memento(states[1], NAMES, hints)])["plies"][0]["hints"]
    assert (shown[0], len(shown), len(shown[1]["content"])) == ({"content": "<b>hint</b>"}, MOST_HINTS, LONGEST_HINT)


def test_what_programs_think_belongs_to_a_move_by_time_or_by_turn() -> None:
    first, second, third = (Thinking(texts=(text,)) for text in "abc")
    early = Thinking(turn=STATES[0].turn, value=1.0)
    details = Details(thoughts=([(0, first), (1, second), (1, early), (9, third)], [(1, third)] * (MOST_LINES + 9)))
    game = described(EDITION, record_of(EDITION, STATES), "", details)
    assert game["thinking"] == [
        {"ply": 1, "player": 0, "turn": STATES[0].turn, "value": 1.0, "texts": ["a"]},
        {"ply": 3, "player": 0, "texts": ["b"]},
        {"ply": 4, "player": 1, "texts": ["c"] * MOST_TEXTS},
    ]
    # a move that never came has a number as well
    details = Details(thoughts=([(2, Thinking(cells=(Mark(1, 2, 0.5),), moves=(Candidate("x"),)))], ()))
    (thought,) = described(EDITION, record_of(EDITION, STATES), "", details)["thinking"]
    assert thought == {"ply": 5, "player": 0, "cells": [[1, 2, 0.5]], "moves": [{"text": "x"}]}
    assert json.loads(json.dumps(thought)) == thought


@pytest.mark.parametrize(
    ("output", "shown"),
    [([["a"], ["b"], ["Traceback", "Error"]], ["Traceback", "Error"]), ([["a"], ["b"]], None), (None, None)],
)
def test_the_end_shows_the_last_words_of_the_program_at_fault(
    output: Sequence[Sequence[str]] | None, shown: list[str] | None
) -> None:
    result = Ending.by_faults({0: (Cause.LEFT, "")}).result(EDITION, STATES[-1], NAMES)
    details = Details(outputs=(output, None), verdict="crash", verdict_words={"de": "abgestürzt", "en": "crashed"})
    end = described(EDITION, [*(Memento(state, NAMES) for state in STATES), result], "", details)["end"]
    assert (end["stderr"], end["verdict"], end["verdictWords"]["de"]) == (shown, "crash", "abgestürzt")
