"""Replays for the tests of the page: official games, how a person opens a file, and the page that holds one game."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Page, expect

from spielleiter.viewer.game_json import Details, describe_game
from spielleiter.viewer.page import render_page
from spielleiter.viewer.replay_files import read_replay

OFFICIAL: Final = Path(__file__).parent / "official"
"""Replays that the official server has written, one of each season."""


def game_in(content: bytes, details: Details | None = None) -> dict[str, Any]:
    return describe_game(read_replay(content, "game.xml"), details or Details())


def export(folder: Path, game: dict[str, Any]) -> Path:
    """Write the page that holds this game."""
    path = folder / "Spiel für später.html"
    path.write_bytes(render_page({"title": "A game", **game}))
    return path


def drop(page: Page, content: bytes, name: str = "game.xml") -> None:
    """Drop a file onto the page."""
    transfer = page.evaluate_handle(
        """([data, name]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([Uint8Array.from(atob(data), (char) => char.charCodeAt(0))], name));
            return transfer;
        }""",
        [base64.b64encode(content).decode(), name],
    )
    page.dispatch_event("main", "dragenter", {"dataTransfer": transfer})
    expect(page.locator(".drop-overlay")).to_be_visible()
    page.dispatch_event("main", "drop", {"dataTransfer": transfer})


def choose(page: Page, content: bytes, button: str, *, by_key: bool = False) -> None:
    """Choose a file in the browser's own dialog, which a click or the Enter key opens."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=button).press("Enter") if by_key else page.get_by_role(
            "button", name=button
        ).click()
    assert not chooser.value.is_multiple()
    chooser.value.set_files({"name": "Spiel 1.xml.gz", "mimeType": "application/gzip", "buffer": content})
