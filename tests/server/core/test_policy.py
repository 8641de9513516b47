"""A policy is a value whose defaults follow the documents; others are made from it by naming the differences."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest

from spielleiter.protocol.messages import Cause
from spielleiter.server.core.policy import CancelWinner, Policy, TimeoutWinner
from spielleiter.server.editions import EDITIONS


def test_an_evolved_policy_differs_only_in_the_named_fields() -> None:
    release = Policy().evolve(hard_timeout_cause=Cause.SOFT_TIMEOUT, cancel_winner=CancelWinner.LEADER)
    differing = {each.name for each in fields(Policy) if getattr(release, each.name) != getattr(Policy(), each.name)}
    assert differing == {"hard_timeout_cause", "cancel_winner"}
    assert Policy() == EDITIONS["blokus-2021-r3"].policy
    assert Policy().timeout_winner is TimeoutWinner.OPPONENT


def test_unknown_fields_are_refused_and_a_policy_is_immutable() -> None:
    with pytest.raises(TypeError):
        Policy().evolve(speaks_latin=True)
    with pytest.raises(FrozenInstanceError):
        Policy().has_default_game = False  # type: ignore[misc]


def test_every_field_differs_between_some_editions() -> None:
    """A field in which all editions agree would be a branch that is never taken."""
    for each in fields(Policy):
        assert len({getattr(edition.policy, each.name) for edition in EDITIONS.values()}) > 1, each.name
