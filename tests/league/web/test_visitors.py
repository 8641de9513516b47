"""What visitors may not do: the roles against each other, forged forms, pages of other sites, hostile names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

import pytest
from starlette.routing import Mount, Route

from spielleiter.league.accounts import new_spectator_link
from spielleiter.league.errors import LeagueDiskError
from spielleiter.league.log import add_message
from spielleiter.league.model import Fault, Version
from spielleiter.league.settings import change_settings
from spielleiter.league.versions import add_upload, finish_check, list_versions
from tests.league.leagues import NOON, League
from tests.league.web.sites import BROWSER, PASSWORD, Pages, Visitor, failing_database, pages_of
from tests.viewer.replay_files import replay_of
from tests.viewer.web.pages import HOST

pytestmark = pytest.mark.slow

EVERYBODY: Final = ("nobody", "spectator", "team", "teacher")
OPEN: Final = {"/login", "/setup", "/logout", "/watch/{token}", "/language/{language}"}
"""What everybody may ask for, since it says nothing about the league."""
PUBLIC: Final = {
    "/", "/games", "/games/{game:number}", "/teams/{team:number}", "/final", "/beamer", "/api/changes",
}  # fmt: skip
"""What needs any session."""
OF_TEAMS: Final = {
    "/upload", "/versions/{version:number}/{action}", "/teams/{team:number}/challenge", "/team/helpers",
}  # fmt: skip
WITH_CODE: Final = {"/api/upload", "/api/versions/{version:number}"}
SHARED: Final = {"/versions/{version:number}", "/games/{game:number}/stderr/{side:number}"}
"""For teams and the teacher."""


@pytest.fixture
async def pages(league: League) -> Pages:
    return pages_of(league)


async def visitors(pages: Pages) -> dict[str, Visitor]:
    """Return a browser of each role; two teams have played a game, in which the second one crashed."""
    teacher = await pages.set_up()
    team = await pages.team("Ada")
    pages.league.add_team("Grace")
    ada, grace = pages.league.accept(1), pages.league.accept(2)
    pair = pages.league.open_pair(ada, grace)
    replay = replay_of("blokus-2027", plies=4)
    outputs = {"stderr1": b"output of Ada", "stderr2": b"output of Grace"}
    pages.league.play(pair, 1, 0, verdict="crash", offender=1, reason_de="in grace.py", replay=replay, **outputs)
    token = pages.league(new_spectator_link, NOON)
    spectator = pages.visitor()
    await spectator.get(f"/watch/{token}")
    for each in (teacher, team, spectator):
        await each.get("/")
    return {"nobody": pages.visitor(), "spectator": spectator, "team": team, "teacher": teacher}


def all_routes(pages: Pages) -> Iterator[tuple[str, str]]:
    """Yield the methods and paths of all addresses of the site."""
    for route in pages.site.routes:
        if isinstance(route, Route):
            for method in sorted((route.methods or set()) - {"HEAD"}):
                yield method, route.path
        else:
            assert isinstance(route, Mount)


def allowed(path: str) -> set[str]:
    """Return the roles that may ask for an address."""
    if path in OPEN:
        return set(EVERYBODY)
    if path in PUBLIC:
        return {"spectator", "team", "teacher"}
    if path in SHARED:
        return {"team", "teacher"}
    if path in OF_TEAMS:
        return {"team"}
    if path in WITH_CODE:
        return set()  # a browser's session is not enough
    assert path.startswith("/teacher"), f"nobody has said who may ask for {path}"
    return {"teacher"}


async def test_each_address_is_for_its_roles_only(pages: Pages) -> None:
    browsers = await visitors(pages)
    count = 0
    for method, pattern in all_routes(pages):
        path = re.sub(r"\{\w+:number\}", "1", pattern).replace("{action}", "none").replace("{language}", "de")
        for role, visitor in browsers.items():
            if role in allowed(pattern) or (pattern == "/api/changes" and role != "nobody"):
                continue
            answer = await visitor.request(method, path, {"accept": "text/html"}, b"")
            count += 1
            is_refused = answer.status in {401, 403} or answer.headers.get("location") == "/login"
            assert is_refused, (role, method, path, answer.status)
    assert count > 60
    assert pages.bugs == []


async def test_no_team_acts_on_what_is_anothers(pages: Pages) -> None:
    browsers = await visitors(pages)
    team = browsers["team"]
    other = next(version for version in pages.league(list_versions) if version.team_id == 2)
    spare = pages.league(add_upload, 2, "spare.zip", b"spare", NOON)
    pages.league(finish_check, spare.id, None, NOON)
    await team.get("/upload")
    before = pages.league(list_versions)
    for path in (f"/versions/{other.id}/take-back", f"/versions/{other.id}/discard", f"/versions/{spare.id}/discard"):
        assert (await team.post(path)).status == 404
    assert pages.league(list_versions) == before
    assert (await team.get(f"/versions/{other.id}")).status == 404
    for page in ("/teams/2", "/games/1", "/games", "/", "/beamer"):
        answer = await team.get(page)
        for secret in (b"output of Grace", b"grace.py", b"spare.zip"):
            assert secret not in answer.body, page
        assert (page != "/games/1") or b"output of Ada" in answer.body
    assert (await team.get("/games/1/stderr/1")).body == b"output of Ada"
    for secret_output in ("/games/1/stderr/2", "/games/1/stderr/0", "/games/1/stderr/3", "/games/2/stderr/1"):
        assert (await team.get(secret_output)).status == 404
    assert (await browsers["teacher"].get("/games/1/stderr/2")).body == b"output of Grace"
    seen = (await browsers["spectator"].get("/games/1")).body
    assert b"output of" not in seen
    assert b"grace.py" not in seen


REPLAYS: Final = [
    "/viewer/api/replays/1",
    "/viewer/api/replays/1/legal?ply=1",
    "/viewer/api/replays/1/legal%0a?ply=1",
    "/viewer/api/replays/1/file/replay",
    "/viewer/api/replays/1%0a",
    "/viewer/api/replays/01",
    "/viewer/api/replays/%31",
    "/viewer/api/replays/+1",
    "/viewer/./api/replays/1",
    "/viewer//api/replays/1",
    "/viewer/api/replays//1",
]


@pytest.mark.parametrize("path", REPLAYS)
async def test_replays_of_others_are_shown_only_if_the_teacher_allows_it(pages: Pages, path: str) -> None:
    browsers = await visitors(pages)
    pages.league.add_team("Alan")
    alan = await pages.logged_in("Alan")
    for visitor in (alan, browsers["spectator"], browsers["nobody"]):
        answer = await visitor.request("GET", path, {})
        assert answer.status in {401, 403, 404}, answer.body[:200]
    plain = path in REPLAYS[:2] + REPLAYS[3:4]
    assert (await browsers["team"].request("GET", path, {})).status == 200 or not plain
    pages.league(lambda db: change_settings(db, shows_opponents_replays=True))
    assert (await alan.request("GET", path, {})).status == 200 or not plain
    assert (await browsers["nobody"].request("GET", path, {})).status in {401, 404}


async def test_a_form_without_the_token_of_its_session_does_nothing(pages: Pages) -> None:
    browsers = await visitors(pages)
    teacher, other = browsers["teacher"], pages.visitor()
    assert (await other.post("/login", {"password": PASSWORD})).status == 303
    await other.get("/teacher")
    own = teacher.token
    for token in ("", "x", other.token, own[:-1], "ä"):
        for path in ("/teacher/control/pause", "/teacher/teams/1/remove", "/teacher/settings", "/logout"):
            teacher.token = token  # the page of a refusal has the right one
            assert (await teacher.post(path)).status == 403, (token, path)
    team = browsers["team"]
    await team.get("/upload")
    team.token = "x"
    assert (await team.upload(b"PK")).status == 403
    teacher.token = own
    assert (await teacher.get("/teacher")).status == 200


async def test_a_page_of_another_site_can_do_nothing(pages: Pages) -> None:
    browsers = await visitors(pages)
    teacher = browsers["teacher"]
    for headers in ({"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}):
        assert (await teacher.post("/teacher/control/pause", None, **headers)).status == 403
        assert (await pages.visitor().post("/login", {"password": PASSWORD}, **headers)).status == 403
    assert (await teacher.get("/api/changes", **{"sec-fetch-site": "cross-site"})).status == 403
    assert (await teacher.get("/", **{"sec-fetch-site": "cross-site"})).status == 200  # a link
    assert (await teacher.get("/", host="evil.example")).status == 421  # a name that was bound to this address


async def test_cookies_and_pages_have_the_usual_protection(pages: Pages) -> None:
    await pages.set_up()
    visitor = pages.visitor()
    answer = await visitor.post("/login", {"password": PASSWORD})
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "secure" not in cookie
    page = await visitor.get("/teacher")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert page.headers["cache-control"] == "no-store"
    assert b" style=" not in page.body  # the policy forbids it
    assert re.search(rb"<script(?! defer src=)", page.body) is None
    framed = await visitor.get("/viewer/")
    assert "frame-ancestors 'self'" in framed.headers["content-security-policy"]


async def test_behind_a_web_server_with_tls_the_cookie_is_secure(league: League) -> None:
    pages = pages_of(league, public_url="https://liga.schule.example")
    await pages.set_up()
    visitor = pages.visitor()
    origin = {"host": "liga.schule.example", "origin": "https://liga.schule.example"}
    answer = await visitor.post("/login", {"password": PASSWORD}, **origin)
    assert answer.status == 303
    await visitor.get("/teacher/teams", **origin)
    sheet = await visitor.post("/teacher/teams", {"names": "Ada"}, **origin)
    assert b"https://liga.schule.example \xc3\xb6ffnen" in sheet.body
    assert "secure" in answer.headers["set-cookie"].lower()


HOSTILE: Final = "<script>alert(1)</script>'\"&{{7*7}}{x}"


async def test_hostile_texts_are_shown_as_texts(pages: Pages) -> None:
    teacher = await pages.set_up()
    names = ["<b>Ada</b>", "Grace'\" onload=x {x}"]
    codes = {new: pages.league.add_team(new) for new in names}
    versions: list[Version] = []
    for team in codes.values():
        version = pages.league(add_upload, team, HOSTILE, f"PK{team}".encode(), NOON, main="<i>m</i>", parameters="<i>")
        versions.append(pages.league(finish_check, version.id, None, NOON))
    pair = pages.league.open_pair(versions[0], versions[1])
    reasons = {"reason_de": HOSTILE, "reason_en": HOSTILE, "machine1": "<i>pc</i>"}
    pages.league.play(
        pair, 1, 1, verdict="crash", offender=0, stderr1=HOSTILE.encode() + b"\x1b[31m\x00\xff", **reasons
    )
    refused = pages.league(add_upload, 1, "x.zip", b"other", NOON)
    pages.league(finish_check, refused.id, Fault("x", HOSTILE, HOSTILE), NOON)
    pages.league(add_message, HOSTILE, NOON)
    pages.league(lambda db: change_settings(db, name="<i>Liga</i>"))
    paths = ["/", "/games", "/games?team=1", "/games/1", "/teams/1", "/teams/2", "/beamer", "/final", "/teacher"]
    paths += [
        "/teacher/teams",
        "/teacher/settings",
        "/teacher/log",
        f"/versions/{versions[0].id}",
        f"/versions/{refused.id}",
    ]
    for path in paths:
        page = (await teacher.get(path)).body.decode()
        for markup in ("<script>alert", "<b>Ada", "<i>", 'onload=x"', "49{", "\x1b", "\x00"):
            assert markup not in page, (path, markup)
    assert pages.bugs == []


async def test_full_disk_is_told_and_is_no_bug(league: League) -> None:
    now = [NOON]
    with failing_database(league) as database:
        pages = pages_of(League(database), now=lambda: now[0])
        teacher = await pages.set_up()
        team = await pages.team("Ada")
        database.fault = LeagueDiskError("the disk is full")
        now[0] += 1800.0  # sessions are noted as used now and then, which cannot be written either
        for page in ("/", "/upload", "/teams/1"):
            assert (await team.get(page)).status == 200
        answer = await team.upload(b"PK")
        assert (answer.status, "kein Platz" in answer.json["error"]["de"]) == (507, True)
        refused = await team.post("/team/helpers", {"allow": "1"})
        assert (refused.status, "kein Platz" in refused.body.decode()) == (507, True)
        assert (await pages.visitor().post("/login", {"code": pages.league.codes["Ada"]})).status == 507
        assert (await teacher.get("/teacher")).status == 200
        told = await teacher.post("/teacher/control/pause")
        assert (told.status, "Machen Sie Platz" in told.body.decode()) == (507, True)
    assert pages.bugs == []


async def test_guessing_codes_and_passwords_is_slow(pages: Pages, autojump_clock: Any) -> None:
    import trio

    await pages.set_up()
    start = trio.current_time()
    for number in range(20):
        assert (await pages.visitor().post("/login", {"password": f"guess number {number}"})).status == 403
    assert trio.current_time() - start > 20


ODD_REFERERS: Final = ("http://[", "http://[::1", "http://[x]/", f"http://{HOST}:\xb2/", "\xff", "//", "")


async def test_odd_addresses_and_headers_are_no_bug(pages: Pages) -> None:
    browsers = await visitors(pages)
    for role in ("nobody", "teacher"):
        browser = browsers[role]
        for referer in ODD_REFERERS:
            assert (await browser.get("/there", referer=referer)).status == 404
            assert (await browser.post("/logout", {"form_token": "x"}, referer=referer)).status in {303, 403}
        for method, pattern in all_routes(pages):
            for digits in ("9" * 19, "9" * 5000, "\u0661", "\xb2"):
                path, count = re.subn(r"\{\w+:\w+\}", quote(digits), pattern)
                if count:
                    path = path.replace("{action}", "none")
                    assert (await browser.request(method, path, BROWSER, b"")).status == 404, (method, path[:80])
        for path in ("/games?team=", "/games?before=", "/teacher/log?before="):
            for number in ("9" * 19, "9" * 5000, "\u0661", "\xb2", "-1", "1e3", "nan"):
                assert (await browser.get(path + quote(number))).status < 500, (path, number[:20])
    team = browsers["team"]
    await team.get("/upload")
    for length in ("\xb2", "\u0661".encode().decode("latin-1"), "9" * 5000):
        headers = {"content-type": "application/octet-stream", "x-form-token": team.token, "content-length": length}
        assert (await team.request("PUT", "/upload?name=x", headers, b"PK")).status < 500
    assert pages.bugs == []


async def test_settings_that_no_page_could_show_are_refused(pages: Pages) -> None:
    teacher = await pages.set_up()
    page = (await teacher.get("/teacher/settings")).body.decode()
    form = dict(re.findall(r'<input type="text"[^>]* name="(\w+)" value="([^"]*)"', page)) | {"name": "Liga"}
    for time in ("0001-01-01T00:00", "0002-01-01T00:00", "1969-12-31T00:00", "9999-12-31T23:59", "2027-13-01T00:00"):
        assert (await teacher.post("/teacher/settings", {**form, "freeze_at": time})).status == 400, time
    for number in ("9" * 5000, "nan", "inf", "1e999", "-1", "0x1"):
        for name in ("uploads_per_hour", "soft_timeout", "kept_replays"):
            assert (await teacher.post("/teacher/settings", {**form, name: number})).status == 400, (name, number)
    assert pages.bugs == []


async def test_large_and_odd_forms_are_refused(pages: Pages) -> None:
    teacher = await pages.set_up()
    await teacher.get("/teacher/teams")
    assert (await teacher.post("/teacher/teams", {"names": "x\n" * 100_000})).status == 413
    form = {"content-type": "application/x-www-form-urlencoded"}
    many = "&".join(f"a{number}=1" for number in range(1000)).encode()
    for body in (many, b"\xff\xfe", b"a=%ff%fe"):
        assert (await teacher.request("POST", "/teacher/teams", form, body)).status in {400, 403}
    assert (await teacher.request("POST", "/teacher/teams", {"content-type": "text/plain"}, b"")).status == 415
    assert (await teacher.post("/teacher/helpers/revoke", {"helper": "1e9"})).status == 400
    assert pages.bugs == []
