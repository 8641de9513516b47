"""The files of a pair: what is sent, and what is accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from spielleiter.cluster.game_files import MAX_FILES, collect_files, write_files
from spielleiter.cluster.messages import File
from spielleiter.common.errors import ClusterError
from tests.match.sample_records import game


def test_files_arrive_as_they_were(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    records = [game(1, folder="games/0001"), game(2, folder="")]
    (there / "games/0001").mkdir(parents=True)
    (there / "games/0001/replay.xml.gz").write_bytes(b"\x1f\x8b")
    (there / "games/0001/program1.stdout.log").write_bytes(b"")
    (there / "games/0001/link").symlink_to("/etc/passwd")
    (there / "games/0001/folder").mkdir()
    files, omitted = collect_files(there, records)
    assert omitted == ()
    (here / "games/0001").mkdir(parents=True)
    (here / "games/0001/of an interrupted run").touch()
    write_files(here, records, files)
    assert {path.name: path.read_bytes() for path in (here / "games/0001").iterdir()} == {
        "replay.xml.gz": b"\x1f\x8b",
        "program1.stdout.log": b"",
    }


def test_the_largest_files_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "games/0001").mkdir(parents=True)
    for name, size in (("a.log", 60), ("b.log", 30), ("c.log", 10)):
        (tmp_path / "games/0001" / name).write_bytes(bytes(size))
    files, omitted = collect_files(tmp_path, [game(1, folder="games/0001")], limit=50)
    assert [file.name for file in files] == ["c.log", "b.log"]
    assert omitted == ((1, "a.log"),)


def test_files_beyond_the_most_are_left_out_and_named(tmp_path: Path) -> None:
    (tmp_path / "games/0001").mkdir(parents=True)
    for number in range(MAX_FILES + 2):
        (tmp_path / f"games/0001/{number:03}.log").touch()
    files, omitted = collect_files(tmp_path, [game(1, folder="games/0001")])
    assert len(files) == MAX_FILES
    assert omitted == ((1, f"{MAX_FILES:03}.log"), (1, f"{MAX_FILES + 1:03}.log"))


@pytest.mark.parametrize(
    "name", ["../../x", "/etc/x", "", ".", "..", "a/b", "a\\b", ".hidden", "x" * 101, "a\0b", "C:x"]
)
def test_names_that_lead_elsewhere_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="a file that belongs to no game"):
        write_files(tmp_path, [game(1, folder="games/0001")], [File(1, name, b"")])


def test_files_of_other_games_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ClusterError):
        write_files(tmp_path, [game(1, folder="games/0001"), game(2, folder="")], [File(2, "a.log", b"")])
