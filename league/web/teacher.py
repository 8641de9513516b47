"""The teacher's pages: the first run, teams and their codes, settings, control of the games, the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, get_args

import msgspec
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from spielleiter.league import stages
from spielleiter.league.accounts import new_spectator_link, remove_spectator_link
from spielleiter.league.anchors import default_anchors
from spielleiter.league.errors import RefusedError
from spielleiter.league.games import repeat_pair, void_pair
from spielleiter.league.helper_code import HelperCode, new_secret, secret_hash
from spielleiter.league.helpers import add_helper, list_helpers, revoke_helper, set_runs_without_sandbox
from spielleiter.league.log import TEACHER, add_message, log_entries, note, remove_message
from spielleiter.league.model import FinalKind
from spielleiter.league.settings import LeagueSettings, change_settings, load_settings
from spielleiter.league.teams import (
    NewTeam,
    add_teams,
    get_team,
    list_teams,
    pause_team,
    remove_team,
    rename_team,
    renew_code,
    resume_team,
)
from spielleiter.league.versions import (
    active_versions,
    list_versions,
    pause_version,
    remove_version,
    resume_version,
    set_anchors,
)
from spielleiter.league.web.log_texts import FINAL_KINDS, action_text, details_text, subject_text
from spielleiter.league.web.parts import Gate
from spielleiter.league.web.visits import Visit, Visits, read_form, see_other
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.game_json import edition_title
from spielleiter.viewer.web.answers import WebError, number_in
from spielleiter.viewer.web.guard import client_address

ENTRIES_ON_PAGE: Final = 100
_IN_USE: Final = frozenset({"waiting", "checking", "accepted"})
_NO_ADDRESS: Final = WebError(404, "Diese Adresse gibt es hier nicht.", "There is no such address here.")
_WRONG_CODE: Final = (
    "Dieser Code ist falsch oder gilt nicht mehr. Der richtige steht in dem Fenster, in dem spielleiter läuft.",
    "This code is wrong or no longer valid. The right one is shown in the window in which spielleiter runs.",
)


@dataclass(frozen=True, slots=True)
class _Number:
    """A setting that is a number within bounds; `is_optional`: it may be left empty."""

    name: str
    de: str
    en: str
    least: float
    most: float
    is_whole: bool = True
    is_optional: bool = False

    def read(self, form: Mapping[str, str]) -> float | int | None:
        """Return the number in a form. Raises RefusedError."""
        text = form.get(self.name, "").strip().replace(",", ".")
        if not text and self.is_optional:
            return None
        try:
            value = int(text) if self.is_whole else float(text)
        except ValueError:
            value = self.least - 1
        if not self.least <= value <= self.most:
            raise RefusedError(
                "bad-number",
                f"{self.de}: Erwartet wird eine Zahl von {str(self.least).replace('.', ',')} bis {self.most}.",
                f"{self.en}: expected a number from {self.least} to {self.most}.",
            )
        return value


_NUMBERS: Final = (
    _Number("uploads_per_hour", "Uploads eines Teams in einer Stunde", "Uploads of a team in an hour", 1, 1000),
    _Number("upload_megabytes", "Größte ZIP-Datei in MB", "Largest ZIP in MB", 1, 200),
    _Number("team_megabytes", "Alle Versionen eines Teams zusammen in MB", "All versions of a team in MB", 1, 10_000),
    _Number("challenges_per_day", "Herausforderungen eines Teams am Tag", "Challenges of a team in a day", 0, 1000),
    _Number("faults_until_pause", "Pause nach so vielen Fehlern in Folge", "Pause after so many faults", 1, 100),
    _Number(
        "most_games_at_once",
        "Spiele gleichzeitig (leer: so viele, wie der Rechner gerecht schafft)",
        "Games at once (empty: as many as the machine can judge fairly)",
        1,
        64,
        is_optional=True,
    ),
    _Number(
        "soft_timeout",
        "Zeit für einen Zug in Sekunden (leer: wie im Wettbewerb)",
        "Time for a move in seconds (empty: the contest's)",
        0.1,
        600,
        is_whole=False,
        is_optional=True,
    ),
    _Number(
        "kept_replays",
        "So viele Spiele behalten ihr Replay (leer: alle)",
        "So many games keep their replay (empty: all)",
        0,
        10_000_000,
        is_optional=True,
    ),
)
_SWITCHES: Final = (
    (
        "is_open_to_network",
        "Die Seiten sind aus dem Netz der Schule zu erreichen (unverschlüsselt, siehe Anleitung)",
        "The pages can be reached from the school's network (not encrypted, see the manual)",
    ),
    (
        "shows_opponents_replays",
        "Teams und Zuschauer dürfen alle beendeten Spiele ansehen",
        "Teams and spectators may watch all finished games",
    ),
    (
        "uses_helpers",
        "Programme dürfen auch auf anderen PCs laufen, die einen Code haben (spielleiter help-league)",
        "Programs may run on other PCs, too, that have a code (spielleiter help-league)",
    ),
    (
        "runs_without_sandbox",
        "Gefährlich: Programme laufen auch ohne Sandbox. Sie können dann lesen und ändern, was Ihnen hier möglich ist",
        "Dangerous: without a sandbox, programs run nevertheless. They can read and change whatever you can here",
    ),
)

_LABELS: Final = {
    **{each.name: (each.de, each.en) for each in _NUMBERS},
    **{name: (de, en) for name, de, en in _SWITCHES},
    "name": ("Name", "name"),
    "edition": ("Spiel", "game"),
    "language": ("Sprache", "language"),
    "freeze_at": ("Ende der Übungszeit", "end of practice"),
}
"""What the settings are called in the log."""


def teacher_routes(visits: Visits, gate: Gate | None, fingerprint: bytes) -> list[BaseRoute]:
    """Return the routes of these pages.

    - `gate`: the port for helpers' PCs; None if there is none.
    - `fingerprint`: that of its certificate.
    """
    database = visits.database

    # -- the first run

    async def setup_page(request: Request) -> Response:
        """The form for a league that has no teacher yet."""
        visit = await visits.open(request)
        if visit.settings.teacher_password_hash:
            return see_other("/")
        form = {"code": request.query_params.get("code", "")[:60], "name": "", "names": "", "edition": ""}
        return visit.page("setup", form=form, error="", editions=_editions())

    async def set_up(request: Request) -> Response:
        """Make the league: password, name, game, teams; then their codes to print."""
        visit = await visits.open(request)
        form = await read_form(request, None)
        if visit.settings.teacher_password_hash:
            return see_other("/")

        def again(de: str, en: str) -> Response:
            kept = {name: form.get(name, "") for name in ("code", "name", "names", "edition")}
            return visit.page("setup", 400, form=kept, error=visit.words.say(de, en), editions=_editions())

        try:
            code, password = form.get("code", ""), form.get("password", "")
            begun = await visits.accounts.set_up(
                client_address(request), code, password, visit.now, lambda db: _make_league(db, form, visit.now)
            )
        except RefusedError as error:
            return again(error.de, error.en)
        if begun is None:
            return again(*_WRONG_CODE)
        new, codes = begun
        visits.director.wake()
        opened = await visits.open(request, "teacher", token=new.token)
        page = _sheet(opened, codes) if codes else see_other("/teacher")
        return visits.begin(new, page)

    # -- control

    async def overview(request: Request) -> Response:
        """What goes on, and what the teacher can do about it."""
        visit = await visits.open(request, "teacher")
        teams, active = await database.read(lambda db: (list_teams(db), active_versions(db)))
        link = f"{visit.address}/watch/{visit.settings.spectator_token}" if visit.settings.spectator_token else ""
        paused = [version for version in active if version.is_paused]
        return visit.page("teacher", teams=teams, active=active, paused=paused, link=link, final_kinds=FINAL_KINDS)

    async def control(request: Request) -> Response:
        """One of the buttons of that page."""
        visit = await visits.open(request, "teacher")
        form = await read_form(request, visit.session)
        await database.write(_CONTROLS[_action(request, _CONTROLS)], form, visit.now)
        visits.director.wake()
        return see_other("/teacher")

    async def change_version(request: Request) -> Response:
        """Pause, resume or remove a version."""
        visit = await visits.open(request, "teacher")
        await read_form(request, visit.session)
        version_id, words = request.path_params["version"], visit.words
        action = _action(request, {"pause", "resume", "remove"})
        if action == "pause":
            reason = words.say("Die Lehrkraft hat diese Version angehalten.", "The teacher has paused this version.")
            await database.write(pause_version, version_id, reason, visit.now, by=TEACHER)
        elif action == "resume":
            await database.write(resume_version, version_id, visit.now)
        else:
            await database.write(remove_version, version_id, visit.now)
        visits.director.wake()
        return see_other(f"/versions/{version_id}")

    async def change_pair(request: Request) -> Response:
        """Repeat a pair of games, or declare it void."""
        visit = await visits.open(request, "teacher")
        await read_form(request, visit.session)
        pair = request.path_params["pair"]
        if _action(request, {"repeat", "void"}) == "repeat":
            await database.write(repeat_pair, pair, visit.now)
        else:
            await database.write(void_pair, pair, visit.now)
        visits.director.wake()
        return see_other("/games")

    # -- teams

    async def teams_page(request: Request) -> Response:
        """All teams."""
        visit = await visits.open(request, "teacher")
        teams, active = await database.read(lambda db: (list_teams(db), active_versions(db)))
        return visit.page("teams", teams=teams, active={version.team_id: version for version in active})

    async def add(request: Request) -> Response:
        """Make teams, or new codes for all of them; the answer is the sheet to print."""
        visit = await visits.open(request, "teacher")
        form = await read_form(request, visit.session)
        if request.url.path == "/teacher/codes":
            return _sheet(visit, await database.write(_renew_all, visit.now))
        codes = await database.write(add_teams, form.get("names", "").splitlines(), visit.now)
        return _sheet(visit, codes) if codes else see_other("/teacher/teams")

    async def change_team(request: Request) -> Response:
        """Rename, pause, resume or remove a team, or make a new code for it."""
        visit = await visits.open(request, "teacher")
        form = await read_form(request, visit.session)
        team_id = request.path_params["team"]
        match _action(request, {"rename", "code", "pause", "resume", "remove"}):
            case "rename":
                await database.write(rename_team, team_id, form.get("name", ""), visit.now)
            case "code":
                code = await database.write(renew_code, team_id, visit.now)
                return _sheet(visit, [NewTeam(await database.read(get_team, team_id), code)])
            case "pause":
                await database.write(pause_team, team_id, form.get("reason", ""), visit.now)
            case "resume":
                await database.write(resume_team, team_id, visit.now)
            case _:
                await database.write(remove_team, team_id, visit.now)
        visits.director.wake()
        return see_other("/teacher/teams")

    # -- settings

    async def settings_page(request: Request) -> Response:
        """All settings."""
        return _settings(await visits.open(request, "teacher"))

    async def change(request: Request) -> Response:
        """Change settings."""
        visit = await visits.open(request, "teacher")
        form = await read_form(request, visit.session)
        try:
            await database.write(_change_settings, form, visit.now)
        except RefusedError as error:
            return _settings(visit, visit.words.say(error.de, error.en), 400)
        visits.director.wake()
        return see_other("/teacher/settings?saved=1")

    async def change_password(request: Request) -> Response:
        """Change the teacher's password."""
        visit = await visits.open(request, "teacher")
        form = await read_form(request, visit.session)
        old, password = form.get("old", ""), form.get("password", "")
        try:
            new = await visits.accounts.change_password(client_address(request), old, password, visit.now)
        except RefusedError as error:
            return _settings(visit, visit.words.say(error.de, error.en), 400)
        if new is None:
            text = visit.words.say("Das bisherige Passwort ist falsch.", "The old password is wrong.")
            return _settings(visit, text, 403)
        return visits.begin(new, see_other("/teacher/settings?saved=1"))

    # -- helpers' PCs

    async def helpers_page(request: Request) -> Response:
        """The PCs that may run programs."""
        visit = await visits.open(request, "teacher")
        return await list_pcs(visit)

    async def list_pcs(visit: Visit, code: str = "", name: str = "") -> Response:
        connected = {} if gate is None else {each.id: each for each in gate.helpers()}
        return visit.page(
            "helpers",
            helpers=await database.read(list_helpers),
            connected=connected,
            gate=gate,
            code=code,
            name=name,
        )

    async def change_helpers(request: Request) -> Response:
        """Make a code for a PC, which is shown once, or revoke one; allow a PC to run programs without a sandbox."""
        visit = await visits.open(request, "teacher")
        form = await read_form(request, visit.session)
        action = _action(request, {"add", "revoke", "allow", "forbid"})
        if action == "add":
            secret, name = new_secret(), form.get("name", "")
            await database.write(add_helper, name, secret_hash(secret), visit.now)
            visits.director.wake()
            return await list_pcs(visit, HelperCode(secret, fingerprint).text, name)
        helper = _id_in(form, "helper")
        if action == "revoke":
            await database.write(revoke_helper, helper, visit.now)
        else:
            await database.write(set_runs_without_sandbox, helper, action == "allow", visit.now)
        visits.director.wake()
        return see_other("/teacher/helpers")

    # -- the log

    async def log_page(request: Request) -> Response:
        """Who did what."""
        visit = await visits.open(request, "teacher")
        before = number_in(request.query_params.get("before", ""))
        entries = await database.read(log_entries, before=before, limit=ENTRIES_ON_PAGE)
        teams = await database.read(list_teams, with_removed=True)
        actors = {f"team:{team.id}": team.name for team in teams}
        older = f"/teacher/log?before={entries[-1].id}" if len(entries) == ENTRIES_ON_PAGE else ""
        words = visit.words
        return visit.page(
            "log",
            entries=entries,
            actors=actors,
            older=older,
            action=lambda entry: action_text(entry.action, words),
            subject=lambda entry: subject_text(entry.action, entry.subject, words),
            details=lambda entry: details_text(entry.details, words, _LABELS),
        )

    def post(path: str, handler: Callable[[Request], Any]) -> Route:
        return Route(path, handler, methods=["POST"])

    return [
        Route("/setup", setup_page),
        post("/setup", set_up),
        Route("/teacher", overview),
        post("/teacher/control/{action}", control),
        post("/teacher/versions/{version:number}/{action}", change_version),
        post("/teacher/pairs/{pair:number}/{action}", change_pair),
        Route("/teacher/teams", teams_page),
        post("/teacher/teams", add),
        post("/teacher/codes", add),
        post("/teacher/teams/{team:number}/{action}", change_team),
        Route("/teacher/settings", settings_page),
        post("/teacher/settings", change),
        post("/teacher/password", change_password),
        Route("/teacher/helpers", helpers_page),
        post("/teacher/helpers/{action}", change_helpers),
        Route("/teacher/log", log_page),
    ]


