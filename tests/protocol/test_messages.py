"""Messages are values, and their text never shows a password."""

from __future__ import annotations

from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.messages import AuthenticateRequest, UnknownPacket


def test_a_password_is_not_shown() -> None:
    assert "geheim" not in repr(AuthenticateRequest("geheim"))
    assert repr(AuthenticateRequest("geheim", "passphrase")) == "AuthenticateRequest(attribute='passphrase')"


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
