"""The page of a package's check, parsed as XML."""

from __future__ import annotations

import dataclasses

from lxml import etree, html

from spielleiter.match.checking.contest_conditions import CONDITIONS
from spielleiter.match.checking.package_page import render_page
from spielleiter.match.checking.package_report import State
from tests.match.checking.package_reports import HOSTILE, report


def texts(root: etree._Element, path: str) -> list[str]:
    return ["".join(each.itertext()) for each in root.findall(path)]


def test_every_condition_has_a_row_with_its_state_as_a_word() -> None:
    root = html.document_fromstring(render_page(report({"options": State.RED, "memory": State.YELLOW})))
    assert texts(root, ".//h1") == ["player.zip: not fit"]
    assert texts(root, ".//table")
    rows = root.findall(".//table")[0].findall(".//tbody/tr") or root.findall(".//table")[0].findall("./tr")
    words = {texts(row, "./td")[0]: texts(row, ".//span")[0] for row in rows}
    assert words == {each.title: {"options": "red", "memory": "yellow"}.get(each.key, "green") for each in CONDITIONS}
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


def test_hostile_texts_are_escaped() -> None:
    states = {"options": State.RED, "memory": State.YELLOW}
    text = render_page(report(states, package=HOSTILE, text=HOSTILE), "out")
    root = html.document_fromstring(text)
    assert root.findall(".//script") == []
    assert not set("\x00\x1b\u202e\ud800") & set(text)
    assert all((each.get("href") or "").startswith("./out/games/") for each in root.findall(".//a"))
