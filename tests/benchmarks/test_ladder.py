"""The measurement of the ladder, with real tournaments of a few games."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.ladder import main

pytestmark = pytest.mark.slow


def test_a_measurement_is_played_continued_and_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "the ladder"
    options = ["--out", str(out), "-n", "4", "--game", "swc_2027_blokus", "--level", "2"]
    assert main([*options, "--table"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["swc_2027_blokus", "level-2", "0"]
    assert main(options) == 0
    written = capsys.readouterr()
    assert written.err == "swc_2027_blokus level-2: 4 games played\n"
    played = written.out.splitlines()
    assert len(played) == 2
    game, level, games, won, drawn, lost, *_ = played[1].split()
    assert (game, level, games) == ("swc_2027_blokus", "level-2", "4")
    assert int(won) + int(drawn) + int(lost) == 4
    assert main(options) == 0  # nothing is left to play
    assert capsys.readouterr().out.splitlines() == played
    assert main([*options, "--table"]) == 0
    assert capsys.readouterr().out.splitlines() == played
