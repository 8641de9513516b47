"""The pages of a league from the first run to the final, as their visitors see them."""

from __future__ import annotations

import io
import json
import random
import re
import zipfile
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints
from urllib.parse import quote

import pytest
import trio
from starlette.routing import Route

from spielleiter.league.accounts import new_setup_code
from spielleiter.league.errors import LeagueDiskError
from spielleiter.league.games import list_games, list_pairs
from spielleiter.league.helpers import list_helpers
from spielleiter.league.log import Action, Details, all_log_entries
from spielleiter.league.model import Fault, RatingOfDay, Stage, Version
from spielleiter.league.rating_chart import rating_chart
from spielleiter.league.rating_history import save_ratings
from spielleiter.league.settings import LeagueSettings, change_settings, load_settings
from spielleiter.league.stages import continue_final
from spielleiter.league.versions import finish_check, finish_full_check, get_version, list_versions
from spielleiter.league.web.keeping import KeptFile
from spielleiter.league.web.log_texts import ACTIONS, details_text, subject_text
from spielleiter.league.web.public import losses_by_reason
from spielleiter.league.words import Words
from tests.league.leagues import NOON, League
from tests.league.web.sites import PASSWORD, Pages, Visitor, failing_database, pages_of
from tests.viewer.web.pages import HOST, Answer, never, request_scope

pytestmark = pytest.mark.slow


@pytest.fixture
async def pages(league: League) -> Pages:
    return pages_of(league)


def text_of(answer: Answer) -> str:
    """Return what a page says, without its tags."""
    return " ".join(re.sub(r"<[^>]*>", " ", answer.body.decode()).split())


# -- the first run --------------------------------------------------------------------------------------------------


async def test_a_league_begins_with_its_teacher_and_a_sheet_of_codes(pages: Pages) -> None:
    somebody = pages.visitor()
    assert (await somebody.get("/")).headers["location"] == "/setup"
    form = {"password": PASSWORD, "name": "Mine", "edition": "blokus-2027"}
    refused = await somebody.post("/setup", {"code": "AAAA-AAAA-AAAA-AAAA", **form})
    assert (refused.status, pages.league(load_settings).name) == (400, "")
    teacher = await pages.set_up(["Ada", "Grace", " "])
    assert pages.league(load_settings).name == "Liga 10b"
    again = await somebody.post("/setup", {"code": "x", **form})
    assert (again.status, pages.league(load_settings).name) == (303, "Liga 10b")
    sheet = await teacher.post("/teacher/teams", {"names": "Alan\nBarbara\n"})
    codes = re.findall(r"<code>([2-9A-Z-]{19})</code>", sheet.body.decode())
    assert len(set(codes)) == 2
    assert sheet.headers["cache-control"] == "no-store"
    assert "Noch kommt nur dieser Rechner auf die Seiten" in text_of(sheet)
    team = pages.visitor()
    assert (await team.post("/login", {"code": codes[1].lower().replace("-", " ")})).status == 303
    assert "Barbara" in text_of(await team.get("/teams/4"))
    assert pages.bugs == []


async def test_a_mistake_in_the_first_form_keeps_what_was_typed(pages: Pages) -> None:
    form = {"code": "x", "password": "short", "name": "Liga <1>", "edition": "piranhas-2026", "names": "Ada\nAda"}
    answer = await pages.visitor().post("/setup", form)
    assert (answer.status, b"Liga &lt;1&gt;" in answer.body, b"Ada\nAda" in answer.body) == (400, True, True)


async def test_a_name_that_is_there_twice_leaves_the_league_as_it_was(pages: Pages) -> None:
    somebody = pages.visitor()
    form = {"code": pages.league(new_setup_code), "password": PASSWORD, "name": "Mine", "edition": "blokus-2027"}
    refused = await somebody.post("/setup", {**form, "names": "Ada\nGrace\nAda"})
    assert (refused.status, "„Ada“" in text_of(refused)) == (400, True)
    assert not pages.league(load_settings).teacher_password_hash
    sheet = await somebody.post("/setup", {**form, "names": "Ada\nGrace"})
    assert (sheet.status, pages.league(load_settings).name) == (200, "Mine")
    assert (await somebody.get("/teacher")).status == 200


async def test_the_teacher_logs_in_again_and_changes_the_password(pages: Pages) -> None:
    await pages.set_up()
    teacher = pages.visitor()
    assert (await teacher.post("/login", {"password": "wrong password"})).status == 403
    assert (await teacher.post("/login", {"password": PASSWORD})).headers["location"] == "/teacher"
    await teacher.get("/teacher/settings")
    wrong = await teacher.post("/teacher/password", {"old": "wrong", "password": "another password"})
    assert wrong.status == 403
    assert (await teacher.post("/teacher/password", {"old": PASSWORD, "password": "another password"})).status == 303
    assert (await teacher.get("/teacher")).status == 200
    assert (await pages.visitor().post("/login", {"password": PASSWORD})).status == 403


# -- teams ----------------------------------------------------------------------------------------------------------


