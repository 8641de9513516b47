"""The pages of a league in a real browser: a first quarter of an hour, on a phone, a desktop and a beamer."""

from __future__ import annotations

import itertools
import random
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Route, expect
from starlette import routing

from spielleiter.league.accounts import begin_session, new_setup_code
from spielleiter.league.errors import LeagueDiskError
from spielleiter.league.games import list_pairs, missing_games
from spielleiter.league.helper_code import new_secret, secret_hash
from spielleiter.league.helpers import add_helper
from spielleiter.league.log import LEAGUE, add_message
from spielleiter.league.model import Fault, FinalKind, PairingResult, RatingOfDay, Role
from spielleiter.league.rating_history import save_ratings
from spielleiter.league.settings import change_settings
from spielleiter.league.stages import begin_final, continue_final, freeze
from spielleiter.league.static_pages import write_static_pages
from spielleiter.league.teams import pause_team
from spielleiter.league.versions import finish_check, list_versions, pause_version, withdraw_version
from spielleiter.league.web.keeping import KeptFile
from spielleiter.league.web.visits import FORM_BYTES
from tests.league.leagues import League
from tests.league.web.served import ServedLeague, served_league
from tests.league.web.sites import PASSWORD, FailingDatabase, failing_database
from tests.viewer.browser.browsers import SCREENSHOTS, Visit, started_browser
from tests.viewer.replay_files import replay_of

pytestmark = pytest.mark.extended

NAMES = ["Ada und Grace", "Alan", "Barbara L.", "Team Röntgen", "Die Unbesiegbaren aus der letzten Reihe", "Linus"]
SIZES = {"phone": (390, 844), "desktop": (1280, 800), "beamer": (1920, 1080)}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as started:
        yield started


@pytest.fixture
def database(league: League) -> Iterator[FailingDatabase]:
    with failing_database(league) as database:
        yield database


@pytest.fixture
def served(database: FailingDatabase) -> Iterator[ServedLeague]:
    with served_league(League(database), now=time.time) as served:
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
    """Check the page that is open at the size of a phone, a desktop and a beamer, with pictures for a person."""
    visit.page.wait_for_load_state()  # with its style sheets
    for size, (width, height) in SIZES.items():
        visit.page.set_viewport_size({"width": width, "height": height})
        assert visit.width() <= width, f"{name} is wider than a {size}"
        if size != "beamer":  # the page is that of a desktop, only larger
            assert visit.accessibility_violations() == [], name
        for scheme in ("dark", "light") if SCREENSHOTS else ():
            visit.page.emulate_media(color_scheme=scheme)
            visit.screenshot(f"league-{name}-{size}-{scheme}")
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
    expect(page.get_by_role("link", name="Neue Version hochladen")).to_be_visible()
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


# -- every page -----------------------------------------------------------------------------------------------------

ODD_NAMES = [
    "W" * 40,
    "Übergrößenträgerärgernisschlüssellöcherß",
    "פינגווינים של ירושלים וחיפה",
    '<i>kursiv</i> & "Co"',
    *(f"Team {number}" for number in range(5, 41)),
]
PAGES = {
    "/": [("teacher", "/"), ("team", "/")],
    "/games": [("team", "/games"), ("spectator", "/games?team=1"), ("team", "/games?team=40")],
    "/games/{game:number}": [
        ("team", "/games/1"),
        ("team", "/games/2"),
        ("teacher", "/games/3"),
        ("spectator", "/games/4"),
    ],
    "/teams/{team:number}": [
        ("team", "/teams/1"),
        ("team", "/teams/2"),
        ("teacher", "/teams/1"),
        ("newcomer", "/teams/40"),
    ],
    "/final": [("team", "/final")],
    "/beamer": [("teacher", "/beamer")],
    "/login": [("nobody", "/login")],
    "/upload": [("team", "/upload")],
    "/versions/{version:number}": [("team", f"/versions/{number}") for number in (1, 40, 41, 42)],
    "/teacher": [("teacher", "/teacher")],
    "/teacher/teams": [("teacher", "/teacher/teams")],
    "/teacher/settings": [("teacher", "/teacher/settings")],
    "/teacher/helpers": [("teacher", "/teacher/helpers")],
    "/teacher/log": [("teacher", "/teacher/log")],
    "/teacher/keep": [("teacher", "/teacher/keep")],
    "/viewer": [("team", "/viewer/")],
}
"""Who looks at each page, and where."""
NO_PAGES = {
    "/static", "/teacher/keep/file", "/games/{game:number}/stderr/{side:number}", "/api/changes",
    "/api/versions/{version:number}", "/watch/{token}", "/language/{language}",
}  # fmt: skip
ELSEWHERE = {"/setup"}
"""Another test looks at it."""


