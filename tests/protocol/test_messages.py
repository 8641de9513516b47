"""Messages are values, and their text never shows a password."""

from __future__ import annotations

import pytest
from msgspec import Struct

from spielleiter.protocol import messages
from spielleiter.protocol.errors import Refusal
from spielleiter.protocol.messages import AuthenticateRequest


def test_a_password_is_not_shown() -> None:
    assert "geheim" not in repr(AuthenticateRequest("geheim"))
    assert repr(AuthenticateRequest("geheim", "passphrase")) == "AuthenticateRequest(attribute='passphrase')"


def test_refusals_are_usable_as_names_of_counters() -> None:
    assert all(refusal.value == refusal.name.lower() for refusal in Refusal)


@pytest.mark.parametrize("message", [value for value in vars(messages).values() if isinstance(value, type(Struct))])
def test_every_message_is_frozen(message: type[Struct]) -> None:
    assert message is Struct or message.__struct_config__.frozen
