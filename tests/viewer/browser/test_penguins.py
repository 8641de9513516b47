"""Penguins in the browser: a person places penguins and slides, and the page shows the replay of a release."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.viewer.browser.browsers import OFFICIAL, Visit, ply_on
from tests.viewer.browser.test_seat import begin

pytestmark = pytest.mark.slow

PENGUINS = 4


def test_a_person_places_penguins_and_slides(visit: Callable[..., Visit]) -> None:
    playing = visit()
    page = playing.open("#/play")
    begin(page, "Anna", "swc_2023_penguins")
    hint, own = page.locator(".seat-hint"), page.locator(".board .team-RED")
    for placed in range(PENGUINS):
        expect(hint).to_have_text("Choose a floe with a single fish for your penguin.")
        expect(own).to_have_count(placed)
        if placed == 1:
            assert playing.accessibility_violations() == []
            playing.screenshot("penguins-placing")
        single_fish = page.locator(".floe.is-open")
        single_fish.nth(single_fish.count() * placed // PENGUINS).click()  # boards differ in how many there are
    expect(hint).to_have_text("Choose a penguin, then its target.")
    expect(own).to_have_count(PENGUINS)
    page.locator(".floe.is-open").first.click()
    expect(hint).to_contain_text("Choose the target of the penguin on")
    assert playing.accessibility_violations() == []
    playing.screenshot("penguins-sliding")
    ply = ply_on(page)
    page.locator(".floe.is-open").last.click()
    expect(page.locator(f".game:not([data-ply='{ply}'])")).to_be_attached()
    expect(own).to_have_count(PENGUINS)


@pytest.mark.extended
def test_the_replay_of_a_release_is_shown(visit: Callable[..., Visit]) -> None:
    watching = visit()
    page = watching.open("#/replays")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a file").click()
    content = (OFFICIAL / "2023.xml.gz").read_bytes()
    chooser.value.set_files({"name": "2023.xml.gz", "mimeType": "application/gzip", "buffer": content})
    expect(page.locator(".end-text")).to_have_text(re.compile("no penguin can move"))
    page.keyboard.press("End")
    expect(page.locator(".board .team-RED")).to_have_count(PENGUINS)
    watching.screenshot("penguins-replay")
