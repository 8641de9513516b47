"""The pages that everybody with a session sees: table, games, a game, a team, the final, the big screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from spielleiter.common.text import escaped_lines
from spielleiter.league.games import get_game, get_recording, list_games
from spielleiter.league.model import Game, RatingOfDay, Role, Team, Version
from spielleiter.league.rating_chart import rating_chart
from spielleiter.league.rating_history import rating_history
from spielleiter.league.stages import bracket
from spielleiter.league.teams import get_team, list_teams
from spielleiter.league.versions import list_versions
from spielleiter.league.web.visits import Visit, Visits
from spielleiter.match.verdict import Verdict
from spielleiter.viewer.web.answers import EventStreamResponse, SendFrame, WebError, frame, whole_number

EVERYBODY: Final[tuple[Role, ...]] = ("teacher", "team", "spectator")
GAMES_ON_PAGE: Final = 50
GAMES_OF_TEAM: Final = 20
GAMES_FOR_REASONS: Final = 200
"""The number of the newest games of a team whose losses are counted by their reasons."""
OUTPUT_BYTES: Final = 16 * 1024
"""The most of a program's standard error that a page shows: the end of it, where a crash stands."""
OUTPUT_LINES: Final = 200
_NO_OUTPUT: Final = WebError(404, "Diese Ausgabe gibt es nicht.", "There is no such output.")
_OUTPUT_POLICY: Final = "default-src 'none'; sandbox"

VERDICTS: Final = {
    "": ("auf dem Brett verloren", "lost on the board"),
    Verdict.NO_START: ("das Programm startet nicht", "the program does not start"),
    Verdict.NEVER_JOINS: ("das Programm meldet sich nicht an", "the program never joins"),
    Verdict.NONSENSE: ("unverständliche Anmeldung", "the program speaks nonsense"),
    Verdict.DIES: ("das Programm hat sich mitten im Spiel beendet", "the program ended during the game"),
    Verdict.CRASH: ("das Programm ist abgestürzt", "the program crashed"),
    Verdict.LEAVES: ("das Programm hat die Verbindung geschlossen", "the program closed its connection"),
    Verdict.TAMPERS: ("das Programm hat seine Aufsicht gestört", "the program tampered with its supervisor"),
    Verdict.TIMEOUT: ("Zeit überschritten", "too late"),
    Verdict.HANGS: ("kein Zug bis zum Ende der Zeit", "no move at all in time"),
    Verdict.ILLEGAL_MOVE: ("Zug gegen die Regeln", "illegal move"),
    Verdict.BAD_MESSAGE: ("unverständliche Nachricht", "bad message"),
}
"""Why a game was lost, in both languages, by its verdict; empty: without a fault."""


