"""The tables of the league's database.

Times are seconds since 1970. A *version* is one uploaded program, or a built-in level that is an anchor; a *pair* is
two games between the same two versions with the seats swapped. What is counted by program has columns that end in 1 and
2, for the first and the second version of the pair, whichever seat they had.

A change of a table needs a migration (`migrations/versions`); a test compares both.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    text,
)

# The names are what a migration needs to change a constraint.
metadata: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False, server_default=text("0"))


def _text(name: str) -> Column[str]:
    return Column(name, String, nullable=False, server_default=text("''"))


def _count(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default=text("0"))


def _id() -> Column[int]:
    return Column("id", Integer, primary_key=True)


settings: Final = Table(
    "settings",
    metadata,
    Column("key", String, primary_key=True),
    Column("value", JSON, nullable=False),
)

teams: Final = Table(
    "teams",
    metadata,
    _id(),
    Column("name", String, nullable=False, unique=True),
    Column("code_key", String, nullable=False, unique=True),  # the public part of the code, by which the team is found
    Column("code_hash", String, nullable=False),
    Column("created_at", Float, nullable=False),
    _flag("is_paused"),
    _text("pause_reason"),
    Column("allows_helpers", Boolean, nullable=False, server_default=text("1")),
    _flag("is_removed"),
)

sessions: Final = Table(
    "sessions",
    metadata,
    Column("token_hash", String, primary_key=True),
    Column("role", String, nullable=False),
    Column("team_id", ForeignKey("teams.id", ondelete="CASCADE"), index=True),
    Column("created_at", Float, nullable=False),
    Column("last_used_at", Float, nullable=False),
    Column("form_token", String, nullable=False),
)

packages: Final = Table(
    "packages",
    metadata,
    Column("sha256", String, primary_key=True),
    Column("size", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

versions: Final = Table(
    "versions",
    metadata,
    _id(),
    Column("team_id", ForeignKey("teams.id")),  # none: an anchor
    Column("number", Integer, nullable=False),
    Column("name", String, nullable=False),
    Column("sha256", ForeignKey("packages.sha256"), index=True),  # none once the package is dropped, and for an anchor
    Column("size", Integer, nullable=False, server_default=text("0")),
    Column("builtin", String, unique=True),
    _text("main"),
    _text("parameters"),
    Column("uploaded_at", Float, nullable=False),
    Column("state", String, nullable=False, index=True),
    _text("fault_code"),
    _text("fault_de"),
    _text("fault_en"),
    Column("checked_at", Float),
    Column("full_check", String, nullable=False, index=True),
    Column("full_report", JSON(none_as_null=True)),
    _flag("is_active"),
    Column("anchor_rating", Float),
    _flag("is_paused"),
    _text("pause_reason"),
    _count("faults_after"),  # the game after which faults count towards a pause: the newest one when it was resumed
    Column("upload_key", String),  # by which a repeated upload is recognised; chosen by who uploads
    UniqueConstraint("team_id", "number"),
    Index("ix_versions_upload_key", "team_id", "upload_key", unique=True),
)
Index("ix_versions_active", versions.c.team_id, unique=True, sqlite_where=text("is_active = 1 AND team_id IS NOT NULL"))

pairs: Final = Table(
    "pairs",
    metadata,
    _id(),
    Column("stage", String, nullable=False),
    Column("purpose", String, nullable=False),
    Column("first", ForeignKey("versions.id"), nullable=False),
    Column("second", ForeignKey("versions.id"), nullable=False),
    Column("seed", Integer, nullable=False),
    Column("games", Integer, nullable=False),
    Column("round", Integer),
    _text("label"),
    Column("created_at", Float, nullable=False),
    Column("state", String, nullable=False),
    Index("ix_pairs_first_second", "first", "second"),
    Index("ix_pairs_second", "second"),
    Index("ix_pairs_state", "state"),
    Index("ix_pairs_purpose_round", "purpose", "round"),
)

games: Final = Table(
    "games",
    metadata,
    _id(),
    Column("pair_id", ForeignKey("pairs.id"), nullable=False),
    Column("number", Integer, nullable=False),
    # of the pair, so that the newest games of a team are found by an index
    Column("first", ForeignKey("versions.id"), nullable=False),
    Column("second", ForeignKey("versions.id"), nullable=False),
    Column("team1", ForeignKey("teams.id")),
    Column("team2", ForeignKey("teams.id")),
    Column("winner", Integer),
    Column("is_counted", Boolean, nullable=False),
    Column("is_void", Boolean, nullable=False, server_default=text("0")),
    Column("verdict", String, nullable=False),
    Column("offender", Integer),
    _text("reason_de"),
    _text("reason_en"),
    Column("points1", Integer),
    Column("points2", Integer),
    _count("plies"),
    Column("seconds", Float, nullable=False, server_default=text("0")),
    Column("finished_at", Float, nullable=False),
    _text("machine1"),
    _text("machine2"),
    UniqueConstraint("pair_id", "number"),
    Index("ix_games_first", "first", "id"),
    Index("ix_games_second", "second", "id"),
    Index("ix_games_team1", "team1", "id"),
    Index("ix_games_team2", "team2", "id"),
    Index("ix_games_finished_at", "finished_at"),
)

recordings: Final = Table(
    "recordings",
    metadata,
    Column("game_id", ForeignKey("games.id", ondelete="CASCADE"), primary_key=True),
    Column("replay", LargeBinary),
    Column("details", JSON, nullable=False),
    Column("stderr1", LargeBinary),
    Column("stderr2", LargeBinary),
)

# One row for each pairing: it grows with the number of opponents, not of games, so that no table of the league has to
# read the games. h0 to h4 count the pairs with two counted games, by the points of the first version: 0, 0.5, 1, 1.5,
# 2; s0 to s2 those with one counted game: 0, 0.5, 1.
results: Final = Table(
    "results",
    metadata,
    Column("first", ForeignKey("versions.id"), primary_key=True),
    Column("second", ForeignKey("versions.id"), primary_key=True, index=True),
    *map(_count, ("h0", "h1", "h2", "h3", "h4", "s0", "s1", "s2")),
    *map(_count, ("wins", "draws", "losses", "faults1", "faults2", "points1", "points2")),
)

ratings: Final = Table(
    "ratings",
    metadata,
    Column("version_id", ForeignKey("versions.id"), primary_key=True),
    Column("day", String, primary_key=True),  # 2027-01-31, in the time zone of the league's machine
    Column("rating", Float, nullable=False),
    Column("low", Float, nullable=False),
    Column("high", Float, nullable=False),
    Column("games", Integer, nullable=False),
)

helpers: Final = Table(
    "helpers",
    metadata,
    _id(),
    Column("name", String, nullable=False, unique=True),
    Column("code_hash", String, nullable=False, unique=True),
    Column("created_at", Float, nullable=False),
    _flag("is_revoked"),
    _flag("runs_without_sandbox"),
    Column("last_seen_at", Float),
    Column("platform", JSON(none_as_null=True)),
)

challenges: Final = Table(
    "challenges",
    metadata,
    _id(),
    Column("by_team", ForeignKey("teams.id"), nullable=False),
    Column("team", ForeignKey("teams.id"), nullable=False),
    Column("created_at", Float, nullable=False),
    Column("pair_id", ForeignKey("pairs.id"), nullable=False),
    Index("ix_challenges_by_team", "by_team", "created_at"),
    Index("ix_challenges_team", "team", "created_at"),
)

messages: Final = Table(
    "messages",
    metadata,
    _id(),
    Column("at", Float, nullable=False),
    Column("text", String, nullable=False),
)

log: Final = Table(
    "log",
    metadata,
    _id(),
    Column("at", Float, nullable=False),
    Column("actor", String, nullable=False),  # teacher, league, or team:7
    Column("action", String, nullable=False),
    _text("subject"),
    Column("details", JSON, nullable=False),
)
