"""Live games on the page: the list of rooms, every ply as it is played, hints, the overlay, and an illegal move."""

from __future__ import annotations

import contextlib
import http.client
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from spielleiter.game.api import State
from spielleiter.game.blokus import BlokusState
from spielleiter.game.blokus.moves import SetMove
from spielleiter.protocol.messages import Memento, MoveData
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.game_json import describe_game
from spielleiter.viewer.replay_files import load_replay
from spielleiter.viewer.web.live_games import MOST_STREAMS
from tests.timeouts import HANG_TIMEOUT
from tests.viewer.browser.browsers import Visit, cells_on, expect_ply, ply_on
from tests.viewer.browser.served import PASSWORD, Served

pytestmark = pytest.mark.slow

HOSTILE_NAMES = ('<b>Ann</b> & "Co"', "</script><img src=x onerror=alert(1)>")
HOSTILE_HINT = "<svg onload=alert(2)> &lt; value 3"


def prepare(visit: Visit, names: tuple[str, str], *, is_paused: bool, game_type: str | None = None) -> list[str]:
    """Prepare a game as an administrator does; return the reservation codes. The page then shows the room.

    `game_type` is None for the game that the page proposes.
    """
    page = visit.open("#/admin")
    if (
        page.get_by_label("Password").or_(page.get_by_role("button", name="Prepare")).first.get_attribute("type")
        == "password"
    ):
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
    if game_type is not None:
        page.locator("main select").first.select_option(game_type)
    for number, name in enumerate(names, 1):
        page.get_by_role("group", name=f"Player {number}").get_by_label("Name").fill(name)
    page.get_by_label("begin paused").set_checked(is_paused)
    page.get_by_role("button", name="Prepare").click()
    expect(page.locator(".prepared code")).to_have_count(10)
    codes = [text for text in page.locator(".prepared code").all_text_contents() if " " not in text]
    commands = [text for text in page.locator(".prepared code").all_text_contents() if " " in text]
    assert [command.split()[0] for command in commands[:4]] == ["java", "python3", "./program", "spielleiter"]
    assert [code in command for code in codes for command in commands] == [True] * 4 + [False] * 8 + [True] * 4
    page.get_by_role("link", name="To the prepared game").click()
    return codes


def with_hints(choose: Callable[[State], Any]) -> Callable[[State], MoveData]:
    return lambda state: MoveData(choose(state), (HOSTILE_HINT,))


def test_a_live_game_is_shown_ply_by_ply(visit: Callable[..., Visit], served: Served) -> None:
    watching = visit()
    hinting = EDITIONS["blokus-2021-r3"]  # where players may send hints
    codes = prepare(watching, HOSTILE_NAMES, is_paused=True, game_type=hinting.game_type)
    page = watching.page
    expect(page.get_by_text("The game has not begun yet")).to_be_visible()
    rng = random.Random(7)
    for code in codes:
        choose = with_hints(lambda state: rng.choice(list(state.generate_legal_moves())))
        served.start_player(code, hinting.name, choose)
    rooms = visit().open("#/")
    row = rooms.get_by_role("row").filter(has_text="<b>Ann</b>")
    expect(row).to_contain_text("paused")
    seen = []
    for ply in range(8):
        expect_ply(page, ply)
        seen.append(cells_on(page))
        expect(row.get_by_role("cell").nth(1)).to_have_text(str(ply))
        page.get_by_role("button", name="Step").click()
    expect_ply(page, 8)
    expect(page.locator(".hints li")).to_have_text(HOSTILE_HINT)
    expect(page.locator(".state")).to_contain_text("Blue")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"{HOSTILE_NAMES[0]} vs {HOSTILE_NAMES[1]}")
    watching.screenshot("live")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".end-text")).to_be_visible()
    expect(row).to_contain_text("over")
    served.join_players()
    last = cells_on(page)
    game = describe_game(load_replay(served.replay_of(room_on(page))))
    boards = [position["board"]["cells"] for position in game["positions"]]
    assert seen == boards[:8]
    assert last == boards[-1]
    assert ply_on(page) == len(boards) - 1
    # the plies that passed too fast to be sent are there as well
    expect(page.locator(".move-list tbody tr")).to_have_count(len(boards))
    assert page.locator(".game img, .game script, .list img").count() == 0


def test_the_overlay_shows_the_cells_that_legal_moves_cover(visit: Callable[..., Visit], served: Served) -> None:
    watching = visit()
    codes = prepare(watching, ("Ann", "Ben"), is_paused=True)
    page = watching.page
    for code in codes:
        served.start_player(code)
    expect_ply(page, 0)
    page.get_by_role("button", name="Step").click()
    expect_ply(page, 1)
    page.get_by_role("button", name="Legal moves").click()
    expect(page.locator(".marks .legal").first).to_be_attached()
    marks = page.locator(".marks .legal").evaluate_all(
        "(marks) => marks.map((mark) => [mark.getAttribute('cx'), mark.getAttribute('cy')])"
    )
    shown = {(float(x) - 0.5, float(y) - 0.5) for x, y in marks}
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".end-text")).to_be_visible()
    served.join_players()
    record = load_replay(served.replay_of(room_on(page))).record
    _, second, *_ = (data.state for data in record if isinstance(data, Memento))
    assert isinstance(second, BlokusState)
    assert shown == {cell for move in second.generate_legal_moves() for cell in cells_of(second, move)}


def test_a_better_move_is_drawn_in_a_room_whose_game_is_over(visit: Callable[..., Visit], served: Served) -> None:
    watching = visit()
    codes = prepare(watching, ("Ann", "Ben"), is_paused=True, game_type="swc_2018_hase_und_igel")
    page = watching.page
    for code in codes:
        served.start_player(code, "hase-und-igel-2018", lambda state: next(iter(state.generate_legal_moves())))
    for ply in range(4):
        expect_ply(page, ply)
        page.get_by_role("button", name="Step").click()
    expect_ply(page, 4)
    expect(page.get_by_role("button", name="Estimate")).to_be_hidden()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Estimate").click()
    page.locator(".moments a").first.click()
    expect(page.locator(".better-pawn")).to_have_count(1)
    expect(page.locator(".better-text")).to_contain_text("This would have been better")
    expect(page.locator(".field[aria-label$='better move']")).to_have_count(1)
    served.join_players()


def room_on(page: Page) -> str:
    """Return the id of the room in the page's address."""
    found = re.search(r"#/room/([\w-]+)", page.url)
    assert found, page.url
    return found[1]


def cells_of(state: BlokusState, move: SetMove) -> list[tuple[int, int]]:
    """Return the cells that a move covers: those that are new on the board after it."""
    after = state.play(move)
    everywhere = ((x, y) for x in range(20) for y in range(20))
    return [cell for cell in everywhere if state.color_at(*cell) is None and after.color_at(*cell) is not None]


def test_a_page_too_many_says_why_it_is_refused_and_tries_again(visit: Callable[..., Visit], served: Served) -> None:
    watching = visit()
    watching.expected_statuses.add(429)
    with contextlib.ExitStack() as opened:
        for _ in range(MOST_STREAMS // 2 + 1):
            connection = http.client.HTTPConnection(served.url.removeprefix("http://"), timeout=HANG_TIMEOUT)
            opened.callback(connection.close)
            connection.request("GET", "/api/events")
            if connection.getresponse().status != 200:
                break
        page = watching.open("#/")
        shown = page.locator(".connection")
        expect(shown).to_have_text(
            re.compile(r"^There are \d+ pages open already, \d+ of them from your address, .* Trying again …$")
        )
        watching.screenshot("refused")
    expect(shown).to_be_empty()
