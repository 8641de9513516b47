"""Details from the files beside a replay, which may come from anybody, and the output of programs by move."""

from __future__ import annotations

import gzip
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from spielleiter.game.blokus import SkipMove
from spielleiter.match.game_folder import REPLAY, SERVER_LOG, GameLog
from spielleiter.match.records import SETUP
from spielleiter.match.verdict import VERDICTS
from spielleiter.programs.outputs import Output
from spielleiter.protocol.thinking import Thinking
from spielleiter.server import events
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.game_details import (
    LONGEST_EVENT,
    LONGEST_LINE,
    LONGEST_TEXT,
    MOST_LINES,
    VERDICT,
    details_beside,
    stderr_log,
    verdict_words,
)
from spielleiter.viewer.game_json import Details, describe_game
from spielleiter.viewer.replay_files import load_replay
from tests.interpreter import PYTHON
from tests.match.refereed import play

LINE = {"replay": "a.xml", "think_times": [[0.5, 1], [0.25]]}
TIMES = Details(([0.5, 1.0], [0.25]))


def test_the_json_file_beside_a_replay(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(LINE), encoding="utf-8-sig")
    assert details_beside(tmp_path / "a.xml") == details_beside(tmp_path / "a.xml.gz") == TIMES
    assert details_beside(tmp_path / "b.xml") == details_beside(tmp_path / "\0.xml") == Details()


def test_the_line_in_the_results(tmp_path: Path) -> None:
    other = {"replay": "b.xml", "names": ["a.xml", "x"], "think_times": [[9.0], []]}
    lines = [json.dumps(other), "no json a.xml", json.dumps(LINE), json.dumps({**other, "note": "a.xml"})]
    (tmp_path / "results.jsonl").write_text("\n".join(lines))
    assert details_beside(tmp_path / "a.xml") == TIMES
    assert details_beside(tmp_path / "c.xml") == Details()


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "{", "1" * 5000, "[" * 100_000, '{"a":' * 100_000, " " * 5_000_000 + "{}"),
        *(f'{{"think_times": {times}}}' for times in ("null", "[[1], [2], [3]]", '[[1], "x"]', "[[true], []]")),
        *(f'{{"think_times": {times}}}' for times in ('[["1"], []]', "[[-1], []]", "[[NaN], []]", "[[1e999], []]")),
    ],
    ids=range(15),
)
def test_another_file_of_that_name_gives_no_details(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content)
    assert details_beside(tmp_path / "a.xml") == Details()


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no named pipes in its file system")
def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    if sys.platform != "win32":  # for mypy
        os.mkfifo(tmp_path / "a.json")
    assert details_beside(tmp_path / "a.xml") == Details()


def match_folder(folder: Path, record: dict[str, Any], setup: Any = None) -> Path:
    """Write the record of a game of a match; return the path of its replay."""
    game = folder / "games" / "0001"
    game.mkdir(parents=True, exist_ok=True)
    (game / VERDICT).write_text(json.dumps({"replay": REPLAY, **record}))
    if setup is not None:
        (folder / SETUP).write_text(json.dumps(setup))
    return game / REPLAY


def test_the_record_of_a_match_is_by_program(tmp_path: Path) -> None:
    record = {"seats": [1, 0], "think_times": [[1.0], [2.0, 3.0]], "verdict": "crash", "offender": 1}
    name = "\N{PILE OF POO}" + "x" * (LONGEST_TEXT - 1)
    record |= {"names": ["new", f"{name}xx"], "reason": "exit code 1"}
    details = details_beside(match_folder(tmp_path, record))
    assert (details.think_times, details.verdict, details.soft_limit) == (([2.0, 3.0], [1.0]), "crash", None)
    assert details.verdict_words == {
        "de": f"{name}: ist abgestürzt (exit code 1)",
        "en": f"{name}: crashed (exit code 1)",
    }


def test_every_verdict_of_a_match_has_words_of_its_own() -> None:
    words = [verdict_words(verdict, None, "")["de"] for verdict in VERDICTS]
    assert len(set(words)) == len(VERDICTS)
    assert set(words).isdisjoint(VERDICTS)
    assert verdict_words("something new", None, "") == {"de": "something new", "en": "something new"}


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


# -- the output of the programs --------------------------------------------------------------------------------------

BEGIN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
RECORD: dict[str, Any] = {"seats": [0, 1], "started_at": BEGIN.isoformat(), "program_starts": [0.5, None]}
LINES = (
    b"    0.100  starting\n    1.000  first\n    1.000  again\n    2.400  later\n    2.600  second\n    3.600  last\n"
)
"""The program was started half a second after the game; its moves were requested at 1.0 and 3.0."""


