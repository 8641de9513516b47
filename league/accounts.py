"""Logging in: teams by their code, the teacher by a password, spectators by a link; and the sessions that follow.

Invariants: the database has only hashes of codes, passwords and tokens, except the spectators' link, which the
teacher's page shows again. `PasswordGuard` limits the rate of attempts before any of them is hashed, and delays the
answers to wrong ones.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

import trio
from sqlalchemy import Connection, delete, insert, select, update

from spielleiter.league import log, schema
from spielleiter.league.codes import LONGEST_PASSWORD, hash_secret, is_secret, new_code, split_code
from spielleiter.league.database import Database, columns_of, one_row
from spielleiter.league.errors import RefusedError
from spielleiter.league.model import Role, Session
from spielleiter.league.settings import change_settings, load_settings
from spielleiter.server.net.password_guard import PasswordGuard

SHORTEST_PASSWORD: Final = 10
IDLE_SECONDS: Final[dict[Role, float]] = {
    "teacher": 12 * 3600.0,
    "team": 14 * 86_400.0,
    "spectator": 400 * 86_400.0,
    "command": 86_400.0,
}
"""How long an unused session lasts. A teacher's browser may be left open in a classroom."""
_TOUCH_SECONDS: Final = 600.0
_TOKEN_BYTES: Final = 32
_MOST_SESSIONS: Final = 20
"""Of a team's browsers, of its commands, and of the teacher; the oldest ends with one more."""
_MOST_SPECTATORS: Final = 2000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session that has just begun, with the token that only the browser keeps."""

    token: str = field(repr=False)
    session: Session


class Accounts:
    """Checks codes and passwords, which takes time and is limited; `guard` counts the wrong ones by address."""

    def __init__(self, database: Database, guard: PasswordGuard | None = None) -> None:
        self._database = database
        self._guard = guard or PasswordGuard(attempts=10, window=60.0, longest_delay=5.0)

    async def log_in_team(self, address: str, code: str, now: float) -> NewSession | None:
        """Begin a session of the team with this code; None if there is none. A wrong one is answered late."""
        await self._guard.wait_for_turn(address)
        team_id = await self._database.read(_team_of, code)
        return await self._begin(address, None if team_id is None else "team", team_id, now)

    async def log_in_command(self, address: str, code: str, now: float) -> NewSession | None:
        """The same for `spielleiter upload`, whose sessions end none of the team's browsers."""
        await self._guard.wait_for_turn(address)
        team_id = await self._database.read(_team_of, code)
        return await self._begin(address, None if team_id is None else "command", team_id, now)

    async def log_in_teacher(self, address: str, password: str, now: float) -> NewSession | None:
        """Begin a session of the teacher; None if the password is wrong, or there is none yet."""
        await self._guard.wait_for_turn(address)
        is_right = await self._database.read(_is_teachers, password)
        if is_right:  # so that the teacher sees in the log who else knows the password
            await self._database.write(lambda db: log.note(db, log.TEACHER, "log-in", now))
        return await self._begin(address, "teacher" if is_right else None, None, now)

    async def log_in_spectator(self, address: str, token: str, now: float) -> NewSession | None:
        """Begin a session of somebody with the spectators' link; None if the link is not, or no longer, right."""
        wanted = (await self._database.read(load_settings)).spectator_token
        is_right = bool(wanted) and hmac.compare_digest(wanted.encode(), token.encode())
        if not is_right:
            await self._guard.wait_for_turn(address)
        return await self._begin(address, "spectator" if is_right else None, None, now)

    async def set_up(
        self, address: str, setup_code: str, password: str, now: float, make: Callable[[Connection], T]
    ) -> tuple[NewSession, T] | None:
        """Set the teacher's password with the code from the terminal, make the league, and log the teacher in.

        Returns the session and what `make` has returned; None if the code is wrong. The code is valid once. Raises
        RefusedError if the password is too short or too long, and what `make` raises: then nothing is changed.
        """
        _require_password(password)
        await self._guard.wait_for_turn(address)

        def set_up(db: Connection) -> tuple[NewSession, T] | None:
            if not _is_setup_code(db, setup_code):  # in the same change: of two browsers, one sets the password
                return None
            set_password(db, password, now)
            return begin_session(db, "teacher", None, now), make(db)

        begun = await self._database.write(set_up)
        if begun is None:
            await self._refuse(address)
        return begun

    async def change_password(self, address: str, old: str, new: str, now: float) -> NewSession | None:
        """Give the teacher another password; None if `old` is wrong. All other sessions of the teacher end.

        Raises RefusedError if `new` is too short or too long.
        """
        _require_password(new)
        await self._guard.wait_for_turn(address)
        is_right = await self._database.read(_is_teachers, old)
        if is_right:
            await self._database.write(set_password, new, now)
        return await self._begin(address, "teacher" if is_right else None, None, now)

    async def _begin(self, address: str, role: Role | None, team_id: int | None, now: float) -> NewSession | None:
        if role is not None:
            return await self._database.write(begin_session, role, team_id, now)
        await self._refuse(address)
        return None

    async def _refuse(self, address: str) -> None:
        """Count a wrong code or password, and delay the answer to it."""
        try:
            with self._guard.waiting(address):
                await trio.sleep(self._guard.delay(address, trio.current_time()))
        finally:
            self._guard.note_failure(address, trio.current_time())


