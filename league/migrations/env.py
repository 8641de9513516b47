"""Run by Alembic for each migration; the connection comes from `league.database`."""

from __future__ import annotations

from alembic import context

from spielleiter.league.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,  # SQLite can undo changes of tables, so a migration is done as a whole or not at all
    render_as_batch=True,  # SQLite changes most of a table by copying it
)
with context.begin_transaction():
    context.run_migrations()
