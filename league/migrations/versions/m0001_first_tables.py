"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "helpers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("code_hash", sa.String(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("is_revoked", sa.Boolean(), server_default=sa.text("0"), nullable=False),
        sa.Column("runs_without_sandbox", sa.Boolean(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_seen_at", sa.Float(), nullable=True),
        sa.Column("platform", sa.JSON(none_as_null=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_helpers"),
        sa.UniqueConstraint("code_hash", name="uq_helpers_code_hash"),
        sa.UniqueConstraint("name", name="uq_helpers_name"),
    )
    op.create_table(
        "log",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), server_default=sa.text("''"), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_log"),
    )
    op.create_table(
        "messages",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_messages"),
    )
    op.create_table(
        "packages",
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name="pk_packages"),
    )
    op.create_table(
        "settings",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_settings"),
    )
    op.create_table(
        "teams",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("code_key", sa.String(), nullable=False),
        sa.Column("code_hash", sa.String(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("is_paused", sa.Boolean(), server_default=sa.text("0"), nullable=False),
        sa.Column("pause_reason", sa.String(), server_default=sa.text("''"), nullable=False),
        sa.Column("allows_helpers", sa.Boolean(), server_default=sa.text("1"), nullable=False),
        sa.Column("is_removed", sa.Boolean(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_teams"),
        sa.UniqueConstraint("code_key", name="uq_teams_code_key"),
        sa.UniqueConstraint("name", name="uq_teams_name"),
    )
    op.create_table(
        "sessions",
        sa.Column("token_hash", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("last_used_at", sa.Float(), nullable=False),
        sa.Column("form_token", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_sessions_team_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("token_hash", name="pk_sessions"),
    )
    op.create_index("ix_sessions_team_id", "sessions", ["team_id"], unique=False)
    op.create_table(
        "versions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=True),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=True),
        sa.Column("size", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("builtin", sa.String(), nullable=True),
        sa.Column("main", sa.String(), server_default=sa.text("''"), nullable=False),
        sa.Column("parameters", sa.String(), server_default=sa.text("''"), nullable=False),
        sa.Column("uploaded_at", sa.Float(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("fault_code", sa.String(), server_default=sa.text("''"), nullable=False),
        sa.Column("fault_de", sa.String(), server_default=sa.text("''"), nullable=False),
        sa.Column("fault_en", sa.String(), server_default=sa.text("''"), nullable=False),
        sa.Column("checked_at", sa.Float(), nullable=True),
        sa.Column("full_check", sa.String(), nullable=False),
        sa.Column("full_report", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("is_active", sa.Boolean(), server_default=sa.text("0"), nullable=False),
        sa.Column("anchor_rating", sa.Float(), nullable=True),
        sa.Column("is_paused", sa.Boolean(), server_default=sa.text("0"), nullable=False),
        sa.Column("pause_reason", sa.String(), server_default=sa.text("''"), nullable=False),
        sa.ForeignKeyConstraint(["sha256"], ["packages.sha256"], name="fk_versions_sha256"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_versions_team_id"),
        sa.PrimaryKeyConstraint("id", name="pk_versions"),
        sa.UniqueConstraint("builtin", name="uq_versions_builtin"),
        sa.UniqueConstraint("team_id", "number", name="uq_versions_team_id_number"),
    )
    op.create_index(
        "ix_versions_active",
        "versions",
        ["team_id"],
        unique=True,
        sqlite_where=sa.text("is_active = 1 AND team_id IS NOT NULL"),
    )
    op.create_index("ix_versions_full_check", "versions", ["full_check"], unique=False)
    op.create_index("ix_versions_sha256", "versions", ["sha256"], unique=False)
    op.create_index("ix_versions_state", "versions", ["state"], unique=False)
    op.create_table(
        "pairs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("stage", sa.String(), nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("second", sa.Integer(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("games", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=True),
        sa.Column("label", sa.String(), server_default=sa.text("''"), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["first"], ["versions.id"], name="fk_pairs_first"),
        sa.ForeignKeyConstraint(["second"], ["versions.id"], name="fk_pairs_second"),
        sa.PrimaryKeyConstraint("id", name="pk_pairs"),
    )
    op.create_index("ix_pairs_first_second", "pairs", ["first", "second"], unique=False)
    op.create_index("ix_pairs_purpose_round", "pairs", ["purpose", "round"], unique=False)
    op.create_index("ix_pairs_second", "pairs", ["second"], unique=False)
    op.create_index("ix_pairs_state", "pairs", ["state"], unique=False)
    op.create_table(
        "ratings",
        sa.Column("version_id", sa.Integer(), nullable=False),
        sa.Column("day", sa.String(), nullable=False),
        sa.Column("rating", sa.Float(), nullable=False),
        sa.Column("low", sa.Float(), nullable=False),
        sa.Column("high", sa.Float(), nullable=False),
        sa.Column("games", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["version_id"], ["versions.id"], name="fk_ratings_version_id"),
        sa.PrimaryKeyConstraint("version_id", "day", name="pk_ratings"),
    )
    op.create_table(
        "results",
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("second", sa.Integer(), nullable=False),
        sa.Column("h0", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("h1", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("h2", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("h3", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("h4", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("s0", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("s1", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("s2", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("wins", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("draws", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("losses", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("faults1", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("faults2", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("points1", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("points2", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["first"], ["versions.id"], name="fk_results_first"),
        sa.ForeignKeyConstraint(["second"], ["versions.id"], name="fk_results_second"),
        sa.PrimaryKeyConstraint("first", "second", name="pk_results"),
    )
    op.create_index("ix_results_second", "results", ["second"], unique=False)
    op.create_table(
        "challenges",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("by_team", sa.Integer(), nullable=False),
        sa.Column("team", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["by_team"], ["teams.id"], name="fk_challenges_by_team"),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name="fk_challenges_pair_id"),
        sa.ForeignKeyConstraint(["team"], ["teams.id"], name="fk_challenges_team"),
        sa.PrimaryKeyConstraint("id", name="pk_challenges"),
    )
    op.create_index("ix_challenges_by_team", "challenges", ["by_team", "created_at"], unique=False)
    op.create_index("ix_challenges_team", "challenges", ["team", "created_at"], unique=False)
    op.create_table(
        "games",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("second", sa.Integer(), nullable=False),
        sa.Column("team1", sa.Integer(), nullable=True),
        sa.Column("team2", sa.Integer(), nullable=True),
        sa.Column("winner", sa.Integer(), nullable=True),
        sa.Column("is_counted", sa.Boolean(), nullable=False),
        sa.Column("is_void", sa.Boolean(), server_default=sa.text("0"), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("offender", sa.Integer(), nullable=True),
        sa.Column("reason_de", sa.String(), server_default=sa.text("''"), nullable=False),
        sa.Column("reason_en", sa.String(), server_default=sa.text("''"), nullable=False),
        sa.Column("points1", sa.Integer(), nullable=True),
        sa.Column("points2", sa.Integer(), nullable=True),
        sa.Column("plies", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("seconds", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.Column("finished_at", sa.Float(), nullable=False),
        sa.Column("machine1", sa.String(), server_default=sa.text("''"), nullable=False),
        sa.Column("machine2", sa.String(), server_default=sa.text("''"), nullable=False),
        sa.ForeignKeyConstraint(["first"], ["versions.id"], name="fk_games_first"),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name="fk_games_pair_id"),
        sa.ForeignKeyConstraint(["second"], ["versions.id"], name="fk_games_second"),
        sa.ForeignKeyConstraint(["team1"], ["teams.id"], name="fk_games_team1"),
        sa.ForeignKeyConstraint(["team2"], ["teams.id"], name="fk_games_team2"),
        sa.PrimaryKeyConstraint("id", name="pk_games"),
        sa.UniqueConstraint("pair_id", "number", name="uq_games_pair_id_number"),
    )
    op.create_index("ix_games_finished_at", "games", ["finished_at"], unique=False)
    op.create_index("ix_games_first", "games", ["first", "id"], unique=False)
    op.create_index("ix_games_second", "games", ["second", "id"], unique=False)
    op.create_index("ix_games_team1", "games", ["team1", "id"], unique=False)
    op.create_index("ix_games_team2", "games", ["team2", "id"], unique=False)
    op.create_table(
        "recordings",
        sa.Column("game_id", sa.Integer(), nullable=False),
        sa.Column("replay", sa.LargeBinary(), nullable=True),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("stderr1", sa.LargeBinary(), nullable=True),
        sa.Column("stderr2", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["game_id"], ["games.id"], name="fk_recordings_game_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("game_id", name="pk_recordings"),
    )
