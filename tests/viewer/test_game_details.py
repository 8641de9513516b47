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
from spielleiter.server import events
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.game_details import (
    LONGEST_EVENT,
    LONGEST_LINE,
    LONGEST_TEXT,
    MOST_LINES,
    VERDICT,
    count_in,
    details_beside,
    open_regular,
    parse_object,
    read_object,
    read_outputs,
    seat_in,
    seats_in,
    seconds_in,
    stderr_log,
    text_in,
    verdict_words,
)
from spielleiter.viewer.game_json import Details, describe_game
from spielleiter.viewer.replay_files import load_replay
from tests.interpreter import PYTHON
from tests.match.refereed import play

VALUES: list[Any] = [None, True, False, 1.0, -1, 2, 10**400, "1", [], {}, [0, 1], {"0": 1}, float("nan"), float("inf")]


def test_an_object_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": "\N{PILE OF POO}"}', encoding="utf-8-sig")
    assert read_object(path, 100) == {"a": "\N{PILE OF POO}"}
    assert read_object(path, 5) is None
    assert read_object(tmp_path / "b.json", 100) is None
    assert read_object(tmp_path / "\0", 100) is None


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b"1" * 5000, b"[" * 100_000, b'{"a":' * 100_000])
def test_what_is_no_object(content: bytes) -> None:
    assert parse_object(content) is None


@pytest.mark.parametrize("content", [rb'{"a\ud800": ["\uDFFF"]}', b'{"a\xed\xa0\x80": ["\xff"]}'])
def test_a_text_can_be_encoded(content: bytes) -> None:
    found = parse_object(content)
    assert found is not None
    json.dumps(found, ensure_ascii=False).encode()


def test_pairs_of_surrogates_are_one_character() -> None:
    assert parse_object(rb'{"a": "\ud83d\udca9"}') == {"a": "\N{PILE OF POO}"}


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no named pipes in its file system")
def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    if sys.platform != "win32":  # for mypy
        os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(tmp_path / "pipe")
    assert read_object(tmp_path / "pipe", 100) is None


@pytest.mark.parametrize("value", VALUES)
def test_values_of_another_form_are_none(value: Any) -> None:
    assert seat_in(value) is None
    assert count_in(value) in {None, 2}
    assert seats_in(value) in (None, (0, 1))
    assert text_in(value) in {None, "1"}
    assert seconds_in(value) in {None, 1.0, 2.0}


def test_values_of_the_expected_form() -> None:
    assert (seat_in(0), seat_in(1), seats_in([1, 0]), count_in(0)) == (0, 1, (1, 0), 0)
    assert (seconds_in(0.5), text_in("x" * 2 * LONGEST_TEXT)) == (0.5, "x" * LONGEST_TEXT)
    wrong: list[Any] = [[0, 0], [0], [0.0, 1.0], [False, True], [[], []]]
    assert [seats_in(value) for value in wrong] == [None] * 5


def test_every_verdict_of_a_match_has_words_of_its_own() -> None:
    words = [verdict_words(verdict, None, "")["de"] for verdict in VERDICTS]
    assert len(set(words)) == len(VERDICTS)
    assert set(words).isdisjoint(VERDICTS)


def test_a_verdict_names_the_program_and_the_reason() -> None:
    assert verdict_words("crash", "bot", "exit code 1") == {
        "de": "bot: ist abgestürzt (exit code 1)",
        "en": "bot: crashed (exit code 1)",
    }
    assert verdict_words("regular", None, "") == {"de": "regulär zu Ende gespielt", "en": "played to its end"}
    assert verdict_words("something new", None, "") == {"de": "something new", "en": "something new"}


BEGIN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
RECORD: dict[str, Any] = {"started_at": BEGIN.isoformat(), "program_starts": [0.5, None]}


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(BEGIN.timestamp() + seconds, UTC).isoformat().replace("+00:00", "Z")


def write_log(folder: Path, *moves: tuple[int, float]) -> None:
    lines: list[dict[str, Any]] = [{"event": "player_joined", "timestamp": stamp(0.5)}]
    lines.append({"event": "game_started", "timestamp": stamp(1.0)})
    lines += [{"event": "move_played", "seat": seat, "timestamp": stamp(seconds)} for seat, seconds in moves]
    (folder / SERVER_LOG).write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))


def write_output(folder: Path, *lines: tuple[float, str]) -> None:
    output = Output(folder / stderr_log(0))
    output.open()
    for seconds, text in lines:
        output.write(text.encode(), seconds)
    output.close()


def test_a_line_belongs_to_the_move_that_was_requested_last(tmp_path: Path) -> None:
    write_log(tmp_path, (0, 2.0), (1, 3.0), (0, 4.0), (1, 5.0))
    # the program was started half a second after the game; its moves were requested at 1.0 and 3.0
    write_output(tmp_path, (0.1, "starting\n"), (1.0, "first\nstill first\n"), (2.4, "later\n"), (2.6, "second\n"))
    outputs = read_outputs(tmp_path, RECORD, [0, 1], None)
    assert outputs == ([["starting", "first", "still first", "later"], ["second"]], None)


