"""What holds for every view: both languages, both themes, all widths, names for screen readers, no violation of axe."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from playwright.sync_api import Page, expect

from spielleiter.game.blokus.moves import BlokusMistake, SetMove
from spielleiter.server.editions import EDITIONS
from spielleiter.server.replay import encode_replay
from tests.viewer.browser.browsers import Visit
from tests.viewer.browser.served import Served
from tests.viewer.replay_files import played, refused_record, replay_of

pytestmark = pytest.mark.slow

LONG_NAME = "Donaudampfschifffahrtsgesellschaftskapitänsmützenprogramm2027"


@pytest.fixture(scope="module")
def replays(served: Served) -> dict[str, str]:
    """Replays of this server by what they show; the names are those of the addresses."""
    edition = EDITIONS["blokus-2027"]
    states = played(edition, seed=3, plies=12)
    first = next(iter(states[-1].generate_legal_moves()))
    assert isinstance(first, SetMove)
    everywhere = (replace(first, x=x, y=y) for x in range(20) for y in range(20))
    illegal = next(move for move in everywhere if states[-1].check(move) is BlokusMistake.OBSTRUCTED)
    files = {
        "game": encode_replay(
            edition.dialect, "room", refused_record(edition, states, illegal, names=(LONG_NAME, "Berta"))
        ),
        "track": replay_of("hase-und-igel-2018", plies=20),
        "fish": replay_of("piranhas-2026", plies=20),
        "river": replay_of("mississippi-queen-2024"),
    }
    for name, content in files.items():
        (served.replays / f"appearance_{name}.xml").write_bytes(content)
    return {name: f"#/replay/appearance_{name}.xml" for name in files}


def show(visit: Visit, view: str, replays: dict[str, str]) -> Page:
    """Go to a view, and wait until it is complete."""
    routes = {
        "rooms": "#/", "replays": "#/replays", "play": "#/play", "admin": "#/admin", "missing": "#/nothing",
        "game": f"{replays['game']}/12", "track": f"{replays['track']}/14",
        "fish": f"{replays['fish']}/14", "river": f"{replays['river']}/2",
    }  # fmt: skip
    page = visit.open(routes[view])
    page.locator("main h1").wait_for()
    expect(page.locator(".loading:visible")).to_have_count(0)
    if view in replays:
        page.locator(".chart-line").first.wait_for(state="attached")
    return page


def test_every_view_is_accessible_in_both_schemes_and_needs_no_horizontal_scroll_bar(
    visit: Callable[..., Visit], replays: dict[str, str]
) -> None:
    looking = visit(color_scheme="light", locale="de-DE")
    found: dict[str, list[str]] = {}
    too_wide: list[tuple[str, int]] = []
    for view in ("rooms", "replays", "play", "admin", "missing", "game", "track", "fish", "river"):
        page = show(looking, view, replays)
        if view == "rooms":  # the language is that of the system
            expect(page.get_by_role("heading", level=1)).to_have_text("Aktuelle Spiele")
            assert page.locator("html").get_attribute("lang") == "de"
        if view == "game":
            page.keyboard.press("l")
            page.locator(".marks .legal").first.wait_for(state="attached")
        looking.screenshot(f"{view}-light")
        found[view] = looking.accessibility_violations()
        if view in {"rooms", "play", *replays}:
            page.emulate_media(color_scheme="dark")
            looking.screenshot(f"{view}-dark")
            found[view] += looking.accessibility_violations("color-contrast")  # both schemes have the same elements
            page.emulate_media(color_scheme="light")
        for width in (360, 768, 1920, 1280):
            page.set_viewport_size({"width": width, "height": 740})
            if looking.width() > width:
                too_wide.append((view, width))
            if width == 360:
                looking.screenshot(f"{view}-{width}")
    assert (found, too_wide) == ({view: [] for view in found}, [])


def test_language_and_theme_are_the_chosen_ones_and_boards_are_told_without_sight(
    visit: Callable[..., Visit], replays: dict[str, str]
) -> None:
    looking = visit(locale="fr-FR", color_scheme="dark")  # neither of the two languages
    page = looking.open("")

    def background() -> int:
        color = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in color.removeprefix("rgb(").removesuffix(")").split(","))

    expect(page.get_by_role("heading", level=1)).to_have_text("Current games")
    assert (page.locator("html").get_attribute("lang"), background() < 150) == ("en", True)
    page.get_by_role("button", name="DE", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Aktuelle Spiele")
    expect(page.get_by_role("button", name="DE", exact=True)).to_be_focused()
    page.get_by_label("Farbschema").select_option("light")
    assert background() > 600
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Aktuelle Spiele")
    assert background() > 600
    looking.open(f"{replays['game']}/12")
    expect(page.locator(".state")).to_contain_text("Zug 12")
    page.get_by_role("button", name="EN", exact=True).click()
    expect(page.locator(".state")).to_contain_text("Move 12")
    # boards are told without sight, and colours without their hue
    board = page.get_by_role("table", name="Board")
    expect(board.get_by_role("row")).to_have_count(20)
    expect(board.get_by_role("cell")).to_have_count(400)
    labels = board.get_by_role("cell").evaluate_all("(cells) => cells.map((cell) => cell.getAttribute('aria-label'))")
    assert labels[0].startswith("(0, 0): ")
    assert {label.rpartition(": ")[2] for label in labels} == {"Blue", "Yellow", "Red", "Green", "empty"}
    expect(page.get_by_role("list", name="Remaining pieces of Blue")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Move 12: ")).to_have_count(1)
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("status").filter(has_text="Move 11: ")).to_have_count(1)
    fills = page.locator(".cell:not(.empty)").evaluate_all(
        "(cells) => Object.fromEntries(cells.map((cell) => [cell.dataset.color, cell.getAttribute('fill')]))"
    )
    assert fills == {color: f"url(#pattern-{color})" for color in ("BLUE", "YELLOW", "RED", "GREEN")}
    shapes = {
        page.locator(f"#pattern-{color} .mark-fill, #pattern-{color} .mark-line").evaluate(
            "(mark) => `${mark.tagName} ${mark.getAttribute('d')}`"
        )
        for color in fills
    }
    assert len(shapes) == 4
    track = show(looking, "track", replays).get_by_role("list", name="Track")
    expect(track.get_by_role("listitem")).to_have_count(65)
    expect(track.get_by_role("listitem").first).to_have_attribute("aria-label", "field 0: start")
