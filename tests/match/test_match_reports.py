"""The reports of a match, as files and parsed by a reader of their format."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from lxml import html as lxml_html

from spielleiter.common.errors import JournalError
from spielleiter.common.text import escaped
from spielleiter.match.records import GameRecord
from spielleiter.match.reports.match_reports import (
    COLUMNS,
    INCIDENTS,
    REPORTS,
    render_csv,
    render_html,
    render_markdown,
    write_reports,
)
from spielleiter.match.reports.texts import elo_text
from spielleiter.match.statistics import Sprt
from spielleiter.match.summary import SCHEMA, Summary, summarise
from spielleiter.match.verdict import VERDICTS, Attempt, Verdict
from tests.match.hostile import HOSTILE_NAMES, HOSTILE_REASON, hostile_match
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


def cells(line: str) -> list[str]:
    """The cells of a table's line, divided as GitHub does: at each bar without a backslash."""
    assert line.startswith("| ")
    assert line.endswith(" |")
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def rows(text: str) -> dict[str, list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return {cells(line)[0]: cells(line)[1:] for line in lines}


def test_the_numbers_are_in_tables() -> None:
    records = whole_match(20)
    summary = summarise(records, planned=40, sprt=Sprt(0, 50))
    text = render_markdown(summary)
    found = rows(text)
    assert found["Won"] == [str(summary.results.wins), str(summary.results.losses)]
    assert found["Pairs with 0, ½, 1, 1½, 2 points"] == [", ".join(map(str, summary.pairs))]
    assert found["SPRT"][0].startswith("LLR ")
    assert "40 of 40 games played, 40 counted, 20 complete pairs." in text
    assert "SPRT" not in render_markdown(summarise(records))


def test_every_table_is_well_formed() -> None:
    for summary in (hostile_match()[0], summarise([], names=("a", "b")), summarise(whole_match(3))):
        width = None
        for line in render_markdown(summary).splitlines():
            if line.startswith("|-"):
                assert line.count("|") == (width or 0) + 1
            elif line.startswith("|"):
                assert width in (None, len(cells(line)))
                width = len(cells(line))
            else:
                width = None


def test_hostile_texts_are_escaped() -> None:
    text = render_markdown(hostile_match()[0])
    assert "<" not in text
    assert "\n# " not in text
    assert not re.search(r"(?<!\\)[`*~$\[\]]", text)
    assert text.count("\n- ") == 2
    assert text.replace("\n", "").isprintable()


def test_incidents_are_listed_up_to_a_limit() -> None:
    few = render_markdown(summarise([game(1), fault(2, 1, Verdict.TIMEOUT, reason="2.5 s, allowed are 2 s")]))
    assert few.endswith("- Game 2: random, timeout: 2.5 s, allowed are 2 s\n")
    many = render_markdown(summarise([fault(number, 0, Verdict.CRASH, reason="") for number in range(1, 31)]))
    assert many.count("\n- Game") == INCIDENTS
    assert "- Game 1: greedy, crash\n" in many
    assert many.endswith("- … and 10 more\n")


def parse(text: str) -> etree._Element:
    return lxml_html.document_fromstring(text)


def words(root: etree._Element, path: str) -> list[str]:
    return ["".join(each.itertext()) for each in root.findall(path)]


def test_tables_plots_and_games_are_there() -> None:
    records = whole_match(12)
    summary = summarise(records, sprt=Sprt(0, 50))
    root = parse(render_html(summary, records))
    elo, ratio = root.findall(".//figure")[:2]
    assert [len(each.findall(".//circle")) for each in (elo, ratio)] == [12, 12]
    assert len(ratio.findall(".//line[@class='bound']")) == 2
    assert elo.findall(".//title")[-1].text == f"After 24 games: {elo_text(summary.elo)}"
    assert words(root, ".//caption") == ["Results", "greedy against random", "Faults", "Times"]
    assert len(root.findall(".//figure")) == 6
    assert len(root.findall(".//svg")) == 6
    assert len(root.findall(".//circle[@class='draw']")) == sum(record.winner is None for record in records)
    by_winner = [len(root.findall(f".//figure[3]//circle[@class='p{program}']")) for program in (0, 1)]
    assert by_winner == [sum(record.winner == program for record in records) for program in (0, 1)]
    assert len(root.findall(".//details//tr")) == 25
    assert [link.get("href") for link in root.findall(".//details//a")[:2]] == [
        "./games/00001/",
        "./games/00001/replay.xml.gz",
    ]
    with_page = parse(render_html(summary, records, {1}))
    assert with_page.findall(".//details//a")[1].get("href") == "./games/00001/replay.html"
    assert any(text.startswith("SPRT: LLR") for text in words(root, ".//p"))


def test_the_page_fetches_nothing() -> None:
    records = whole_match(2)
    text = render_html(summarise(records), records)
    root = parse(text)
    assert {each.tag for each in root.iter() if isinstance(each.tag, str)}.isdisjoint(
        {"script", "link", "img", "iframe", "object", "base"}
    )
    assert [each.get("src") for each in root.iter() if each.get("src")] == []
    assert "url(" not in text
    assert "@import" not in text
    [policy] = root.findall(".//meta[@http-equiv='Content-Security-Policy']")
    assert policy.get("content") == "default-src 'none'; style-src 'unsafe-inline'"


def test_hostile_texts_are_escaped_of_html() -> None:
    summary, records = hostile_match()
    root = parse(render_html(summary, records))
    tags = {each.tag for each in root.iter() if isinstance(each.tag, str)}
    assert tags.isdisjoint({"script", "img", "b"})
    assert not any(name.startswith("on") for each in root.iter() for name in each.attrib)
    links = [link.get("href") or "" for link in root.findall(".//a")]
    assert links
    assert all(link.startswith("./javascript%3Ax%22%27/%23%3F/") for link in links)
    assert HOSTILE_NAMES[0] in words(root, ".//th")
    assert not set("\x00\x08\x1b\x7f\x9b\u202e\ud800") & set(render_html(summary, records))
    assert r"\r\n| a | b |\n# heading\n\x08" in words(root, ".//li")[0]


def test_wide_parts_scroll_separately() -> None:
    records = whole_match(2)
    text = render_html(summarise(records), records)
    root = parse(text)
    for path, inside in ((".//table", ".//div[@class='wide']/table"), (".//svg", ".//figure/svg")):
        assert len(root.findall(path)) == len(root.findall(inside)) > 0
    assert ".wide, figure { overflow-x: auto; }" in text


def test_a_match_without_games_has_a_page_without_plots() -> None:
    root = parse(render_html(summarise([], names=("a", "b")), []))
    assert root.findall(".//svg") == []
    assert words(root, ".//summary") == ["All 0 games"]


def test_games_not_played_to_their_end_are_in_the_table_but_not_in_the_plot() -> None:
    records = [
        game(1, start=None),
        fault(2, 1, Verdict.HANGS, reason="silence", think_times=((), ()), replay=None),
        game(3, verdict=Verdict.LEFTOVERS, offender=1),
        game(4, points=(None, 3)),
    ]
    root = parse(render_html(summarise(records), records))
    assert len(root.findall(".//figure[2]//circle")) == 2
    assert "hangs: silence" in words(root, ".//details//td")
    assert words(root, ".//li")[0] == "Game 2: random, hangs: silence"
    assert words(root, ".//li")[1] == "Game 3: random, leaves processes behind: the rules' end (replay)"
    assert [[link.get("href") for link in item.findall("a")] for item in root.findall(".//li")] == [
        ["./games/00002/"],
        ["./games/00003/", "./games/00003/replay.xml.gz"],
    ]
    assert len(root.findall(".//details//a")) == 7
    assert "greedy first" in words(root, ".//figure[3]//text")


def test_a_game_whose_folder_was_not_kept_has_no_links() -> None:
    records = [game(1, folder="", replay=None), fault(2, 1, Verdict.HANGS, folder="", replay=None)]
    root = parse(render_html(summarise(records), records))
    assert "Game 2: random, hangs" in words(root, ".//li")[0]
    assert not root.findall(".//li//a")
    assert not root.findall(".//details//a")


def test_long_names_are_shortened_in_plots_only() -> None:
    name = "a program with a very long name indeed"
    record = game(1, names=(name, "random"), start="an opening with a long name.xml", think_times=((11.0,), ()))
    root = parse(render_html(summarise([record]), [record]))
    assert "an openin…, a program… first" in words(root, ".//figure[2]//text")
    assert "more" in words(root, ".//figure[3]//text")
    assert name in words(root, ".//th")
