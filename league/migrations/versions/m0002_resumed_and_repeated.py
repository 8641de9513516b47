"""What a version remembers of its last pause, and of the request that uploaded it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("versions", sa.Column("faults_after", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.add_column("versions", sa.Column("upload_key", sa.String(), nullable=True))
    op.create_index("ix_versions_upload_key", "versions", ["team_id", "upload_key"], unique=True)
