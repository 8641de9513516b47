"""Moves that would have been better, drawn on the board at their ply, in a page that holds an estimate."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from spielleiter.viewer.analysis.estimate import Moment
from spielleiter.viewer.analysis.report import METHOD, describe_moments
from spielleiter.viewer.positions.describe import view_of
from spielleiter.viewer.replays.game import describe_game, distinct_positions
from spielleiter.viewer.replays.reading import read_replay
from tests.viewer.browser.browsers import Visit, cells_on, expect_ply
from tests.viewer.browser.replay_pages import OFFICIAL, export
from tests.viewer.replay_files import replay_of

pytestmark = pytest.mark.slow


def with_estimate(content: bytes, ply: int, index: int) -> dict[str, Any]:
    """Return a game with an estimate: instead of its move `ply`, the legal move `index` would have been better."""
    replay = read_replay(content, "game.xml")
    states = [memento.state for memento in distinct_positions(replay.record)]
    before, played = states[ply - 1], getattr(states[ply], "last_move", None)
    better = list(before.generate_legal_moves())[index]
    assert better != played
    moments = describe_moments([Moment(ply, before.seat_on_turn, 7.5, played, better)], states)
    return {**describe_game(replay), "analysis": {"moments": moments, "method": METHOD}}


def test_a_better_move_is_drawn_at_its_ply(visit: Callable[..., Visit], tmp_path: Path) -> None:
    game = with_estimate(replay_of("blokus-2027", plies=20), 9, -1)
    better = game["analysis"]["moments"][0]["better"]["cells"]
    watching = visit(base=export(tmp_path, game).as_uri(), locale="de-DE")
    page = watching.open("#/replay/x/8")
    expect_ply(page, 8)
    expect(page.locator(".better-cell")).to_have_count(0)
    expect(page.locator(".better-text")).to_be_hidden()
    page.get_by_role("link", name="Zug 9").click()
    expect_ply(page, 9)
    drawn = page.locator(".better-cell").evaluate_all(
        "(cells) => cells.map((cell) => [Number(cell.dataset.x), Number(cell.dataset.y)])"
    )
    assert sorted(drawn) == sorted(better)
    expect(page.locator(".better-tick")).to_have_count(len(better))  # seen without colours
    expect(page.locator(".better-text")).to_contain_text(f"legt {game['analysis']['moments'][0]['better']['piece']}")
    expect(page.get_by_role("status").filter(has_text="Zug 9: ")).to_contain_text("besser wäre: ")
    marked = page.locator(".cell[aria-label$='besserer Zug']").evaluate_all(
        "(cells) => cells.map((cell) => [Number(cell.dataset.x), Number(cell.dataset.y)])"
    )
    assert sorted(marked) == sorted(better)
    assert cells_on(page) == game["positions"][9]["board"]["cells"]  # the board itself is that of the game
    watching.screenshot("better-move-blokus")
    assert watching.accessibility_violations() == []
    page.keyboard.press("ArrowRight")
    expect(page.locator(".better-cell, .cell[aria-label$='besserer Zug']")).to_have_count(0)


@pytest.mark.parametrize("moves_on", [True, False], ids=["to another field", "on its field"])
def test_a_better_move_on_the_track_is_a_pawn_with_a_tick(
    moves_on: bool, visit: Callable[..., Visit], tmp_path: Path
) -> None:
    content = gzip.decompress((OFFICIAL / "2018.xml.gz").read_bytes())
    states = [memento.state for memento in distinct_positions(read_replay(content, "game.xml").record)]
    ply, index = next(
        (ply, index)
        for ply, before in enumerate(states[:-1], 1)
        for index, move in enumerate(before.generate_legal_moves())
        if move != getattr(states[ply], "last_move", None)
        if (view_of(before).move(before, move)["field"] is not None) == moves_on
    )
    game = with_estimate(content, ply, index)
    better = game["analysis"]["moments"][0]["better"]["field"]
    player = game["positions"][ply - 1]["sideToMove"]["player"]
    field = better if moves_on else game["positions"][ply - 1]["players"][player]["field"]
    watching = visit(base=export(tmp_path, game).as_uri())
    page = watching.open(f"#/replay/x/{ply}")
    expect_ply(page, ply)
    expect(page.locator(".better-pawn")).to_have_count(1)
    expect(page.locator(".better-pawn .better-tick")).to_have_count(1)
    expect(page.locator(".field[aria-label$='better move']")).to_have_attribute("data-field", str(field))
    expect(page.locator(".better-text")).to_contain_text("This would have been better")
    watching.screenshot(f"better-move-track-{'on' if moves_on else 'same'}")
    assert watching.accessibility_violations() == []
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".better-pawn, .field[aria-label$='better move']")).to_have_count(0)
