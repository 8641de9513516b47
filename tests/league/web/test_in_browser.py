"""The pages of a league in a real browser: a first quarter of an hour, on a phone, a desktop and a beamer."""

from __future__ import annotations

import random
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect

from spielleiter.league.accounts import new_setup_code
from spielleiter.league.model import Fault, RatingOfDay
from spielleiter.league.rating_history import save_ratings
from spielleiter.league.settings import change_settings
from spielleiter.league.versions import finish_check, list_versions
from tests.league.leagues import League
from tests.league.web.served import ServedLeague, served_league
from tests.league.web.sites import PASSWORD
from tests.viewer.browser.browsers import Visit, started_browser
from tests.viewer.replay_files import replay_of

pytestmark = pytest.mark.extended

NAMES = ["Ada und Grace", "Alan", "Barbara L.", "Team Röntgen", "Die Unbesiegbaren aus der letzten Reihe", "Linus"]
SIZES = {"phone": (390, 844), "desktop": (1280, 800)}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as started:
        yield started


@pytest.fixture
def served(league: League) -> Iterator[ServedLeague]:
    with served_league(league, now=time.time) as served:
        yield served


@pytest.fixture
def visit(browser: Browser, served: ServedLeague) -> Iterator[Callable[..., Visit]]:
    """A function that opens a browser window of its own."""
    visits: list[Visit] = []

    def start(**settings: Any) -> Visit:
        usual = {"viewport": {"width": 1280, "height": 800}, "locale": "de-DE", "reduced_motion": "reduce"}
        context = browser.new_context(**{**usual, **settings})
        visits.append(Visit(f"{served.url}/", context, context.new_page()))
        return visits[-1]

    yield start
    for each in visits:
        each.close()


def look(visit: Visit, name: str) -> None:
    """Check the page that is open at the size of a phone and of a desktop, with pictures for a person."""
    for size, (width, height) in SIZES.items():
        visit.page.set_viewport_size({"width": width, "height": height})
        visit.screenshot(f"league-{name}-{size}")
        assert visit.width() <= width, f"{name} is wider than a {size}"
        assert visit.accessibility_violations() == [], name
    visit.page.emulate_media(color_scheme="dark")
    assert visit.accessibility_violations("color-contrast") == [], name
    visit.page.emulate_media(color_scheme="light")


def make_season(league: League) -> None:
    """Let the teams play for some days."""
    chance = random.Random(1)
    versions = [league.accept(team) for team in range(1, len(NAMES))]
    replay = replay_of("blokus-2027", plies=12)
    for _ in range(40):
        first, second = chance.sample(versions, 2)
        pair = league.open_pair(first, second)
        for number in (1, 2):
            winner = 0 if chance.random() < 0.3 + 0.1 * (second.id - first.id + 4) / 2 else 1
            points = (chance.randint(40, 89), chance.randint(40, 89))
            league.play(pair, number, winner, points1=max(points), points2=min(points), plies=12, replay=replay,
                        seconds=9.5, stderr1=b"depth 4\n", stderr2=b"Traceback: ...\n")  # fmt: skip
    pair = league.open_pair(versions[0], versions[1])
    fault = {"verdict": "crash", "offender": 0, "reason_de": "Das Programm ist mit Exit-Code 1 abgestürzt.",
             "reason_en": "The program crashed with exit code 1."}  # fmt: skip
    league.play(
        pair,
        1,
        1,
        replay=replay,
        stderr1=b"Traceback (most recent call last):\n  File \"bot.py\"\nKeyError: 'x'\n",
        **fault,
    )
    ratings = [1200.0 + 15 * day + chance.uniform(-20, 20) for day in range(1, 12)]
    days = [
        RatingOfDay(versions[0].id, f"2027-01-{day:02}", rating, rating - 90 + day, rating + 90 - 3 * day, 8 * day)
        for day, rating in enumerate(ratings, 1)
    ]
    league(save_ratings, days)


def test_the_first_quarter_of_an_hour(served: ServedLeague, visit: Callable[..., Visit], tmp_path: Path) -> None:
    teacher = visit()
    page = teacher.open("")
    look(teacher, "setup")
    page.get_by_label("Code aus dem Fenster").fill(served.league(new_setup_code) or "")
    page.get_by_label("Passwort für die Lehrkraft").fill(PASSWORD)
    page.get_by_label("Name der Liga").fill("Liga der 10b")
    page.get_by_label("Namen der Schüler").fill("\n".join(NAMES))
    page.get_by_role("button", name="Liga anlegen").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Codes zum Ausdrucken")
    codes = page.locator(".sheet code").all_inner_texts()
    assert len(codes) == len(NAMES)
    look(teacher, "sheet")
    page.get_by_role("link", name="Weiter zu den Teams").click()
    look(teacher, "teams")
    page.get_by_role("link", name="Übersicht").click()
    look(teacher, "control")

    pupil = visit()
    page = pupil.open("")
    look(pupil, "login")
    page.get_by_label("Code vom Zettel").fill(codes[0])
    page.get_by_role("button", name="Anmelden").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(NAMES[0])
    page.get_by_role("link", name="Hochladen", exact=True).click()
    look(pupil, "upload")
    page.get_by_role("button", name="Hochladen").click()
    expect(page.get_by_role("alert")).to_have_text("Wähle zuerst eine ZIP-Datei.")
    with zipfile.ZipFile(tmp_path / "bot.zip", "w") as archive:
        archive.writestr("start.sh", "#!/bin/sh\nexec python3 bot.py\n")
    page.locator("input[type=file]").set_input_files(tmp_path / "bot.zip")
    page.get_by_role("button", name="Hochladen").click()
    expect(page.locator(".verdict")).to_contain_text("Platz 1 in der Schlange")
    look(pupil, "waiting")
    # what the check finds appears by itself
    (version,) = served.league(list_versions, 1)
    fault = Fault(
        "no-start", "Das Programm startet nicht: bot.py fehlt in der ZIP-Datei; packe es mit ein.", "no bot.py"
    )
    served.league(finish_check, version.id, fault, time.time())
    served.wake()
    expect(page.locator(".verdict")).to_have_text("Abgelehnt.")
    expect(page.locator(".error")).to_contain_text("packe es mit ein")
    look(pupil, "refused")


