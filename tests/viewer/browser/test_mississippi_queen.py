"""Mississippi Queen in the browser: a move put together step by step, and the replay of a release."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.viewer.browser.browsers import OFFICIAL, Visit
from tests.viewer.browser.test_seat import begin

pytestmark = pytest.mark.slow


def test_a_person_puts_a_move_together(visit: Callable[..., Visit]) -> None:
    playing = visit()
    page = playing.open("#/play")
    begin(page, "Anna", "swc_2024_mississippi_queen")
    send, undo = (
        page.get_by_role("button", name="Send the move"),
        page.get_by_role("button", name="Take back an action"),
    )
    option = page.locator(".mq-option")
    expect(option.first).to_be_visible()
    expect(send).to_be_disabled()
    expect(page.locator(".mq-field.is-target")).to_have_count(1)
    expect(page.locator(".mq-field.is-target")).to_have_attribute("aria-label", re.compile(", can be reached$"))
    # a step that is taken back, then the ship goes to the only field with a ring, by a click on the board
    page.locator("[data-action='accelerate 1']").click()
    expect(page.locator(".seat-hint")).to_contain_text("So far: faster by 1. 2 movement points and 6 coal left.")
    undo.click()
    page.locator(".mq-field.is-target").first.click()
    expect(page.locator(".seat-hint")).to_contain_text("The move is complete.")
    expect(page.locator(".mq-plan")).to_be_attached()
    assert playing.accessibility_violations() == []
    playing.screenshot("mississippi-queen-seat")
    send.click()
    expect(page.locator(".game")).not_to_have_attribute("data-ply", "0")


@pytest.mark.extended
def test_the_replay_of_a_release_is_shown(visit: Callable[..., Visit]) -> None:
    watching = visit()
    page = watching.open("#/replays")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a file").click()
    content = (OFFICIAL / "2024.xml.gz").read_bytes()
    chooser.value.set_files({"name": "2024.xml.gz", "mimeType": "application/gzip", "buffer": content})
    expect(page.locator(".end-text")).to_have_text(re.compile("a ship cannot move any more"))
    expect(page.locator(".mq-ship")).to_have_count(2)
    watching.screenshot("mississippi-queen-replay")
