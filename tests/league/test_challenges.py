"""A team challenges others within limits, and the ratings, helpers and messages of a league are kept."""

from __future__ import annotations

import pytest

from spielleiter.league.challenges import DAY, challenge_team, list_challenges
from spielleiter.league.errors import RefusedError
from spielleiter.league.games import get_pair
from spielleiter.league.settings import change_settings
from tests.league.leagues import NOON, League


def refusal(league: League, by_team: int, team: int, now: float = NOON) -> str:
    with pytest.raises(RefusedError) as caught:
        league(challenge_team, by_team, team, now, seed=1)
    return caught.value.code


def test_a_challenge_opens_a_pair_of_the_active_versions(league: League) -> None:
    hares, hedgehogs = league.add_team("Hasen"), league.add_team("Igel")
    assert refusal(league, hares, hedgehogs) == "no-version"
    mine = league.accept(hares)
    assert refusal(league, hares, hedgehogs) == "no-opponent"
    assert refusal(league, hares, hares) == "own-team"
    theirs = league.accept(hedgehogs)
    challenge = league(challenge_team, hares, hedgehogs, NOON, seed=7)
    pair = league(get_pair, challenge.pair_id)
    assert (pair.first, pair.second, pair.purpose, pair.seed) == (mine.id, theirs.id, "challenge", 7)
    assert league(list_challenges, hedgehogs) == [challenge]


def test_a_challenge_that_a_new_version_has_overtaken_keeps_nobody_from_another_one(league: League) -> None:
    mine, other = league.add_team("Hasen"), league.add_team("Igel")
    league.accept(mine)
    league.accept(other)
    league(challenge_team, mine, other, NOON, seed=1)
    newer = league.accept(other)
    again = league(challenge_team, mine, other, NOON, seed=2)
    pair = league(get_pair, again.pair_id)
    assert newer.id in {pair.first, pair.second}
    assert refusal(league, other, mine) == "open-challenge"


def test_challenges_are_bounded(league: League) -> None:
    hares, hedgehogs = league.add_team("Hasen"), league.add_team("Igel")
    mine, theirs = league.accept(hares), league.accept(hedgehogs)
    league(change_settings, challenges_per_day=2)
    for _ in range(2):
        pair = league(get_pair, league(challenge_team, hares, hedgehogs, NOON, seed=1).pair_id)
        assert refusal(league, hedgehogs, hares) == "open-challenge"
        league.play(pair, 1, 0)
        league.play(pair, 2, 0)
    assert refusal(league, hares, hedgehogs) == "too-many-challenges"
    for now in (NOON + DAY, NOON - 60):  # the clock was fast and is right now
        pair = league(get_pair, league(challenge_team, hares, hedgehogs, now, seed=1).pair_id)
        league.play(pair, 1, 0)
        league.play(pair, 2, 0)
    league(change_settings, stage="final")
    assert refusal(league, hedgehogs, hares) == "frozen"
    assert mine.id != theirs.id
