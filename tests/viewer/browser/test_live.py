"""Live games on the page: the list of rooms, every ply as it is played, hints, the overlay, the cost of moves."""

from __future__ import annotations

import contextlib
import http.client
import random
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from spielleiter.game.api import Move, State
from spielleiter.game.blokus import BlokusState
from spielleiter.game.blokus.moves import SetMove
from spielleiter.protocol.messages import MoveData
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.game_json import describe_game, distinct_positions
from spielleiter.viewer.replay_files import load_replay
from spielleiter.viewer.web.live_games import MOST_STREAMS
from tests.timeouts import HANG_TIMEOUT
from tests.viewer.browser.browsers import Visit, cells_on, expect_ply, ply_on
from tests.viewer.browser.served import PASSWORD, Served

pytestmark = pytest.mark.slow

HOSTILE_NAMES = ('<b>Ann</b> & "Co"', "</script><img src=x onerror=alert(1)>")
HOSTILE_HINT = "<svg onload=alert(2)> &lt; value 3"


def prepare(visit: Visit, names: tuple[str, str], game_type: str, *, is_checked: bool = False) -> tuple[str, list[str]]:
    """Prepare a paused game as an administrator does; return its room and the codes. The page then shows the room.

    `is_checked` says whether axe looks at the codes.
    """
    page = visit.open("#/admin")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.locator("main select").first.select_option(game_type)
    for number, name in enumerate(names, 1):
        page.get_by_role("group", name=f"Player {number}").get_by_label("Name").fill(name)
    page.get_by_label("begin paused").set_checked(True)
    page.get_by_role("button", name="Prepare").click()
    expect(page.locator(".prepared code")).to_have_count(10)
    visit.screenshot("prepared")
    texts = page.locator(".prepared code").all_text_contents()
    codes, commands = [text for text in texts if " " not in text], [text for text in texts if " " in text]
    assert [command.split()[0] for command in commands[:4]] == ["java", "python3", "./program", "spielleiter"]
    assert [code in command for code in codes for command in commands] == [True] * 4 + [False] * 8 + [True] * 4
    if is_checked:
        assert visit.accessibility_violations() == []
    page.get_by_role("link", name="To the prepared game").click()
    expect(page.get_by_text("The game has not begun yet")).to_be_visible()
    return page.url.rpartition("/room/")[2].partition("/")[0], codes


def test_a_live_game_is_shown_ply_by_ply(visit: Callable[..., Visit], served: Served) -> None:
    watching = visit()
    hinting = EDITIONS["blokus-2021-r3"]  # where players may send hints
    room, codes = prepare(watching, HOSTILE_NAMES, hinting.game_type, is_checked=True)
    page = watching.page
    rng = random.Random(7)
    first_moves: list[Move] = []

    def choose(state: State) -> MoveData:
        moves = list(state.generate_legal_moves())
        first_moves.append(moves[0])
        # the game ends with a move that is not legal any more
        return MoveData(rng.choice(moves) if len(first_moves) < 24 else first_moves[0], (HOSTILE_HINT,))

    for code in codes:
        served.start_player(code, hinting.name, choose)
    row = visit().open("#/").get_by_role("row").filter(has_text="<b>Ann</b>")
    expect(row).to_contain_text("paused")
    seen = []
    for ply in range(4):
        expect_ply(page, ply)
        seen.append(cells_on(page))
        expect(row.get_by_role("cell").nth(2)).to_have_text(f"{ply} (turn {ply})")
        page.get_by_role("button", name="Step").click()
    expect_ply(page, 4)
    expect(page.locator(".hints li")).to_have_text(HOSTILE_HINT)
    expect(page.locator(".state")).to_contain_text("Blue")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"{HOSTILE_NAMES[0]} vs {HOSTILE_NAMES[1]}")
    page.get_by_role("button", name="Legal moves").click()
    expect(page.locator(".marks .legal").first).to_be_attached()
    marks = page.locator(".marks .legal").evaluate_all(
        "(marks) => marks.map((mark) => [mark.getAttribute('cx') - 0.5, mark.getAttribute('cy') - 0.5])"
    )
    watching.screenshot("live")
    assert watching.accessibility_violations() == []  # with the pointer over a pressed button
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".end-text")).to_be_visible()
    expect(row).to_contain_text("broke a rule")
    served.join_players()
    replay = load_replay(served.replay_of(room))
    boards = [position["board"]["cells"] for position in describe_game(replay)["positions"]]
    assert (seen, cells_on(page), ply_on(page)) == (boards[:4], boards[-1], len(boards) - 1)
    # the plies that passed too fast to be sent are there as well
    expect(page.locator(".move-list tbody tr")).to_have_count(len(boards))
    assert page.locator(".game img, .game script, .list img").count() == 0
    shown = [memento.state for memento in distinct_positions(replay.record)][4]
    assert isinstance(shown, BlokusState)
    legal = {cell for move in shown.generate_legal_moves() for cell in cells_of(shown, move)}
    assert {(x, y) for x, y in marks} == legal


def cells_of(state: BlokusState, move: SetMove) -> list[tuple[int, int]]:
    """Return the cells that a move covers: those that are new on the board after it."""
    after = state.play(move)
    everywhere = ((x, y) for x in range(20) for y in range(20))
    return [cell for cell in everywhere if state.color_at(*cell) is None and after.color_at(*cell) is not None]


def test_the_moves_that_cost_most_are_estimated_in_a_room_and_in_a_replay(
    visit: Callable[..., Visit], served: Served
) -> None:
    watching = visit()
    room, codes = prepare(watching, ("Ann", "Ben"), "swc_2018_hase_und_igel")
    page = watching.page
    for code in codes:
        served.start_player(code, "hase-und-igel-2018", lambda state: next(iter(state.generate_legal_moves())))
    for ply in range(3):
        expect_ply(page, ply)
        page.get_by_role("button", name="Step").click()
    expect_ply(page, 3)
    expect(page.get_by_role("button", name="Estimate")).to_be_hidden()
    page.get_by_role("button", name="Cancel").click()
    served.join_players()
    page.get_by_role("button", name="Estimate").click()
    moments = page.locator(".moments li")
    expect(moments.first).to_contain_text("points lost")
    assert 1 <= moments.count() <= 5
    expect(moments.first).to_contain_text("Better: ")
    expect(page.locator(".analysis")).to_contain_text("estimate")
    link = moments.first.get_by_role("link")
    ply = int((link.get_attribute("href") or "").rpartition("/")[2])
    link.click()
    expect_ply(page, ply)
    expect(page.locator(".better-text")).to_contain_text("This would have been better")
    expect(page.locator(".better-pawn")).to_have_count(1)
    watching.screenshot("analysis")
    # a replay has the same button, and an estimate that fails a reason
    replay = served.replay_of(room).name
    failed = 'event: failed\ndata: {"error": {"de": "Kein Glück.", "en": "No luck."}}\n\n'
    page.route("**/api/analysis", lambda route: route.fulfill(content_type="text/event-stream", body=failed))
    watching.open(f"#/replay/{replay}")
    with page.expect_request("**/api/analysis") as asked:
        page.get_by_role("button", name="Estimate").click()
    assert asked.value.post_data_json == {"replay": replay}
    expect(page.locator(".analysis")).to_contain_text("No luck.")


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
        shown = watching.open("#/").locator(".connection")
        expect(shown).to_have_text(
            re.compile(r"^There are \d+ pages open already, \d+ of them from your address, .* Trying again …$")
        )
        watching.screenshot("refused")
    expect(shown).to_be_empty()
