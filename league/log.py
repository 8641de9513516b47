"""Who did what in the league, and the messages of the teacher to all."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, insert, select

from spielleiter.league import schema
from spielleiter.league.database import all_rows, columns_of
from spielleiter.league.errors import RefusedError
from spielleiter.league.model import LogEntry, Message

TEACHER: Final = "teacher"
LEAGUE: Final = "league"
"""The actor of what the league does by itself."""
LONGEST_MESSAGE: Final = 2000


def actor_of(team_id: int) -> str:
    """Return the name of a team in the log, which stays the same when the team is renamed."""
    return f"team:{team_id}"


def note(db: Connection, /, actor: str, action: str, now: float, subject: str = "", **details: Any) -> None:
    """Add an entry to the log; `action` is a verb and what it is done to, such as ``remove-version``."""
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
    """Take a message back."""
    db.execute(schema.messages.delete().where(schema.messages.c.id == message_id))
    note(db, TEACHER, "remove-message", now, str(message_id))


def list_messages(db: Connection, limit: int = 5) -> list[Message]:
    """Return the newest messages, the newest first."""
    query = select(*columns_of(Message, schema.messages)).order_by(schema.messages.c.id.desc()).limit(limit)
    return all_rows(db, Message, query)