@pytest.fixture
def full(served: ServedLeague) -> ServedLeague:
    """A league of forty teams with odd names, large numbers, and versions and games of every kind."""
    league, now = served.league, time.time()
    for name in ODD_NAMES:
        league.add_team(name)
    league(lambda db: change_settings(db, name="Liga der 10b", edition="blokus-2027", teacher_password_hash="none",
                                      is_open_to_network=True, uses_helpers=True))  # fmt: skip
    versions = [league.accept(team) for team in range(1, 40)]
    refused, waiting, withdrawn = (league.upload(1) for _ in range(3))
    fault = Fault("no-start", "Das Programm startet nicht: " + "sehr/" * 30 + "bot.py fehlt.", "It does not start.")
    league(finish_check, refused.id, fault, now)
    league(finish_check, withdrawn.id, None, now)
    league(withdraw_version, withdrawn.id, fault, now, by=LEAGUE)
    assert waiting.state == "waiting"
    replay = replay_of("blokus-2027", plies=12)
    pair = league.open_pair(versions[0], versions[1])
    texts = {"reason_de": "Das Programm ist mit Exit-Code 1 abgestürzt.", "reason_en": "It crashed."}
    long = b"Traceback (most recent call last):\n" + b"x" * 400 + b"\n"
    league.play(pair, 1, 0, points1=12345, points2=60, plies=90, seconds=9.5, replay=replay, stderr1=b"depth 4\n")
    league.play(pair, 2, 1, verdict="crash", offender=0, replay=replay, stderr1=long, stderr2=long, **texts)
    pair = league.open_pair(versions[2], versions[3], purpose="challenge")
    league.play(pair, 1, 1, verdict="timeout", offender=0, machine1="Raum 12, Platz 3", **texts)
    league.play(pair, 2, None, points1=5, points2=5)
    chance = random.Random(2)
    for first, second in itertools.pairwise(versions):
        wins, draws, losses = chance.randint(3000, 6000), chance.randint(0, 40), chance.randint(3000, 6000)
        pairs = (wins + draws + losses) // 2
        served.pages.director.further_results.append(
            PairingResult(first.id, second.id, (pairs // 3, 0, pairs // 3, 0, pairs // 3), (0, 0, 0), wins, draws,
                          losses, chance.randint(0, 99), 0, 80 * wins, 80 * losses))  # fmt: skip
    dates = [f"2027-01-{day:02}" for day in range(1, 31)]
    league(save_ratings, [RatingOfDay(versions[0].id, date, 1000.0, 900.0, 1300.0, 5) for date in dates])
    league(pause_version, versions[5].id, "Fünf Fehler hintereinander: " + "x" * 60, now, by=LEAGUE)
    league(pause_team, 8, "Ferien", now)
    league(add_helper, "Raum 12, Platz 3", secret_hash(new_secret()), now)
    league(add_message, "Morgen ist Finale!\nSeht nach unter: https://liga.schule.example/" + "x" * 60, now)
    return served


FILES: Final = {
    "none": None,
    "working": KeptFile("backup", "2027-01-31", share=0.42),
    "done": KeptFile("export", "2027-01-31", path=Path("export"), size=123_456_789),
    "disk": KeptFile("export", "2027-01-31", problem="/home/x/liga: no space left on device; is the disk full?"),
    "bug": KeptFile("backup", "2027-01-31", problem="ZeroDivisionError('division by zero')", is_bug=True),
}
"""The files that the teacher's page of backups can show."""
REFUSALS: Final[dict[int, Exception | None]] = {
    413: None,
    500: ZeroDivisionError(),
    507: LeagueDiskError("the disk is full"),
}
"""What fails for each status of a refused form; nothing for one that is too large."""


def in_both_languages(window: Visit, full: ServedLeague, open_page: Callable[[], object], name: str) -> None:
    """Look at a page in German and in English."""
    for language in ("en", "de"):
        window.page.goto(f"{full.url}/language/{language}")
        open_page()
        assert window.page.locator("html").get_attribute("lang") == language
        look(window, f"{name}-{language}")


@pytest.mark.parametrize("state", FILES)
def test_each_state_of_a_backup_can_be_read_by_everybody(
    full: ServedLeague, enter: Callable[[str], Visit], state: str
) -> None:
    teacher = enter("teacher")
    full.pages.site.keeping.file = FILES[state]
    in_both_languages(teacher, full, lambda: teacher.open("teacher/keep"), f"keep-{state}")


@pytest.mark.parametrize("status", REFUSALS)
def test_each_refusal_of_a_form_can_be_read_by_everybody(
    full: ServedLeague, database: FailingDatabase, enter: Callable[[str], Visit], status: int
) -> None:
    teacher = enter("teacher")
    teacher.expected_statuses.add(status)

    def send() -> None:
        page = teacher.open("teacher/teams")
        page.locator("textarea").fill("x" * (FORM_BYTES if status == 413 else 1))
        database.fault = REFUSALS[status]
        page.locator("form", has=page.locator("textarea")).get_by_role("button").click()
        expect(page.get_by_role("alert")).to_be_visible()
        database.fault = None

    in_both_languages(teacher, full, send, f"refused-{status}")
    bugs = full.pages.bugs
    assert {type(bug) for bug in bugs} == ({ZeroDivisionError} if status == 500 else set())
    bugs.clear()


@pytest.fixture
def enter(full: ServedLeague, visit: Callable[..., Visit]) -> Callable[[str], Visit]:
    """A function that returns the browser of a role, which has logged in."""
    windows: dict[str, Visit] = {}
    full.league(lambda db: change_settings(db, spectator_token="fern"))
    roles: dict[str, tuple[Role, int | None]] = {
        "teacher": ("teacher", None), "spectator": ("spectator", None), "team": ("team", 1), "newcomer": ("team", 40),
    }  # fmt: skip

    def enter(role: str) -> Visit:
        if role not in windows:
            windows[role] = visit()
            if role in roles:
                token = full.league(begin_session, *roles[role], time.time()).token
                cookie = {"name": "spielleiter_league_8080", "value": token, "url": full.url}
                windows[role].context.add_cookies([cookie])  # type: ignore[list-item]
        return windows[role]

    return enter


def test_every_page_can_be_read_by_everybody(full: ServedLeague, enter: Callable[[str], Visit]) -> None:
    addresses = {
        route.path for route in full.pages.site.routes
        if isinstance(route, routing.Mount) or (isinstance(route, routing.Route) and "GET" in (route.methods or ()))
    }  # fmt: skip
    assert addresses == {*PAGES, *NO_PAGES, *ELSEWHERE}, "nobody has said who looks at a page"
    for visits in PAGES.values():
        for role, address in visits:
            window = enter(role)
            window.page.goto(full.url + address)
            expect(window.page.get_by_role("heading", level=1).first).to_be_visible()
            look(window, f"{role}{address.replace('/', '-').replace('?', '-')}")


def test_what_forms_lead_to_can_be_read_by_everybody(full: ServedLeague, enter: Callable[[str], Visit]) -> None:
    teacher, team, newcomer = enter("teacher"), enter("team"), enter("newcomer")
    page = teacher.open("teacher/teams")
    page.get_by_label("Namen, einer je Zeile").fill("Neu 1\nNeu 2\n" + "M" * 40)
    page.get_by_role("button", name="Anlegen").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Codes zum Ausdrucken")
    look(teacher, "new-codes")
    page.emulate_media(media="print")
    teacher.screenshot("league-new-codes-print")
    page.emulate_media(media="screen")
    page = teacher.open("teacher/helpers")
    page.get_by_label("Name des PCs").fill("Raum 12, Platz 4")
    page.get_by_role("button", name="Code erzeugen").click()
    expect(page.get_by_role("heading", name="Code für Raum 12, Platz 4")).to_be_visible()
    look(teacher, "new-pc")
    page = teacher.open("teacher/settings")
    page.get_by_label("Größte ZIP-Datei in MB").fill("viele")
    teacher.expected_statuses |= {400}
    page.get_by_role("button", name="Speichern").click()
    expect(page.get_by_role("alert")).to_be_visible()
    look(teacher, "settings-refused")
    page.get_by_role("link", name="EN", exact=True).click()
    expect(page).to_have_url(f"{full.url}/teacher/settings")
    page = team.open("teams/2")
    page.get_by_role("button", name="Herausfordern").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Die Herausforderung steht")
    look(team, "challenged")
    page.go_back()
    team.expected_statuses |= {409, 404, 403, 405}
    page.get_by_role("button", name="Herausfordern").click()
    expect(page.get_by_role("alert")).to_be_visible()
    look(team, "challenged-again")
    page.get_by_role("link", name="Zurück").click()
    expect(page).to_have_url(f"{full.url}/teams/2")
    for address in ("there", "teacher"):
        team.open(address)
        look(team, f"refused-{address}")
    assert newcomer.open("teams/2").get_by_role("button", name="Herausfordern").count() == 0


ROWS_IN_SIGHT = """() => {
    const scene = document.querySelector("#scene-table").getBoundingClientRect();
    const boxes = [...document.querySelectorAll("#table tbody tr")].map((row) => row.getBoundingClientRect());
    return boxes.flatMap((box, number) => (box.top >= scene.top - 1 && box.bottom <= scene.bottom + 1 ? [number] : []));
}"""


def test_the_big_screen_shows_forty_teams_at_once(full: ServedLeague, enter: Callable[[str], Visit]) -> None:
    full.league.accept(40)
    window = enter("teacher")
    window.page.set_viewport_size({"width": 1920, "height": 1080})
    window.page.clock.install()
    page = window.open("beamer")
    expect(page.locator("#table tbody tr")).to_have_count(40)
    window.screenshot("league-beamer-forty")
    assert page.evaluate(ROWS_IN_SIGHT) == list(range(40))
    size = page.locator("#table tbody th").first.evaluate("(cell) => parseFloat(getComputedStyle(cell).fontSize)")
    assert size > 1080 / 40  # for the last row of the class

    # a screen that is too narrow for two columns shows the table part by part, before the next scene comes
    page.set_viewport_size({"width": 1024, "height": 768})
    page.get_by_role("button", name="Im Wechsel").click()
    page.get_by_role("button", name="Im Wechsel").click()
    seen = set(page.evaluate(ROWS_IN_SIGHT))
    assert len(seen) < 40
    while True:
        page.clock.fast_forward(21_000)
        if page.locator("#scene-table").is_hidden():
            break
        window.screenshot(f"league-beamer-forty-part-{len(seen)}")
        seen |= set(page.evaluate(ROWS_IN_SIGHT))
    assert seen == set(range(40))
    assert page.evaluate("document.getAnimations().length") == 0


@pytest.mark.parametrize("kind", ["round-robin", "swiss", "knock-out"])
def test_the_final_can_be_read_by_everybody(full: ServedLeague, enter: Callable[[str], Visit], kind: FinalKind) -> None:
    league, team = full.league, enter("team")
    for number in range(1 if kind != "round-robin" else 8, 31):
        league(pause_team, number + 9, "", time.time())
    league(freeze, time.time())
    if kind == "swiss":  # the same for all
        team.open("upload")
        look(team, "frozen")
        team.open("final")
        look(team, "final-not-begun")
    league(begin_final, kind, 1, time.time())
    chance = random.Random(3)
    league(continue_final, time.time(), chance)
    for pair in league(list_pairs, state="open", purpose="final")[:3]:
        for number in (1, 2):
            league.play(pair, number, 0)
    team.open("final")
    look(team, f"{kind}-begun")
    league(continue_final, time.time(), chance)
    while pairs := league(list_pairs, state="open", purpose="final"):
        for pair in pairs:
            for number in league(missing_games, pair.id):
                league.play(pair, number, chance.choice([0, 1]))
        league(continue_final, time.time(), chance)
    team.open("final")
    look(team, f"{kind}-over")
    page = team.open("beamer")
    page.get_by_role("button", name="Finale").click()
    look(team, f"{kind}-beamer")
    if kind == "swiss":
        league(lambda db: change_settings(db, is_paused=True, stage="over"))
        team.open("upload")
        look(team, "over")


def test_exported_pages_can_be_read_by_everybody(
    full: ServedLeague, visit: Callable[..., Visit], tmp_path: Path
) -> None:
    folder = tmp_path / "pages"
    full.league(write_static_pages, folder, full.pages.director.standings, "2027-01-31")
    window = visit()
    window.base = tmp_path.as_uri()
    for name in ("index", "team-1", "team-40", "games/1"):
        window.page.goto(f"{folder.as_uri()}/{name}.html")
        expect(window.page.get_by_role("heading", level=1).first).to_be_visible()
        assert window.problems == [], name
        look(window, f"static-{name.replace('/', '-')}")
        window.problems.clear()  # axe fetches the style sheet, which the policy of a file forbids
