"""The process of the analysis: JSON lines, its exit codes, and a replay on standard input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spielleiter.game.hase_und_igel.board import Board
from spielleiter.protocol.messages import Memento
from spielleiter.server.editions import EDITIONS
from spielleiter.server.replay import encode_replay
from spielleiter.viewer.analysis.__main__ import main
from tests.timeouts import HANG_TIMEOUT
from tests.viewer.replay_files import played, record_of

EDITION = EDITIONS["hase-und-igel-2018"]


@pytest.fixture(autouse=True)
def _own_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the priority of this process, in which other tests follow."""
    monkeypatch.setattr("os.nice", lambda _increment: 0)


def replay() -> bytes:
    states = played(EDITION)[-7:]
    return encode_replay(EDITION.dialect, "", record_of(EDITION, states))


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.slow
def test_it_ends_without_a_message_if_nobody_reads_it() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "spielleiter.viewer.analysis", "--events", "-"],
        input=replay(),
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=HANG_TIMEOUT,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.slow
def test_a_process_of_its_own_reads_standard_input() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "spielleiter.viewer.analysis", "--events", "-"],
        input=replay(),
        capture_output=True,
        timeout=HANG_TIMEOUT,
        check=True,
    )
    lines = lines_of(done.stdout.decode())
    assert done.stderr == b""
    assert {line["event"] for line in lines[:-1]} == {"progress"}
    assert lines[-1]["event"] == "result"
    assert set(lines[-1]["method"]) == {"de", "en"}
    winner = record_of(EDITION, played(EDITION))[-1]
    assert all(moment["player"] not in getattr(winner, "winners", ()) for moment in lines[-1]["moments"])


def test_a_file_and_one_player(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(replay())
    for number in (1, 2):
        assert main([str(path), "--player", str(number), "--seed", "3"]) == 0
        moments = lines_of(capsys.readouterr().out)
        assert moments
        assert all(moment["player"] == number - 1 for moment in moments)
        assert all({"ply", "turn", "loss", "better", "words"} <= moment.keys() for moment in moments)


def test_a_bad_file_is_one_line_of_text_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["missing.xml"]) == 2
    assert capsys.readouterr() == ("", "missing.xml: There is no such file.\n")


def test_a_bad_file_is_one_event(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "missing.xml"), "--events"]) == 2
    (line,) = lines_of(capsys.readouterr().out)
    assert line == {
        "event": "failed",
        "error": {"de": "Diese Datei gibt es nicht.", "en": "There is no such file."},
    }


def test_impossible_positions_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = played(EDITION, plies=0)[0]
    object.__setattr__(state, "board", Board.from_letters("SC" + 100 * "H"))
    path = tmp_path / "a.xml"
    path.write_bytes(encode_replay(EDITION.dialect, "", [Memento(state)]))
    assert main([str(path), "--events"]) == 2
    (line,) = lines_of(capsys.readouterr().out)
    assert "cannot occur in a game" in line["error"]["en"]
