"""The list of games: what it says of each, when it is empty, on a phone, and after the server was started again; and
what lets a move be noticed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Locator, Page, expect

from spielleiter.game.api import Move, State
from spielleiter.game.blokus.moves import SetMove
from tests.viewer.browser.browsers import Visit, expect_ply
from tests.viewer.browser.served import Served, started_server
from tests.viewer.replay_files import replay_of

pytestmark = pytest.mark.slow

COUNT_SOUNDS = """
window.sounds = 0;
window.OscillatorNode = class extends OscillatorNode { start(at) { window.sounds += 1; super.start(at); } };
"""
NEVER_END = """
const { animate } = Element.prototype;
Element.prototype.animate = function (frames) { return animate.call(this, frames, 1e6); };
"""  # a busy machine may look after a mark has faded in


def breaks_a_rule(state: State) -> Move:
    """Play one legal move, and then one that leaves the board."""
    move = next(iter(state.generate_legal_moves()))
    assert isinstance(move, SetMove)
    return move if state.turn < 2 else replace(move, x=30)


def cells_of(row: Locator) -> list[str]:
    """Return the texts of a row without its time: the players, the game, moves and turn, points, how it ended."""
    expect(row).to_have_count(1)
    players, _, *others = row.locator("th .room-players, td").all_text_contents()
    return [players, *others]


def test_a_game_is_told_the_same_everywhere_also_after_the_server_was_started_again(
    visit: Callable[..., Visit], tmp_path: Path
) -> None:
    with started_server(tmp_path, keeps_all=False) as server:
        looking = visit(f"{server.url}/", viewport={"width": 390, "height": 844})
        page = looking.open("#/")
        command = page.locator(".empty code").first
        expect(command).to_have_text(f"spielleiter play --strategy greedy --game swc_2027_blokus --port {server.port}")
        command.locator("..").get_by_role("button").click()
        expect(page.locator(".copied").first).not_to_be_empty()
        looking.screenshot("list-empty-390")
        found = looking.accessibility_violations()
        server.start_player(choose=breaks_a_rule)
        server.log.wait_for("player_joined")
        server.start_player()
        server.join_players()
        ended = server.log.wait_for("game_ended")
        saved = server.log.wait_for("replay_saved")
        row = page.get_by_role("row").filter(has_text="broke a rule")
        expect(row.locator(".thumbnail path[d*=M]").first).to_be_attached()
        listed = cells_of(row)
        first, second = page.locator("bdi").all_text_contents()
        assert first.startswith("127.0.0.1:")  # the programs have no names
        expect(row.locator(".has-won")).to_have_text(second)
        assert listed == [
            f"{first} vs {second}",
            "Blokus 2027",
            "2 (turn 2)",
            f"{ended['parts'][0][1]} : {ended['parts'][1][1]}",
            f"{first} broke a rule; {second} wins",
        ]
        assert ended["winners"] == [1]
        # a card: each fact has a line of its own, named by the column
        tops = row.get_by_role("cell").evaluate_all("(cells) => cells.map((cell) => cell.getBoundingClientRect().top)")
        assert tops == sorted(set(tops))
        looking.screenshot("list-390")
        found += looking.accessibility_violations()
        row.get_by_role("link").click()
        expect_ply(page, 2)
        sentence = page.locator(".end-text").text_content() or ""
        assert f"{first} broke a rule; {second} wins (0 : " in sentence
        expect(page.locator(".move-list tr[data-ply='2'] td").nth(1)).to_have_text("2")  # for --turn
        room = page.url.partition("#/room/")[2]
        page.goto("about:blank")
    with started_server(tmp_path, keeps_all=False) as server:
        assert Path(saved["path"]).parent.name == "recent-games"
        again = visit(f"{server.url}/")
        page = again.open("#/")
        expect(page.get_by_role("heading", name="Earlier games")).to_be_visible()
        row = page.get_by_role("row").filter(has_text="broke a rule")
        assert cells_of(row) == listed
        again.screenshot("list-after-restart")
        found += again.accessibility_violations()
        again.expected_statuses.add(404)
        page = again.open(f"#/room/{room}")  # the bookmark of the room leads to its replay
        page.wait_for_url("**/#/replay/*")
        expect(page.locator(".end-text")).to_have_text(sentence)
        again.open("#/replays")
        assert cells_of(page.get_by_role("row").filter(has_text="broke a rule")) == listed
        page.goto(f"{server.url}/no/such/page")
        expect(page.get_by_role("heading")).to_have_text("There is no such address here.")
        found += again.accessibility_violations()
        again.screenshot("wrong-address")
        page.get_by_role("link", name="To the games").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Current games")
        page.goto("about:blank")
    assert found == []


def test_a_move_is_seen_and_if_wanted_heard_except_with_reduced_motion(
    visit: Callable[..., Visit], served: Served
) -> None:
    for edition in ("blokus-2027", "hase-und-igel-2018"):
        (served.replays / f"effects_{edition}.xml").write_bytes(replay_of(edition, plies=8))

    def opened(motion: str, edition: str) -> Page:
        page = visit(reduced_motion=motion).page
        page.add_init_script(COUNT_SOUNDS + NEVER_END)
        page.goto(f"{served.url}/#/replay/effects_{edition}.xml/3")
        expect_ply(page, 3)
        return page

    def step(page: Page, key: str, ply: int) -> tuple[int, int]:
        """Return how many marks are fading in after this key, and how many sounds there were."""
        page.keyboard.press(key)
        expect_ply(page, ply)
        fading = "document.getAnimations().filter((each) => each.effect.target.closest('.board')).length"
        return int(page.evaluate(fading)), int(page.evaluate("window.sounds"))

    for edition in ("blokus-2027", "hase-und-igel-2018"):
        page = opened("no-preference", edition)
        marks, sounds = step(page, "ArrowRight", 4)
        assert (marks > 0, sounds) == (True, 0)  # the sound is off until somebody wants it
        switch = page.get_by_role("button", name="Sound for each move")
        switch.click()
        expect(switch).to_have_attribute("aria-pressed", "true")
        assert page.evaluate("window.sounds") == 1  # so one knows what it is like
        assert step(page, "ArrowLeft", 3) == (0, 1)
        assert step(page, "End", 8) == (0, 1)  # no move that somebody makes
        page.evaluate("performance.now = () => 1e9")  # two moves in a moment are one sound
        assert step(page, "Home", 0) == (0, 1)
        assert step(page, "ArrowRight", 1)[1] == 2
    still = opened("reduce", "blokus-2027")
    still.evaluate("localStorage.setItem('spielleiter.sound', 'on')")
    still.reload()
    expect_ply(still, 3)
    expect(still.get_by_role("button", name="Sound for each move")).to_be_hidden()
    assert step(still, "ArrowRight", 4) == (0, 0)


def test_a_match_tells_half_points_and_a_wide_table_scrolls_on_a_phone(visit: Callable[..., Visit]) -> None:
    numbers = {"points": 12, "games": 20, "wins": 8, "draws": 2, "losses": 10}
    lists = {
        "isKept": True,
        "replays": [],
        "matches": [{"name": "m", "players": ["Ann", "Ben"], "score": [3.5, 2.5], "planned": 6, "games": []}],
        "tournaments": [{"name": "cup", "table": [{"name": "Donaudampfschifffahrt", **numbers}], "matches": []}],
    }
    looking = visit(viewport={"width": 390, "height": 700})
    looking.page.route("**/api/replays", lambda route: route.fulfill(json=lists))
    page = looking.open("#/replays")
    expect(page.locator(".match-score")).to_have_text("Ann 3.5 : 2.5 Ben")
    table = page.get_by_role("region", name="cup")
    assert table.evaluate("(element) => element.scrollWidth > element.clientWidth")
    table.focus()
    expect(table).to_be_focused()  # so the arrow keys scroll it
    assert looking.accessibility_violations() == []
