"""What programs think, on the pages of a running match and on the page of its replay."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import expect

from tests.interpreter import PYTHON
from tests.match.refereed import write_late_replay
from tests.timeouts import HANG_TIMEOUT
from tests.viewer.browser.browsers import Visit

pytestmark = pytest.mark.slow

HOSTILE: Final = "<img src=x onerror=alert(5)>\u202e"
BOT: Final = f"""
import argparse, json, sys, time
from pathlib import Path
from spielleiter.client.blocking import play_game

answers = 0

def think(**parts):
    print(json.dumps({{"thinking": 1, **parts}}), file=sys.stderr, flush=True)

def choose(state):
    global answers
    print("ordinary output", file=sys.stderr)
    think(value=50 - 30 * answers, text={HOSTILE!r}, numbers={{"depth": 3, "<b>": float("nan")}}, turn=state.turn,
          cells=[[3, 4, 1], [5, 6, 0.25], [7, 8, -0.5], [9, 9, -1.5e-300], [99, 99, 9]],
          moves=[{{"text": "<i>first</i>", "value": 2.5, "cells": [[3, 4], [4, 4]]}}, {{"value": 1e15}}])
    while not Path("go").exists():
        time.sleep(0.05)
    answers += 1
    return next(iter(state.generate_legal_moves()))

parser = argparse.ArgumentParser(add_help=False)
for option in ("-h", "-p", "-r"):
    parser.add_argument(option)
options = parser.parse_args()
play_game(choose, host=options.h, port=int(options.p), reservation_code=options.r)
"""
"""A program that says what it thinks, and waits with its first move for the file `go`."""


@contextmanager
def watched_match(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a match of that program whose pages are served; give its process and the address of the pages."""
    (folder / "bot.py").write_text(BOT, encoding="utf-8")
    command = [sys.executable, "-m", "spielleiter", "match", "--live", "--no-browser", "--no-timeout", "-n", "1"]
    command += ["--player1", f"{PYTHON} bot.py", "--player2", "builtin:first", "--out", "out"]
    command += ["--book", str(write_late_replay(folder))]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    ) as match:
        assert match.stderr is not None
        try:
            yield match, next(line.split()[0] for line in match.stderr if " shows the running games" in line)
        finally:
            match.kill()


def test_what_a_program_thinks_is_shown_while_it_thinks_and_in_the_replay(
    visit: Callable[..., Visit], tmp_path: Path
) -> None:
    with watched_match(tmp_path) as (match, url):
        live = visit(url)
        page = live.open("#/")
        page.get_by_role("link", name="bot").click()
        panel = page.locator(".thinking")
        expect(panel).to_contain_text("bot about move 1, which is not played yet")
        expect(panel.locator(".thought-value")).to_have_text("Value: 50")
        expect(panel.locator(".thought-texts li")).to_have_text("<img src=x onerror=alert(5)>\\u202e")
        expect(panel.locator(".thought-numbers > div")).to_have_text(["depth3"])
        expect(panel.locator(".thought-cells")).to_have_text(
            "Marked most: (99, 99): 9 · (3, 4): 1 · (7, 8): -0.5 · (5, 6): 0.25 · (9, 9): -1.5E-300"
        )
        expect(panel.locator(".thought-moves li")).to_have_text(["<i>first</i>: 2.5", "Move 2: 1000T"])
        expect(page.locator(".thought-mark")).to_have_count(4)
        expect(page.locator(".thought-mark.is-negative")).to_have_count(2)
        weights = page.locator(".thought-weight")
        expect(weights).to_have_text(["1", "0.25", "-0.5", "-1.5E-300"])
        widths = weights.evaluate_all("weights => weights.map((weight) => weight.getBBox().width)")
        assert all(0 < width <= 1 for width in widths), "each is as wide as its cell at most"
        panel.get_by_role("button", name="<i>first</i>: 2.5").click()
        expect(page.locator(".candidate")).to_have_count(2)
        panel.get_by_role("button", name="Marks").click()
        expect(page.locator(".thought-mark")).to_have_count(0)
        expect(page.get_by_role("link", name="Games")).to_be_visible()
        expect(page.get_by_role("link", name="Administration")).to_be_hidden()
        expect(page.get_by_role("link", name="Play on from here")).to_be_hidden()
        live.screenshot("thinking-live")
        assert live.accessibility_violations() == []
        page.goto("about:blank")  # a page whose server ends reports that as an error
        (tmp_path / "go").touch()
        assert match.wait(HANG_TIMEOUT) == 0

    (replay,) = (tmp_path / "out" / "games").glob("*/replay.html")
    shown = visit(tmp_path.as_uri(), viewport={"width": 390, "height": 844})
    address = replay.as_uri().removeprefix(tmp_path.as_uri())
    page = shown.open(f"{address}#/replay/*/0")
    panel = page.locator(".thinking")
    expect(panel).to_contain_text("The program has said nothing about this move.")
    expect(panel.get_by_role("button", name="Marks")).to_be_hidden()
    page = shown.open(f"{address}#/replay/*/1")
    expect(panel).to_contain_text("bot about move 1")
    expect(page.get_by_text("ordinary output")).to_be_visible()
    expect(page.locator(".thought-mark")).to_have_count(4)
    jump = panel.get_by_role("button", name="Next such move")
    jump.click()
    expect(panel.locator(".thought-value")).to_have_text("Value: 20 · ▼ 30 since its move before")
    panel.get_by_label("By how much the value falls at least").fill("30")
    jump.click()
    expect(panel.get_by_text("No move whose value falls by more than 30.")).to_be_visible()
    expect(page.get_by_role("img", name="Value, as the programs see it")).to_be_visible()
    shown.screenshot("thinking-replay")
    assert shown.accessibility_violations() == []
