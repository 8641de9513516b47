"""Messages are values, and their text never shows a password."""

from __future__ import annotations

import dataclasses

import pytest
from msgspec import Struct

from spielleiter.protocol import messages
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.messages import AuthenticateRequest, UnknownPacket

STRUCTS = [value for value in vars(messages).values() if isinstance(value, type) and issubclass(value, Struct)]
DATACLASSES = [value for value in vars(messages).values() if dataclasses.is_dataclass(value)]


def test_a_password_is_not_shown() -> None:
    assert "geheim" not in repr(AuthenticateRequest("geheim"))
    assert repr(AuthenticateRequest("geheim", "passphrase")) == "AuthenticateRequest(attribute='passphrase')"


@pytest.mark.parametrize("message", sorted(set(STRUCTS) - {Struct}, key=repr))
def test_every_message_is_frozen(message: type[Struct]) -> None:
    assert message.__struct_config__.frozen


@pytest.mark.parametrize("message", DATACLASSES)
def test_messages_that_are_dataclasses_are_frozen_and_have_slots(message: type) -> None:
    assert message.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert hasattr(message, "__slots__")


def test_a_remote_error_says_what_was_wrong_and_keeps_what_was_understood() -> None:
    error = RemoteProtocolError(Refusal.UNKNOWN_PACKET, "<foo> is unknown", UnknownPacket("foo"))
    assert (error.refusal, str(error), error.original) == (
        Refusal.UNKNOWN_PACKET,
        "<foo> is unknown",
        UnknownPacket("foo"),
    )
    assert RemoteProtocolError(Refusal.MALFORMED, "x").original is None


def test_refusals_are_usable_as_names_of_counters() -> None:
    assert all(refusal.value == refusal.name.lower() for refusal in Refusal)
