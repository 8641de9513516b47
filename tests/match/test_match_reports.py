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

from docs.generated_parts import expand
from spielleiter.common.errors import JournalError
from spielleiter.common.text import escaped
from spielleiter.match.records import GameRecord
from spielleiter.match.reports.junit import render_junit
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
from spielleiter.match.summary import Summary, summarise
from spielleiter.match.verdict import VERDICTS, Attempt, Verdict
from tests.documents import read
from tests.match.sample_records import fault, game, whole_match
from tests.match.xunit import assert_is_xunit

SEASON = "swc_2021_blokus (blokus-2021-r1)"
HOSTILE_NAMES = (
    "<script>alert('1')</script>\"&amp;|`x`",
    '=HYPERLINK("http://evil.example") ]](x)*_~$\n\x00\x1b[31m\ud800]]>',
)
HOSTILE_REASON = "</td></svg><img src=x onerror=alert(1)>\r\n| a | b |\n# heading\n\x08\x7f\x9b2J\u202e\u2066"


def hostile_match() -> tuple[Summary, list[GameRecord]]:
    """A match between programs whose names and last words try to break out of every report."""
    strange = {"names": HOSTILE_NAMES, "start": "--><b>'\"|", "folder": "javascript:x\"'/#?", "replay": "<r>&.xml"}
    records = [
        game(1, 0, **strange),
        game(2, 1, **strange),
        fault(3, 0, Verdict.CRASH, reason=HOSTILE_REASON, **strange),
        game(4, None, verdict=Verdict.SERVER_FAILED, reason=HOSTILE_REASON, is_counted=False, **strange),
    ]
    return summarise(records, planned=4), records


# -- the files and their documentation --------------------------------------------------------------------------------


def keys(value: Any) -> set[str]:
    """The keys of all objects in a JSON value, but for those that are texts of programs or verdicts."""
    if isinstance(value, list):
        return set().union(*map(keys, value))
    if isinstance(value, dict):
        tables = {"verdicts", "attempts"}
        return set(value).union(*(keys(each) for key, each in value.items() if key not in tables))
    return set()


EVERYTHING = [
    *whole_match(4),
    *(
        fault(number, number % 2, verdict, think_times=((), ()), start=None, replay=None)
        for number, verdict in enumerate(VERDICTS[1:10], 9)
    ),
    game(30, None, verdict=Verdict.SERVER_FAILED, is_counted=False, points=(None, None), causes=("", ""), replay=None),
]
MATCHES = {
    "everything": (summarise(EVERYTHING, planned=40, sprt=Sprt(0, 50), season=SEASON), EVERYTHING),
    "nothing": (summarise([]), []),
    "decided": (summarise(whole_match(60), sprt=Sprt(-100, 0), significance=0.05), whole_match(60)),
    "hostile": hostile_match(),
}


@pytest.mark.parametrize("name", MATCHES)
def test_files_are_as_documented(tmp_path: Path, name: str) -> None:
    summary, records = MATCHES[name]
    write_reports(tmp_path, *hostile_match())  # existing reports are replaced
    paths = write_reports(tmp_path, summary, records[::-1])
    assert [path.name for path in paths] == list(REPORTS)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(REPORTS)
    value = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert value["schema"] == "spielleiter-match-summary-1"
    lines = [json.loads(json.dumps(record.to_json())) for record in records]
    reference = expand(read("docs/reference/files.md"))
    undocumented = {key for key in keys([value, *lines]) if f"`{key}`" not in reference}
    assert undocumented == set()
    rows = read_csv((tmp_path / "games.csv").read_bytes().decode())
    assert [row["game"] for row in rows] == [str(record.game) for record in records]
    for row in rows:
        assert list(row) == list(COLUMNS)
        for key, kind in COLUMNS.items():
            assert f"| `{key}` | {kind} |" in reference
            pattern = {"integer": r"\d+", "number": r"\d+(\.\d+)?(e-\d+)?"}.get(
                kind.removesuffix(" or empty"), "(?s).+|"
            )
            assert re.fullmatch(pattern, row[key]) or (row[key] == "" and kind.endswith("empty")), (key, row[key])


