"""Games on a big screen: as large as the screen, several at once, and the next one by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from spielleiter.game.api import Move, State
from tests.timeouts import HANG_TIMEOUT
from tests.viewer.browser.browsers import Visit
from tests.viewer.browser.served import Served, random_mover, started_server

pytestmark = pytest.mark.slow


class HeldGame:
    """A game of two programs that waits after 20 moves until it may go on; then it ends with an illegal move."""

    def __init__(self, served: Served, edition: str) -> None:
        self.may_end = threading.Event()
        self.moves: list[Move] = []
        for seed in (1, 2):
            served.start_player(edition=edition, choose=self.chooser(random_mover(seed)))

    def chooser(self, choose: Callable[[State], Move]) -> Callable[[State], Move]:
        def held(state: State) -> Move:
            if len(self.moves) == 20:
                assert self.may_end.wait(HANG_TIMEOUT)
                return self.moves[0]
            self.moves.append(choose(state))
            return self.moves[-1]

        return held


def share_of_height(page: Page, selector: str) -> float:
    """The height of an element as a share of that of the window."""
    box, size = page.locator(selector).first.bounding_box(), page.viewport_size
    assert box is not None
    assert size is not None
    return box["height"] / size["height"]


@pytest.fixture
def own_server(browser: Browser, tmp_path: Path) -> Iterator[Served]:
    """A server without games of other tests, which the beamer would show as well."""
    with started_server(tmp_path) as server:
        yield server


def test_boards_fill_the_screen_and_the_next_game_comes_by_itself(
    own_server: Served, visit: Callable[..., Visit]
) -> None:
    looking = visit(base=f"{own_server.url}/", viewport={"width": 1920, "height": 1080})
    looking.page.clock.install()
    page = looking.open("#/")
    first = HeldGame(own_server, "blokus-2021-r3")
    page.get_by_role("link", name="Big screen").click()
    place = page.locator(".beamer-place")
    expect(place).to_have_attribute("data-ply", "20")
    assert share_of_height(page, ".board .cell") * 20 > 0.8
    # letters of 3 % of the picture are legible from ten metres if the picture is 1.5 m high
    assert share_of_height(page, ".beamer-name") > 0.06
    assert share_of_height(page, ".beamer-points") > 0.1
    looking.screenshot("beamer-1")
    assert looking.accessibility_violations() == []
    page.get_by_role("button", name="Full screen").click()
    expect(page.get_by_role("button", name="No full screen")).to_be_visible()
    page.keyboard.press("f")
    expect(page.get_by_role("button", name="Full screen (F)", exact=True)).to_be_visible()

    second = HeldGame(own_server, "hase-und-igel-2018")
    second_place = page.locator(".beamer-place[data-game=hase_und_igel]")
    first.may_end.set()
    expect(page.locator(".is-result")).to_contain_text("broke a rule")
    expect(second_place).to_have_count(0)  # the result stays for a while
    page.clock.fast_forward(12_000)
    expect(second_place).to_have_attribute("data-ply", "20")
    page.get_by_role("link", name="4 boards").click()
    expect(page.locator(".beamer-place")).to_have_count(4)
    expect(page.locator(".beamer-place[data-game=blokus] .is-result").first).to_be_visible()
    expect(second_place).to_have_attribute("data-ply", "20")
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        looking.screenshot(f"beamer-4-{width}")
        assert looking.width() <= width
    page.emulate_media(color_scheme="dark")
    assert looking.accessibility_violations() == []
    second.may_end.set()
    expect(second_place.locator(".is-result")).to_be_visible()
    page.get_by_role("link", name="Back").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Current games")
    expect(page.locator("header.site")).to_be_visible()
    own_server.join_players()