async def test_a_team_uploads_and_reads_what_became_of_it(pages: Pages) -> None:
    await pages.set_up()
    team = await pages.team("Ada")
    await team.get("/upload")
    answer = await team.upload(b"PK first", "bot.zip", main="start.sh", parameters="-v")
    assert answer.status == 201
    version = answer.json["version"]
    assert version["queue"] == {"position": 1, "seconds": 15.0}
    assert pages.director.woken > 0
    assert "Platz 1 in der Schlange, etwa 15 s." in text_of(await team.get(version["url"]))
    fault = Fault("no-main", "Die ZIP-Datei hat keine Hauptdatei; lege start.sh hinein.", "no main file")
    pages.league(finish_check, version["id"], fault, NOON)
    assert "lege start.sh hinein" in text_of(await team.get(version["url"]))
    accepted = await team.upload(b"PK second")
    pages.league(finish_check, accepted.json["version"]["id"], None, NOON)
    page = text_of(await team.get("/teams/1"))
    assert "spielt" in page
    assert "abgelehnt" in page
    assert (await team.upload(b"PK second")).status == 409
    assert pages.bugs == []


async def test_the_warnings_of_the_full_check_are_shown(pages: Pages) -> None:
    await pages.set_up()
    team = await pages.team("Ada")
    version = pages.league.accept(1)
    report = {"report": {}, "warnings": [{"code": "slow", "de": "Der Start dauert <lange>.", "en": "slow"}, 7]}
    pages.league(finish_full_check, version.id, "warned", report, None, NOON)
    page = await team.get(f"/versions/{version.id}")
    assert b"Der Start dauert &lt;lange&gt;." in page.body
    assert "siehe unten" in text_of(page)


async def test_a_team_takes_an_older_version_back_and_removes_one(pages: Pages) -> None:
    await pages.set_up()
    team = await pages.team("Ada")
    first, second = pages.league.accept(1), pages.league.accept(1)
    await team.get("/teams/1")
    assert (await team.post(f"/versions/{second.id}/discard")).status == 409  # it plays
    assert (await team.post(f"/versions/{first.id}/take-back")).status == 303
    assert pages.league(get_version, first.id).is_active
    assert (await team.post(f"/versions/{second.id}/discard")).status == 303
    assert pages.league(get_version, second.id).state == "removed"
    assert (await team.post(f"/versions/{first.id}/explode")).status == 404


async def test_uploads_are_bounded_before_they_are_read(pages: Pages) -> None:
    await pages.set_up()
    team = await pages.team("Ada")
    await team.get("/upload")
    pages.league(lambda db: change_settings(db, upload_megabytes=1, uploads_per_hour=1))
    headers = {"content-type": "application/octet-stream", "x-form-token": team.token}
    huge = await team.request("PUT", "/upload?name=a.zip", {**headers, "content-length": "1000001"}, b"")
    assert huge.status == 413
    unannounced = await team.request("PUT", "/upload?name=a.zip", headers, *[b"x" * 400_000] * 3)
    assert (unannounced.status, pages.league(list_versions, 1)) == (413, [])
    assert (await team.upload(b"PK one")).status == 201
    assert (await team.upload(b"PK two")).status == 429
    assert (await team.request("PUT", "/upload?name=a.zip", {"x-form-token": team.token}, b"")).status == 415
    assert "Mehr als 1 Uploads" in text_of(await team.get("/upload"))


async def test_a_challenge_is_opened_and_a_second_one_explained(pages: Pages) -> None:
    await pages.set_up()
    team = await pages.team("Ada")
    pages.league.add_team("Grace")
    pages.league.accept(1)
    assert b"/teams/2/challenge" not in (await team.get("/teams/2")).body  # who does not play cannot be challenged
    pages.league.accept(2)
    assert b"/teams/2/challenge" in (await team.get("/teams/2")).body
    assert (await team.post("/teams/2/challenge")).status == 200
    assert [pair.purpose for pair in pages.league(list_pairs)] == ["challenge"]
    again = await team.post("/teams/2/challenge")
    assert (again.status, "wartet schon eine Herausforderung" in text_of(again)) == (409, True)


async def test_the_command_uploads_with_a_code_and_asks_with_the_token(pages: Pages) -> None:
    await pages.set_up()
    pages.league.add_team("Ada")
    headers = {"content-type": "application/octet-stream", "authorization": f"Bearer {pages.league.codes['Ada']}"}
    command = pages.visitor()
    answer = await command.request("POST", "/api/upload?name=bot.zip", headers, b"PK")
    assert (answer.status, answer.json["version"]["state"], "set-cookie" in answer.headers) == (201, "waiting", False)
    asking = {"authorization": f"Bearer {answer.json['token']}"}
    path = f"/api/versions/{answer.json['version']['id']}"
    assert (await command.request("GET", path, asking)).json["version"]["queue"]["position"] == 1
    assert (await command.request("GET", path, {})).status == 401
    wrong = {**headers, "authorization": "Bearer AAAA-AAAA-AAAA-AAAA"}
    assert (await command.request("POST", "/api/upload?name=bot.zip", wrong, b"PK")).status == 401


async def test_commands_end_no_session_of_a_browser_and_may_do_nothing_else(pages: Pages) -> None:
    await pages.set_up()
    team = await pages.team("Ada")
    headers = {"content-type": "application/octet-stream", "authorization": f"Bearer {pages.league.codes['Ada']}"}
    command = pages.visitor()
    pages.league(change_settings, uploads_per_hour=100)
    answers = [
        await command.request("POST", "/api/upload?name=bot.zip", headers, b"PK%d" % number) for number in range(25)
    ]
    assert (await team.get("/upload")).status == 200
    (cookie,) = team.cookies
    thief = pages.visitor()
    thief.cookies[cookie] = answers[-1].json["token"]
    assert (await thief.get("/upload")).status == 403
    assert (await thief.get("/")).status == 403
    with_cookie = {"authorization": f"Bearer {team.cookies[cookie]}"}
    assert (await command.request("GET", "/api/versions/1", with_cookie)).status == 401


