"""The league is killed while browsers upload, send a form and show a live page; they go on when it is back."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Route, expect

from spielleiter.league.accounts import begin_session
from spielleiter.league.log import list_messages
from spielleiter.league.model import Role
from spielleiter.league.settings import change_settings
from spielleiter.league.teams import rename_team
from spielleiter.league.versions import list_versions
from tests.league.leagues import league_in
from tests.league.running import running
from tests.viewer.browser.browsers import started_browser

pytestmark = pytest.mark.extended


@pytest.fixture
def browser() -> Iterator[Browser]:
    with started_browser() as started:
        yield started


def logged_in(browser: Browser, folder: Path, url: str, role: Role, team: int | None = None) -> BrowserContext:
    """Return a window of somebody who has logged in."""
    with league_in(folder) as league:
        token = league(begin_session, role, team, time.time()).token
    context = browser.new_context(locale="de-DE", base_url=url)
    context.add_cookies([{"name": f"spielleiter_league_{urlsplit(url).port}", "value": token, "url": url}])
    return context


def test_nothing_is_lost_when_the_league_is_killed_and_started_again(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "league"
    with league_in(folder) as made:
        ada = made.add_team("Ada")
        made(lambda db: change_settings(db, name="7b", edition="blokus-2027", teacher_password_hash="none",
                                        is_paused=True))  # fmt: skip
    package = tmp_path / "bot.zip"
    package.write_bytes(b"PK" + bytes(3_000_000))
    with contextlib.ExitStack() as stack:
        league = stack.enter_context(running(folder))
        url, port = league.url, league.port
        teacher = logged_in(browser, folder, url, "teacher")
        pupil = logged_in(browser, folder, url, "team", ada)
        live, form, upload = teacher.new_page(), teacher.new_page(), pupil.new_page()
        live.goto("/")
        expect(live.get_by_text("Ada")).to_be_visible()
        form.goto("/teacher")
        form.locator("textarea[name=text]").fill("Hallo")
        upload.clock.install()
        upload.goto("/upload")
        upload.locator("input[type=file]").set_input_files(package)
        slow = pupil.new_cdp_session(upload)
        limits = {"offline": False, "latency": 0, "downloadThroughput": -1}
        slow.send("Network.emulateNetworkConditions", {**limits, "uploadThroughput": 200_000})
        upload.get_by_role("button", name="Hochladen").click()
        expect(upload.locator("progress")).to_have_attribute("value", re.compile(r"0\.0*[1-9]"))

        def kill(route: Route) -> None:
            league.kill()
            route.continue_()

        form.route("**/control/message", kill)
        with form.expect_event("requestfailed"), upload.expect_event("requestfailed"):
            form.locator("form", has=form.locator("textarea[name=text]")).get_by_role("button").click(
                no_wait_after=True
            )
        form.unroute_all()
        with league_in(folder) as stopped:  # whatever has changed before the page is told again
            assert stopped(list_versions, ada) == []
            assert stopped(list_messages) == []
            stopped(rename_team, ada, "Ada Lovelace", time.time())

        stack.enter_context(running(folder, port))
        expect(live.get_by_text("Ada Lovelace")).to_be_visible()
        slow.send("Network.emulateNetworkConditions", {**limits, "uploadThroughput": -1})
        upload.clock.fast_forward(3_000)
        expect(upload.locator(".verdict")).to_be_visible()
        form.goto("/teacher")
        form.locator("textarea[name=text]").fill("Hallo")
        form.locator("form", has=form.locator("textarea[name=text]")).get_by_role("button").click()
        expect(form.locator(".notice.message")).to_contain_text("Hallo")
        with league_in(folder) as there:
            assert [each.label for each in there(list_versions, ada)] == ["Ada Lovelace v1"]
            assert len(there(list_messages)) == 1
