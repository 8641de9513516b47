"""Who did what in the league, and the messages of the teacher to all."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, TypedDict, Unpack

from sqlalchemy import Connection, insert, select

from spielleiter.league import schema
from spielleiter.league.database import all_rows, columns_of
from spielleiter.league.errors import RefusedError
from spielleiter.league.model import FinalKind, FullCheck, LogEntry, Message

TEACHER: Final = "teacher"
LEAGUE: Final = "league"
"""The actor of what the league does by itself."""
LONGEST_MESSAGE: Final = 2000
Action: TypeAlias = Literal[
    "make-league",
    "log-in",
    "set-password",
    "change-settings",
    "set-anchors",
    "pause-league",
    "resume-league",
    "enter-stage",
    "add-message",
    "remove-message",
    "new-spectator-link",
    "remove-spectator-link",
    "keep-backup",
    "keep-export",
    "download-backup",
    "download-export",
    "add-team",
    "rename-team",
    "renew-code",
    "pause-team",
    "resume-team",
    "remove-team",
    "upload",
    "accept-version",
    "refuse-version",
    "full-check",
    "withdraw-version",
    "take-back",
    "pause-version",
    "resume-version",
    "remove-version",
    "repeat-pair",
    "void-pair",
    "challenge",
    "allow-helpers",
    "forbid-helpers",
    "add-helper",
    "revoke-helper",
    "allow-without-sandbox",
    "forbid-without-sandbox",
]
"""What is done, as the export names it: a verb and what it is done to."""


class Details(TypedDict, total=False):
    """What an entry says besides its subject."""

    to: Any
    """The new name, or the new values of settings by their names."""
    reason: str
    """Why something was paused."""
    details: str
    """The text of a message."""
    size: int
    """Bytes of an upload."""
    sha256: str
    code: str
    """That of a fault, which is told in `de` and `en`."""
    de: str
    en: str
    outcome: FullCheck
    kind: FinalKind


def actor_of(team_id: int) -> str:
    """Return the name of a team in the log, which stays the same when the team is renamed."""
    return f"team:{team_id}"


def note(
    db: Connection, /, actor: str, action: Action, now: float, subject: str = "", **details: Unpack[Details]
) -> None:
    """Add an entry to the log."""
    db.execute(insert(schema.log).values(at=now, actor=actor, action=action, subject=subject, details=details))


def log_entries(db: Connection, *, before: int | None = None, limit: int = 100) -> list[LogEntry]:
    """Return the newest entries, or the newest of those whose id is lower than `before`."""
    query = select(*columns_of(LogEntry, schema.log)).order_by(schema.log.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(schema.log.c.id < before)
    return all_rows(db, LogEntry, query)


def all_log_entries(db: Connection) -> list[LogEntry]:
    """Return all entries, the oldest first."""
    return all_rows(db, LogEntry, select(*columns_of(LogEntry, schema.log)).order_by(schema.log.c.id))


def add_message(db: Connection, text: str, now: float) -> Message:
    """Tell all a text of the teacher. Raises RefusedError if it is empty or too long."""
    text = text.strip()
    if not 0 < len(text) <= LONGEST_MESSAGE:
        raise RefusedError(
            "message-length",
            f"Die Nachricht muss zwischen 1 und {LONGEST_MESSAGE} Zeichen lang sein.",
            f"The message must have between 1 and {LONGEST_MESSAGE} characters.",
        )
    key = db.execute(insert(schema.messages).values(at=now, text=text)).inserted_primary_key
    note(db, TEACHER, "add-message", now, details=text)
    return Message(key[0] if key else 0, now, text)


def remove_message(db: Connection, message_id: int, now: float) -> None:
    """Take a message back, if it is there."""
    removed = schema.messages.delete().where(schema.messages.c.id == message_id).returning(schema.messages.c.text)
    for text in db.execute(removed).scalars():
        note(db, TEACHER, "remove-message", now, details=text)


def list_messages(db: Connection, limit: int = 5) -> list[Message]:
    """Return the newest messages, the newest first."""
    query = select(*columns_of(Message, schema.messages)).order_by(schema.messages.c.id.desc()).limit(limit)
    return all_rows(db, Message, query)