async def test_a_page_that_sends_an_upload_again_makes_one_version(pages: Pages) -> None:
    await pages.set_up()
    team = await pages.team("Ada")
    pages.league(change_settings, uploads_per_hour=1)
    await team.get("/upload")
    headers = {"content-type": "application/octet-stream", "x-form-token": team.token, "idempotency-key": "k1"}
    first, again = [await team.request("PUT", "/upload?name=bot.zip", headers, b"PK") for _ in range(2)]
    assert (first.status, again.status, again.json["version"]["id"]) == (201, 201, first.json["version"]["id"])
    assert len(pages.league(list_versions, 1)) == 1


async def test_an_upload_that_is_sent_again_is_one_version(pages: Pages) -> None:
    await pages.set_up()
    pages.league(change_settings, uploads_per_hour=1)
    for name in ("Ada", "Grace"):
        pages.league.add_team(name)

    async def send(name: str, key: str) -> Answer:
        headers = {"content-type": "application/octet-stream", "authorization": f"Bearer {pages.league.codes[name]}"}
        path = "/api/upload?name=bot.zip"
        return await pages.visitor().request("POST", path, {**headers, "idempotency-key": key}, b"PK")

    first, again, other_key, other_team = [
        await send(*each) for each in (("Ada", "k1"), ("Ada", "k1"), ("Ada", "k2"), ("Grace", "k1"))
    ]
    assert (again.status, again.json["version"]) == (201, first.json["version"])
    assert other_key.status == 429
    assert other_team.json["version"]["label"] == "Grace v1"
    assert (await send("Ada", "k" * 200)).status == 400


# -- games ----------------------------------------------------------------------------------------------------------


async def played(pages: Pages) -> tuple[Visitor, Visitor, Visitor, list[Version]]:
    """Return the browsers of the teacher and of two teams, and their versions, which have played a pair of games."""
    teacher = await pages.set_up()
    ada, grace = await pages.team("Ada"), await pages.team("Grace")
    versions = [pages.league.accept(1), pages.league.accept(2)]
    pair = pages.league.open_pair(versions[0], versions[1])
    pages.league.play(
        pair, 1, 0, points1=80, points2=60, stderr1=b"ada's secret\n", stderr2=b"grace's secret", plies=40
    )
    crash = {
        "verdict": "crash",
        "offender": 1,
        "reason_de": "Zeile 7 von geheim.py",
        "reason_en": "line 7 of secret.py",
    }
    pages.league.play(pair, 2, 0, **crash)
    return teacher, ada, grace, versions


@pytest.mark.parametrize(
    ("content", "shown", "hidden", "is_cut"),
    [
        (b"first\nlast\n", "first", "", False),
        (b"first\n" + b"again\n" * 300 + b"last\n", "again", "first", True),
        (b"first\n" + b"x" * 50_000 + b"\nlast\n", "last", "xxx", True),
        (b"first" + b"x" * 50_000 + b"last", "last", "first", True),
    ],
    ids=["short", "many lines", "long line", "one line"],
)
async def test_the_end_of_long_output_is_shown_with_a_link_to_all_of_it(
    pages: Pages, content: bytes, shown: str, hidden: str, *, is_cut: bool
) -> None:
    await pages.set_up()
    ada = await pages.team("Ada")
    pages.league.add_team("Grace")
    pair = pages.league.open_pair(pages.league.accept(1), pages.league.accept(2))
    game = pages.league.play(pair, 1, 0, stderr1=content + b"\x1b[2J")
    answer = await ada.get(f"/games/{game}")
    page = answer.body.decode()
    assert len(page) < 40_000
    assert shown in page
    assert "last" in page
    assert not hidden or hidden not in page
    link = f"/games/{game}/stderr/1"
    assert (link in page) is is_cut
    whole = await ada.get(link)
    assert whole.body == content + rb"\x1b[2J"
    assert whole.headers["content-type"] == "text/plain; charset=utf-8"
    assert whole.headers["content-disposition"] == f'attachment; filename="stderr-{game}-1.txt"'
    assert whole.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert whole.headers["x-content-type-options"] == "nosniff"


async def test_table_games_and_team_pages_show_what_was_played(pages: Pages) -> None:
    teacher, ada, grace, _ = await played(pages)
    table = text_of(await ada.get("/"))
    assert re.search(r"1 Ada [−0-9.]+ ±", table)
    assert "2 / 0 / 0" in table
    games = text_of(await grace.get("/games"))
    assert "80 : 60" in games
    assert "durch Fehler" in games
    assert "Noch" not in text_of(await teacher.get("/games?team=2"))
    assert "keine Spiele" in text_of(await teacher.get("/games?team=3"))
    assert "das Programm ist abgestürzt: 1 ×" in text_of(await grace.get("/teams/2"))
    assert pages.bugs == []


