"""The PCs that may run programs of the league. Each has a code of its own, which the teacher can revoke."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, func, insert, select, update

from spielleiter.league import log, schema
from spielleiter.league.database import all_rows, columns_of, one_row
from spielleiter.league.errors import RefusedError
from spielleiter.league.model import Helper

LONGEST_NAME: Final = 40


def add_helper(db: Connection, name: str, code_hash: str, now: float) -> Helper:
    """Add a PC with the hash of its secret. Raises RefusedError if the name is taken, too long or cannot be shown."""
    name = " ".join(name.split())
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise RefusedError(
            "name-length",
            f"Der Name des PCs muss zwischen 1 und {LONGEST_NAME} gewöhnliche Zeichen haben.",
            f"The name of the PC must have between 1 and {LONGEST_NAME} ordinary characters.",
        )
    helpers = schema.helpers
    if db.execute(select(helpers.c.id).where(func.lower(helpers.c.name) == name.lower())).first():
        raise RefusedError(
            "name-taken",
            f"Einen PC „{name}“ gibt es schon; wähle einen anderen Namen.",
            f"There is a PC “{name}” already; choose another name.",
        )
    values = {"name": name, "code_hash": code_hash, "created_at": now}
    helper_id = db.execute(insert(helpers).values(values).returning(helpers.c.id)).scalar_one()
    log.note(db, log.TEACHER, "add-helper", now, name)
    return get_helper(db, helper_id)


def get_helper(db: Connection, helper_id: int) -> Helper:
    """Return a PC. Raises RefusedError if there is none with this id."""
    helper = one_row(db, Helper, select(*columns_of(Helper, schema.helpers)).where(schema.helpers.c.id == helper_id))
    if helper is None:
        raise RefusedError("no-such-helper", "Diesen PC gibt es nicht.", "There is no such PC.")
    return helper


def list_helpers(db: Connection) -> list[Helper]:
    """Return all PCs by name, the revoked ones too."""
    return all_rows(db, Helper, select(*columns_of(Helper, schema.helpers)).order_by(func.lower(schema.helpers.c.name)))


def allowed_helpers(db: Connection) -> list[tuple[Helper, str]]:
    """Return the PCs whose codes are valid, each with the hash of its secret, which no page may show."""
    rows = db.execute(select(schema.helpers.c.id, schema.helpers.c.code_hash))
    hashes = {row.id: row.code_hash for row in rows}
    return [(helper, hashes[helper.id]) for helper in list_helpers(db) if not helper.is_revoked]


def revoke_helper(db: Connection, helper_id: int, now: float) -> None:
    """Let the code of a PC be valid no more."""
    helper = get_helper(db, helper_id)
    _set(db, helper_id, is_revoked=True)
    log.note(db, log.TEACHER, "revoke-helper", now, helper.name)


def set_runs_without_sandbox(db: Connection, helper_id: int, allowed: bool, now: float) -> None:
    """Set whether a PC without a sandbox may run programs, which could then read and change what its user can."""
    helper = get_helper(db, helper_id)
    _set(db, helper_id, runs_without_sandbox=allowed)
    action: log.Action = "allow-without-sandbox" if allowed else "forbid-without-sandbox"
    log.note(db, log.TEACHER, action, now, helper.name)


def note_seen(db: Connection, helper_id: int, platform: Any, now: float) -> None:
    """Note that a PC has reported, and what it is."""
    _set(db, helper_id, last_seen_at=now, platform=platform)


def _set(db: Connection, helper_id: int, **values: object) -> None:
    db.execute(update(schema.helpers).where(schema.helpers.c.id == helper_id).values(**values))
