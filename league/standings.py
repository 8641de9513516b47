"""The table of a league: the active version of each team and the anchors, by rating.

Pure: the same versions and results give the same table. The rank of a team is that of its active version; anchors have
none. Points are those that the contest gives for won and drawn games.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from spielleiter.league.model import CONTEST_POINTS, PairingResult, Version
from spielleiter.league.ratings import Pairing, estimate_ratings
from spielleiter.match.statistics import Estimate

PROVISIONAL_WIDTH: Final = 200.0
"""A rating is provisional while its interval is wider than this, in Elo."""


class StandingsRow(msgspec.Struct, frozen=True):
    """An active version."""

    rank: int | None
    """From 1; None: an anchor."""
    version_id: int
    team_id: int | None
    name: str
    """That of the team, or of the anchor."""
    number: int
    rating: float
    low: float
    high: float
    trend: float | None
    """How much the rating of the team has changed since the last day on which it had one; None: it had none."""
    points: int
    games: int
    wins: int
    draws: int
    losses: int
    faults: int
    is_paused: bool

    @property
    def is_provisional(self) -> bool:
        """Whether too few games were played to say much."""
        return self.high - self.low > PROVISIONAL_WIDTH


class Standings(msgspec.Struct, frozen=True):
    """The table at one moment."""

    rows: tuple[StandingsRow, ...] = ()
    ratings: dict[int, Estimate] = {}
    """The rating of every version that has played or is active; the interval is known for active ones only."""
    meetings: dict[tuple[int, int], int] = {}
    """How many pairs of games two versions have played, by their ids, the smaller one first."""

    def row_of(self, version_id: int) -> StandingsRow | None:
        """Return the row of a version; None if it is not active."""
        return next((row for row in self.rows if row.version_id == version_id), None)


def compute_standings(
    versions: Sequence[Version],
    results: Iterable[PairingResult],
    earlier: Mapping[int, float],
    before: Standings | None = None,
) -> Standings:
    """Compute the table.

    `versions` are those of all teams and the anchors, `results` those of all pairings, `earlier` the ratings of the
    last day before this one by version, and `before` is the last table, which makes this faster.
    """
    by_id = {version.id: version for version in versions}
    active = [version for version in versions if version.is_active]
    anchors = {version.id: version.anchor_rating for version in versions if version.anchor_rating is not None}
    tallies = {version.id: [0, 0, 0, 0] for version in active}
    pairings, meetings = [], {}
    for each in results:
        pairing = Pairing(each.first, each.second, each.pairs, each.singles)
        pairings.append(pairing)
        meetings[each.first, each.second] = pairing.played
        if (own := tallies.get(each.first)) is not None:
            own[:] = own[0] + each.wins, own[1] + each.draws, own[2] + each.losses, own[3] + each.faults1
        if (own := tallies.get(each.second)) is not None:
            own[:] = own[0] + each.losses, own[1] + each.draws, own[2] + each.wins, own[3] + each.faults2
    start = {} if before is None else {version: estimate.value for version, estimate in before.ratings.items()}
    ratings = estimate_ratings(pairings, tallies, anchors, start, tallies)
    last = _last_of_teams(by_id, earlier)
    rows = []
    rank = 0
    for version in sorted(active, key=lambda version: (-ratings[version.id].value, version.id)):
        rating = ratings[version.id]
        wins, draws, losses, faults = tallies[version.id]
        is_anchor = version.team_id is None
        rank += not is_anchor
        earlier_rating = last.get(version.team_id)
        rows.append(
            StandingsRow(
                rank=None if is_anchor else rank,
                version_id=version.id,
                team_id=version.team_id,
                name=version.team_name,
                number=version.number,
                rating=rating.value,
                low=rating.low,
                high=rating.high,
                trend=None if is_anchor or earlier_rating is None else rating.value - earlier_rating,
                points=CONTEST_POINTS[0] * wins + CONTEST_POINTS[1] * draws + CONTEST_POINTS[2] * losses,
                games=wins + draws + losses,
                wins=wins,
                draws=draws,
                losses=losses,
                faults=faults,
                is_paused=version.is_paused,
            )
        )
    return Standings(tuple(rows), ratings, meetings)


def _last_of_teams(versions: Mapping[int, Version], earlier: Mapping[int, float]) -> dict[int | None, float]:
    """The earlier rating of each team: that of its newest version which had one."""
    newest: dict[int | None, int] = {}
    for version_id in sorted(earlier):
        if version_id in versions:
            newest[versions[version_id].team_id] = version_id
    return {team: earlier[version] for team, version in newest.items()}