async def test_errors_and_outputs_are_for_the_own_team_and_the_teacher(pages: Pages) -> None:
    teacher, ada, grace, versions = await played(pages)
    first, second = (await ada.get("/games/1")).body, (await grace.get("/games/1")).body
    assert (b"ada&#x27;s secret" in first, b"grace&#x27;s secret" in first) == (True, False)
    assert (b"ada&#x27;s secret" in second, b"grace&#x27;s secret" in second) == (False, True)
    assert b"secret" not in (await ada.get("/games/2")).body.replace(b"secret.py", b"")
    assert b"geheim.py" in (await grace.get("/games/2")).body
    assert b"geheim.py" not in (await ada.get("/games/2")).body
    assert b"geheim.py" in (await teacher.get("/games/2")).body
    assert (await ada.get(f"/versions/{versions[1].id}")).status == 404
    assert (await teacher.get(f"/versions/{versions[1].id}")).status == 200
    assert "abgestürzt" not in text_of(await ada.get("/teams/2"))


async def test_the_teacher_repeats_a_pair_of_games(pages: Pages) -> None:
    teacher, *_ = await played(pages)
    await teacher.get("/games/1")
    assert (await teacher.post("/teacher/pairs/1/repeat")).status == 303
    assert [(pair.purpose, pair.state) for pair in pages.league(list_pairs)] == [("league", "void"), ("repeat", "open")]
    assert "für ungültig erklärt" in text_of(await teacher.get("/games"))


def test_losses_are_counted_by_their_reasons(league: League) -> None:
    league.add_team("Ada")
    league.add_team("Grace")
    ada, grace = league.accept(1), league.accept(2)
    league.play_pair(ada, grace, 1, None)
    pair = league.open_pair(ada, grace)
    for number in (1, 2):
        league.play(pair, number, 1, verdict="timeout", offender=0)
    games = league(list_games)
    assert [(each.verdict, each.count) for each in losses_by_reason(games, 1)] == [("timeout", 2), ("", 1)]
    assert losses_by_reason(games, 2) == []


def test_the_chart_has_a_point_for_each_day_and_all_intervals_inside() -> None:
    assert rating_chart([]) is None
    history = [RatingOfDay(1, f"2027-01-{day:02}", 1000.0 + day, 900.0, 1100.0 + 30 * day, day) for day in range(1, 9)]
    history.append(RatingOfDay(2, "2027-01-08", 1500.0, 1400.0, 1600.0, 1))  # a newer version on the last day
    chart = rating_chart(history)
    assert chart is not None
    assert [day.day for day in chart.days] == sorted({each.day for each in history})
    assert chart.days[-1].rating == 1500
    heights = [float(point.partition(",")[2]) for point in chart.band.split()]
    assert 0 < min(heights) < max(heights) < 200
    (single,) = (rating_chart(history[:1]),)
    assert single is not None
    assert len(single.dots) == 1


async def test_the_history_of_a_rating_is_a_picture(pages: Pages) -> None:
    _, ada, _, versions = await played(pages)
    pages.league(
        save_ratings, [RatingOfDay(versions[0].id, f"2027-01-0{day}", 1000.0, 900.0, 1100.0, 3) for day in (1, 2)]
    )
    assert b"Von 1.000 am 1.1.2027 bis 1.000 am 2.1.2027" in (await ada.get("/teams/1")).body


async def test_older_games_are_on_further_pages(pages: Pages) -> None:
    teacher = await pages.set_up()
    for name in ("Ada", "Grace"):
        pages.league.add_team(name)
    ada, grace = pages.league.accept(1), pages.league.accept(2)
    for _ in range(30):
        pages.league.play_pair(ada, grace, 0, 1)
    first = (await teacher.get("/games?team=1")).body.decode()
    older = re.search(r'href="(/games\?team=1&amp;before=(\d+))"', first)
    assert older is not None
    assert older[2] == "11"
    second = (await teacher.get(older[1].replace("&amp;", "&"))).body.decode()
    assert len(re.findall(r'href="/games/\d+"', first)) == 50
    assert len(re.findall(r'href="/games/\d+"', second)) == 10
    assert (await teacher.get("/games?before=x")).status == 400


# -- control --------------------------------------------------------------------------------------------------------


async def test_the_teacher_controls_the_league(pages: Pages) -> None:
    teacher = await pages.set_up(["Ada"])
    await teacher.get("/teacher")
    assert (await teacher.post("/teacher/control/pause")).status == 303
    assert "macht gerade Pause" in text_of(await teacher.get("/"))
    await teacher.post("/teacher/control/message", {"text": "Morgen ist\nFinale <b>!"})
    assert b"Morgen ist<br> Finale &lt;b&gt;!" in (await teacher.get("/")).body
    await teacher.post("/teacher/control/resume")
    await teacher.post("/teacher/control/remove-message", {"message": "1"})
    page = text_of(await teacher.get("/"))
    assert "Pause" not in page
    assert "Finale" not in page
    assert (await teacher.post("/teacher/control/explode")).status == 404
    log = text_of(await teacher.get("/teacher/log"))
    assert "Pause für alle" in log
    assert "Lehrkraft" in log


