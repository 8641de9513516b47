"""Details from the files beside a replay: of our server, of a match, and from files that are something else."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from spielleiter.match.game_folder import REPLAY
from spielleiter.match.records import SETUP as SETUP_OF_MATCH
from spielleiter.match.referee import VERDICT as VERDICT_OF_MATCH
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.replays.details import SETUP, VERDICT, details_beside
from spielleiter.viewer.replays.game import Details, describe_game
from spielleiter.viewer.replays.outputs import SERVER_LOG, stderr_log
from spielleiter.viewer.replays.reading import load_replay
from tests.interpreter import PYTHON
from tests.match.refereed import play

TALKATIVE = """
import argparse, sys
from spielleiter.client.blocking import play_game
from spielleiter.protocol.messages import MoveData
from spielleiter.server.editions import EDITIONS

answers = 0

def choose(state):
    global answers
    print("output", answers, file=sys.stderr, flush=True)
    data = MoveData(next(iter(state.generate_legal_moves())), (f"hint {answers}",))
    answers += 1
    return data

parser = argparse.ArgumentParser(add_help=False)
for option in ("-h", "-p", "-r"):
    parser.add_argument(option)
options = parser.parse_args()
dialect = EDITIONS["blokus-2021-r3"].dialect
play_game(choose, host=options.h, port=int(options.p), reservation_code=options.r, dialect=dialect)
"""
"""A program that sends a hint with each move and writes a line to its standard error."""

LINE = {"replay": "a.xml", "think_times": [[0.5, 1], [0.25]]}
TIMES = Details(([0.5, 1.0], [0.25]))


def test_the_json_file_beside_a_replay(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(LINE))
    assert details_beside(tmp_path / "a.xml") == TIMES
    assert details_beside(tmp_path / "a.xml.gz") == TIMES
    assert details_beside(tmp_path / "b.xml") == Details()


def test_the_line_in_the_results(tmp_path: Path) -> None:
    other = {"replay": "b.xml", "names": ["a.xml", "x"], "think_times": [[9.0], []]}
    lines = [json.dumps(other), "no json a.xml", json.dumps(LINE), json.dumps({**other, "note": "a.xml"})]
    (tmp_path / "results.jsonl").write_text("\n".join(lines))
    assert details_beside(tmp_path / "a.xml") == TIMES
    assert details_beside(tmp_path / "c.xml") == Details()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "[" * 100_000,
        "no json",
        json.dumps({"think_times": None}),
        json.dumps({"think_times": [[1], [2], [3]]}),
        json.dumps({"think_times": [[1], "x"]}),
        json.dumps({"think_times": [[True], []]}),
        json.dumps({"think_times": [["1"], []]}),
        json.dumps({"think_times": [[-1], []]}),
        '{"think_times": [[NaN], []]}',
        '{"think_times": [[1e999], []]}',
    ],
)
def test_another_file_of_that_name_gives_no_details(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content)
    assert details_beside(tmp_path / "a.xml") == Details()


def match_folder(folder: Path, record: dict[str, Any], setup: Any = None) -> Path:
    game = folder / "games" / "0001"
    game.mkdir(parents=True)
    (game / VERDICT).write_text(json.dumps({"replay": REPLAY, **record}))
    if setup is not None:
        (folder / SETUP).write_text(json.dumps(setup))
    return game / REPLAY


def test_the_record_of_a_match_is_by_program(tmp_path: Path) -> None:
    record = {"seats": [1, 0], "think_times": [[1.0], [2.0, 3.0]], "verdict": "crash", "offender": 1}
    details = details_beside(match_folder(tmp_path, {**record, "names": ["new", "old"], "reason": "exit code 1"}))
    assert details.think_times == ([2.0, 3.0], [1.0])
    assert details.verdict == "crash"
    assert details.verdict_words == {"de": "old: ist abgestürzt (exit code 1)", "en": "old: crashed (exit code 1)"}
    assert details.soft_limit is None


@pytest.mark.parametrize(
    ("setup", "limit"),
    [
        ({"entrants": [{"can_timeout": True}, {"can_timeout": True}]}, 2.0),
        ({"entrants": [{"can_timeout": True}], "server_options": {"soft_timeout": 5}}, 5.0),
        ({"entrants": [{"can_timeout": True, "soft_timeout": 3, "time_factor": 2}, {"can_timeout": False}]}, 6.0),
        ({"entrants": [{"can_timeout": False}]}, None),
        ({"entrants": "x", "server_options": []}, None),
        ([], None),
    ],
)
def test_the_limit_for_a_move_is_that_of_the_match(tmp_path: Path, setup: Any, limit: float | None) -> None:
    assert details_beside(match_folder(tmp_path, {"seats": [0, 1]}, setup)).soft_limit == limit


@pytest.mark.parametrize(
    "record",
    [
        {"seats": [0, 0]},
        {"seats": [0, 1], "replay": "other.xml"},
        {"seats": [0, 1], "offender": [], "names": 5, "verdict": 7, "think_times": 3},
    ],
)
def test_a_record_of_another_form_gives_no_details(tmp_path: Path, record: dict[str, Any]) -> None:
    assert details_beside(match_folder(tmp_path, record)) in (Details(), Details(([], [])))


WILD: list[Any] = [
    True,
    1.0,
    [0.0, 1.0],
    [[], []],
    [{}, 1],
    {"a": []},
    10**400,
    [10**400, 1],
    "\ud800",
    ["\ud800", "b"],
]
"""Values that are nearly of the expected form, or that cannot be encoded."""


@pytest.mark.parametrize("key", ["seats", "names", "offender", "verdict", "reason", "program_starts", "think_times"])
@pytest.mark.parametrize("value", WILD)
def test_a_strange_value_in_the_record_raises_nothing(tmp_path: Path, key: str, value: Any) -> None:
    record = {"seats": [0, 1], "names": ["a", "b"], "offender": 1, "verdict": "crash", "program_starts": [0.0, 0.0]}
    replay = match_folder(tmp_path, {**record, "started_at": "2026-01-01T00:00:00+00:00", key: value})
    folder = replay.parent
    events = [{"event": "game_started"}, {"event": "move_played", "seat": value}, {"event": "move_played", "seat": 0}]
    lines = (json.dumps({**event, "timestamp": "2026-01-01T00:00:01+00:00"}) for event in events)
    (folder / SERVER_LOG).write_bytes(gzip.compress("\n".join(lines).encode()))
    for program in (0, 1):
        (folder / stderr_log(program)).write_text("1.000 output\n")
    msgspec.json.encode(details_beside(replay))


@pytest.mark.slow
async def test_a_real_game_of_a_match(tmp_path: Path) -> None:
    script = tmp_path / "bot.py"
    script.write_text(TALKATIVE)
    hinting = EDITIONS["blokus-2021-r3"]  # where players may send hints
    record = await play(
        tmp_path,
        f"{PYTHON} {script}",
        "builtin:first",
        game=2,
        game_type=hinting.game_type,
        edition=hinting.name,
    )
    assert record.replay is not None
    (tmp_path / SETUP).write_text('{"entrants": [{"can_timeout": true}]}')
    path = tmp_path / record.folder / record.replay
    details = details_beside(path)
    game = describe_game(load_replay(path), details, counts_moves=False)
    assert record.seats == (1, 0)
    assert len(details.think_times[1]) == len(record.think_times[0])
    assert game["softLimitSeconds"] == 2.0
    assert game["gameType"] == hinting.game_type
    assert game["end"]["verdict"] == record.verdict
    own = [ply for ply in game["plies"] if ply["player"] == 1]
    assert [ply["hints"] for ply in own] == [[{"content": f"hint {number}"}] for number in range(len(own))]
    # a line that was read late, because the machine was busy, may be shown with the next move, but none is lost
    assert [line for ply in own for line in ply["stderr"]] == [f"output {number}" for number in range(len(own))]
    assert all(ply["stderr"] is None for ply in game["plies"] if ply["player"] == 0)
    assert all(ply["thinkSeconds"] is not None for ply in game["plies"])


def test_the_names_of_the_files_are_those_of_a_match() -> None:
    assert (SETUP, VERDICT) == (SETUP_OF_MATCH, VERDICT_OF_MATCH)
