"""The report of a package's check: its verdict, and its forms as JSON, JUnit XML and a page."""

from __future__ import annotations

import dataclasses
import json

import pytest
from lxml import etree, html

from spielleiter.contest.package_report import FORMAT, State, render_junit, render_page, state_of
from spielleiter.contest.runtime_faults import fault
from spielleiter.programs.contest_conditions import REPORTED
from spielleiter.programs.packages.faults import Finding, Level
from tests.contest.package_reports import HOSTILE, report
from tests.match.xunit import assert_is_xunit

OTHERS = len(REPORTED) - 1


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        (State.GREEN, "fit"),
        (State.YELLOW, "fit"),
        (State.RED, "not fit"),
        (State.UNDECIDED, "undecided"),
        (State.NOT_CHECKED, "fit"),
    ],
)
def test_one_condition_decides_the_verdict(state: State, verdict: str) -> None:
    made = report({"memory": state})
    assert made.verdict == verdict
    assert made.headline.startswith(f"{verdict}: ")
    assert made.is_fit == (verdict == "fit")
    assert made.is_undecided == (verdict == "undecided")


def test_a_red_condition_outweighs_an_undecided_one() -> None:
    made = report({"memory": State.RED, "network": State.UNDECIDED})
    assert made.headline == f"not fit: {OTHERS - 1} green, 1 red, 1 undecided"


def test_the_worst_finding_decides_the_state() -> None:
    green, yellow = Finding("x", Level.GREEN, "harmless"), fault("not-twice", reason="a lock file")
    red = fault("does-not-end", game="game 1", reason="it waits")
    assert state_of(()) is State.GREEN
    assert state_of([green]) is State.GREEN
    assert state_of([green, yellow]) is State.YELLOW
    assert state_of([yellow, red, green]) is State.RED


def test_the_json_has_everything() -> None:
    made = report({"options": State.RED})
    value = json.loads(made.to_json_text())
    assert value["format"] == FORMAT
    assert value["verdict"] == "not fit"
    assert value["main"] == "start.sh"
    assert [each["key"] for each in value["conditions"]] == [each.key for each in REPORTED]
    [condition] = [each for each in value["conditions"] if each["state"] == "red"]
    [finding] = condition["findings"]
    assert (condition["key"], finding["code"], finding["level"]) == ("options", "crash", "red")
    assert value["sandbox"]["gaps"] == ["no network: as expected"]
    assert value["speed"] == {"factor": 1.5, "is_measured": True}
    assert value["games"][0]["points"] == [10, None]
    assert value["games"][0]["replay"] == "replay.xml"


def test_every_condition_is_a_test() -> None:
    states = {"options": State.RED, "memory": State.YELLOW, "network": State.NOT_CHECKED, "end": State.UNDECIDED}
    suite = assert_is_xunit(render_junit(report(states)).encode())[0]
    wanted = {"tests": str(len(REPORTED)), "failures": "1", "errors": "1", "skipped": "2", "time": "12.500"}
    assert wanted.items() <= dict(suite.attrib).items()
    cases = {(case.get("name") or "")[3:]: case for case in suite}
    assert list(cases) == [each.title for each in REPORTED]
    [failure] = cases["options"]
    assert failure.tag == "failure"
    assert (failure.text or "").startswith("crash: game 1: the program crashes (as expected)")
    assert [each.tag for each in cases["memory"]] == ["skipped", "system-out"]
    assert cases["memory"][0].get("message") == "warning: as expected"
    assert [(each.tag, each.get("message")) for each in cases["network"]] == [("skipped", "not checked: as expected")]
    assert [each.tag for each in cases["the end"]] == ["error"]
    assert list(cases["the start"]) == []


def test_hostile_texts_are_escaped_in_junit() -> None:
    states = {"options": State.RED, "memory": State.YELLOW, "end": State.UNDECIDED}
    suite = assert_is_xunit(render_junit(report(states, package=HOSTILE, text=HOSTILE)).encode())[0]
    assert r"\x1b[31m\u202e" in (suite.get("name") or "")
    assert {each.tag for each in suite.iter()} == {
        "testsuite", "testcase", "failure", "error", "skipped", "system-out",
    }  # fmt: skip


def texts(root: etree._Element, path: str) -> list[str]:
    return ["".join(each.itertext()) for each in root.findall(path)]


def test_every_condition_has_a_row_with_its_state_as_a_word() -> None:
    root = html.document_fromstring(render_page(report({"options": State.RED, "memory": State.YELLOW})))
    assert texts(root, ".//h1") == ["player.zip: not fit"]
    assert texts(root, ".//table")
    rows = root.findall(".//table")[0].findall(".//tbody/tr") or root.findall(".//table")[0].findall("./tr")
    words = {texts(row, "./td")[0]: texts(row, ".//span")[0] for row in rows}
    assert words == {each.title: {"options": "red", "memory": "yellow"}.get(each.key, "green") for each in REPORTED}
    assert "crash" in texts(root, ".//code")


def test_the_sandbox_and_its_gaps_are_named() -> None:
    root = html.document_fromstring(render_page(report()))
    assert "Sandbox: plain." in texts(root, ".//p")
    assert {"one core", "no network: as expected"} <= set(texts(root, ".//li"))


def test_links_lead_into_the_folder_of_the_check() -> None:
    root = html.document_fromstring(render_page(report(text="x"), "out"))
    assert [each.get("href") for each in root.findall(".//a")] == ["./out/games/x", "./out/games/x/replay.xml"]
    assert html.document_fromstring(render_page(report(), "")).findall(".//a") == []
    root = html.document_fromstring(render_page(report({"options": State.RED}, text="x"), "out"))
    assert [each.get("href") for each in root.findall(".//li/a")] == ["./out/games/0001"]


def test_a_package_that_was_not_started_has_no_sandbox_and_no_games() -> None:
    made = dataclasses.replace(report({"package": State.RED}), sandbox=None, speed=None, games=())
    root = html.document_fromstring(render_page(made))
    assert len(root.findall(".//table")) == 1
    assert "How it was run" not in texts(root, ".//h2")


def test_hostile_texts_are_escaped_on_the_page() -> None:
    states = {"options": State.RED, "memory": State.YELLOW}
    text = render_page(report(states, package=HOSTILE, text=HOSTILE), "out")
    root = html.document_fromstring(text)
    assert root.findall(".//script") == []
    assert not set("\x00\x1b\u202e\ud800") & set(text)
    assert all((each.get("href") or "").startswith("./out/games/") for each in root.findall(".//a"))