async def test_the_log_says_in_words_who_changed_what(pages: Pages) -> None:
    tried = list[str]()

    async def change(who: Visitor, actor: str, path: str, **form: str) -> None:
        before = len(pages.league(all_log_entries))
        await who.get("/")  # for the token
        assert (await who.post(path, form)).status in {200, 303}, path
        actors = {entry.actor for entry in pages.league(all_log_entries)[before:]}
        assert actor in actors, f"nothing in the log says who has done {path}"
        tried.append(path)

    teacher = await pages.set_up(["Alan"])
    page = (await teacher.get("/teacher/settings")).body.decode()
    settings = dict(re.findall(r'<input type="text"[^>]* name="(\w+)" value="([^"]*)"', page))
    await change(teacher, "teacher", "/teacher/settings", **{**settings, "name": "Liga 10c", "challenges_per_day": "7"})
    assert "Herausforderungen eines Teams am Tag: 7" in text_of(await teacher.get("/teacher/log"))
    await change(teacher, "teacher", "/teacher/control/message", text="Hallo")
    await change(teacher, "teacher", "/teacher/control/remove-message", message="1")
    for action in ("pause", "resume", "new-link", "remove-link"):
        await change(teacher, "teacher", f"/teacher/control/{action}")
    await change(teacher, "teacher", "/teacher/teams", names="Barbara")
    await change(teacher, "teacher", "/teacher/codes")
    await change(teacher, "teacher", "/teacher/teams/1/rename", name="Alan T.")
    for action in ("pause", "resume", "code", "remove"):
        await change(teacher, "teacher", f"/teacher/teams/1/{action}")
    await change(teacher, "teacher", "/teacher/helpers/add", name="Raum 12")
    for action in ("allow", "forbid", "revoke"):
        await change(teacher, "teacher", f"/teacher/helpers/{action}", helper="1")
    ada, grace = await pages.team("Ada"), pages.league.add_team("Grace")
    old, new, other = pages.league.accept(3), pages.league.accept(3), pages.league.accept(grace)
    pages.league.play_pair(old, other, 0, 1)
    for path in ("/team/helpers", f"/teams/{grace}/challenge", f"/versions/{old.id}/take-back",
                 f"/versions/{new.id}/discard"):  # fmt: skip
        await change(ada, "team:3", path)
    for path in ("/pairs/1/repeat", "/pairs/3/void", f"/versions/{old.id}/pause", f"/versions/{old.id}/resume",
                 "/control/freeze"):  # fmt: skip
        await change(teacher, "teacher", f"/teacher{path}")
    await change(teacher, "teacher", "/teacher/control/final", kind="swiss", pairs="1")
    for path in ("/control/end", "/control/practice", f"/versions/{other.id}/remove"):
        await change(teacher, "teacher", f"/teacher{path}")
    refused = pages.league.upload(grace)
    pages.league(finish_check, refused.id, Fault("no-main-file", "start.sh. fehlt", "the script is missing"), NOON)
    await change(teacher, "teacher", "/teacher/password", old=PASSWORD, password="another password")
    await change(pages.visitor(), "teacher", "/login", password="another password")

    raw = {*get_args(Action), *Details.__annotations__, "builtin:", "True", "None", "{", "team:", "no-main-file"}
    for language in ("de", "en"):
        await teacher.get(f"/language/{language}")
        page = text_of(await teacher.get("/teacher/log")).partition("Genaueres" if language == "de" else "Details ")[2]
        assert [
            word for word in raw if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", page) and word not in ENGLISH
        ] == []
        assert "sh. fehlt" in page or "script is missing" in page
    for route in pages.site.routes:
        if isinstance(route, Route) and "POST" in (route.methods or ()):
            pattern = re.sub(r"{.*?}", "[^/]+", route.path)
            # the first has been used, the second changes nothing, the others have tests of their own
            if route.path not in {"/setup", "/logout", "/api/upload", "/teacher/keep/{action}"}:
                assert any(re.fullmatch(pattern, path) for path in tried), f"nobody has tried {route.path}"


ENGLISH: Final = {"challenge", "kind", "reason", "size", "passed", "code", "to", "en", "de", "details"}
"""Words that are names in the log and plain English, too."""


def test_the_log_has_words_for_whatever_it_can_say() -> None:
    assert set(get_args(Action)) == set(ACTIONS), "nobody has put an action into words"
    german, english = Words("de"), Words("en")
    values: dict[str, Sequence[Any]] = {
        "to": ["a"], "reason": ["a"], "details": ["a"], "size": [1500], "sha256": ["0123456789abcdef" * 4],
        "code": ["a"], "de": ["a"], "en": ["a"],
    }  # fmt: skip
    for key, kind in get_type_hints(Details).items():
        is_choice = get_origin(kind) is Literal
        for value in get_args(kind) if is_choice else values[key]:
            for words in (german, english):
                label, _, text = details_text({key: value}, words, {}).partition(": ")
                assert label != key or (words is english and key in ENGLISH), f"nobody has named the detail {key}"
                assert text or key in {"de", "en"}
                assert not (is_choice and words is german and value in text), f"nobody has put {value} into words"
    for stage in get_args(Stage):
        assert subject_text("enter-stage", stage, german) != stage, f"nobody has put {stage} into words"