def test_an_upload_whose_answer_is_lost_is_sent_again_and_is_one_version(
    served: ServedLeague, visit: Callable[..., Visit], tmp_path: Path
) -> None:
    league = served.league
    league.add_team(NAMES[0])
    league(lambda db: change_settings(db, name="Liga der 10b", edition="blokus-2027", teacher_password_hash="none"))
    pupil = visit()
    page = pupil.open("login")
    page.get_by_label("Code vom Zettel").fill(league.codes[NAMES[0]])
    page.get_by_role("button", name="Anmelden").first.click()
    page.get_by_role("link", name="Hochladen", exact=True).click()
    lost: list[str] = []

    def lose_the_first_answer(route: Route) -> None:
        answer = route.fetch()
        if lost:
            route.fulfill(response=answer)
        else:
            lost.append(answer.text())
            route.abort()

    page.route("**/upload?*", lose_the_first_answer)
    (tmp_path / "bot.zip").write_bytes(b"PK")
    page.locator("input[type=file]").set_input_files(tmp_path / "bot.zip")
    page.get_by_role("button", name="Hochladen").click()
    expect(page.locator(".verdict")).to_contain_text("Platz 1 in der Schlange")
    assert len(lost) == 1
    [problem] = pupil.problems  # the browser's own line about the lost answer
    assert "ERR_FAILED" in problem
    pupil.problems.clear()
    assert len(league(list_versions, 1)) == 1


def test_pages_of_a_league_that_has_played(served: ServedLeague, visit: Callable[..., Visit]) -> None:
    league = served.league
    for name in NAMES:
        league.add_team(name)
    make_season(league)
    league(lambda db: change_settings(db, name="Liga der 10b", edition="blokus-2027", teacher_password_hash="none"))
    pupil = visit()
    page = pupil.open("login")
    page.get_by_label("Code vom Zettel").fill(league.codes[NAMES[0]])
    page.get_by_role("button", name="Anmelden").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(NAMES[0])
    look(pupil, "own-team")
    page.get_by_role("link", name="Tabelle").click()
    expect(page.locator("tr.is-own")).to_contain_text(NAMES[0])
    look(pupil, "table")
    page.get_by_role("link", name="Spiele", exact=True).click()
    look(pupil, "games")
    page.goto(f"{served.url}/games/81")
    expect(page.locator(".stderr")).to_contain_text("KeyError")
    board = page.frame_locator("iframe.viewer").locator(".board-frame svg")
    expect(board).to_be_visible()
    expect(page.frame_locator("iframe.viewer").locator("header.site")).to_be_hidden()
    look(pupil, "game")
    page.goto(f"{served.url}/teams/2")
    look(pupil, "other-team")
    page.get_by_role("button", name="Herausfordern").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Die Herausforderung steht")
    page.get_by_role("link", name="EN", exact=True).click()
    page.goto(f"{served.url}/")
    expect(page.get_by_role("link", name="Table")).to_be_visible()
    page.get_by_role("link", name="Live").click()
    expect(page.locator("a.brand")).to_have_text("← Liga der 10b")
    page.locator("a.brand").click()
    expect(page).to_have_url(f"{served.url}/")


def test_the_big_screen_shows_its_scenes_in_turn(served: ServedLeague, visit: Callable[..., Visit]) -> None:
    league = served.league
    for name in NAMES:
        league.add_team(name)
    make_season(league)
    league(lambda db: change_settings(db, name="Liga der 10b", edition="blokus-2027", spectator_token="fern",
                                      teacher_password_hash="none"))  # fmt: skip
    spectator = visit(viewport={"width": 1920, "height": 1080})
    spectator.page.clock.install()
    page = spectator.open("watch/fern")
    page.get_by_role("link", name="Beamer").click()
    expect(page.locator("#scene-table")).to_be_visible()
    spectator.screenshot("league-beamer-table")
    assert spectator.accessibility_violations() == []
    page.clock.fast_forward(21_000)
    expect(page.locator("#scene-live")).to_be_visible()
    expect(page.locator("#scene-table")).to_be_hidden()
    spectator.screenshot("league-beamer-live")
    page.clock.fast_forward(21_000)
    expect(page.locator("#scene-table")).to_be_visible()
    page.get_by_role("button", name="Spiele").click()
    page.clock.fast_forward(60_000)
    expect(page.locator("#scene-live")).to_be_visible()
    expect(page.frame_locator("#scene-live iframe").locator(".beamer")).to_be_visible()
