"""The teams of a league, and what the teacher does with them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, delete, func, insert, select, update

from spielleiter.league import log, schema
from spielleiter.league.codes import new_code
from spielleiter.league.database import all_rows, columns_of, one_row
from spielleiter.league.errors import RefusedError
from spielleiter.league.games import void_open_pairs
from spielleiter.league.model import Team
from spielleiter.league.versions import remove_versions_of_team

LONGEST_NAME: Final = 40
MOST_TEAMS: Final = 500
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Categories of characters that would hide or turn around what stands beside a name."""


@dataclass(frozen=True, slots=True)
class NewTeam:
    """A team with its code, which can be printed now and never again."""

    team: Team
    code: str = field(repr=False)


def add_teams(db: Connection, names: Sequence[str], now: float) -> list[NewTeam]:
    """Make a team for each name; empty ones are left out. Takes about 20 ms for each.

    Raises RefusedError, and makes none, if a name is too long, cannot be shown, or is there twice.
    """
    cleaned = [name for each in names if (name := " ".join(each.split()))]
    count = db.execute(select(func.count()).select_from(schema.teams).where(~schema.teams.c.is_removed)).scalar_one()
    if count + len(cleaned) > MOST_TEAMS:
        raise RefusedError(
            "too-many-teams",
            f"Eine Liga hat höchstens {MOST_TEAMS} Teams.",
            f"A league has at most {MOST_TEAMS} teams.",
        )
    return [_add_team(db, name, now) for name in cleaned]


def _add_team(db: Connection, name: str, now: float) -> NewTeam:
    _require_name(db, name)
    code = new_code()
    while db.execute(select(schema.teams.c.id).where(schema.teams.c.code_key == code.key)).first():
        code = new_code()  # the keys of 500 teams meet once in eight leagues
    values = {"name": name, "code_key": code.key, "code_hash": code.hash, "created_at": now}
    team_id = db.execute(insert(schema.teams).values(values).returning(schema.teams.c.id)).scalar_one()
    log.note(db, log.TEACHER, "add-team", now, name)
    return NewTeam(get_team(db, team_id), code.text)


def _require_name(db: Connection, name: str, own: int | None = None) -> None:
    """Raise RefusedError unless a team, `own` if it is there already, may have this name."""
    if not 0 < len(name) <= LONGEST_NAME:
        raise RefusedError(
            "name-length",
            f"„{name[:LONGEST_NAME]}“: Ein Name muss zwischen 1 und {LONGEST_NAME} Zeichen lang sein.",
            f"“{name[:LONGEST_NAME]}”: a name must have between 1 and {LONGEST_NAME} characters.",
        )
    if any(unicodedata.category(each) in _INVISIBLE for each in name):
        visible = "".join(each for each in name if unicodedata.category(each) not in _INVISIBLE)
        raise RefusedError(
            "name-characters",
            f"„{visible}“: In diesem Namen steckt ein unsichtbares Zeichen; tippen Sie ihn noch einmal.",
            f"“{visible}”: there is an invisible character in this name; type it again.",
        )
    folded = unicodedata.normalize("NFKC", name).casefold()
    for other, taken in db.execute(select(schema.teams.c.id, schema.teams.c.name)):
        if other != own and unicodedata.normalize("NFKC", taken).casefold() == folded:
            raise RefusedError(
                "name-taken",
                f"Ein Team „{taken}“ gibt es schon; nehmen Sie einen anderen Namen.",
                f"There is a team “{taken}” already; choose another name.",
            )


def get_team(db: Connection, team_id: int) -> Team:
    """Return a team. Raises RefusedError if there is none with this id."""
    team = one_row(db, Team, select(*columns_of(Team, schema.teams)).where(schema.teams.c.id == team_id))
    if team is None:
        raise RefusedError("no-such-team", "Dieses Team gibt es nicht.", "There is no such team.")
    return team


def list_teams(db: Connection, *, with_removed: bool = False) -> list[Team]:
    """Return all teams by name."""
    query = select(*columns_of(Team, schema.teams)).order_by(func.lower(schema.teams.c.name))
    return all_rows(db, Team, query if with_removed else query.where(~schema.teams.c.is_removed))


def rename_team(db: Connection, team_id: int, name: str, now: float) -> Team:
    """Give a team another name. Raises RefusedError."""
    old = get_team(db, team_id)
    name = " ".join(name.split())
    _require_name(db, name, team_id)
    _change(db, team_id, name=name)
    log.note(db, log.TEACHER, "rename-team", now, old.name, to=name)
    return get_team(db, team_id)


def renew_code(db: Connection, team_id: int, now: float) -> str:
    """Give a team a new code and return it. The old one and whoever has logged in with it are shut out."""
    team = get_team(db, team_id)
    code = new_code()
    while db.execute(select(schema.teams.c.id).where(schema.teams.c.code_key == code.key)).first():
        code = new_code()
    _change(db, team_id, code_key=code.key, code_hash=code.hash)
    db.execute(delete(schema.sessions).where(schema.sessions.c.team_id == team_id))
    log.note(db, log.TEACHER, "renew-code", now, team.name)
    return code.text


def pause_team(db: Connection, team_id: int, reason: str, now: float) -> None:
    """Let a team take part no longer until `resume_team`; its open games are not played."""
    team = get_team(db, team_id)
    _change(db, team_id, is_paused=True, pause_reason=reason.strip()[:500])
    mine = select(schema.versions.c.id).where(schema.versions.c.team_id == team_id)
    void_open_pairs(db, mine.scalar_subquery())
    log.note(db, log.TEACHER, "pause-team", now, team.name, reason=reason.strip()[:500])


def resume_team(db: Connection, team_id: int, now: float) -> None:
    """Let a paused team take part again."""
    team = get_team(db, team_id)
    _change(db, team_id, is_paused=False, pause_reason="")
    log.note(db, log.TEACHER, "resume-team", now, team.name)


def set_allows_helpers(db: Connection, team_id: int, allows: bool, now: float, *, by: str) -> None:
    """Set whether the programs of a team may run on other machines than the league's."""
    team = get_team(db, team_id)
    _change(db, team_id, allows_helpers=allows)
    log.note(db, by, "allow-helpers" if allows else "forbid-helpers", now, team.name)


def remove_team(db: Connection, team_id: int, now: float) -> None:
    """Take a team out of the league, with its code and its uploads. The games that it has played stay."""
    team = get_team(db, team_id)
    code = new_code()  # nobody knows it
    name = f"{team.name[:LONGEST_NAME]} (#{team.id})"  # so that another team may get the name
    _change(db, team_id, is_removed=True, name=name, code_key=f"removed {team_id}", code_hash=code.hash)
    db.execute(delete(schema.sessions).where(schema.sessions.c.team_id == team_id))
    remove_versions_of_team(db, team_id)
    log.note(db, log.TEACHER, "remove-team", now, team.name)


def _change(db: Connection, team_id: int, **values: object) -> None:
    db.execute(update(schema.teams).where(schema.teams.c.id == team_id).values(**values))
