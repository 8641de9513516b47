"""The records and files of a pair: what is sent, and what is accepted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from spielleiter.cluster.pair_files import MAX_FILES, checked_records, collect_files, write_pair
from spielleiter.cluster.site_messages import File, PairPlayed
from spielleiter.common.errors import ClusterError, MachineError
from spielleiter.match.plan import PlannedGame
from tests.match.sample_records import NAMES, game


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
    write_pair(here, records, PairPlayed("key", (), files))
    assert {path.name: path.read_bytes() for path in (here / "games/0001").iterdir()} == {
        "replay.xml.gz": b"\x1f\x8b",
        "program1.stdout.log": b"",
        "verdict.json": ANY,
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


PLAN = (PlannedGame(1, 1, 1, (0, 1)), PlannedGame(2, 1, 1, (1, 0)))


def played(*changes: dict[str, Any], files: tuple[File, ...] = ()) -> PairPlayed:
    records = [
        {**game(number, folder=f"games/{number:04}").to_json(), **change}
        for number, change in zip((1, 2), changes or ({}, {}), strict=True)
    ]
    return PairPlayed("key", tuple(json.loads(json.dumps(records))), files)


def test_the_record_names_the_machine(tmp_path: Path) -> None:
    answer = played(files=(File(1, "replay.xml.gz", b"x"),))
    records = checked_records(answer, PLAN, NAMES, "pc1")
    assert [record.machine for record in records] == ["pc1", "pc1"]
    assert [record.replay for record in records] == ["replay.xml.gz", None]  # the second one was not sent
    write_pair(tmp_path, records, answer)
    assert (tmp_path / "games/0001/replay.xml.gz").read_bytes() == b"x"
    assert json.loads((tmp_path / "games/0002/verdict.json").read_text())["machine"] == "pc1"


@pytest.mark.parametrize(
    "change",
    [
        {"game": 3},
        {"pair": 2},
        {"seed": 7},
        {"seats": [0, 1]},
        {"names": ["x", "y"]},
        {"folder": "../x"},
        {"plies": "1"},
        {"offender": 2},
        {"winner": -1},
        {"verdict": "unheard of"},
    ],
)
def test_other_records_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ClusterError, match="it has sent"):
        checked_records(played({}, change), PLAN, NAMES, "pc1")


@pytest.mark.parametrize(
    "name", ["../../x", "/etc/x", "", ".", "..", "a/b", "a\\b", ".hidden", "x" * 101, "a\0b", "C:x"]
)
def test_names_that_lead_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(ClusterError, match="a file that belongs to no game"):
        checked_records(played(files=(File(1, name, b""),)), PLAN, NAMES, "pc1")


def test_files_of_other_games_and_of_games_without_a_folder_are_refused() -> None:
    for answer in (played(files=(File(3, "a.log", b""),)), played({}, {"folder": ""}, files=(File(2, "a.log", b""),))):
        with pytest.raises(ClusterError, match="a file that belongs to no game"):
            checked_records(answer, PLAN, NAMES, "pc1")


def test_a_missing_record_is_refused() -> None:
    whole = played()
    with pytest.raises(ClusterError, match="records of other games"):
        checked_records(PairPlayed("key", whole.records[:1], ()), PLAN, NAMES, "pc1")


def test_a_folder_that_cannot_be_written_is_a_failure_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "games").touch()
    with pytest.raises(MachineError):
        write_pair(tmp_path, checked_records(played(), PLAN, NAMES, "pc1"), played())
