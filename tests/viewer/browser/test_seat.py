"""A person plays in the browser: whole games by clicks and by keys, and by touch against a program."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Position, Route, expect

from spielleiter.viewer.game_json import describe_game
from spielleiter.viewer.replay_files import load_replay
from tests.viewer.browser.browsers import Visit, cells_on, expect_ply, ply_on
from tests.viewer.browser.served import Served

pytestmark = pytest.mark.slow

BLOKUS = "swc_2027_blokus"
HASE_UND_IGEL = "swc_2018_hase_und_igel"
PIRANHAS = "swc_2026_piranhas"


def begin(page: Page, name: str, game_type: str = BLOKUS) -> None:
    """Fill in the form that starts a game against a built-in player."""
    page.locator("[name=game]").select_option(game_type)
    page.locator("[name=opponent]").select_option("strategy:random")
    page.locator("[name=player]").select_option("0")
    page.locator("[name=name]").fill(name)
    page.get_by_role("button", name="Start the game").click()


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until the element has the focus."""
    page.locator(selector).first.wait_for()
    for _ in range(80):
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the Tab key does not lead to {selector}")


def choose_by_keys(page: Page, selector: str, value: str) -> None:
    """Choose a value of a list with the arrow keys."""
    tab_to(page, selector)
    page.keyboard.press("Home")
    for _ in range(20):
        if page.locator(selector).input_value() == value:
            return
        page.keyboard.press("ArrowDown")
    raise AssertionError(f"{value} is not in the list {selector}")


def wait_for_turn(page: Page) -> bool:
    """Wait until it is the person's turn. Returns False if the game is over instead."""
    page.locator(".choice[tabindex='0'], .move-choice, .end-text:not([hidden])").first.wait_for()
    return page.locator(".end-text").is_hidden()


def wait_for_ply_after(page: Page, ply: int) -> None:
    page.locator(f".game:not([data-ply='{ply}'])").wait_for()


def assert_ordinary_game(page: Page, served: Served, name: str) -> None:
    """Check that the server saved the game of this person like any other, and that the page shows its end."""
    room = served.log.wait_for("game_started", names=[name, "random"])["room"]
    game = describe_game(load_replay(served.replay_of(room)))
    assert game["end"]["cause"] == "REGULAR"
    expect_ply(page, len(game["positions"]) - 1)
    if game["game"] == "blokus":
        assert cells_on(page) == game["positions"][-1]["board"]["cells"]


def middle_of(page: Page, selector: str) -> Position:
    """Return the middle of the first such mark, relative to the board."""
    board, mark = page.locator(".board").bounding_box(), page.locator(selector).first.bounding_box()
    assert board is not None
    assert mark is not None
    return {"x": mark["x"] + mark["width"] / 2 - board["x"], "y": mark["y"] + mark["height"] / 2 - board["y"]}


def click_middle(page: Page, selector: str) -> None:
    """Click on the last such element with the mouse, as fast as a mouse can."""
    box = page.locator(selector).last.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def test_the_form_shows_time_limits_and_only_legal_moves_can_be_made_by_clicks(visit: Callable[..., Visit]) -> None:
    playing = visit()
    waiting = {"id": "other", "gameType": BLOKUS, "state": "waiting", "players": ["Rival", ""]}
    playing.page.route("**/api/rooms", lambda route: route.fulfill(json=[waiting]))
    page = playing.open("#/play")
    page.locator("[name=game]").select_option(BLOKUS)
    clock = page.locator("[name=clock]")
    expect(clock).not_to_be_checked()
    page.locator("[name=opponent]").select_option("room:other")
    expect(clock).to_be_checked()  # where there are limits in any case
    expect(clock).to_be_disabled()
    page.locator("[name=opponent]").select_option("program")
    expect(clock).not_to_be_checked()
    expect(clock).to_be_enabled()
    begin(page, "Clicker")
    assert wait_for_turn(page)
    before = cells_on(page)
    page.locator(".choice:not([aria-disabled])").last.click()
    page.get_by_role("button", name="Next place").click()
    assert playing.accessibility_violations() == []
    page.locator(".choice:not([aria-disabled])").first.click()
    page.locator("[data-x='10'][data-y='10']").click()
    expect(page.locator(".ghost.not-legal").first).to_be_visible()
    expect(page.locator(".tools .primary")).to_be_disabled()
    page.locator(".board").press("Enter")
    assert (ply_on(page), cells_on(page)) == (0, before)
    for move in range(4):
        assert wait_for_turn(page)
        ply = ply_on(page)
        click_middle(page, ".choice:not([aria-disabled])")
        if move == 3:
            page.locator(".board").hover(position=middle_of(page, ".marks circle.legal"))
            expect(page.locator(".ghost").first).to_be_visible()
            playing.screenshot("seat")
        click_middle(page, ".marks circle.legal")
        wait_for_ply_after(page, ply)
    page.get_by_role("button", name="Leave the game").click()
    expect(page.locator(".end-text")).to_be_visible()


MARK_POSITIONS = """
const add = EventSource.prototype.addEventListener;
EventSource.prototype.addEventListener = function (name, handler) {
  return add.call(this, name, (event) => {
    handler(event);
    if (name === "position") document.body.dataset.hasPosition = "";
  });
};
"""


