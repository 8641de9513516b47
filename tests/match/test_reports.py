"""All reports: they are written atomically and have the format of docs/match.md."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from spielleiter.common.errors import JournalError
from spielleiter.match.records import GameRecord
from spielleiter.match.reports.match_reports import REPORTS, write_reports
from spielleiter.match.statistics import Sprt
from spielleiter.match.summary import SCHEMA, Summary, summarise
from spielleiter.match.verdict import VERDICTS, Attempt, Verdict
from tests.match.hostile import hostile_match
from tests.match.sample_records import fault, game, whole_match
from tests.match.xunit import assert_is_xunit

DOCS = (Path(__file__).parents[2] / "docs" / "match.md").read_text(encoding="utf-8")


def tables() -> dict[str, dict[str, str]]:
    """By heading: each key and its type, from the tables of the documentation."""
    found: dict[str, dict[str, str]] = {}
    for section in re.split(r"^#{2,4} ", DOCS, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", body, flags=re.MULTILINE)
        found[title] = {key: kind for key, kind in rows if key not in VERDICTS}
    return found


TABLES = tables()
SIMPLE = {"text": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "null": (type(None),)}


def check(value: Any, kind: str, place: str) -> None:
    """Assert that a value has a type of the documentation."""
    if match := re.fullmatch(r"(\d+|list) of (.+)", kind):
        assert isinstance(value, list), place
        assert match[1] == "list" or len(value) == int(match[1]), place
        for index, item in enumerate(value):
            check(item, match[2], f"{place}[{index}]")
    elif match := re.fullmatch(r"table of (.+)", kind):
        assert isinstance(value, dict), place
        for key, item in value.items():
            check(item, match[1], f"{place}.{key}")
    elif kind.endswith(" or null"):
        if value is not None:
            check(value, kind.removesuffix(" or null"), place)
    elif kind in SIMPLE:
        assert isinstance(value, SIMPLE[kind]), f"{place}: {value!r} is no {kind}"
        assert kind == "boolean" or not isinstance(value, bool), place
    else:
        check_object(value, kind, place)


def check_object(value: Any, kind: str, place: str) -> None:
    schema = TABLES[kind]
    assert set(value) == set(schema), place
    for key, item in value.items():
        check(item, schema[key], f"{place}.{key}")


def check_cell(cell: str, kind: str, place: str) -> None:
    if cell == "":
        assert kind.endswith(" or null"), place
    elif kind.startswith("integer"):
        assert re.fullmatch(r"\d+", cell), f"{place}: {cell}"
    elif kind.startswith("number"):
        assert float(cell) >= 0, f"{place}: {cell}"
    else:
        assert kind in {"text", "text or null"}, place


def matches() -> dict[str, tuple[Summary, list[GameRecord]]]:
    everything = [
        *whole_match(4),
        *[
            fault(9 + index, index % 2, verdict, think_times=((), ()), start=None)
            for index, verdict in enumerate(VERDICTS[1:10])
        ],
        game(
            30, None, verdict=Verdict.SERVER_FAILED, is_counted=False, points=(None, None), causes=("", ""), replay=None
        ),
    ]
    return {
        "everything": (summarise(everything, planned=40, sprt=Sprt(0, 50)), everything),
        "nothing": (summarise([]), []),
        "one side": (summarise([game(1), game(2)]), [game(1), game(2)]),
        "decided": (summarise(whole_match(60), sprt=Sprt(-100, 0)), whole_match(60)),
        "hostile": hostile_match(),
    }


SEASON = "swc_2021_blokus (blokus-2021-r1)"


def test_every_report_names_the_season_first(tmp_path: Path) -> None:
    records = whole_match(3)
    write_reports(tmp_path, summarise(records, season=SEASON), records)
    texts = {name: (tmp_path / name).read_text(encoding="utf-8") for name in REPORTS}
    assert texts["summary.md"].startswith(f"## {SEASON}: ".replace("_", "\\_"))
    assert f"<h1>{SEASON}: " in texts["report.html"]
    assert f"<title>{SEASON}: greedy vs random</title>" in texts["report.html"]
    assert texts["junit.xml"].splitlines()[1].startswith(f'<testsuites name="spielleiter match, {SEASON}"')
    assert all(line.endswith(f",{SEASON},") for line in texts["games.csv"].splitlines()[1:])
    assert json.loads(texts["summary.json"])["season"] == SEASON


@pytest.mark.parametrize("name", matches())
def test_files_are_as_documented(tmp_path: Path, name: str) -> None:
    summary, records = matches()[name]
    paths = write_reports(tmp_path, summary, records[::-1])
    assert [path.name for path in paths] == list(REPORTS)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(REPORTS)
    value = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    check_object(value, "summary.json", "summary")
    assert value["schema"] == SCHEMA
    assert f"`{SCHEMA}`" in DOCS
    with io.StringIO((tmp_path / "games.csv").read_bytes().decode(), newline="") as file:
        header, *rows = csv.reader(file, strict=True)
    assert header == list(TABLES["games.csv"])
    assert [row[0] for row in rows] == [str(record.game) for record in records]
    for row in rows:
        for key, cell in zip(header, row, strict=True):
            check_cell(cell, TABLES["games.csv"][key], key)
    for record in records:
        check_object(json.loads(json.dumps(record.to_json())), "games.jsonl", "record")


def test_the_check_is_able_to_fail() -> None:
    value = game(1).to_json()
    for key, wrong in [("game", "1"), ("game", True), ("start", 1), ("seats", [0]), ("think_times", [[0.1], 2])]:
        with pytest.raises(AssertionError):
            check_object(json.loads(json.dumps({**value, key: wrong})), "games.jsonl", "record")
    with pytest.raises(AssertionError):
        check_object({**value, "more": 1}, "games.jsonl", "record")


def test_every_verdict_is_documented_with_its_column() -> None:
    rows = re.findall(r"^\| `([a-z ]+)` \| ([a-z ]+|–) \| .* \|$", DOCS, flags=re.MULTILINE)
    documented = {verdict: column for verdict, column in rows if verdict in VERDICTS}
    assert list(documented) == list(VERDICTS)
    for verdict, column in documented.items():
        side = summarise([fault(1, 0, verdict)]).programs[0]
        counts = {
            "crashes": side.crashes,
            "timeouts": side.timeouts,
            "illegal moves": side.illegal_moves,
            "bad messages": side.bad_messages,
            "left running": side.leftovers,
        }
        assert [name for name, count in counts.items() if count] == ([] if column == "–" else [column])


def test_the_output_of_programs_is_in_failed_test_cases(tmp_path: Path) -> None:
    records = [
        game(1),
        fault(2, 1, Verdict.CRASH),
        game(3, None, verdict=Verdict.SERVER_FAILED, is_counted=False),
        fault(4, 0, Verdict.NO_START),
    ]
    for record in records[:3]:
        place = tmp_path / record.folder
        place.mkdir(parents=True)
        for program in (1, 2):
            line = f"    0.500  said by {program}\x00 in game {record.game}\n"
            (place / f"program{program}.stderr.log").write_text(100 * line)
    write_reports(tmp_path, summarise(records), records)
    cases = assert_is_xunit((tmp_path / "junit.xml").read_bytes()).findall(".//testcase")
    outputs = [(case.findtext("system-err") or "").splitlines() for case in cases]
    assert [len(lines) > 50 for lines in outputs] == [False, True, True, False]
    assert (outputs[0], outputs[3]) == ([], [])
    assert outputs[1][0] == "random:"
    assert set(outputs[1][1:]) == {r"said by 2\x00 in game 2"}
    assert {r"said by 1\x00 in game 3", r"said by 2\x00 in game 3"} < set(outputs[2])


def test_existing_reports_are_replaced(tmp_path: Path) -> None:
    write_reports(tmp_path, *hostile_match())
    write_reports(tmp_path, summarise([game(1)]), [game(1)])
    assert json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))["played"] == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(REPORTS)


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"nowhere.*cannot be written"):
        write_reports(tmp_path / "nowhere", summarise([]), [])
    (tmp_path / "games.csv").mkdir()
    with pytest.raises(JournalError, match=r"games\.csv: cannot be written"):
        write_reports(tmp_path, summarise([]), [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["games.csv", "summary.json"]


def test_a_report_that_another_program_has_open_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: Path, _target: Path) -> None:
        raise PermissionError(13, "Access is denied")  # as Windows does

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(JournalError, match=r"Access is denied\); close it if another program has opened it"):
        write_reports(tmp_path, summarise([]), [])


def test_what_was_tried_is_in_every_report(tmp_path: Path) -> None:
    """In plain words, wherever somebody may look: not only in the journal."""
    attempts: tuple[dict[str, int], dict[str, int]] = ({}, {Attempt.ADMINISTRATE: 2, Attempt.PORT: 1})
    records = [game(1, 0, attempts=attempts), game(2, 0, attempts=({}, {Attempt.PORT: 1}), foreign_connections=3)]
    write_reports(tmp_path, summarise(records), records)
    for name in ("summary.md", "report.html", "junit.xml", "summary.json"):
        text = (tmp_path / name).read_text()
        assert Attempt.ADMINISTRATE in text, name
        assert Attempt.PORT in text, name
    found = json.loads((tmp_path / "summary.json").read_text())
    assert found["programs"][1]["attempts"] == {Attempt.ADMINISTRATE: 2, Attempt.PORT: 2}
    assert found["foreign_connections"] == 3
    calm = tmp_path / "calm"
    calm.mkdir()
    write_reports(calm, summarise(records := [game(1, 0)]), records)
    assert "refused" not in "".join(file.read_text() for file in calm.iterdir())
