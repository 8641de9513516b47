"""games.csv, parsed with the csv module."""

from __future__ import annotations

import csv
import io

import pytest

from spielleiter.common.text import escaped
from spielleiter.match.reports.match_reports import COLUMNS, render_csv
from spielleiter.match.verdict import Verdict
from tests.match.hostile import HOSTILE_NAMES, HOSTILE_REASON, hostile_match
from tests.match.sample_records import fault, game, whole_match


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_every_game_is_a_line() -> None:
    records = whole_match(4)
    text = render_csv(records)
    assert text.splitlines()[0] == ",".join(COLUMNS)
    assert text.count("\r\n") == 9
    for row, record in zip(read(text), records, strict=True):
        assert (int(row["game"]), int(row["pair"])) == (record.game, record.pair)
        assert (int(row["points1"]), int(row["points2"])) == record.points
        assert (int(row["seat1"]), int(row["seat2"])) == ((0, 1) if record.seats == (0, 1) else (1, 0))
        assert row["winner"] == ("draw" if record.winner is None else record.names[record.winner])
        assert float(row["think_seconds1"]) == round(sum(record.think_times[0]), 6)
        assert float(row["think_max2"]) == max(record.think_times[1])
        assert row["offender"] == ""


def test_missing_values_are_empty() -> None:
    records = [
        fault(1, 1, Verdict.NO_START, think_times=((), ()), start=None, replay=None),
        game(2, None, verdict=Verdict.SERVER_FAILED, is_counted=False, points=(None, None)),
    ]
    lost, uncounted = read(render_csv(records))
    assert (lost["winner"], lost["offender"], lost["verdict"]) == ("greedy", "random", "does not start")
    assert [lost[name] for name in ("start", "points1", "points2", "think_max1", "replay")] == [""] * 5
    assert (lost["answers1"], lost["think_seconds1"], lost["is_counted"]) == ("0", "0.0", "1")
    assert (uncounted["winner"], uncounted["is_counted"]) == ("", "0")


def test_nothing_becomes_a_formula_or_another_cell() -> None:
    _, records = hostile_match()
    rows = read(render_csv(records))
    assert len(rows) == 4
    assert all(None not in row and len(row) == len(COLUMNS) for row in rows)
    assert rows[0]["name1"] == HOSTILE_NAMES[0]
    assert rows[0]["name2"] == "'" + r'=HYPERLINK("http://evil.example") ]](x)*_~$\n\x00\x1b[31m\ud800]]>'
    assert rows[0]["start"].startswith("'--")
    assert rows[2]["reason"] == escaped(HOSTILE_REASON)
    for row in rows:
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row.values())
        assert all(cell.isprintable() for cell in row.values())


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r=", "\n=", "＝", "－"])
def test_no_cell_is_a_formula(start: str) -> None:
    [row] = read(render_csv([fault(1, 0, Verdict.CRASH, reason=f"{start}1+1")]))
    assert row["reason"] == f"'{escaped(start)}1+1"
