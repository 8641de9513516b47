"""The settings of a league, which the teacher changes on its page."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from spielleiter.league import schema
from spielleiter.league.model import FinalKind, Stage
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE


class Anchor(msgspec.Struct, frozen=True):
    """A built-in level that takes part with a rating that does not move."""

    builtin: str
    """Its command, such as ``builtin:greedy``."""
    rating: float


class LeagueSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings, with their defaults. Each has its own row in the database."""

    name: str = ""
    """The name of the league; empty until the teacher has made it."""
    game_type: str = DEFAULT_GAME_TYPE
    edition: str | None = None
    """None: the default edition of the game."""
    language: Literal["de", "en"] = "de"
    soft_timeout: float | None = None
    """Seconds for a move; None: those of the edition."""
    hard_timeout: float | None = None
    is_open_to_network: bool = False
    """Whether the pages can be reached from other machines."""
    shows_opponents_replays: bool = False
    """Whether a team may watch the finished games of others."""
    runs_without_sandbox: bool = False
    """Whether uploads run although this machine has no sandbox; they could read and change everything."""
    uses_helpers: bool = False
    uploads_per_hour: int = 10
    """Of a team."""
    upload_megabytes: int = 20
    """The largest package."""
    team_megabytes: int = 400
    """The packages of a team together."""
    challenges_per_day: int = 20
    """Of a team."""
    most_games_at_once: int | None = None
    """None: as many as the machine can judge fairly."""
    faults_until_pause: int = 5
    """The number of games lost in a row by own faults after which a version is paused."""
    stage: Stage = "practice"
    freeze_at: float | None = None
    """When practice ends by itself."""
    final_kind: FinalKind = "round-robin"
    final_pairs: int = 1
    """The number of pairs of games in each meeting of the final."""
    final_seeding: tuple[int, ...] = ()
    """The versions in the last final, the one seeded highest first."""
    final_after: int = 0
    """The newest pair of games of a final when the last final began."""
    final_fills_gaps: bool = False
    """Whether the last final plays again what does not count, and counts as lost what a program that left has not
    played. A final of an earlier version does not: it keeps the result that it had."""
    is_paused: bool = False
    anchors: tuple[Anchor, ...] = ()
    kept_replays: int | None = None
    """The number of games, the newest, whose replays are kept; None: all."""
    teacher_password_hash: str = ""
    """Empty until the teacher has chosen a password."""
    spectator_token: str = ""
    """Part of the link that shows the pages without a login; empty: there is none."""
    setup_code_hash: str = ""
    """Of the code that the terminal shows until there is a password."""

    @property
    def has_final(self) -> bool:
        """Whether there is a final, which is being played or over, with the versions that it began with."""
        return self.stage in {"final", "over"}


SECRETS: Final = frozenset({"teacher_password_hash", "spectator_token", "setup_code_hash"})
"""The settings that no export contains."""


def load_settings(db: Connection) -> LeagueSettings:
    """Return the settings; those that nobody has changed have their defaults."""
    known = LeagueSettings.__struct_fields__
    rows = db.execute(select(schema.settings.c.key, schema.settings.c.value))
    return msgspec.convert({key: value for key, value in rows if key in known}, LeagueSettings)


def change_settings(db: Connection, /, **values: Any) -> LeagueSettings:
    """Change the named settings and return all. Raises msgspec.ValidationError if a value has another type."""
    checked = msgspec.convert(msgspec.to_builtins(values), LeagueSettings)
    for name in values:
        if name not in LeagueSettings.__struct_fields__:
            raise msgspec.ValidationError(f"unknown setting {name}")
        value = msgspec.to_builtins(getattr(checked, name))
        statement = insert(schema.settings).values(key=name, value=value)
        db.execute(statement.on_conflict_do_update(index_elements=["key"], set_={"value": statement.excluded.value}))
    return load_settings(db)
