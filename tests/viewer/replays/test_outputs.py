"""The output of programs is divided among their moves by time stamps."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spielleiter.game.blokus import SkipMove
from spielleiter.match.game_folder import SERVER_LOG as SERVER_LOG_OF_MATCH
from spielleiter.match.game_folder import GameLog
from spielleiter.programs.outputs import Output
from spielleiter.server import events
from spielleiter.viewer.replays.outputs import (
    LONGEST_EVENT,
    LONGEST_LINE,
    MOST_LINES,
    SERVER_LOG,
    _divided,
    read_outputs,
    stderr_log,
)

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


def test_the_number_of_lines_is_bounded() -> None:
    (answer,) = _divided([(1.0, str(number)) for number in range(5000)], [0.0], 0.0)
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
    assert SERVER_LOG == SERVER_LOG_OF_MATCH
