"""The ratings of the versions by day."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.sqlite import insert

from spielleiter.league import schema
from spielleiter.league.database import all_rows, columns_of
from spielleiter.league.model import RatingOfDay


def save_ratings(db: Connection, ratings: Sequence[RatingOfDay]) -> None:
    """Keep these ratings as those of their days, in place of earlier ones of the same day."""
    for each in ratings:
        values = {name: getattr(each, name) for name in RatingOfDay.__struct_fields__}
        statement = insert(schema.ratings).values(values)
        db.execute(statement.on_conflict_do_update(index_elements=["version_id", "day"], set_=values))


def rating_history(db: Connection, version_ids: Sequence[int]) -> list[RatingOfDay]:
    """Return the ratings of these versions by day, the oldest first."""
    ratings = schema.ratings
    query = select(*columns_of(RatingOfDay, ratings)).where(ratings.c.version_id.in_(version_ids))
    return all_rows(db, RatingOfDay, query.order_by(ratings.c.day, ratings.c.version_id))


def all_ratings(db: Connection) -> list[RatingOfDay]:
    """Return the ratings of all versions by day, the oldest first."""
    ratings = schema.ratings
    query = select(*columns_of(RatingOfDay, ratings)).order_by(ratings.c.day, ratings.c.version_id)
    return all_rows(db, RatingOfDay, query)


def ratings_before(db: Connection, day: str) -> dict[int, float]:
    """Return the last rating of each version before `day` (``2027-01-31``), by the version's id."""
    ratings = schema.ratings
    last = (
        select(ratings.c.version_id, func.max(ratings.c.day).label("day"))
        .where(ratings.c.day < day)
        .group_by(ratings.c.version_id)
        .subquery()
    )
    is_last = (ratings.c.version_id == last.c.version_id) & (ratings.c.day == last.c.day)
    rows = db.execute(select(ratings.c.version_id, ratings.c.rating).join(last, is_last))
    return {row.version_id: row.rating for row in rows}
