"""The numbers in reports, recomputed from games.jsonl by independent code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spielleiter.match.records import GameRecord
from spielleiter.match.reports.match_reports import write_reports
from spielleiter.match.statistics import Sprt
from spielleiter.match.summary import summarise
from spielleiter.match.verdict import VERDICTS, Verdict
from tests.cli.background import run
from tests.match.recompute import check_folder
from tests.match.sample_records import fault, game, whole_match


def write(folder: Path, records: list[GameRecord], sprt: Sprt | None) -> None:
    lines = [json.dumps(record.to_json()) + "\n" for record in records]
    (folder / "games.jsonl").write_text("".join(lines), encoding="utf-8")
    write_reports(folder, summarise(records, sprt=sprt), records)


@pytest.mark.parametrize("sprt", [None, Sprt(0, 50), Sprt(100, 300, 0.01, 0.1)])
@pytest.mark.parametrize("pairs", [1, 2, 7, 40])
def test_regular_matches(tmp_path: Path, pairs: int, sprt: Sprt | None) -> None:
    write(tmp_path, whole_match(pairs, seed=pairs), sprt)
    check_folder(tmp_path)


def test_a_match_in_which_everything_went_wrong(tmp_path: Path) -> None:
    records = whole_match(10)
    for number, verdict in enumerate(VERDICTS[1:], 21):
        is_counted = verdict not in {Verdict.OVERLOAD, Verdict.CANCELLED, Verdict.SERVER_FAILED}
        records.append(
            fault(number, number % 2, verdict)
            if is_counted
            else game(number, None, verdict=verdict, is_counted=False, points=(None, None))
        )
    write(tmp_path, records[::-1], Sprt(0, 50))
    check_folder(tmp_path)


@pytest.mark.parametrize(
    ("key", "wrong"),
    [("played", 5), ("score", 0.5), ("likelihood_of_superiority", 0.5), ("pairs", [0, 0, 0, 0, 2]), ("verdicts", {})],
)
def test_the_check_is_able_to_fail(tmp_path: Path, key: str, wrong: object) -> None:
    write(tmp_path, whole_match(20), None)
    path = tmp_path / "summary.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), key: wrong}), encoding="utf-8")
    with pytest.raises(AssertionError):
        check_folder(tmp_path)


@pytest.mark.slow
def test_a_match_between_real_programs(tmp_path: Path) -> None:
    players = ["--player1", "builtin:greedy", "--player2", "builtin:random"]
    result = run("match", *players, "-n", "6", "-j", "2", "--seed", "1", "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    check_folder(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))["counted"] == 6