def log_of(*moves: tuple[Any, float]) -> bytes:
    lines: list[dict[str, Any]] = [{"event": "player_joined"}, {"event": "game_started", "timestamp": 1.0}]
    lines += [{"event": "move_played", "seat": seat, "timestamp": seconds} for seat, seconds in moves]
    for line in lines:
        instant = datetime.fromtimestamp(BEGIN.timestamp() + line.get("timestamp", 0.5), UTC)
        line["timestamp"] = instant.isoformat().replace("+00:00", "Z")
    return gzip.compress("\n".join(map(json.dumps, lines)).encode())


MOVES = log_of((0, 2.0), (1, 3.0), (0, 4.0), (1, 5.0))
FAULT = log_of((1, 2.0), (0, 3.0), (1, 4.0))


def outputs(folder: Path, log: bytes | None, output: bytes | None, **record: Any) -> Any:
    """What is known of the outputs if the first program has written `output`."""
    replay = match_folder(folder, {**RECORD, **record})
    for name, content in ((SERVER_LOG, log), (stderr_log(0), output)):
        if content is not None:
            (replay.parent / name).write_bytes(content)
    return details_beside(replay).outputs


@pytest.mark.parametrize(
    ("log", "output", "record", "expected"),
    [
        # a line belongs to the move that was requested last
        (MOVES, LINES, {}, ([["starting", "first", "again", "later"], ["second", "last"]], None)),
        # the program at fault has one more request
        (FAULT, b"    1.600  1\n    3.600  2\n    3.700  3\n", {"offender": 0}, ([["1"], ["2", "3"]], None)),
        (FAULT, b"    1.600  1\n    3.600  2\n    3.700  3\n", {}, ([["1", "2", "3"]], None)),
        # the files are those of the program and not of the seat
        (log_of((0, 2.0), (1, 3.0)), b"    1.600  x\n", {"seats": [1, 0]}, (None, [["x"]])),
        # lines without a time, and bytes that are no text
        (MOVES, b"(cut)\n    1.000  gr\xfcn\nno stamp\n", {}, ([["(cut)", "gr\ufffdn", "no stamp"], []], None)),
        # bounds
        (MOVES, b"2.6 " + b"x" * 10_000, {}, ([["2.6 " + "x" * (LONGEST_LINE - 4) + "…"], []], None)),
        (MOVES, b"    1.000  y\n" * 5000, {}, ([["y"] * MOST_LINES + ["…"], []], None)),
    ],
)
def test_lines_belong_to_the_answers_of_their_program(
    tmp_path: Path, log: bytes, output: bytes, record: dict[str, Any], expected: Any
) -> None:
    assert outputs(tmp_path, log, output, **record) == expected


def test_what_a_program_thinks_is_no_output(tmp_path: Path) -> None:
    long = json.dumps({"thinking": 1, "cells": [[x, y] for x in range(20) for y in range(20)]}).encode()
    late = b'{"thinking": 1, "turn": 3, "value": 2}'
    text = b"    1.000  first\n    1.100  %b\n    2.600  %b\n    2.700  second\n" % (long, late)
    assert outputs(tmp_path, MOVES, text) == ([["first"], ["second"]], None)
    (first, second), none = details_beside(tmp_path / "games" / "0001" / REPLAY).thoughts
    assert not none
    assert (first[0], len(first[1].cells)) == (0, 400)
    assert second == (1, Thinking(turn=3, value=2.0))


def test_a_flood_of_thoughts_is_not_read(tmp_path: Path) -> None:
    flood = b'    1.000  {"thinking": 1}\n' * 500
    assert outputs(tmp_path, MOVES, flood + b"    2.600  second\n") == ([[], ["second"]], None)
    thoughts, _ = details_beside(tmp_path / "games" / "0001" / REPLAY).thoughts
    assert len(thoughts) == 100


@pytest.mark.parametrize(
    "record",
    [
        {"started_at": "yesterday"},
        {"started_at": "2026-01-01T00:00:00"},
        {"started_at": 5},
        {"program_starts": "x"},
        {"program_starts": [1.0]},
        {"program_starts": [True, "x"]},
        {"seats": [0, 0]},
        {"replay": "other.xml"},
    ],
)
def test_a_record_of_another_form_gives_no_output(tmp_path: Path, record: dict[str, Any]) -> None:
    assert outputs(tmp_path, MOVES, LINES, **record) == (None, None)


