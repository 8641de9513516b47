"""Games that one team asks another one for."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, func, insert, or_, select

from spielleiter.league import log, schema
from spielleiter.league.database import all_rows, columns_of
from spielleiter.league.errors import RefusedError
from spielleiter.league.games import open_pair
from spielleiter.league.model import Challenge
from spielleiter.league.settings import load_settings
from spielleiter.league.versions import playing_versions

DAY: Final = 86_400.0


def challenge_team(db: Connection, by_team: int, team: int, now: float, *, seed: int) -> Challenge:
    """Open a pair of games between the active versions of two teams, which is played next.

    Raises RefusedError if one of them has none that plays, if the pair is open already, or after too many in a day.
    """
    settings = load_settings(db)
    if settings.stage != "practice":
        raise RefusedError(
            "frozen", "Herausfordern kannst du nur, solange geübt wird.", "Challenges are for the time of practice."
        )
    if by_team == team:
        raise RefusedError("own-team", "Das ist dein eigenes Team.", "That is your own team.")
    playing = {version.team_id: version for version in playing_versions(db)}
    if by_team not in playing:
        raise RefusedError(
            "no-version",
            "Du hast gerade keine Version, die spielt; lade zuerst eine hoch.",
            "You have no version that plays; upload one first.",
        )
    if team not in playing:
        raise RefusedError(
            "no-opponent",
            "Dieses Team hat gerade keine Version, die spielt; wähle ein anderes.",
            "This team has no version that plays; choose another one.",
        )
    challenges, pairs = schema.challenges, schema.pairs
    # what is dated later is of a clock that was fast
    recent = (challenges.c.created_at > now - DAY) & (challenges.c.created_at <= now)
    mine = select(func.count()).where(challenges.c.by_team == by_team, recent)
    if db.execute(mine).scalar_one() >= settings.challenges_per_day:
        raise RefusedError(
            "too-many-challenges",
            f"Mehr als {settings.challenges_per_day} Herausforderungen am Tag gehen nicht; versuch es morgen wieder.",
            f"A team may challenge {settings.challenges_per_day} times a day; try again tomorrow.",
        )
    is_same = or_(
        (challenges.c.by_team == by_team) & (challenges.c.team == team),
        (challenges.c.by_team == team) & (challenges.c.team == by_team),
    )
    first, second = playing[by_team], playing[team]
    # a pair of versions that others have replaced is not played any more
    is_theirs = pairs.c.first.in_((first.id, second.id)) & pairs.c.second.in_((first.id, second.id))
    waiting = select(challenges.c.id).join(pairs, pairs.c.id == challenges.c.pair_id)
    if db.execute(waiting.where(is_same, is_theirs, pairs.c.state == "open")).first():
        raise RefusedError(
            "open-challenge",
            "Zwischen euch wartet schon eine Herausforderung; sie wird als Nächstes gespielt.",
            "There is a challenge between you already; it is played next.",
        )
    pair = open_pair(db, first.id, second.id, purpose="challenge", stage=settings.stage, seed=seed, now=now)
    statement = insert(challenges).values(by_team=by_team, team=team, created_at=now, pair_id=pair.id)
    key = db.execute(statement.returning(challenges.c.id)).scalar_one()
    log.note(db, log.actor_of(by_team), "challenge", now, second.team_name)
    return Challenge(key, by_team, team, now, pair.id)


def all_challenges(db: Connection) -> list[Challenge]:
    """Return all challenges, the oldest first."""
    return all_rows(db, Challenge, select(*columns_of(Challenge, schema.challenges)).order_by(schema.challenges.c.id))


def list_challenges(db: Connection, team_id: int, limit: int = 20) -> list[Challenge]:
    """Return the newest challenges by a team and to it, the newest first."""
    challenges = schema.challenges
    query = select(*columns_of(Challenge, challenges)).order_by(challenges.c.id.desc()).limit(limit)
    return all_rows(db, Challenge, query.where(or_(challenges.c.by_team == team_id, challenges.c.team == team_id)))
