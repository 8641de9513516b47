"""The migrations of the league's database, for Alembic: `versions` has one file for each change of the tables."""
