"""junit.xml, parsed with an XML parser."""

from __future__ import annotations

from lxml import etree

from spielleiter.match.reports.junit import render_junit
from spielleiter.match.statistics import Sprt
from spielleiter.match.summary import summarise
from spielleiter.match.verdict import Verdict
from tests.match.hostile import hostile_match
from tests.match.sample_records import fault, game, whole_match
from tests.match.xunit import assert_is_xunit


def suites(text: str) -> etree._Element:
    return assert_is_xunit(text.encode("utf-8"))


def test_each_game_is_a_test_case() -> None:
    records = whole_match(3)
    root = suites(render_junit(summarise(records, sprt=Sprt(0, 50)), records))
    assert root.tag == "testsuites"
    [suite] = root
    assert dict(root.attrib).items() >= {"tests": "6", "failures": "0", "errors": "0"}.items()
    assert "skipped" not in root.attrib
    assert dict(suite.attrib).items() >= {"tests": "6", "failures": "0", "errors": "0", "skipped": "0"}.items()
    assert suite.get("name") == "greedy vs random"
    assert suite.get("timestamp") == "2021-03-04T05:06:01.000000+00:00"
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases[:2]] == [
        "game 1: greedy first, random second, PENTO_V",
        "game 2: random first, greedy second, PENTO_V",
    ]
    assert all(float(case.get("time") or "") > 0 for case in cases)
    assert [child.tag for case in cases for child in case] == ["system-out"] * 6
    properties = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert properties["player1"] == "greedy"
    assert properties["sprt"] == "undecided"


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
    assert root.findall(".//testcase")[4].get("name") == "game 5: greedy first, random second"
    texts = [each.text or "" for each in root.iter("system-out")]
    assert texts[0].splitlines()[:3] == ["result: greedy", "folder: games/00001", "greedy: no points, REGULAR"]
    assert texts[2].startswith("result: not counted")
    assert texts[4].startswith("result: random")


def test_hostile_texts_are_escaped() -> None:
    summary, records = hostile_match()
    root = suites(render_junit(summary, records))
    assert {each.tag for each in root.iter()} == {
        "testsuites", "testsuite", "properties", "property", "testcase", "failure", "error", "system-out",
    }  # fmt: skip
    [failure] = root.iter("failure")
    assert "<img src=x" in (failure.text or "")
    assert r"\r\n| a | b |\n# heading\n\x08" in (failure.text or "")


def test_the_output_of_a_program_is_in_its_failed_test_case() -> None:
    records = [game(1), fault(2, 1, Verdict.CRASH, reason="ended by signal 11")]
    outputs = {2: "random:\n\x1b[31mpanic\n\tat main\x00"}
    cases = suites(render_junit(summarise(records), records, outputs)).findall(".//testcase")
    assert [child.tag for child in cases[0]] == ["system-out"]
    assert [child.tag for child in cases[1]] == ["failure", "system-out", "system-err"]
    assert cases[1][2].text == "random:\n\\x1b[31mpanic\n\tat main\\x00"


def test_a_match_without_games_is_an_empty_suite() -> None:
    root = suites(render_junit(summarise([], names=("a", "b")), []))
    assert root.get("tests") == "0"
    assert root[0].get("timestamp") is None
