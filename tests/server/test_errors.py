"""The errors of the server have one base class, and their texts are for people."""

from __future__ import annotations

import re

import pytest

from spielleiter.server.config import ConfigError
from spielleiter.server.errors import ClockError, Fault, RequestError, ServerError, StartError
from spielleiter.server.replay import ReplayError


@pytest.mark.parametrize("kind", [ClockError, RequestError, StartError, ConfigError, ReplayError])
def test_all_errors_have_one_base_class(kind: type[Exception]) -> None:
    assert issubclass(kind, ServerError)
    assert issubclass(kind, StartError) == (kind in (StartError, ConfigError, ReplayError))


def test_a_request_error_has_its_fault_and_the_text_of_the_reply() -> None:
    error = RequestError(Fault.ROOM_FULL, "Room x is already full!")
    assert (error.fault, str(error)) == (Fault.ROOM_FULL, "Room x is already full!")


@pytest.mark.parametrize("fault", Fault)
def test_faults_are_valid_names_of_counters(fault: Fault) -> None:
    assert re.fullmatch("[a-z_]+", fault.value)
    assert fault.value == fault.name.lower()
