"""A game as one JSON object: plies, think times, hints, outputs, names and the end."""

from __future__ import annotations

import json

import pytest

from spielleiter.protocol.messages import Cause, Memento, RoomData
from spielleiter.server.core.room import Ending
from spielleiter.server.editions import EDITIONS
from spielleiter.server.replay import encode_replay
from spielleiter.viewer.replays.game import LONGEST_HINT, MOST_HINTS, Details, describe_game, describe_record
from spielleiter.viewer.replays.reading import read_replay
from tests.viewer.replay_files import NAMES, ended, played, record_of, replay_of

EDITION = EDITIONS["blokus-2027"]


@pytest.mark.parametrize("name", ["blokus-2027", "hase-und-igel-2018"])
def test_a_file_and_a_running_game_give_the_same_object(name: str) -> None:
    edition = EDITIONS[name]
    record = record_of(edition, played(edition, plies=9))
    game = describe_record(edition, record, "a.xml")
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
    game = describe_record(EDITION, [Memento(state) for state in states], "")
    assert game["end"] is None
    assert game["title"] == "1 – 2"
    assert len(game["positions"]) == 4
    assert describe_record(EDITION, [Memento(states[0])], "", counts_moves=False)["positions"][0]["legalMoves"] is None


def test_details_belong_to_the_moves_of_their_player() -> None:
    states = played(EDITION, plies=5)
    record = record_of(EDITION, states)
    details = Details(((0.1, 0.2, 0.3), (1.1,)), 2.0, (([], ["b"], ["c"]), None))
    plies = describe_record(EDITION, record, "", details)["plies"]
    assert [ply["player"] for ply in plies] == [0, 1, 0, 1, 0]
    assert [ply["thinkSeconds"] for ply in plies] == [0.1, 1.1, 0.2, None, 0.3]
    assert [ply["stderr"] for ply in plies] == [[], None, ["b"], None, ["c"]]
    assert describe_record(EDITION, record, "", details)["softLimitSeconds"] == 2.0


def test_hints_are_bounded() -> None:
    first, second = played(EDITION, plies=1)
    hints = ("<b>hint</b>", "x" * 5000, *["y"] * 100)
    plies = describe_record(EDITION, [Memento(first), Memento(second, NAMES, hints)], "")["plies"]
    assert plies[0]["hints"][0] == {"content": "<b>hint</b>"}
    assert len(plies[0]["hints"]) == MOST_HINTS
    assert len(plies[0]["hints"][1]["content"]) == LONGEST_HINT


def test_a_position_that_was_sent_twice_is_one_position() -> None:
    states = played(EDITION, plies=2)
    record: list[RoomData] = [Memento(state) for state in (states[0], states[0], *states[1:], states[-1])]
    assert len(describe_record(EDITION, record, "")["positions"]) == 3


def test_the_end_shows_the_last_words_of_the_program_at_fault() -> None:
    states = played(EDITION, plies=4)
    result = ended(EDITION, Ending.against(0, Cause.LEFT, "", (1,)), states[-1])
    record: list[RoomData] = [*(Memento(state, NAMES) for state in states), result]
    outputs = ([["a"], ["b"], ["Traceback", "ValueError"]], None)
    details = Details(outputs=outputs, verdict="crash", verdict_words={"de": "abgestürzt", "en": "crashed"})
    end = describe_record(EDITION, record, "", details)["end"]
    assert end["stderr"] == ["Traceback", "ValueError"]
    assert (end["verdict"], end["verdictWords"]["de"]) == ("crash", "abgestürzt")
    assert describe_record(EDITION, record, "")["end"]["stderr"] is None
    fewer = Details(outputs=([["a"], ["b"]], None))
    assert describe_record(EDITION, record, "", fewer)["end"]["stderr"] is None


@pytest.mark.slow
def test_a_whole_game_has_its_moves_counted() -> None:
    game = describe_game(read_replay(replay_of("blokus-2027"), "x"))
    assert all(min(position["legalMoves"]) >= 0 for position in game["positions"])
    assert game["positions"][0]["legalMoves"][0] > 0
    assert game["positions"][-1]["legalMoves"] == [0, 0]