def test_moves_that_are_shown_are_not_drawn_again_by_a_late_event(visit: Callable[..., Visit]) -> None:
    """A click is lost if its button is replaced between pressing and releasing."""
    playing = visit()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    playing.page.route("**/api/rooms/*/events", hold)
    playing.page.add_init_script(MARK_POSITIONS)
    for game_type, choice in ((BLOKUS, ".choice"), (HASE_UND_IGEL, ".move-choice")):
        page = playing.open("#/play")
        begin(page, "Slow", game_type)
        assert wait_for_turn(page)
        shown = page.locator(choice).first.element_handle()
        while not held:  # the page may show the moves before it asks for the events
            page.wait_for_timeout(10)
        page.evaluate("delete document.body.dataset.hasPosition")
        held.pop().continue_()
        # not wait_for_function, which the page's Content-Security-Policy forbids
        expect(page.locator("body[data-has-position]")).to_be_attached()
        assert shown.evaluate("(element) => element.isConnected")


def test_a_person_plays_a_whole_game_by_keys_alone(visit: Callable[..., Visit], served: Served) -> None:
    playing = visit()
    page = playing.open("#/play")
    choose_by_keys(page, "[name=game]", BLOKUS)
    choose_by_keys(page, "[name=opponent]", "strategy:random")
    choose_by_keys(page, "[name=player]", "0")
    tab_to(page, "[name=name]")
    page.keyboard.press("Control+a")
    page.keyboard.type("Typist")
    page.keyboard.press("Enter")
    moves = 0
    while wait_for_turn(page):
        ply = ply_on(page)
        if moves == 0:
            tab_to(page, ".board")
        if moves == 1:
            # the pieces and the place can be chosen one by one as well
            for key in ("n", "r", "f", "ArrowLeft", "ArrowUp", "Escape"):
                page.keyboard.press(key)
        for key in ("b", "j", "Enter"):
            page.keyboard.press(key)
        wait_for_ply_after(page, ply)
        moves += 1
    assert moves > 15
    assert_ordinary_game(page, served, "Typist")


def test_hase_und_igel_is_played_by_keys(visit: Callable[..., Visit]) -> None:
    playing = visit()
    playing.expected_statuses.add(503)
    page = playing.open("#/play")
    begin(page, "Igel", HASE_UND_IGEL)
    # a move that does not reach the server can be made again
    page.route("**/move", lambda route: route.fulfill(status=503, body=""), times=1)
    page.locator(".move-choice").first.click()
    expect(page.locator(".seat-panel [role=alert]")).to_have_text("The server reports error 503.")
    for _ in range(8):
        assert wait_for_turn(page)
        ply = ply_on(page)
        if ply > 0:
            expect(page.locator(".seat-panel [role=alert]")).to_have_count(0)
            expect(page.locator(".move-choice").first).to_be_focused()
        assert page.locator(".field.is-target").count() <= page.locator(".move-choice").count()
        page.locator(".move-choice").first.focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Enter")
        wait_for_ply_after(page, ply)
    playing.screenshot("hase-und-igel-seat")
    page.get_by_role("button", name="Leave the game").click()
    expect(page.locator(".end-text")).to_be_visible()


def test_a_person_waits_for_a_program_and_passes(visit: Callable[..., Visit], served: Served) -> None:
    playing = visit(viewport={"width": 360, "height": 740}, has_touch=True, locale="de-DE")
    page = playing.open("#/play")
    page.locator("[name=opponent]").select_option("program")
    page.locator("[name=player]").select_option("0")
    page.locator("[name=name]").fill("Finger")
    page.get_by_role("button", name="Spiel beginnen").tap()
    command = page.locator(".copyable code").first.inner_text()
    assert str(served.port) in command
    assert playing.width() <= 360
    served.start_player()
    assert wait_for_turn(page)
    expect(page.get_by_role("button", name="Passen")).to_be_disabled()  # the first piece has to be placed
    for expected in (2, 4):  # one piece of each colour
        page.locator(".choice:not([aria-disabled])").first.tap()
        page.locator(".board").tap(position=middle_of(page, ".marks circle.legal"))
        assert page.locator(".ghost").count() > 0
        page.locator(".board").tap(position=middle_of(page, ".ghost"))
        expect_ply(page, expected)
    assert wait_for_turn(page)
    playing.screenshot("seat-360")
    page.get_by_role("button", name="Passen").tap()
    expect_ply(page, 6)
    expect(page.locator(".move-list tbody tr").nth(5)).to_contain_text("passt")
    page.get_by_role("button", name="Spiel verlassen").tap()
    expect(page.locator(".end-text")).to_be_visible()
    served.join_players()


def test_piranhas_is_played_by_clicks_on_a_fish_and_its_target(visit: Callable[..., Visit]) -> None:
    playing = visit(viewport={"width": 390, "height": 844})
    page = playing.open("#/play")
    begin(page, "Angler", PIRANHAS)
    wait_for_turn(page)
    click_middle(page, ".can-move")
    expect(page.locator(".chosen")).to_have_count(1)
    assert page.locator(".target-ring").count() == page.locator(".move-choice:visible").count() > 0
    page.locator(".sea").nth(45).click()  # an empty cell chooses nothing
    expect(page.locator(".chosen")).to_have_count(0)
    assert playing.accessibility_violations() == []
    for number in range(4):
        ply = ply_on(page)
        click_middle(page, ".can-move")
        if number == 3:
            playing.screenshot("piranhas-seat")
        click_middle(page, ".target-ring")
        wait_for_ply_after(page, ply)
        wait_for_turn(page)
    page.locator(".move-choice").first.press("Enter")
    wait_for_ply_after(page, 2 * 4)
    expect(page.locator(".last-frame")).to_have_count(2)
    page.get_by_role("button", name="Leave the game").click()
    assert playing.problems == []