def test_the_program_at_fault_has_one_more_request(tmp_path: Path) -> None:
    write_log(tmp_path, (1, 2.0), (0, 3.0), (1, 4.0))
    write_output(tmp_path, (1.6, "first\n"), (3.6, "Traceback\n"), (3.7, "ValueError\n"))
    record = {**RECORD, "seats": [0, 1]}
    assert read_outputs(tmp_path, record, [0, 1], 0)[0] == [["first"], ["Traceback", "ValueError"]]
    assert read_outputs(tmp_path, record, [0, 1], None)[0] == [["first", "Traceback", "ValueError"]]


def test_the_files_are_those_of_the_program_and_not_of_the_seat(tmp_path: Path) -> None:
    write_log(tmp_path, (0, 2.0), (1, 3.0))
    write_output(tmp_path, (1.6, "second player\n"))
    assert read_outputs(tmp_path, RECORD, [1, 0], None) == (None, [["second player"]])


def test_lines_without_a_time_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    write_log(tmp_path, (0, 2.0), (1, 3.0), (0, 4.0))
    content = b"(cut)\n    1.000  gr\xfcn\nno stamp\n    2.600  " + b"x" * 10_000 + b"\n"
    (tmp_path / stderr_log(0)).write_bytes(content)
    first, second = read_outputs(tmp_path, RECORD, [0, 1], None)[0] or ((), ())
    assert list(first) == ["(cut)", "gr\ufffdn", "no stamp"]
    assert len(second[0]) == LONGEST_LINE + 1


def test_the_number_of_lines_is_bounded(tmp_path: Path) -> None:
    write_log(tmp_path, (0, 2.0))
    (tmp_path / stderr_log(0)).write_text("".join(f"    1.000  {number}\n" for number in range(5000)))
    answer = (read_outputs(tmp_path, RECORD, [0, 1], None)[0] or [[]])[0]
    assert len(answer) == MOST_LINES + 1
    assert answer[-1] == "…"


@pytest.mark.parametrize(
    "record",
    [
        {},
        {**RECORD, "started_at": "yesterday"},
        {**RECORD, "started_at": "2026-01-01T00:00:00"},
        {**RECORD, "started_at": 5},
        {**RECORD, "program_starts": "x"},
        {**RECORD, "program_starts": [1.0]},
        {**RECORD, "program_starts": [True, "x"]},
    ],
)
def test_a_record_without_the_times_gives_nothing(tmp_path: Path, record: dict[str, Any]) -> None:
    write_log(tmp_path, (0, 2.0))
    write_output(tmp_path, (1.0, "line\n"))
    assert read_outputs(tmp_path, record, [0, 1], None) == (None, None)


@pytest.mark.parametrize(
    "log",
    [None, b"", b"no gzip", gzip.compress(b"no json\n"), gzip.compress(b"[]\n{}\n"), gzip.compress(b"{}")[:-4]],
    ids=["none", "empty", "no gzip", "no json", "no events", "truncated"],
)
def test_a_log_of_another_form_gives_nothing(tmp_path: Path, log: bytes | None) -> None:
    if log is not None:
        (tmp_path / SERVER_LOG).write_bytes(log)
    write_output(tmp_path, (1.0, "line\n"))
    assert read_outputs(tmp_path, RECORD, [0, 1], 0) == (None, None)


def test_no_more_of_a_log_is_unpacked_than_its_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # one line without an end: the reader of lines would unpack all of it
    (tmp_path / SERVER_LOG).write_bytes(gzip.compress(bytes(100 * LONGEST_EVENT)))
    read = 0

    class Counting(gzip.GzipFile):
        def readline(self, size: int | None = -1) -> bytes:
            nonlocal read
            line = super().readline(size)
            read += len(line)
            return line

    monkeypatch.setattr(gzip, "GzipFile", Counting)
    assert read_outputs(tmp_path, RECORD, [0, 1], 0) == (None, None)
    assert 0 < read <= LONGEST_EVENT


def test_without_an_output_nothing_is_known(tmp_path: Path) -> None:
    write_log(tmp_path, (0, 2.0))
    assert read_outputs(tmp_path, RECORD, [0, 1], None) == (None, None)


def test_the_log_of_a_match_has_the_expected_form(tmp_path: Path) -> None:
    log = GameLog(tmp_path / SERVER_LOG)
    log.add(events.GameStarted("room", ("a", "b"), False, 0))
    log.add(events.MovePlayed("room", 0, "a", 0, 1, SkipMove(), 0.1, ()))
    log.close()
    lines = [json.loads(line) for line in gzip.decompress((tmp_path / SERVER_LOG).read_bytes()).splitlines()]
    assert [line["event"] for line in lines] == ["game_started", "move_played"]
    begin = datetime.fromisoformat(lines[0]["timestamp"])
    record = {"started_at": begin.isoformat(), "program_starts": [0.0, None]}
    write_output(tmp_path, (0.0, "hello\n"))
    assert read_outputs(tmp_path, record, [0, 1], None)[0] == [["hello"]]


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
    game = describe_game(load_replay(path), details)
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
