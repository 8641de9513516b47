"""What a machine sends back is compared with the plan before it is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spielleiter.cluster.messages import File, PairPlayed
from spielleiter.cluster.played_pair import checked_records, write_pair
from spielleiter.common.errors import ClusterError, MachineError
from spielleiter.match.plan import PlannedGame
from tests.match.sample_records import NAMES, game

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


@pytest.mark.parametrize("file", [File(1, "../../x", b""), File(3, "a.log", b"")])
def test_a_file_that_cannot_be_written_is_refused_with_its_records(file: File) -> None:
    with pytest.raises(ClusterError, match="a file that belongs to no game"):
        checked_records(played(files=(file,)), PLAN, NAMES, "pc1")


def test_a_missing_record_is_refused() -> None:
    whole = played()
    with pytest.raises(ClusterError, match="records of other games"):
        checked_records(PairPlayed("key", whole.records[:1], ()), PLAN, NAMES, "pc1")


def test_a_folder_that_cannot_be_written_is_a_failure_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "games").touch()
    with pytest.raises(MachineError):
        write_pair(tmp_path, checked_records(played(), PLAN, NAMES, "pc1"), played())