def public_routes(visits: Visits) -> list[BaseRoute]:
    """Return the routes of these pages."""
    database = visits.database

    async def table(request: Request) -> Response:
        """Ranks, ratings and points of all teams."""
        visit = await visits.open(request, *EVERYBODY)
        rows = visit.director.standings.rows
        teams = await database.read(list_teams)
        playing = {row.team_id for row in rows}
        resting = [team for team in teams if team.id not in playing]
        paused = {team.id for team in teams if team.is_paused}
        return visit.page("table", rows=rows, resting=resting, paused=paused, waiting=len(visit.director.queue))

    async def games(request: Request) -> Response:
        """The newest games, `?team=N` of one team, `?before=N` older ones."""
        visit = await visits.open(request, *EVERYBODY)
        team_id, before = (
            whole_number(request, name) if request.query_params.get(name) else None for name in ("team", "before")
        )
        found, teams = await database.read(_games_and_teams, team_id, before)
        here = f"/games?team={team_id}" if team_id is not None else "/games?"
        team = next((each for each in teams if each.id == team_id), None)
        say = visit.words.say
        return visit.page(
            "games",
            games=found,
            teams=teams,
            chosen=team_id,
            title=say("Alle Spiele", "All games") if team is None else say("Spiele: {n}", "Games: {n}", n=team.name),
            older=f"{here}&before={found[-1].id}" if len(found) == GAMES_ON_PAGE else "",
            newest=here if before is not None else "",
        )

    async def game(request: Request) -> Response:
        """One game: its result, the replay, and the standard error of the own program."""
        visit = await visits.open(request, *EVERYBODY)
        game_id = request.path_params["game"]
        found = await database.read(get_game, game_id)
        recording = await database.read(get_recording, game_id)
        outputs = []
        if recording is not None:
            sides = ((found.team1, found.label1, recording.stderr1), (found.team2, found.label2, recording.stderr2))
            outputs = [
                _end_of(number, label, stderr or b"")
                for number, (team_id, label, stderr) in enumerate(sides, 1)
                if visit.may_see_inside(team_id)
            ]
        return visit.page(
            "game",
            game=found,
            reason=_reason_for(visit, found),
            has_replay=recording is not None and recording.replay is not None,
            may_watch=visit.may_watch(found.team1, found.team2),
            outputs=outputs,
        )

    async def output(request: Request) -> Response:
        """All that a program (1 or 2) of a game has written to standard error, as a text to save."""
        visit = await visits.open(request, "team", "teacher")
        game_id, side = request.path_params["game"], request.path_params["side"]
        found = await database.read(get_game, game_id)
        recording = await database.read(get_recording, game_id)
        if side not in {1, 2} or recording is None or not visit.may_see_inside((found.team1, found.team2)[side - 1]):
            raise _NO_OUTPUT
        stderr = (recording.stderr1, recording.stderr2)[side - 1] or b""
        # escaped, since whoever opens the file in a terminal would let the program write to that
        text = escaped_lines(stderr.decode("utf-8", "replace"))
        disposition = f'attachment; filename="stderr-{game_id}-{side}.txt"'
        headers = {"content-disposition": disposition, "content-security-policy": _OUTPUT_POLICY}
        return PlainTextResponse(text, headers=headers)

    async def team(request: Request) -> Response:
        """One team: its place, its history and games; for itself and the teacher, its versions with their faults."""
        visit = await visits.open(request, *EVERYBODY)
        team_id = request.path_params["team"]
        found = await database.read(_team_page, team_id)
        row = next((row for row in visit.director.standings.rows if row.team_id == team_id), None)
        waiting = {check.version_id: place for place, check in enumerate(visit.director.queue, 1)}
        is_inside = visit.may_see_inside(team_id)
        shown = [version for version in found.versions if is_inside or version.state == "accepted"]
        return visit.page(
            "team",
            team=found.team,
            row=row,
            versions=shown,
            waiting=waiting,
            games=found.games[:GAMES_OF_TEAM],
            losses=losses_by_reason(found.games, team_id),
            chart=rating_chart(found.history),
            verdict=lambda verdict: visit.words.say(*VERDICTS.get(verdict, (verdict, verdict))),
            is_own=visit.team_id == team_id,
            may_challenge=any(row.team_id == visit.team_id for row in visit.director.standings.rows),
            is_inside=is_inside,
        )

    async def final(request: Request) -> Response:
        """The rounds of the final."""
        visit = await visits.open(request, *EVERYBODY)
        return visit.page("final", final=await database.read(bracket))

    async def beamer(request: Request) -> Response:
        """The table, games that are being played and the final in turn, on a big screen."""
        visit = await visits.open(request, *EVERYBODY)
        final = await database.read(bracket) if visit.settings.has_final else None
        rows = [row for row in visit.director.standings.rows if row.team_id is not None]
        count = len(rows)
        # one column as long as its rows are large there; beyond forty teams, the next forty are below these
        in_column = count if count <= 16 else min(20, (count + 1) // 2)
        columns = [rows[start : start + in_column] for start in range(0, count, in_column or 1)]
        return visit.page("beamer", columns=columns, final=final)

    async def changes(request: Request) -> Response:
        """Server-sent events: `changed`, whenever a page may show something new."""
        await visits.open(request, *EVERYBODY)
        versions = visits.director.changed

        async def write(send_frame: SendFrame) -> None:
            version = versions.newest
            while True:
                version = await versions.newer_than(version, send_frame)
                await send_frame(frame("changed", version))

        return EventStreamResponse(write, lambda: None)

    return [
        Route("/", table),
        Route("/games", games),
        Route("/games/{game:number}", game),
        Route("/games/{game:number}/stderr/{side:number}", output),
        Route("/teams/{team:number}", team),
        Route("/final", final),
        Route("/beamer", beamer),
        Route("/api/changes", changes),
    ]


def _games_and_teams(db: Connection, team_id: int | None, before: int | None) -> tuple[list[Game], list[Team]]:
    return list_games(db, team_id=team_id, before=before, limit=GAMES_ON_PAGE), list_teams(db)


@dataclass(frozen=True, slots=True)
class _Output:
    """The end of what a program has written to standard error: `number` is 1 or 2 for its side of the game."""

    number: int
    label: str
    lines: list[str]
    size: int
    """Bytes of all of it."""
    is_cut: bool


def _end_of(number: int, label: str, stderr: bytes) -> _Output:
    text = stderr[-OUTPUT_BYTES:].decode("utf-8", "replace")
    lines = [line.expandtabs(4) for line in text.splitlines()]
    is_cut = len(stderr) > OUTPUT_BYTES or len(lines) > OUTPUT_LINES
    if len(stderr) > OUTPUT_BYTES and len(lines) > 1:
        del lines[0]  # its beginning is missing
    return _Output(number, label, lines[-OUTPUT_LINES:], len(stderr), is_cut)


def _reason_for(visit: Visit, game: Game) -> str:
    """Return why a game ended: whoever may not see inside the offender's program learns no more than the kind."""
    offender = None if game.offender is None else (game.team1, game.team2)[game.offender]
    if game.offender is not None and not visit.may_see_inside(offender):
        name = (game.label1, game.label2)[game.offender]
        return visit.words.say(
            "Das Spiel endete durch einen Fehler von {name}.", "The game ended by a fault of {name}.", name=name
        )
    return visit.words.say(game.reason_de, game.reason_en)


@dataclass(frozen=True, slots=True)
class _TeamPage:
    team: Team
    versions: list[Version]
    games: list[Game]
    history: list[RatingOfDay]


def _team_page(db: Connection, team_id: int) -> _TeamPage:
    team, versions = get_team(db, team_id), list_versions(db, team_id)
    history = rating_history(db, [version.id for version in versions])
    return _TeamPage(team, versions, list_games(db, team_id=team_id, limit=GAMES_FOR_REASONS), history)


@dataclass(frozen=True, slots=True)
class LossReason:
    """Why a team has lost games: `verdict` as in a match, or empty for games that it lost on the board."""

    verdict: str
    count: int
    newest: int
    """The id of the newest of these games."""


def losses_by_reason(games: Sequence[Game], team_id: int) -> list[LossReason]:
    """Return the reasons of a team's lost games, the most frequent first; `games` are the newest first."""
    found: dict[str, list[int]] = {}
    for game in games:
        own = 0 if game.team1 == team_id else 1
        if game.is_void or not game.is_counted or game.winner is None or game.winner == own:
            continue
        found.setdefault(game.verdict if game.offender == own else "", []).append(game.id)
    return sorted((LossReason(reason, len(ids), ids[0]) for reason, ids in found.items()), key=lambda each: -each.count)