async def test_the_log_shows_settings_as_the_page_of_settings_does(pages: Pages) -> None:
    teacher = await pages.set_up()
    page = (await teacher.get("/teacher/settings")).body.decode()
    fields = dict.fromkeys(re.findall(r'<(?:input|select)[^>]* name="(\w+)"', page.partition("<main")[2]), "3")
    del fields["form_token"]
    fields |= {"name": "Liga 10c", "edition": "piranhas-2026", "language": "en", "freeze_at": "2027-06-01T18:00"}
    fields |= {"soft_timeout": "1.25", "kept_replays": "1234567"}
    assert (await teacher.post("/teacher/settings", fields)).status == 303
    [entry] = [each for each in pages.league(all_log_entries) if each.action == "change-settings"]
    changeable = {name for name in fields if name in LeagueSettings.__struct_fields__}
    assert set(entry.details["to"]) == changeable, "the log leaves out a setting"
    await teacher.get("/language/de")
    log = text_of(await teacher.get("/teacher/log"))
    for text in ("Spiel: Piranhas 2026", "Sprache: Englisch", "Ende der Übungszeit: 1.6.2027, 18:00",
                 "(leer: wie im Wettbewerb): 1,25", "(leer: alle): 1.234.567", "help-league): an"):  # fmt: skip
        assert text in log
    assert [name for name in changeable if name in log] == []
    await teacher.post("/teacher/settings", {**fields, "kept_replays": "", "freeze_at": ""})
    assert "Ende der Übungszeit: leer" in text_of(await teacher.get("/teacher/log"))


async def test_settings_are_checked_and_kept(pages: Pages) -> None:
    teacher = await pages.set_up()
    page = (await teacher.get("/teacher/settings")).body.decode()
    form = dict(re.findall(r'<input type="text"[^>]* name="(\w+)" value="([^"]*)"', page))
    form |= {"name": "Liga 10c", "edition": "blokus-2027", "language": "en", "freeze_at": "2027-06-01T18:00"}
    bad = await teacher.post("/teacher/settings", {**form, "uploads_per_hour": "0"})
    assert (bad.status, "Uploads eines Teams in einer Stunde: Erwartet wird" in text_of(bad)) == (400, True)
    good = {**form, "soft_timeout": "1,5", "most_games_at_once": "", "shows_opponents_replays": "1"}
    assert (await teacher.post("/teacher/settings", good)).status == 303
    settings = pages.league(load_settings)
    assert (settings.name, settings.language, settings.soft_timeout) == ("Liga 10c", "en", 1.5)
    assert settings.shows_opponents_replays
    assert not settings.runs_without_sandbox
    assert settings.freeze_at is not None
    assert (await teacher.post("/teacher/settings", {**form, "freeze_at": "soon"})).status == 400


async def test_the_game_of_programs_that_are_there_stays(pages: Pages) -> None:
    teacher = await pages.set_up(["Ada"])
    page = (await teacher.get("/teacher/settings")).body.decode()
    form = dict(re.findall(r'<input type="text"[^>]* name="(\w+)" value="([^"]*)"', page))
    form |= {"name": "Liga 10c", "language": "de"}
    version = pages.league.accept(1)
    other = {**form, "edition": "piranhas-2026"}
    refused = await teacher.post("/teacher/settings", other)
    assert (refused.status, "zweite Liga" in text_of(refused)) == (400, True)
    assert pages.league(load_settings).edition == "blokus-2027"
    assert (await teacher.post("/teacher/settings", {**form, "edition": "blokus-2027"})).status == 303
    await teacher.get("/teams/1")
    await teacher.post(f"/teacher/versions/{version.id}/remove")
    assert (await teacher.post("/teacher/settings", other)).status == 303


async def test_the_table_marks_who_is_paused(pages: Pages) -> None:
    teacher = await pages.set_up(["Ada"])
    version = pages.league.accept(1)
    assert "pausiert" not in text_of(await teacher.get("/"))
    await teacher.post("/teacher/teams/1/pause")
    assert "pausiert" in text_of(await teacher.get("/"))
    await teacher.post("/teacher/teams/1/resume")
    await teacher.post(f"/teacher/versions/{version.id}/pause")
    assert "pausiert" in text_of(await teacher.get("/"))


async def test_teams_are_renamed_paused_and_removed(pages: Pages) -> None:
    teacher = await pages.set_up(["Ada", "Grace"])
    await teacher.get("/teacher/teams")
    await teacher.post("/teacher/teams/1/rename", {"name": "Ada L."})
    await teacher.post("/teacher/teams/1/pause", {"reason": "Ferien"})
    await teacher.post("/teacher/teams/2/remove")
    page = text_of(await teacher.get("/teacher/teams"))
    assert "Ada L." in page
    assert "pausiert: Ferien" in page
    assert "Grace" not in page
    await teacher.post("/teacher/teams/1/resume")
    new = await teacher.post("/teacher/teams/1/code")
    assert len(re.findall(r"<code>[2-9A-Z-]{19}</code>", new.body.decode())) == 1
    everybody = await teacher.post("/teacher/codes")
    assert len(re.findall(r"<code>[2-9A-Z-]{19}</code>", everybody.body.decode())) == 1
    assert (await teacher.post("/teacher/teams/99/pause")).status == 404


async def test_versions_are_paused_resumed_and_removed_by_the_teacher(pages: Pages) -> None:
    teacher = await pages.set_up(["Ada"])
    version = pages.league.accept(1)
    await teacher.get("/teams/1")
    await teacher.post(f"/teacher/versions/{version.id}/pause")
    assert pages.league(get_version, version.id).is_paused
    await teacher.post(f"/teacher/versions/{version.id}/resume")
    assert not pages.league(get_version, version.id).is_paused
    await teacher.post(f"/teacher/versions/{version.id}/remove")
    assert pages.league(get_version, version.id).state == "removed"