def _team_of(db: Connection, code: str) -> int | None:
    parts = split_code(code)
    if parts is None:
        return None
    columns = schema.teams.c
    row = db.execute(
        select(columns.id, columns.code_hash).where(columns.code_key == parts[0], ~columns.is_removed)
    ).first()
    return row.id if row is not None and is_secret(parts[1], row.code_hash) else None


def _is_teachers(db: Connection, password: str) -> bool:
    hashed = load_settings(db).teacher_password_hash
    return bool(hashed) and is_secret(password, hashed)


def _is_setup_code(db: Connection, code: str) -> bool:
    hashed = load_settings(db).setup_code_hash
    parts = split_code(code)
    return bool(hashed) and parts is not None and is_secret("".join(parts), hashed)


def new_setup_code(db: Connection) -> str | None:
    """Return a code for `Accounts.set_up`, in place of earlier ones; None if the teacher has a password already."""
    if load_settings(db).teacher_password_hash:
        return None
    code = new_code().text
    change_settings(db, setup_code_hash=hash_secret(code.replace("-", "")))
    return code


def _require_password(password: str) -> None:
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise RefusedError(
            "password-length",
            f"Das Passwort muss mindestens {SHORTEST_PASSWORD} Zeichen haben.",
            f"The password must have at least {SHORTEST_PASSWORD} characters.",
        )


def set_password(db: Connection, password: str, now: float) -> None:
    """Give the teacher a password; the teacher's sessions end, and no setup code is valid any more.

    Raises RefusedError if it is too short or too long.
    """
    _require_password(password)
    change_settings(db, teacher_password_hash=hash_secret(password), setup_code_hash="")
    db.execute(delete(schema.sessions).where(schema.sessions.c.role == "teacher"))
    log.note(db, log.TEACHER, "set-password", now)


def new_spectator_link(db: Connection, now: float) -> str:
    """Return the token of a new link for spectators; whoever came by an older one is shut out."""
    token = secrets.token_urlsafe(12)
    change_settings(db, spectator_token=token)
    db.execute(delete(schema.sessions).where(schema.sessions.c.role == "spectator"))
    log.note(db, log.TEACHER, "new-spectator-link", now)
    return token


def remove_spectator_link(db: Connection, now: float) -> None:
    """Let no spectators in any more."""
    change_settings(db, spectator_token="")
    db.execute(delete(schema.sessions).where(schema.sessions.c.role == "spectator"))
    log.note(db, log.TEACHER, "remove-spectator-link", now)


# -- sessions -------------------------------------------------------------------------------------------------------


def begin_session(db: Connection, role: Role, team_id: int | None, now: float) -> NewSession:
    """Begin a session. Those that have ended are forgotten, and the oldest of too many."""
    sessions = schema.sessions
    for each, seconds in IDLE_SECONDS.items():
        db.execute(delete(sessions).where(sessions.c.role == each, sessions.c.last_used_at < now - seconds))
    same = (sessions.c.role == role) & sessions.c.team_id.is_not_distinct_from(team_id)
    most = _MOST_SPECTATORS if role == "spectator" else _MOST_SESSIONS
    newest = select(sessions.c.token_hash).where(same).order_by(sessions.c.last_used_at.desc()).limit(most - 1)
    db.execute(delete(sessions).where(same, sessions.c.token_hash.not_in(newest.scalar_subquery())))
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    session = Session(role, team_id, now, now, secrets.token_urlsafe(_TOKEN_BYTES))
    values = {name: getattr(session, name) for name in Session.__struct_fields__}
    db.execute(insert(sessions).values(token_hash=_hash_of(token), **values))
    return NewSession(token, session)


def find_session(db: Connection, token: str, now: float) -> Session | None:
    """Return the session that a browser's token belongs to; None if it has ended or never was."""
    if len(token) > 100:
        return None
    sessions = schema.sessions
    query = select(*columns_of(Session, sessions)).where(sessions.c.token_hash == _hash_of(token))
    session = one_row(db, Session, query)
    return None if session is None or session.last_used_at < now - IDLE_SECONDS[session.role] else session


def must_touch(session: Session, now: float) -> bool:
    """Return whether the use of a session should be noted by `touch_session`; few requests have to wait for that."""
    return session.last_used_at < now - _TOUCH_SECONDS


def touch_session(db: Connection, token: str, now: float) -> None:
    """Note that a session is in use."""
    db.execute(update(schema.sessions).where(schema.sessions.c.token_hash == _hash_of(token)).values(last_used_at=now))


def end_session(db: Connection, token: str) -> None:
    """Log out."""
    db.execute(delete(schema.sessions).where(schema.sessions.c.token_hash == _hash_of(token)))


def is_form_token(session: Session, token: str) -> bool:
    """Return whether a form was made for this session, and not by another site."""
    return hmac.compare_digest(session.form_token.encode(), token.encode("utf-8", "surrogatepass"))


def _hash_of(token: str) -> str:
    # a token is random, so that no slow hash is needed
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
