"""A policy is a value whose defaults are the documents' conduct; others are made of it by naming what differs."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest

from spielleiter.protocol.messages import Cause
from spielleiter.server.core.policy import CancelWinner, Policy, TimeoutWinner
from spielleiter.server.editions import EDITIONS


def test_an_evolved_policy_differs_in_what_was_named_and_nothing_else() -> None:
    release = Policy().evolve(hard_timeout_cause=Cause.SOFT_TIMEOUT, cancel_winner=CancelWinner.LEADER)
    differing = {each.name for each in fields(Policy) if getattr(release, each.name) != getattr(Policy(), each.name)}
    assert differing == {"hard_timeout_cause", "cancel_winner"}
    assert Policy() == EDITIONS["blokus-2021-r3"].policy
    assert Policy().timeout_winner is TimeoutWinner.OPPONENT


def test_a_policy_names_only_what_there_is_and_never_changes() -> None:
    with pytest.raises(TypeError):
        Policy().evolve(speaks_latin=True)
    with pytest.raises(FrozenInstanceError):
        Policy().has_default_game = False  # type: ignore[misc]


def test_no_field_is_without_an_edition_that_needs_it() -> None:
    """A field in which all editions agree would be a branch nobody takes."""
    for each in fields(Policy):
        assert len({getattr(edition.policy, each.name) for edition in EDITIONS.values()}) > 1, each.name
