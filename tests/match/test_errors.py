"""The exceptions of the package `match`."""

from __future__ import annotations

import pytest

from spielleiter.match import errors
from spielleiter.match.checking.scripted_server import UnexpectedBehaviourError

KINDS = [errors.SetupError, errors.JournalError, errors.MachineError, errors.NotStartedError, UnexpectedBehaviourError]


@pytest.mark.parametrize("kind", KINDS)
def test_all_errors_derive_from_the_base_class(kind: type[errors.MatchError]) -> None:
    assert issubclass(kind, errors.MatchError)
    assert not any(issubclass(kind, other) for other in KINDS if other is not kind)
