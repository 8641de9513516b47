"""After a game: who won and why, what can be done then, files to keep, and a seat whose server is gone."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.timeouts import HANG_TIMEOUT
from tests.viewer.browser.browsers import Visit
from tests.viewer.browser.served import Served, started_server

pytestmark = pytest.mark.slow


def begin(page: Page, game_type: str, opponent: str = "strategy:random") -> None:
    """Start a game against a built-in player, which the person begins."""
    page.locator("[name=game]").select_option(game_type)
    page.locator("[name=opponent]").select_option(opponent)
    page.locator("[name=player]").select_option("0")
    page.locator("[type=submit]").click()


def test_fields_are_clicked_and_after_the_game_everything_is_at_hand(visit: Callable[..., Visit]) -> None:
    playing = visit(viewport={"width": 390, "height": 844}, locale="de-DE")
    playing.expected_statuses.add(501)
    page = playing.open("#/play")
    begin(page, "swc_2018_hase_und_igel")
    # a field says what it costs, and a click plays the move that leads there
    page.locator(".move-choice").first.wait_for()
    marked = page.locator(".field.is-target").evaluate_all("(all) => all.map((each) => each.dataset.field)")
    offered = page.locator(".move-choice").evaluate_all("(all) => all.map((each) => each.dataset.field)")
    assert set(marked) == set(offered)
    single = next(each for each in marked if offered.count(each) == 1)
    field = page.locator(f".field[data-field='{single}']")
    cost = int(single) * (int(single) + 1) // 2
    assert f"erreichbar, −{cost} Karotten" in str(field.get_attribute("aria-label"))
    expect(page.locator(f".move-choice[data-field='{single}']")).to_contain_text(f"−{cost} Karotten")
    several = next((each for each in marked if offered.count(each) > 1), None)
    if several is not None:  # which moves lead there can be seen
        page.locator(f".field[data-field='{several}']").click()
        expect(page.locator(".move-choice:visible")).to_have_count(offered.count(several))
        page.get_by_role("button", name="Alle Züge zeigen").click()
    playing.screenshot("hase-und-igel-390")
    field.click()
    expect(page.locator(".pawn.team-RED")).to_have_attribute("data-field", single)

    page.get_by_role("button", name="Spiel verlassen").click()
    ended = page.get_by_role("region", name="Ergebnis")
    expect(ended).to_contain_text("Du hast verloren. Mensch hat das Spiel verlassen; random gewinnt")
    page.locator(".result").evaluate("() => scrollTo(0, 0)")
    for name in ("Noch einmal", "Andere Seite", "Warum habe ich verloren?", "Replay", "Bild", "GIF", "Seite"):
        box = ended.get_by_role("button", name=name, exact=True).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 844  # without scrolling
    expect(page.locator(".seat-panel")).to_have_count(0)
    playing.screenshot("ended-390")
    assert playing.accessibility_violations() == []
    for name, suffix in (("Replay", ".xml"), ("GIF", ".gif")):
        with page.expect_download() as download:
            ended.get_by_role("button", name=name, exact=True).click()
        assert download.value.suggested_filename.endswith(suffix)
        assert download.value.path().stat().st_size > 1000
    missing = {"error": {"de": "Bilder brauchen eine Erweiterung.", "en": "Pictures need an extra."}}
    page.route("**/file/png?ply=*", lambda route: route.fulfill(status=501, json=missing))
    ended.get_by_role("button", name="Bild").click()
    expect(ended.get_by_role("alert")).to_have_text("Bilder brauchen eine Erweiterung.")
    ended.get_by_role("button", name="Warum habe ich verloren?").click()
    page.locator(".moments li a").first.click()
    expect(page.locator(".better-pawn")).to_be_in_viewport()
    ended.get_by_role("button", name="Andere Seite").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("random gegen Mensch")
    page.get_by_role("button", name="Spiel verlassen").click()
    page.get_by_role("button", name="Noch einmal").click()
    expect(page.locator(".result")).to_be_hidden()
    expect(page.get_by_role("heading", level=1)).to_have_text("random gegen Mensch")
    page.get_by_role("button", name="Spiel verlassen").click()
    expect(page.locator(".result")).to_be_visible()


def wait_until_closed(served: Served) -> None:
    """Wait until nobody listens any more at the address of the pages, whose process ends a little later."""
    host, _, port = served.url.removeprefix("http://").rpartition(":")
    with suppress(OSError):
        while True:
            with socket.create_connection((host, int(port)), HANG_TIMEOUT) as connection:
                connection.recv(1)  # returns when the process ends


def test_a_seat_whose_server_is_started_again_shows_one_truth(visit: Callable[..., Visit], tmp_path: Path) -> None:
    with started_server(tmp_path) as first:
        playing = visit(base=f"{first.url}/", locale="de-DE")
        page = playing.open("#/play")
        begin(page, "swc_2027_blokus")
        page.locator(".choice").first.wait_for()
        first.process.kill()
        expect(page.locator(".connection")).not_to_be_empty()
        expect(page.locator(".clock")).to_be_empty()
        wait_until_closed(first)
    with started_server(tmp_path, first.url.removeprefix("http://")) as second:
        assert second.url == first.url
        told = "Der Server wurde neu gestartet; dieses Spiel ist abgebrochen. Hier steht der letzte Stand."
        expect(page.locator(".end-text")).to_have_text(told)
        expect(page.locator(".connection")).to_be_empty()
        expect(page.get_by_text("am Zug")).to_have_count(0)
        expect(page.locator(".clock")).to_be_empty()
        expect(page.get_by_role("button", name="Spiel verlassen")).to_be_hidden()
        playing.screenshot("restarted")
        page.get_by_role("button", name="Noch einmal").click()
        page.locator(".choice").first.wait_for()
        page.goto("about:blank")
    assert [problem for problem in playing.problems if "net::ERR_" not in problem] == []
    playing.problems.clear()