# -- what the forms do ----------------------------------------------------------------------------------------------


def _action(request: Request, known: Mapping[str, Any] | set[str]) -> str:
    action: str = request.path_params["action"]
    if action not in known:
        raise _NO_ADDRESS
    return action


def _id_in(form: Mapping[str, str], name: str) -> int:
    number = number_in(form.get(name, ""))
    if number is None:
        raise WebError(400, "Dieses Formular ist unlesbar.", "This form cannot be read.")
    return number


def _sheet(visit: Visit, codes: Sequence[NewTeam]) -> Response:
    return visit.page("sheet", codes=codes, url=visit.address)


def _editions() -> list[tuple[str, str]]:
    """Return the editions, the newest first, with their titles."""
    return [(name, edition_title(edition)) for name, edition in EDITIONS.items()]


def _league_of(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings that make a league: name and game. Raises RefusedError."""
    name, edition = " ".join(form.get("name", "").split()), EDITIONS.get(form.get("edition", ""))
    if not 0 < len(name) <= 60 or not name.isprintable():
        raise RefusedError(
            "name-length",
            "Der Name der Liga braucht 1 bis 60 Zeichen.",
            "The name of the league needs 1 to 60 characters.",
        )
    if edition is None:
        raise RefusedError("no-game", "Wählen Sie ein Spiel.", "Choose a game.")
    return {"name": name, "edition": edition.name, "game_type": edition.game_type}


def _make_league(db: Connection, form: Mapping[str, str], now: float) -> list[NewTeam]:
    settings = change_settings(db, **_league_of(form))
    _choose_anchors(db, settings, now)
    note(db, TEACHER, "make-league", now, settings.name)
    return add_teams(db, form.get("names", "").splitlines(), now)


def _choose_anchors(db: Connection, settings: LeagueSettings, now: float) -> None:
    anchors = default_anchors(EDITIONS[settings.edition or ""])
    change_settings(db, anchors=anchors)
    set_anchors(db, anchors, now)


def _renew_all(db: Connection, now: float) -> list[NewTeam]:
    return [NewTeam(team, renew_code(db, team.id, now)) for team in list_teams(db)]


def _change_settings(db: Connection, form: Mapping[str, str], now: float) -> None:
    old = load_settings(db)
    values: dict[str, Any] = {number.name: number.read(form) for number in _NUMBERS}
    values |= {name: name in form for name, _, _ in _SWITCHES}
    values |= _league_of({"edition": old.edition or "", **form})
    values["language"] = "en" if form.get("language") == "en" else "de"
    values["freeze_at"] = _time_in(form.get("freeze_at", ""))
    has_programs = any(each.team_id is not None and each.state in _IN_USE for each in list_versions(db))
    if has_programs and values["game_type"] != old.game_type:
        # none of the programs could play any more, and their ratings would be those of two games
        raise RefusedError(
            "other-game",
            "Es sind schon Programme da, deshalb bleibt das Spiel. Legen Sie für ein anderes eine zweite Liga in einem "
            "anderen Ordner an.",
            "There are programs already, so the game stays. Make a second league in another folder for another game.",
        )
    settings = change_settings(db, **values)
    if settings.edition != old.edition:
        _choose_anchors(db, settings, now)
    changed = {
        name: msgspec.to_builtins(values[name])
        for name in values.keys() - {"game_type"}  # which the edition says
        if getattr(settings, name) != getattr(old, name)
    }
    note(db, TEACHER, "change-settings", now, to=changed)


def _time_in(text: str) -> float | None:
    """Return the time of a form's field for date and time, in this machine's zone. Raises RefusedError."""
    if not text:
        return None
    refusal = RefusedError("bad-time", "Das ist kein Zeitpunkt.", "This is no date and time.")
    try:
        at = datetime.fromisoformat(text)
        seconds = at.astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        raise refusal from None
    if not 2000 <= at.year < 3000:  # others cannot be shown in every time zone, nor on every system
        raise refusal
    return seconds


def _settings(visit: Visit, error: str = "", status: int = 200) -> Response:
    freeze_at = visit.settings.freeze_at
    return visit.page(
        "settings",
        status,
        error=error,
        is_saved="saved" in visit.request.query_params,
        numbers=_NUMBERS,
        switches=_SWITCHES,
        editions=_editions(),
        values=msgspec.to_builtins(visit.settings),
        freeze_at="" if freeze_at is None else f"{datetime.fromtimestamp(freeze_at, UTC).astimezone():%Y-%m-%dT%H:%M}",
    )


def _pause(db: Connection, _form: Mapping[str, str], now: float) -> None:
    change_settings(db, is_paused=True)
    note(db, TEACHER, "pause-league", now)


def _resume(db: Connection, _form: Mapping[str, str], now: float) -> None:
    change_settings(db, is_paused=False)
    note(db, TEACHER, "resume-league", now)


def _begin_final(db: Connection, form: Mapping[str, str], now: float) -> None:
    kind = next((each for each in get_args(FinalKind) if each == form.get("kind")), None)
    pairs = form.get("pairs", "")
    if kind is None or pairs not in {"1", "2", "3", "5", "10"}:
        raise RefusedError("no-kind", "Wählen Sie eine Art des Finales.", "Choose a kind of final.")
    stages.begin_final(db, kind, int(pairs), now)


_CONTROLS: Final[dict[str, Callable[[Connection, Mapping[str, str], float], Any]]] = {
    "pause": _pause,
    "resume": _resume,
    "message": lambda db, form, now: add_message(db, form.get("text", ""), now),
    "remove-message": lambda db, form, now: remove_message(db, _id_in(form, "message"), now),
    "freeze": lambda db, _form, now: stages.freeze(db, now),
    "practice": lambda db, _form, now: stages.back_to_practice(db, now),
    "final": _begin_final,
    "end": lambda db, _form, now: stages.end(db, now),
    "new-link": lambda db, _form, now: new_spectator_link(db, now),
    "remove-link": lambda db, _form, now: remove_spectator_link(db, now),
}
"""What the buttons of the overview do."""