async def test_the_code_of_a_pc_is_shown_once_and_can_be_revoked(pages: Pages) -> None:
    teacher = await pages.set_up()
    await teacher.get("/teacher/helpers")
    shown = await teacher.post("/teacher/helpers/add", {"name": "Raum 12"})
    assert "spielleiter help-league" in text_of(shown)
    (helper,) = pages.league(list_helpers)
    assert helper.code_hash not in shown.body.decode()
    await teacher.post("/teacher/helpers/allow", {"helper": str(helper.id)})
    await teacher.post("/teacher/helpers/revoke", {"helper": str(helper.id)})
    (helper,) = pages.league(list_helpers)
    assert (helper.is_revoked, helper.runs_without_sandbox) == (True, True)
    assert "widerrufen" in text_of(await teacher.get("/teacher/helpers"))


async def ignore(_frame: bytes) -> None: ...


async def made_file(pages: Pages, teacher: Visitor, kind: str) -> Answer:
    """Have a file made, and return the download."""
    await teacher.get("/teacher")
    answer = await teacher.post(f"/teacher/keep/{kind}")
    assert answer.headers["location"] == "/teacher/keep"
    file = await finished(pages)
    assert file.name in text_of(await teacher.get("/teacher/keep"))
    return await teacher.get("/teacher/keep/file")


async def finished(pages: Pages) -> KeptFile:
    """Return the file that is being made, when nothing more happens to it."""
    while (file := pages.site.keeping.file) is None or file.is_being_made:
        with trio.move_on_after(0.1):
            await pages.director.changed.newer_than(pages.director.changed.newest, ignore)
    return file


async def test_backup_and_export_are_downloads_that_leave_nothing_behind(pages: Pages) -> None:
    folder = pages.league.database.path.parent
    (folder / ".keep-killed").mkdir()
    teacher = await pages.set_up(["Ada"])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pages.site.keeping.run)
        backup = await made_file(pages, teacher, "backup")
        assert backup.body.startswith(b"SQLite format 3\0")
        assert "attachment" in backup.headers["content-disposition"]
        assert int(backup.headers["content-length"]) == len(backup.body)
        export = await made_file(pages, teacher, "export")
        with zipfile.ZipFile(io.BytesIO(export.body)) as archive:
            assert {"table.csv", "games.jsonl", "pages/index.html"} <= set(archive.namelist())
        assert len(kept_folders(folder)) == 1
        noted = [entry.action for entry in pages.league(all_log_entries) if "backup" in entry.action]
        assert noted == ["keep-backup", "download-backup"]
        log = text_of(await teacher.get("/teacher/log"))
        assert all(words in log for words in ("Sicherung erzeugt", "Sicherung heruntergeladen", "Export erzeugt"))
        await teacher.get("/teacher/keep")
        await teacher.post("/teacher/keep/discard")
        assert (await teacher.get("/teacher/keep/file")).status == 404
        nursery.cancel_scope.cancel()
    assert kept_folders(folder) == []


async def test_the_page_says_how_far_a_file_is(pages: Pages) -> None:
    teacher = await pages.set_up(["Ada"])
    await teacher.get("/teacher")
    await teacher.post("/teacher/keep/export")
    file = pages.site.keeping.file
    assert file is not None
    file.share = 0.42
    answer = await teacher.get("/teacher/keep")
    assert "42 %" in text_of(answer)
    assert b"data-waiting" in answer.body
    await teacher.post("/teacher/keep/export")
    assert pages.site.keeping.file is file
    file.problem = "no space left"
    assert "Festplatte voll" in text_of(await teacher.get("/teacher/keep"))


async def test_a_bug_while_a_file_is_made_is_reported_and_the_site_goes_on(league: League) -> None:
    with failing_database(league) as database:
        pages = pages_of(League(database))
        teacher = await pages.set_up(["Ada"])
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pages.site.keeping.run)
            await teacher.get("/teacher")
            database.fault = ZeroDivisionError()
            await teacher.post("/teacher/keep/backup")
            await finished(pages)
            page = text_of(await teacher.get("/teacher/keep"))
            assert "ZeroDivisionError" in page
            assert "voll" not in page  # that would send the teacher the wrong way
            assert [type(bug) for bug in pages.bugs] == [ZeroDivisionError]
            assert kept_folders(database.path.parent) == []
            database.fault = None
            backup = await made_file(pages, teacher, "backup")
            assert backup.status == 200
            database.fault = LeagueDiskError("the disk is full")
            assert (await teacher.get("/teacher/keep/file")).body == backup.body  # all the more
            nursery.cancel_scope.cancel()


async def test_a_file_that_is_wanted_while_another_one_is_deleted_can_be_downloaded(pages: Pages) -> None:
    teacher = await pages.set_up(["Ada"])
    threads = trio.to_thread.current_default_thread_limiter()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pages.site.keeping.run)
        await made_file(pages, teacher, "backup")
        threads.total_tokens, usual = 1, threads.total_tokens
        async with threads:  # nothing is deleted meanwhile
            pages.site.keeping.want(None)
            await trio.testing.wait_all_tasks_blocked()
            pages.site.keeping.want(KeptFile("backup", "2027-01-31"))
        threads.total_tokens = usual
        await finished(pages)
        await trio.testing.wait_all_tasks_blocked()
        while threads.borrowed_tokens:  # whatever comes after that
            await trio.sleep(0.01)
            await trio.testing.wait_all_tasks_blocked()
        assert (await teacher.get("/teacher/keep/file")).status == 200
        made = [entry for entry in pages.league(all_log_entries) if entry.action == "keep-backup"]
        assert len(made) == 2, "a finished file was deleted and made once more"
        nursery.cancel_scope.cancel()


