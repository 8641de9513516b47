"""Ids are secret and starts are random, unless a seed determines them."""

from __future__ import annotations

import uuid

import pytest

from spielleiter.server.core.lobby import id_source, secret_id, start_source


@pytest.mark.parametrize(("seed", "seeds_ids"), [(None, True), (5, False)])
def test_ids_are_secret_unless_the_operator_seeds_them(seed: int | None, seeds_ids: bool) -> None:
    assert id_source(seed, seeds_ids=seeds_ids) is secret_id
    first, second = secret_id(), secret_id()
    assert first != second
    assert [uuid.UUID(each).version for each in (first, second)] == [4, 4]


def test_ids_from_a_seed_are_the_same_in_every_run() -> None:
    new_id, same_id = id_source(5, seeds_ids=True), id_source(5, seeds_ids=True)
    assert [new_id() for _ in range(3)] == [same_id() for _ in range(3)]
    assert new_id() != new_id()


def test_starting_positions_follow_from_the_seed() -> None:
    new_rng, same_rng = start_source(5), start_source(5)
    draws = [new_rng().random() for _ in range(3)]
    assert draws == [same_rng().random() for _ in range(3)]
    assert len(set(draws)) == 3
    assert start_source(None)().random() != start_source(None)().random()
