"""The uploaded versions of the teams' programs, and the anchors.

The way of an upload: *waiting* until a short check begins, *checking*, then *accepted* or *refused*. The accepted
version becomes the active one of its team, which plays. The full check follows, and may withdraw it; the teacher may
remove it.

Invariants: a team has at most one active version, and only an accepted one. A package is stored once, however often it
is uploaded, and dropped with the last version that needs it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, Select, delete, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from spielleiter.common.text import escaped
from spielleiter.league import log, schema
from spielleiter.league.database import all_rows, one_row
from spielleiter.league.errors import RefusedError
from spielleiter.league.games import void_open_pairs
from spielleiter.league.model import Fault, FullCheck, Version, VersionState
from spielleiter.league.settings import Anchor, LeagueSettings, load_settings

HOUR: Final = 3600.0
LONGEST_NAME: Final = 100
LONGEST_MAIN: Final = 300
LONGEST_PARAMETERS: Final = 500
MEGABYTE: Final = 1_000_000
_USABLE: Final = ("waiting", "checking", "accepted")


# -- uploads --------------------------------------------------------------------------------------------------------


def add_upload(
    db: Connection,
    team_id: int,
    file_name: str,
    content: bytes,
    now: float,
    *,
    main: str = "",
    parameters: str = "",
    key: str | None = None,
) -> Version:
    """Keep an upload of a team as its newest version, which waits for its check.

    `main` is the path of the main file in the package, empty if it is to be found. An upload with the `key` of an
    earlier one of the team is that one once more, whose answer was lost: its version is returned. Raises RefusedError
    if the team may not upload at the moment, or the upload is over a limit.
    """
    if key is not None and (kept := uploaded_version(db, team_id, key)) is not None:
        return kept
    settings = load_settings(db)
    digest = hashlib.sha256(content).hexdigest()
    _require_permission(db, team_id, settings, now)
    _require_size(db, team_id, settings, len(content), digest)
    for text, longest in ((main, LONGEST_MAIN), (parameters, LONGEST_PARAMETERS)):
        if len(text) > longest or not text.isprintable():
            raise RefusedError(
                "bad-text",
                f"Hauptdatei und Parameter dürfen höchstens {longest} gewöhnliche Zeichen haben.",
                f"Main file and parameters may have at most {longest} ordinary characters.",
            )
    same = one_row(
        db,
        Version,
        _VERSIONS.where(schema.versions.c.team_id == team_id, schema.versions.c.sha256 == digest)
        .where(schema.versions.c.main == main, schema.versions.c.parameters == parameters)
        .where(schema.versions.c.state.in_(_USABLE)),
    )
    if same is not None:
        raise RefusedError(
            "same-again",
            f"Genau dieses Paket ist schon deine Version {same.number}; du brauchst es nicht noch einmal hochzuladen.",
            f"Exactly this package is your version {same.number} already; there is no need to upload it again.",
        )
    package = {"sha256": digest, "size": len(content), "content": content}
    db.execute(upsert(schema.packages).values(package).on_conflict_do_nothing())
    last = select(func.max(schema.versions.c.number)).where(schema.versions.c.team_id == team_id)
    values = {
        "team_id": team_id,
        "number": (db.execute(last).scalar_one_or_none() or 0) + 1,
        "name": escaped(file_name.replace("\\", "/").rpartition("/")[2].strip())[:LONGEST_NAME] or "upload.zip",
        "sha256": digest,
        "size": len(content),
        "main": main,
        "parameters": parameters,
        "uploaded_at": now,
        "state": "waiting",
        "full_check": "waiting",
        "upload_key": key,
    }
    version_id = db.execute(insert(schema.versions).values(values).returning(schema.versions.c.id)).scalar_one()
    version = get_version(db, version_id)
    log.note(db, log.actor_of(team_id), "upload", now, version.label, sha256=digest, size=len(content))
    return version


def uploaded_version(db: Connection, team_id: int, key: str) -> Version | None:
    """Return the version that a team has uploaded with this key; None if there is none."""
    is_same = (schema.versions.c.team_id == team_id) & (schema.versions.c.upload_key == key)
    return one_row(db, Version, _VERSIONS.where(is_same))


def require_upload_allowed(db: Connection, team_id: int, size: int, now: float) -> None:
    """Raise RefusedError unless the team may upload `size` bytes now: a page asks before it reads them."""
    settings = load_settings(db)
    _require_permission(db, team_id, settings, now)
    _require_size(db, team_id, settings, size, "")


def _require_permission(db: Connection, team_id: int, settings: LeagueSettings, now: float) -> None:
    if settings.stage != "practice":
        raise RefusedError(
            "frozen",
            "Die Versionen stehen fest, seit das Üben zu Ende ist; hochladen geht nicht mehr.",
            "The versions are fixed since practice has ended; nothing can be uploaded any more.",
        )
    team = db.execute(
        select(schema.teams.c.is_paused, schema.teams.c.pause_reason, schema.teams.c.is_removed).where(
            schema.teams.c.id == team_id
        )
    ).one()
    if team.is_paused or team.is_removed:
        reason = f" ({team.pause_reason})" if team.pause_reason else ""
        raise RefusedError(
            "paused",
            f"Dein Team macht gerade Pause{reason}; frag deine Lehrerin oder deinen Lehrer.",
            f"Your team is paused{reason}; ask your teacher.",
        )
    recent = select(schema.versions.c.uploaded_at).where(
        schema.versions.c.team_id == team_id,
        schema.versions.c.uploaded_at > now - HOUR,
        schema.versions.c.uploaded_at <= now,  # what is dated later is of a clock that was fast
    )
    times = sorted(db.execute(recent).scalars())
    if len(times) >= settings.uploads_per_hour:
        minutes = int((times[-settings.uploads_per_hour] + HOUR - now) // 60) + 1 if settings.uploads_per_hour else 60
        raise RefusedError(
            "too-many-uploads",
            f"Mehr als {settings.uploads_per_hour} Uploads in einer Stunde gehen nicht; versuch es in {minutes} min.",
            f"A team may upload {settings.uploads_per_hour} times an hour; try again in {minutes} min.",
        )


def _require_size(db: Connection, team_id: int, settings: LeagueSettings, size: int, digest: str) -> None:
    if size > settings.upload_megabytes * MEGABYTE:
        raise RefusedError(
            "too-large",
            f"Die Datei ist größer als {settings.upload_megabytes} MB; lass weg, was dein Programm nicht braucht.",
            f"The file is larger than {settings.upload_megabytes} MB; leave out what your program does not need.",
        )
    kept = (
        select(schema.packages.c.size)
        .join(schema.versions, schema.versions.c.sha256 == schema.packages.c.sha256)
        .where(schema.versions.c.team_id == team_id, schema.packages.c.sha256 != digest)
        .distinct()
        .add_columns(schema.packages.c.sha256)
    )
    if sum(row.size for row in db.execute(kept)) + size > settings.team_megabytes * MEGABYTE:
        raise RefusedError(
            "too-much",
            f"Deine Versionen sind zusammen größer als {settings.team_megabytes} MB; lösche ältere.",
            f"Your versions together are larger than {settings.team_megabytes} MB; remove older ones.",
        )


def package(db: Connection, sha256: str) -> bytes | None:
    """Return the content of a package; None if it is not, or no longer, there."""
    return db.execute(select(schema.packages.c.content).where(schema.packages.c.sha256 == sha256)).scalar_one_or_none()


def drop_unused_packages(db: Connection) -> None:
    """Drop the packages that no version needs."""
    used = select(schema.versions.c.sha256).where(schema.versions.c.sha256.is_not(None)).scalar_subquery()
    db.execute(delete(schema.packages).where(schema.packages.c.sha256.not_in(used)))


# -- finding versions -----------------------------------------------------------------------------------------------


def get_version(db: Connection, version_id: int) -> Version:
    """Return a version. Raises RefusedError if there is none with this id."""
    version = one_row(db, Version, _VERSIONS.where(schema.versions.c.id == version_id))
    if version is None:
        raise RefusedError("no-such-version", "Diese Version gibt es nicht.", "There is no such version.")
    return version


def list_versions(db: Connection, team_id: int | None = None) -> list[Version]:
    """Return the versions of a team, the newest first; without a team those of all, and the anchors."""
    query = _VERSIONS.order_by(schema.versions.c.id.desc())
    return all_rows(db, Version, query if team_id is None else query.where(schema.versions.c.team_id == team_id))


def active_versions(db: Connection) -> list[Version]:
    """Return the active version of each team that takes part, and the anchors; also those that are paused."""
    is_there = schema.teams.c.is_removed.is_(None) | ~schema.teams.c.is_removed
    return all_rows(db, Version, _VERSIONS.where(schema.versions.c.is_active, is_there).order_by(schema.versions.c.id))


def playing_versions(db: Connection) -> list[Version]:
    """Return the active versions that are not paused and whose teams are not."""
    is_playing = schema.teams.c.is_paused.is_(None) | ~schema.teams.c.is_paused
    wanted = _VERSIONS.where(schema.versions.c.is_active, ~schema.versions.c.is_paused, is_playing)
    return all_rows(db, Version, wanted.order_by(schema.versions.c.id))


def waiting_versions(db: Connection) -> list[Version]:
    """Return the versions that wait for their short check, in the order in which they are checked.

    The one whose team has fewest uploads waiting before it comes first, so that many of one team delay no other.
    """
    found = all_rows(db, Version, _VERSIONS.where(schema.versions.c.state == "waiting").order_by(schema.versions.c.id))
    before: dict[int | None, int] = {}
    turns = {}
    for version in found:
        turns[version.id] = before[version.team_id] = before.get(version.team_id, -1) + 1
    return sorted(found, key=lambda version: (turns[version.id], version.id))


def versions_to_check_fully(db: Connection) -> list[Version]:
    """Return the accepted versions whose full check has not begun: active ones first, then the newest.

    There are none in a final, which no check may change any more.
    """
    if load_settings(db).has_final:
        return []
    columns = schema.versions.c
    wanted = _VERSIONS.where(columns.state == "accepted", columns.full_check == "waiting", columns.team_id.is_not(None))
    return all_rows(db, Version, wanted.order_by(columns.is_active.desc(), columns.id.desc()))


def full_report(db: Connection, version_id: int) -> Any:
    """Return the report of the full check; None if there is none."""
    return db.execute(
        select(schema.versions.c.full_report).where(schema.versions.c.id == version_id)
    ).scalar_one_or_none()


def _query() -> Select[Any]:
    versions, teams = schema.versions, schema.teams
    own = [versions.c[name] for name in Version.__struct_fields__ if name != "team_name"]
    name = func.coalesce(teams.c.name, versions.c.name).label("team_name")
    return select(*own, name).select_from(versions.outerjoin(teams, teams.c.id == versions.c.team_id))


_VERSIONS: Final = _query()
"""All versions; made once, since SQLAlchemy takes longer to make a statement than SQLite to execute it."""


# -- checks ---------------------------------------------------------------------------------------------------------


def restart_checks(db: Connection) -> None:
    """Let every check that was interrupted, by a crash for example, begin anew."""
    columns = schema.versions.c
    db.execute(update(schema.versions).where(columns.state == "checking").values(state="waiting"))
    db.execute(update(schema.versions).where(columns.full_check == "running").values(full_check="waiting"))


def restart_check(db: Connection, version_id: int) -> None:
    """Let the short check of a version begin anew: the machine has failed."""
    _move(db, version_id, "checking", "waiting")


def restart_full_check(db: Connection, version_id: int) -> None:
    """Let the full check of a version begin anew: the machine has failed."""
    columns = schema.versions.c
    is_running = (columns.id == version_id) & (columns.full_check == "running")
    db.execute(update(schema.versions).where(is_running).values(full_check="waiting"))


def begin_check(db: Connection, version_id: int) -> bool:
    """Note that the short check of a version begins; return whether the version still waits for it."""
    return _move(db, version_id, "waiting", "checking")


def finish_check(db: Connection, version_id: int, fault: Fault | None, now: float) -> Version:
    """Note what the short check has found: without a fault, the version becomes the active one of its team.

    A version that was removed meanwhile, or whose team uploaded a newer one that is active, stays inactive; so does one
    whose team already plays in a final. A refused one keeps its fault and loses its package.
    """
    version = get_version(db, version_id)
    if version.state not in {"waiting", "checking"}:
        return version
    if fault is not None:
        _set(db, version_id, state="refused", checked_at=now, sha256=None, **_of_fault(fault))
        drop_unused_packages(db)
        log.note(db, log.LEAGUE, "refuse-version", now, version.label, **_told(fault))
        return get_version(db, version_id)
    _set(db, version_id, state="accepted", checked_at=now)
    log.note(db, log.LEAGUE, "accept-version", now, version.label)
    active = active_version(db, version.team_id)
    # in a frozen league the newest upload that arrived in time still counts, until the final has begun with another one
    if active is None or (active.number < version.number and not load_settings(db).has_final):
        _activate(db, version)
    return get_version(db, version_id)


def begin_full_check(db: Connection, version_id: int) -> None:
    """Note that the full check of a version begins."""
    _set(db, version_id, full_check="running")


def finish_full_check(
    db: Connection, version_id: int, outcome: FullCheck, report: Any, fault: Fault | None, now: float
) -> None:
    """Note what the full check has found; with a fault the version is withdrawn.

    In a final, its team would lose all meetings that are left, so the check is made again after the final instead.
    """
    version = get_version(db, version_id)
    if fault is not None and load_settings(db).has_final:
        restart_full_check(db, version_id)
        return
    _set(db, version_id, full_check=outcome, full_report=report)
    log.note(db, log.LEAGUE, "full-check", now, version.label, outcome=outcome)
    if fault is not None and version.state == "accepted":
        withdraw_version(db, version_id, fault, now)


def _move(db: Connection, version_id: int, old: VersionState, new: VersionState) -> bool:
    is_old = (schema.versions.c.id == version_id) & (schema.versions.c.state == old)
    return db.execute(update(schema.versions).where(is_old).values(state=new)).rowcount > 0


# -- which version plays --------------------------------------------------------------------------------------------


def active_version(db: Connection, team_id: int | None) -> Version | None:
    """Return the active version of a team; None if it has none."""
    return one_row(db, Version, _VERSIONS.where(schema.versions.c.team_id == team_id, schema.versions.c.is_active))


def take_back(db: Connection, team_id: int, version_id: int, now: float) -> Version:
    """Make an accepted version of a team, usually an older one, its active one. Raises RefusedError."""
    version = _own(db, team_id, version_id)
    if load_settings(db).stage != "practice":
        raise RefusedError(
            "frozen",
            "Die Versionen stehen fest, seit das Üben zu Ende ist.",
            "The versions are fixed since practice has ended.",
        )
    if version.state != "accepted":
        raise RefusedError(
            "not-accepted",
            "Nur eine Version, die angenommen ist, kann spielen.",
            "Only a version that was accepted can play.",
        )
    _activate(db, version)
    log.note(db, log.actor_of(team_id), "take-back", now, version.label)
    return get_version(db, version_id)


def discard_version(db: Connection, team_id: int, version_id: int, now: float) -> None:
    """Remove a version that does not play on the request of its team, to make room. Raises RefusedError."""
    version = _own(db, team_id, version_id)
    if version.is_active:
        raise RefusedError(
            "is-active",
            "Diese Version spielt gerade; lass zuerst eine andere spielen.",
            "This version is playing; let another one play first.",
        )
    remove_version(db, version_id, now, by=log.actor_of(team_id))


def withdraw_version(db: Connection, version_id: int, fault: Fault, now: float, *, by: str = log.LEAGUE) -> None:
    """Take an accepted version out of the league because of a fault; the newest older one takes its place."""
    version = get_version(db, version_id)
    _set(db, version_id, state="withdrawn", **_of_fault(fault))
    log.note(db, by, "withdraw-version", now, version.label, **_told(fault))
    _leave(db, version)


def remove_version(db: Connection, version_id: int, now: float, *, by: str = log.TEACHER) -> None:
    """Remove a version with its package; the newest older one takes its place. Its games stay."""
    version = get_version(db, version_id)
    if version.team_id is None:
        raise RefusedError("is-anchor", "Anker stehen in den Einstellungen.", "Anchors are in the settings.")
    _set(db, version_id, state="removed", sha256=None)
    drop_unused_packages(db)
    log.note(db, by, "remove-version", now, version.label)
    _leave(db, version)


def remove_versions_of_team(db: Connection, team_id: int) -> None:
    """Remove all versions of a team that leaves the league."""
    mine = schema.versions.c.team_id == team_id
    void_open_pairs(db, select(schema.versions.c.id).where(mine).scalar_subquery())
    db.execute(update(schema.versions).where(mine).values(state="removed", is_active=False, sha256=None))
    drop_unused_packages(db)


def pause_version(db: Connection, version_id: int, reason: str, now: float, *, by: str = log.LEAGUE) -> None:
    """Let a version play no more until `resume_version`, or until its team uploads another one."""
    version = get_version(db, version_id)
    _set(db, version_id, is_paused=True, pause_reason=reason[:500])
    void_open_pairs(db, [version_id])
    log.note(db, by, "pause-version", now, version.label, reason=reason[:500])


def resume_version(db: Connection, version_id: int, now: float, *, by: str = log.TEACHER) -> None:
    """Let a paused version play again; its faults are counted anew."""
    newest = db.execute(select(func.max(schema.games.c.id))).scalar_one_or_none() or 0
    _set(db, version_id, is_paused=False, pause_reason="", faults_after=newest)
    log.note(db, by, "resume-version", now, get_version(db, version_id).label)


def _own(db: Connection, team_id: int, version_id: int) -> Version:
    version = get_version(db, version_id)
    if version.team_id != team_id:  # in the same words as for one that does not exist
        raise RefusedError("no-such-version", "Diese Version gibt es nicht.", "There is no such version.")
    return version


def _activate(db: Connection, version: Version) -> None:
    db.execute(update(schema.versions).where(schema.versions.c.team_id == version.team_id).values(is_active=False))
    _set(db, version.id, is_active=True)


def _leave(db: Connection, version: Version) -> None:
    """Void the open pairs of a version that plays no more, and let the newest accepted one take its place."""
    void_open_pairs(db, [version.id])
    if not version.is_active:
        return
    _set(db, version.id, is_active=False)
    columns = schema.versions.c
    usable = _VERSIONS.where(columns.team_id == version.team_id, columns.state == "accepted")
    if (newest := one_row(db, Version, usable.order_by(columns.number.desc()))) is not None:
        _activate(db, newest)


def _set(db: Connection, version_id: int, **values: Any) -> None:
    db.execute(update(schema.versions).where(schema.versions.c.id == version_id).values(**values))


def _told(fault: Fault) -> log.Details:
    return {"code": fault.code, "de": fault.de, "en": fault.en}


def _of_fault(fault: Fault) -> dict[str, str]:
    return {"fault_code": fault.code, "fault_de": fault.de, "fault_en": fault.en}


# -- anchors --------------------------------------------------------------------------------------------------------


def set_anchors(db: Connection, anchors: Sequence[Anchor], now: float) -> None:
    """Let exactly these built-in levels take part; the games of others stay."""
    columns = schema.versions.c
    is_other = columns.team_id.is_(None) & columns.builtin.not_in([each.builtin for each in anchors])
    left = db.execute(select(columns.id).where(is_other, columns.is_active)).scalars().all()
    void_open_pairs(db, list(left))
    db.execute(update(schema.versions).where(is_other).values(is_active=False))
    for number, anchor in enumerate(anchors, 1):
        values = {
            "number": number,
            "name": anchor.builtin.removeprefix("builtin:"),
            "builtin": anchor.builtin,
            "uploaded_at": now,
            "state": "accepted",
            "full_check": "passed",
            "is_active": True,
            "anchor_rating": anchor.rating,
        }
        statement = upsert(schema.versions).values(values)
        changed = {"is_active": True, "anchor_rating": anchor.rating}
        db.execute(statement.on_conflict_do_update(index_elements=["builtin"], set_=changed))
    log.note(db, log.TEACHER, "set-anchors", now, ", ".join(each.builtin for each in anchors))
