"""A real Chromium, without a window, for the tests of the page.

Invariants: the browser is the one that is installed; nothing is downloaded. A page sends requests to its own address
only, reports no errors, and is not wider than its window; `Visit.close` checks that at the end of every test.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect, sync_playwright

from tests.timeouts import HANG_TIMEOUT

# the first takes half the processor time of the others
_NAMES: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
_OPTIONS: Final = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
AXE: Final = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
SCREENSHOTS: Final = os.environ.get("SCREENSHOTS", "")
"""The folder for pictures of the pages, for a person to look at. Without one there are none, since each takes time."""
_MILLISECONDS: Final = float(os.environ.get("BROWSER_TIMEOUT", HANG_TIMEOUT)) * 1000
"""How long to wait for what a page should show. The variable is for those who write a test that still fails."""

OFFICIAL: Final = Path(__file__).parent / "official"
"""Replays that the official server has written, one of each season."""


def find_chromium() -> str | None:
    """Return the path of an installed Chromium; CHROMIUM names another one."""
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def started_browser() -> Iterator[Browser]:
    """Start Chromium, and stop it in the end. Skips the test if there is none."""
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("Chromium is missing (install it, or set CHROMIUM)")
    expect.set_options(timeout=_MILLISECONDS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=_OPTIONS, timeout=_MILLISECONDS)
        yield browser
        browser.close()


@dataclass
class Visit:
    """A person's visit at `base`: one page in a browser of its own."""

    base: str
    context: BrowserContext
    page: Page
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    expected_statuses: set[int] = field(default_factory=set)
    """Statuses of refusals that the test causes on purpose; the browser reports them as errors."""

    def __post_init__(self) -> None:
        self.page.set_default_timeout(_MILLISECONDS)
        self.page.on("request", self._note_request)
        self.page.on("pageerror", lambda error: self.problems.append(f"{error}"))
        self.page.on("console", self._note_message)
        self.page.on("dialog", self._note_dialog)

    def _note_request(self, request: Request) -> None:
        self.requests.append(request.url)

    def _note_message(self, message: Any) -> None:
        if message.type not in {"error", "warning"}:
            return
        if any(f"status of {status} " in message.text for status in self.expected_statuses):
            return
        self.problems.append(f"{message.text} ({message.location.get('url')})")

    def _note_dialog(self, dialog: Any) -> None:
        # what a hostile name or hint would open; a test that expects a question has a listener of its own
        if dialog.type == "alert":
            self.problems.append(f"a dialog opened: {dialog.message}")
        dialog.accept()

    def open(self, route: str) -> Page:
        """Go to an address of the page, such as ``#/replays``."""
        self.page.goto(f"{self.base}{route}")
        return self.page

    def screenshot(self, name: str) -> None:
        """Keep a picture of the whole page if somebody wants to see it."""
        if SCREENSHOTS:
            self.page.screenshot(path=Path(SCREENSHOTS, f"{name}.png"), full_page=True)

    def width(self) -> int:
        """The width of the content; more than that of the window would need a horizontal scroll bar."""
        return int(self.page.evaluate("document.documentElement.scrollWidth"))

    def accessibility_violations(self, *rules: str) -> list[str]:
        """Return what axe-core finds wrong with the page, by default under all of its rules.

        Skips the test if axe-core is not installed.
        """
        if not AXE.exists():
            pytest.skip("axe-core is missing (npm ci --prefix tests/viewer/browser)")
        if not self.page.evaluate("'axe' in window"):
            # in the page's own world: its policy allows no further script
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
        found = self.page.evaluate("(options) => axe.run(document, options)", options)
        return [
            f"{rule['id']}: {rule['help']} – {node['html'][:150]} – {node['failureSummary'][:300]}"
            for rule in found["violations"]
            for node in rule["nodes"]
        ]

    def close(self) -> None:
        """Close the page, and check what holds for every visit."""
        size = self.page.viewport_size
        width = self.width() if self.page.url.startswith(("http", "file")) else 0
        self.context.close()
        assert self.problems == []
        assert [url for url in self.requests if not url.startswith((self.base, "data:", "blob:"))] == []
        assert size is not None
        assert width <= size["width"]


def cells_on(page: Page) -> str:
    """Return the board of Blokus as a person sees it: row by row a dot or the first letter of a colour."""
    return str(
        page.evaluate("[...document.querySelectorAll('.cell')].map((cell) => cell.dataset.color[0] ?? '.').join('')")
    )


def ply_on(page: Page) -> int:
    """Return the ply that the page shows."""
    return int(page.locator(".game").get_attribute("data-ply") or -1)


def expect_ply(page: Page, ply: int) -> None:
    """Wait until the page shows this ply."""
    expect(page.locator(".game")).to_have_attribute("data-ply", str(ply))