def test_every_verdict_is_documented_with_its_column() -> None:
    reference = expand(read("docs/reference/files.md"))
    table = reference.partition("### Verdicts")[2].partition("### ")[0]
    documented = dict(re.findall(r"^\| `([a-z ]+)` \| ([a-z –]+) \|", table, re.MULTILINE))
    assert sorted(documented) == sorted(VERDICTS)
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


def test_what_was_tried_is_in_every_report_and_so_is_the_season(tmp_path: Path) -> None:
    """In plain words, wherever somebody may look: not only in the journal."""
    attempts: tuple[dict[str, int], dict[str, int]] = ({}, {Attempt.ADMINISTRATE: 2, Attempt.PORT: 1})
    records = [game(1, 0, attempts=attempts), game(2, 0, attempts=({}, {Attempt.PORT: 1}), foreign_connections=3)]
    write_reports(tmp_path, summarise(records, season=SEASON), records)
    for name in set(REPORTS) - {"games.csv"}:
        text = (tmp_path / name).read_text().replace("\\", "")
        assert all(word in text for word in (Attempt.ADMINISTRATE, Attempt.PORT, SEASON)), name
    assert all(line.endswith(f",{SEASON},") for line in (tmp_path / "games.csv").read_text().splitlines()[1:])
    found = json.loads((tmp_path / "summary.json").read_text())
    assert found["programs"][1]["attempts"] == {Attempt.ADMINISTRATE: 2, Attempt.PORT: 2}
    assert found["foreign_connections"] == 3
    write_reports(tmp_path, summarise(records := [game(1, 0)]), records)
    assert "refused" not in "".join(file.read_text() for file in tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(JournalError, match=r"nowhere.*cannot be written"):
        write_reports(tmp_path / "nowhere", summarise([]), [])
    (tmp_path / "games.csv").mkdir()
    with pytest.raises(JournalError, match=r"games\.csv: cannot be written"):
        write_reports(tmp_path, summarise([]), [])

    def refuse(_path: Path, _target: Path) -> None:
        raise PermissionError(13, "Access is denied")  # as Windows does

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(JournalError, match=r"Access is denied\); close it if another program has opened it"):
        write_reports(tmp_path, summarise([]), [])


# -- games.csv --------------------------------------------------------------------------------------------------------


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_every_game_is_a_line() -> None:
    records = [
        *whole_match(4),
        fault(9, 1, Verdict.NO_START, think_times=((), ()), start=None, replay=None),
        game(10, None, verdict=Verdict.SERVER_FAILED, is_counted=False, points=(None, None)),
    ]
    text = render_csv(records)
    assert text.splitlines()[0] == ",".join(COLUMNS)
    assert text.count("\r\n") == 11
    *played, lost, uncounted = read_csv(text)
    for row, record in zip(played, records, strict=False):
        assert (int(row["pair"]), row["seat1"], row["seat2"]) == (record.pair, *map(str, record.seats))
        assert row["winner"] == ("draw" if record.winner is None else record.names[record.winner])
        assert float(row["think_seconds1"]) == round(sum(record.think_times[0]), 6)
        assert float(row["think_max2"]) == max(record.think_times[1])
        assert row["offender"] == ""
    assert (lost["winner"], lost["offender"], lost["verdict"]) == ("greedy", "random", "does not start")
    assert (lost["answers1"], lost["think_seconds1"], lost["is_counted"]) == ("0", "0.0", "1")
    assert (uncounted["winner"], uncounted["is_counted"]) == ("", "0")


def test_nothing_becomes_a_formula_or_another_cell() -> None:
    rows = read_csv(render_csv(hostile_match()[1]))
    assert all(None not in row and len(row) == len(COLUMNS) for row in rows)
    assert rows[0]["name1"] == HOSTILE_NAMES[0]
    assert rows[0]["name2"] == "'" + r'=HYPERLINK("http://evil.example") ]](x)*_~$\n\x00\x1b[31m\ud800]]>'
    assert rows[2]["reason"] == escaped(HOSTILE_REASON)
    assert all(cell.isprintable() for row in rows for cell in row.values())
    for start in ("=", "+", "-", "@", "\t=", "\r=", "\n=", "＝", "－"):
        [row] = read_csv(render_csv([fault(1, 0, Verdict.CRASH, reason=f"{start}1+1")]))
        assert row["reason"] == f"'{escaped(start)}1+1"
    [row] = read_csv(render_csv([fault(1, 0, Verdict.CRASH, reason='a; "=1+1";b; c')]))
    assert row["reason"] == """a;' "=1+1";b; c"""


# -- summary.md -------------------------------------------------------------------------------------------------------


def cells(line: str) -> list[str]:
    """The cells of a table's line, divided as GitHub does: at each bar without a backslash."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_the_numbers_are_in_tables() -> None:
    summary, _ = MATCHES["everything"]
    text = render_markdown(summary)
    found = {cells(line)[0]: cells(line)[1:] for line in text.splitlines() if line.startswith("| ")}
    assert found["Won"] == [str(summary.results.wins), str(summary.results.losses)]
    assert found["Pairs with 0, ½, 1, 1½, 2 points"] == [", ".join(map(str, summary.pairs))]
    assert found["SPRT"][0].startswith("LLR ")
    assert "Significance" in render_markdown(MATCHES["decided"][0])
    assert "SPRT" not in render_markdown(summarise(whole_match(2)))


def test_the_parts_of_scores_have_the_names_that_the_game_gives_them() -> None:
    records = [
        game(number, figures=({"∑wärm": 80, "=Fische": number}, {"∑wärm": 60, "=Fische": 7})) for number in range(1, 5)
    ]
    text = render_markdown(summarise(records))
    found = {cells(line)[0]: cells(line)[1:] for line in text.splitlines() if line.startswith("| ")}
    assert [text.split()[0] for text in found["Mean points (∑wärm), 95 %"]] == ["80.0", "60.0"]
    assert [text.split()[0] for text in found["Mean =Fische, 95 %"]] == ["2.5", "7.0"]
    rows = read_csv(render_csv([*records, game(5)]))
    assert [(row["'=Fische1"], row["'=Fische2"]) for row in rows] == [*((str(n), "7") for n in range(1, 5)), ("", "")]
    plain = render_markdown(summarise([game(number, figures=({"Punkte": 1}, {"Punkte": 2})) for number in range(1, 5)]))
    assert "| Mean points, 95 % |" in plain
    assert "Mean Punkte" not in plain


@pytest.mark.parametrize("name", MATCHES)
def test_every_table_is_well_formed(name: str) -> None:
    width = None
    for line in render_markdown(MATCHES[name][0]).splitlines():
        if line.startswith("|-"):
            assert line.count("|") == (width or 0) + 1
        elif line.startswith("|"):
            assert width in (None, len(cells(line)))
            width = len(cells(line))
        else:
            width = None


def test_hostile_texts_are_escaped_in_markdown() -> None:
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


# -- report.html ------------------------------------------------------------------------------------------------------


def parse(text: str) -> etree._Element:
    return lxml_html.document_fromstring(text)


def words(root: etree._Element, path: str) -> list[str]:
    return ["".join(each.itertext()) for each in root.findall(path)]


def test_tables_plots_and_games_are_there() -> None:
    records = whole_match(12)
    summary = summarise(records, sprt=Sprt(0, 50))
    root = parse(render_html(summary, records, {1}))
    elo, ratio = root.findall(".//figure")[:2]
    assert [len(each.findall(".//circle")) for each in (elo, ratio)] == [12, 12]
    assert len(ratio.findall(".//line[@class='bound']")) == 2
    assert elo.findall(".//title")[-1].text == f"After 24 games: {elo_text(summary.elo)}"
    assert words(root, ".//caption") == ["Results", "greedy against random", "Faults", "Times"]
    assert len(root.findall(".//figure/svg")) == 6
    assert len(root.findall(".//circle[@class='draw']")) == sum(record.winner is None for record in records)
    assert len(root.findall(".//details//tr")) == 25
    folder, page, _, replay = (link.get("href") for link in root.findall(".//details//a")[:4])
    assert (folder, page, replay) == (
        "./games/00001/",
        "./games/00001/replay.html",
        "./games/00002/replay.xml.gz",
    )
    assert any(text.startswith("SPRT: LLR") for text in words(root, ".//p"))


def test_the_page_fetches_nothing() -> None:
    text = render_html(*MATCHES["everything"])
    root = parse(text)
    assert {each.tag for each in root.iter()}.isdisjoint({"script", "link", "img", "iframe", "object", "base"})
    assert [each.get("src") for each in root.iter() if each.get("src")] == []
    assert "url(" not in text
    assert "@import" not in text
    [policy] = root.findall(".//meta[@http-equiv='Content-Security-Policy']")
    assert policy.get("content") == "default-src 'none'; style-src 'unsafe-inline'"


def test_hostile_texts_are_escaped_in_html() -> None:
    summary, records = hostile_match()
    text = render_html(summary, records)
    root = parse(text)
    assert {each.tag for each in root.iter() if isinstance(each.tag, str)}.isdisjoint({"script", "img", "b"})
    assert not any(name.startswith("on") for each in root.iter() for name in each.attrib)
    links = [link.get("href") or "" for link in root.findall(".//a")]
    assert links
    assert all(link.startswith("./javascript%3Ax%22%27/%23%3F/") for link in links)
    assert HOSTILE_NAMES[0] in words(root, ".//th")
    assert not set("\x00\x08\x1b\x7f\x9b\u202e\ud800") & set(text)
    assert r"\r\n| a | b |\n# heading\n\x08" in words(root, ".//li")[0]


def test_a_match_without_games_has_a_page_without_plots() -> None:
    root = parse(render_html(summarise([], names=("a", "b")), []))
    assert root.findall(".//svg") == []
    assert words(root, ".//summary") == ["All 0 games"]


def test_games_not_played_to_their_end_are_in_the_table_but_not_in_the_plot() -> None:
    name = "a program with a very long name indeed"
    records = [
        game(1, names=(name, "random"), start="an opening with a long name.xml", think_times=((11.0,), ())),
        fault(2, 1, Verdict.HANGS, reason="silence", think_times=((), ()), replay=None),
        game(3, verdict=Verdict.LEFTOVERS, offender=1),
        game(4, points=(None, 3), folder="", replay=None),
    ]
    root = parse(render_html(summarise(records), records))
    assert len(root.findall(".//figure[2]//circle")) == 2
    assert "hangs: silence" in words(root, ".//details//td")
    assert words(root, ".//li")[1] == "Game 3: random, leaves processes behind: the rules' end (replay)"
    assert [[link.get("href") for link in item.findall("a")] for item in root.findall(".//li")] == [
        ["./games/00002/"],
        ["./games/00003/", "./games/00003/replay.xml.gz"],
    ]
    assert len(root.findall(".//details//a")) == 5  # the folder of the last game was not kept
    assert "an openin…, a program… first" in words(root, ".//figure[3]//text")
    assert name in words(root, ".//th")


# -- junit.xml --------------------------------------------------------------------------------------------------------


def suites(text: str) -> etree._Element:
    return assert_is_xunit(text.encode("utf-8"))


def test_each_game_is_a_test_case() -> None:
    records = whole_match(3)
    root = suites(render_junit(summarise(records, sprt=Sprt(0, 50)), records))
    [suite] = root
    assert dict(root.attrib).items() >= {"tests": "6", "failures": "0", "errors": "0"}.items()
    assert dict(suite.attrib).items() >= {"tests": "6", "failures": "0", "errors": "0", "skipped": "0"}.items()
    assert suite.get("name") == "greedy vs random"
    assert suite.get("timestamp") == "2021-03-04T05:06:01.000000+00:00"
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases[:2]] == [
        "game 1: greedy first, random second, PENTO_V",
        "game 2: random first, greedy second, PENTO_V",
    ]
    assert [child.tag for case in cases for child in case] == ["system-out"] * 6
    properties = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert (properties["player1"], properties["sprt"]) == ("greedy", "undecided")
    assert len(suites(render_junit(summarise([], names=("a", "b")), []))[0].findall("testcase")) == 0


def test_faults_fail_and_failed_servers_are_errors() -> None:
    records = [
        fault(1, 1, Verdict.CRASH, reason="ended by signal 11"),
        game(2, verdict=Verdict.LEFTOVERS, offender=0, reason="1 process outlived it"),
        game(3, None, verdict=Verdict.SERVER_FAILED, reason="no result", is_counted=False),
        game(4, None, verdict=Verdict.NO_START, offender=0, reason="both", is_counted=False),
        game(5, 1, start=None),
    ]
    root = suites(render_junit(summarise(records), records))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("5", "3", "1")
    found = [
        [(child.tag, child.get("type"), child.get("message")) for child in case[:-1]] for case in root.iter("testcase")
    ]
    assert found == [
        [("failure", "crash", "random: crash: ended by signal 11")],
        [("failure", "leaves processes behind", "greedy: leaves processes behind: 1 process outlived it")],
        [("error", "server failed", "server failed: no result")],
        [("failure", "does not start", "greedy: does not start: both")],
        [],
    ]
    texts = [each.text or "" for each in root.iter("system-out")]
    assert texts[0].splitlines()[:3] == ["result: greedy", "folder: games/00001", "greedy: no points, REGULAR"]
    assert texts[2].startswith("result: not counted")
    of_second = suites(render_junit(summarise(records), records, faults_of=[1]))
    assert [case.get("name", "").split(":")[0] for case in of_second.iter("testcase") if len(case) > 1] == [
        "game 1",
        "game 3",
    ]


def test_hostile_texts_are_escaped_in_xml() -> None:
    root = suites(render_junit(*hostile_match()))
    assert {each.tag for each in root.iter()} == {
        "testsuites", "testsuite", "properties", "property", "testcase", "failure", "error", "system-out",
    }  # fmt: skip
    [failure] = root.iter("failure")
    assert "<img src=x" in (failure.text or "")
    assert r"\r\n| a | b |\n# heading\n\x08" in (failure.text or "")


def test_the_output_of_programs_is_in_failed_test_cases(tmp_path: Path) -> None:
    records = [
        game(1),
        fault(2, 1, Verdict.CRASH),
        game(3, None, verdict=Verdict.SERVER_FAILED, is_counted=False),
        fault(4, 0, Verdict.NO_START),
    ]
    for record in records[:3]:
        folder = tmp_path / record.folder
        folder.mkdir(parents=True)
        for program in (1, 2):
            line = f"    0.500  \tsaid by {program}\x00 in game {record.game}\n"
            (folder / f"program{program}.stderr.log").write_text(100 * line)
    write_reports(tmp_path, summarise(records), records)
    cases = assert_is_xunit((tmp_path / "junit.xml").read_bytes()).findall(".//testcase")
    outputs = [(case.findtext("system-err") or "").splitlines() for case in cases]
    assert [len(lines) > 50 for lines in outputs] == [False, True, True, False]
    assert (outputs[0], outputs[3]) == ([], [])
    assert outputs[1][0] == "random:"
    assert set(outputs[1][1:]) == {"\tsaid by 2\\x00 in game 2"}
    assert {"\tsaid by 1\\x00 in game 3", "\tsaid by 2\\x00 in game 3"} < set(outputs[2])