@pytest.mark.parametrize(
    ("log", "output"),
    [
        (MOVES, None),
        (None, LINES),
        (b"no gzip", LINES),
        (gzip.compress(b"[]\n{}\n", mtime=0), LINES),
        (gzip.compress(b"{}", mtime=0)[:-4], LINES),
    ],
)
def test_files_that_are_missing_or_of_another_form_give_no_output(
    tmp_path: Path, log: bytes | None, output: bytes | None
) -> None:
    assert outputs(tmp_path, log, output) == (None, None)


def test_no_more_of_a_log_is_unpacked_than_its_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    class Counting(gzip.GzipFile):
        def readline(self, size: int | None = -1) -> bytes:
            nonlocal read
            line = super().readline(size)
            read += len(line)
            return line

    monkeypatch.setattr(gzip, "GzipFile", Counting)
    # one line without an end: the reader of lines would unpack all of it
    assert outputs(tmp_path, gzip.compress(bytes(20 * LONGEST_EVENT)), LINES) == (None, None)
    assert 0 < read <= LONGEST_EVENT


@pytest.mark.parametrize("key", ["seats", "names", "offender", "verdict", "reason", "program_starts", "think_times"])
def test_a_strange_value_in_the_record_raises_nothing(tmp_path: Path, key: str) -> None:
    values: list[Any] = [True, 1.0, 7, [0.0, 1.0], [[], []], [{}, 1], {"a": []}, 10**400, [10**400, 1]]
    for value in (*values, "\ud800", ["\ud800", "b"], ["\udcff", "\ud83d\udca9"]):
        record = {"names": ["a", "b"], "offender": 1, "verdict": "crash", key: value}
        replay = match_folder(tmp_path, {**RECORD, "program_starts": [0.0, 0.0], **record})
        for program in (0, 1):
            (replay.parent / stderr_log(program)).write_text("1.000 output\n")
        (replay.parent / SERVER_LOG).write_bytes(log_of((value, 2.0), (0, 3.0)))
        msgspec.json.encode(details_beside(replay))


def test_the_files_of_a_match_have_the_expected_form(tmp_path: Path) -> None:
    replay = match_folder(tmp_path, RECORD)
    log, output = GameLog(replay.parent / SERVER_LOG), Output(replay.parent / stderr_log(0))
    log.add(events.GameStarted("room", ("a", "b"), False, 0))
    log.add(events.MovePlayed("room", 0, "a", 0, 1, SkipMove(), 0.1, ()))
    log.close()
    output.open()
    output.write(b"hello\n", 0.0)
    output.close()
    started = json.loads(gzip.decompress((replay.parent / SERVER_LOG).read_bytes()).splitlines()[0])["timestamp"]
    match_folder(tmp_path, {**RECORD, "started_at": started, "program_starts": [0.0, None]})
    assert details_beside(replay).outputs == ([["hello"]], None)


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


@pytest.mark.slow
async def test_a_real_game_of_a_match(tmp_path: Path) -> None:
    script = tmp_path / "bot.py"
    script.write_text(TALKATIVE)
    hinting = EDITIONS["blokus-2021-r3"]  # where players may send hints
    names = {"game_type": hinting.game_type, "edition": hinting.name}
    record = await play(tmp_path, f"{PYTHON} {script}", "builtin:first", game=2, **names)
    assert record.replay is not None
    (tmp_path / SETUP).write_text('{"entrants": [{"can_timeout": true}]}')
    path = tmp_path / record.folder / record.replay
    game = describe_game(load_replay(path), details_beside(path))
    assert record.seats == (1, 0)
    assert (game["softLimitSeconds"], game["gameType"]) == (2.0, hinting.game_type)
    assert game["end"]["verdict"] == record.verdict
    own = [ply for ply in game["plies"] if ply["player"] == 1]
    assert [ply["thinkSeconds"] for ply in own] == list(record.think_times[0])[: len(own)]
    assert [ply["hints"] for ply in own] == [[{"content": f"hint {number}"}] for number in range(len(own))]
    # a line that was read late, because the machine was busy, may be shown with the next move, but none is lost
    assert [line for ply in own for line in ply["stderr"]] == [f"output {number}" for number in range(len(own))]
    assert all(ply["stderr"] is None for ply in game["plies"] if ply["player"] == 0)
    assert all(ply["thinkSeconds"] is not None for ply in game["plies"])