def kept_folders(folder: Path) -> list[str]:
    return [path.name for path in folder.glob(".keep*")]


async def test_a_spectator_comes_by_the_link_until_it_is_changed(pages: Pages) -> None:
    teacher = await pages.set_up(["Ada"])
    await teacher.get("/teacher")
    await teacher.post("/teacher/control/new-link")
    token = pages.league(load_settings).spectator_token
    assert f"/watch/{token}" in text_of(await teacher.get("/teacher"))
    spectator = pages.visitor()
    assert (await spectator.get(f"/watch/{token}")).headers["location"] == "/"
    for path in ("/", "/games", "/beamer", "/teams/1", "/viewer/"):
        assert (await spectator.get(path)).status == 200
    assert (await spectator.get("/upload")).status == 403
    await teacher.post("/teacher/control/new-link")
    assert (await spectator.get("/")).headers["location"] == "/login"


def play_final(league: League) -> None:
    """Play all games of a final, whose first versions win."""
    while pairs := league(list_pairs, state="open", purpose="final"):
        for pair in pairs:
            for number in (1, 2):
                league.play(pair, number, 0)
        league(continue_final, NOON, random.Random(1))


async def test_the_final_is_shown_round_by_round(pages: Pages) -> None:
    teacher = await pages.set_up(["Ada", "Grace", "Alan", "Barbara"])
    for team in (1, 2, 3, 4):
        pages.league.accept(team)
    await teacher.get("/teacher")
    assert (await teacher.post("/teacher/control/freeze")).status == 303
    assert (await teacher.post("/teacher/control/final", {"kind": "dice", "pairs": "1"})).status == 409
    assert (await teacher.post("/teacher/control/final", {"kind": "knock-out", "pairs": "1"})).status == 303
    pages.league(continue_final, NOON, random.Random(1))
    assert "Halbfinale" in text_of(await teacher.get("/final"))
    play_final(pages.league)
    for path in ("/final", "/beamer"):
        page = text_of(await teacher.get(path))
        assert re.search(r"Gewonnen hat (Ada|Grace|Alan|Barbara)!", page), path
        assert "Spiel um Platz 3" in page
    assert (await teacher.post("/teacher/control/end")).status == 303
    assert (await teacher.post("/teacher/control/practice")).status == 303
    assert pages.bugs == []


# -- all pages ------------------------------------------------------------------------------------------------------


async def test_pages_speak_the_chosen_language(pages: Pages) -> None:
    teacher = await pages.set_up()
    assert b'<html lang="de">' in (await teacher.get("/")).body
    assert (await teacher.get("/language/en?back=/games")).headers["location"] == "/games"
    assert b'<html lang="en">' in (await teacher.get("/")).body
    for evil in ("//evil.example", "https://evil.example", "/\\evil.example", "/%0d%0aset-cookie:x"):
        assert (await teacher.get(f"/language/en?back={quote(evil)}")).headers["location"] == "/"
    assert (await teacher.get("/language/de?back=/games?team=3")).headers["location"] == "/games?team=3"
    assert b"back=/games%3Fteam%3D3" in (await teacher.get("/games?team=3")).body
    for evil in ("https://evil.example/x", f"https://{HOST}//evil.example", f"https://{HOST}/x%22onload=y"):
        refused = await teacher.post("/teacher/control/explode", None, referer=evil)
        assert b'href="/">Zur' in refused.body, evil
    back = await teacher.post("/teacher/control/explode", None, referer=f"http://{HOST}/teacher/teams")
    assert b'href="/teacher/teams">Zur' in back.body
    await teacher.get("/language/en")
    await teacher.get("/language/xx")
    assert b'<html lang="en">' in (await teacher.get("/")).body


async def test_pages_are_told_when_something_has_changed(pages: Pages) -> None:
    teacher = await pages.set_up()
    received: list[bytes] = []
    got = trio.Event()

    async def send(message: MutableMapping[str, Any]) -> None:
        received.append(message.get("body", b""))
        if b"changed" in received[-1]:
            got.set()

    cookie = "; ".join(f"{name}={value}" for name, value in teacher.cookies.items())
    async with trio.open_nursery() as nursery:
        scope = request_scope("GET", "/api/changes", {"host": HOST, "cookie": cookie})
        nursery.start_soon(pages.site.app, scope, never, send)
        while not received:  # noqa: ASYNC110 - until the stream is open
            await trio.sleep(0.01)
        await trio.testing.wait_all_tasks_blocked(0.01)
        pages.director.wake()
        await got.wait()
        nursery.cancel_scope.cancel()


async def test_what_does_not_exist_is_explained_in_a_page_or_as_json(pages: Pages) -> None:
    teacher = await pages.set_up()
    for path in ("/there", "/games/99", "/teams/99", "/versions/99", "/viewer/there"):
        assert (await teacher.get(path)).status == 404, path
        answer = await teacher.request("GET", path, {})
        assert (answer.status, set(json.loads(answer.body))) == (404, {"error"})
    assert (await teacher.request("DELETE", "/games", {})).status == 405
    assert (await teacher.get("/static/league.css")).status == 200
    assert (await teacher.get("/static/../site.py")).status == 404
