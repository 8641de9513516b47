"""The pages of a league that need no server, for the web site of a school: table, teams, final, and games to replay."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection

from spielleiter.league.games import games_of_pairs, get_recording, list_games, list_pairs, pairing_results
from spielleiter.league.model import Game, PairingResult
from spielleiter.league.rating_chart import rating_chart
from spielleiter.league.rating_history import rating_history
from spielleiter.league.settings import load_settings
from spielleiter.league.stages import bracket
from spielleiter.league.standings import Standings
from spielleiter.league.teams import list_teams
from spielleiter.league.versions import list_versions
from spielleiter.league.words import Words
from spielleiter.match.reports.rendering import render
from spielleiter.viewer.game_json import Details, describe_game
from spielleiter.viewer.page import SCRIPT, bundle_modules, bundle_styles, render_small_page
from spielleiter.viewer.replay_files import ReplayFileError, read_replay

MOST_REPLAYS: Final = 200
"""The number of games that can be replayed: those of the final, and then the newest."""
_TEMPLATES: Final = "league/web/templates"
_STYLES: Final = Path(__file__).parent / "web" / "static" / "league.css"


def write_static_pages(db: Connection, folder: Path, standings: Standings, day: str) -> None:
    """Write the pages to the folder, which must not exist; ``index.html`` is the first.

    `standings` is the table at the end of `day` (``2027-01-31``). Raises OSError.
    """
    (folder / "games").mkdir(parents=True)
    settings = load_settings(db)
    words = Words(settings.language)
    shown = _games_with_pages(db, folder)
    results = pairing_results(db)
    versions = {version.id: version for version in list_versions(db)}

    def write(name: str, template: str, **values: Any) -> None:
        text = render(
            f"{_TEMPLATES}/{template}.html.j2",
            settings=settings,
            language=words.language,
            day=words.day,
            today=day,
            say=words.say,
            number=words.number,
            signed=words.signed,
            moment=words.moment,
            team_link=lambda team_id: f"team-{team_id}.html",
            shown={game.id for game in shown},
            **values,
        )
        (folder / name).write_text(text, encoding="utf-8")

    write("index.html", "static_index", rows=standings.rows, final=bracket(db), games=shown[:50])
    for team in list_teams(db):
        own = [version.id for version in versions.values() if version.team_id == team.id]
        teams = {version.id: (version.team_id, version.team_name) for version in versions.values()}
        write(
            f"team-{team.id}.html",
            "static_team",
            team=team,
            row=next((row for row in standings.rows if row.team_id == team.id), None),
            chart=rating_chart(rating_history(db, own)),
            opponents=_against(results, set(own), teams),
            games=list_games(db, team_id=team.id, limit=30),
        )
    styles = bundle_styles() + _STYLES.read_text(encoding="utf-8")
    (folder / "style.css").write_text(styles, encoding="utf-8")


def _games_with_pages(db: Connection, folder: Path) -> list[Game]:
    """Write the pages of games, and return these games, the newest first."""
    final = games_of_pairs(db, [pair.id for pair in list_pairs(db, purpose="final")])
    wanted = {game.id: game for game in [*reversed(final), *list_games(db, limit=MOST_REPLAYS)] if not game.is_void}
    written: list[Game] = []
    for game in list(wanted.values())[:MOST_REPLAYS]:
        recording = get_recording(db, game.id)
        if recording is None or recording.replay is None:
            continue
        try:
            described = describe_game(read_replay(recording.replay, f"{game.id}.xml.gz"), Details())
        except ReplayFileError:  # it has no page, which is no reason to have none at all
            continue
        if not written:
            (folder / SCRIPT).write_text(bundle_modules(described["game"]), encoding="utf-8")
        (folder / "games" / f"{game.id}.html").write_bytes(render_small_page(described, "../"))
        written.append(game)
    return sorted(written, key=lambda game: -game.id)


@dataclass(slots=True)
class Opponent:
    """What a team has achieved against another one, or against an anchor."""

    team_id: int | None
    name: str
    wins: int = 0
    draws: int = 0
    losses: int = 0


def _against(results: list[PairingResult], own: set[int], teams: dict[int, tuple[int | None, str]]) -> list[Opponent]:
    """Return a team's results against each opponent, by name; `own` are its versions."""
    found: dict[tuple[int | None, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for result in results:
        for mine, other, scores in (
            (result.first, result.second, (result.wins, result.draws, result.losses)),
            (result.second, result.first, (result.losses, result.draws, result.wins)),
        ):
            if mine in own and other not in own:
                sums = found[teams[other]]
                sums[:] = [old + new for old, new in zip(sums, scores, strict=True)]
    return sorted(
        (Opponent(team_id, name, *scores) for (team_id, name), scores in found.items()),
        key=lambda each: each.name.casefold(),
    )
