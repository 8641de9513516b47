"""Messages are values, and no log shows a password."""

from __future__ import annotations

import dataclasses

import pytest

from protocol import messages
from protocol.messages import AuthenticateRequest, JoinRequest

CLASSES = [value for value in vars(messages).values() if dataclasses.is_dataclass(value)]


def test_a_password_is_not_shown() -> None:
    assert "geheim" not in repr(AuthenticateRequest("geheim"))
    assert repr(AuthenticateRequest("geheim", "passphrase")) == "AuthenticateRequest(attribute='passphrase')"


@pytest.mark.parametrize("message", CLASSES, ids=lambda each: getattr(each, "__name__", ""))
def test_every_message_is_frozen_and_has_slots(message: type) -> None:
    assert message.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert hasattr(message, "__slots__")


def test_equal_values_are_one_key() -> None:
    assert len({JoinRequest("a"), JoinRequest("a"), JoinRequest()}) == 2
