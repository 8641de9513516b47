"""Which games belong to the last final, and results without challenges, which count for nothing now."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"

# a final that knows its first pair already began in a version that fills gaps
_GAPS = """
INSERT INTO settings (key, value)
SELECT 'final_fills_gaps', 'true' FROM settings WHERE key = 'final_after'
"""

_FIRST_PAIR = """
INSERT OR IGNORE INTO settings (key, value)
SELECT 'final_after', (
    SELECT coalesce(max(id), 0) FROM pairs WHERE purpose = 'final' AND created_at < settings.value
)
FROM settings WHERE key = 'final_begun_at'
"""

# a challenge that was repeated became a pair that counts, with the same versions and the same random seed
_REPEATED_CHALLENGES = """
UPDATE pairs SET purpose = 'challenge'
WHERE purpose = 'repeat' AND EXISTS (
    SELECT 1 FROM pairs AS earlier
    WHERE earlier.first = pairs.first AND earlier.second = pairs.second AND earlier.seed = pairs.seed
    AND earlier.purpose = 'challenge'
)
"""

# h0 to s2 as in the schema: each two counted games of a pair are one row of `portions`, with the points in halves
_RESULTS = """
INSERT INTO results
    (first, second, h0, h1, h2, h3, h4, s0, s1, s2, wins, draws, losses, faults1, faults2, points1, points2)
WITH
counted AS (
    SELECT
        min(pairs.first, pairs.second) AS low,
        max(pairs.first, pairs.second) AS high,
        pairs.id AS pair,
        (row_number() OVER (PARTITION BY pairs.id ORDER BY games.number) - 1) / 2 AS portion,
        CASE WHEN winner IS NULL THEN 1 WHEN winner = (pairs.first > pairs.second) THEN 2 ELSE 0 END AS halves,
        coalesce(offender = (pairs.first > pairs.second), 0) AS fault1,
        coalesce(offender = (pairs.first < pairs.second), 0) AS fault2,
        coalesce(CASE WHEN pairs.first < pairs.second THEN points1 ELSE points2 END, 0) AS points1,
        coalesce(CASE WHEN pairs.first < pairs.second THEN points2 ELSE points1 END, 0) AS points2
    FROM games JOIN pairs ON pairs.id = games.pair_id
    WHERE pairs.state != 'void' AND pairs.purpose NOT IN ('check', 'challenge') AND games.is_counted
),
portions AS (
    SELECT
        low, high, count(*) AS games, sum(halves) AS halves,
        sum(halves = 2) AS wins, sum(halves = 1) AS draws, sum(halves = 0) AS losses,
        sum(fault1) AS faults1, sum(fault2) AS faults2, sum(points1) AS points1, sum(points2) AS points2
    FROM counted GROUP BY pair, portion
)
SELECT
    low, high,
    sum(games = 2 AND halves = 0), sum(games = 2 AND halves = 1), sum(games = 2 AND halves = 2),
    sum(games = 2 AND halves = 3), sum(games = 2 AND halves = 4),
    sum(games = 1 AND halves = 0), sum(games = 1 AND halves = 1), sum(games = 1 AND halves = 2),
    sum(wins), sum(draws), sum(losses), sum(faults1), sum(faults2), sum(points1), sum(points2)
FROM portions GROUP BY low, high
"""


def upgrade() -> None:
    """Change the settings and count the results anew."""
    op.execute(_GAPS)
    op.execute(_FIRST_PAIR)
    op.execute("DELETE FROM settings WHERE key = 'final_begun_at'")
    op.execute(_REPEATED_CHALLENGES)
    op.execute("DELETE FROM results")
    op.execute(_RESULTS)
