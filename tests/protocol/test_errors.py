"""The exceptions, and their attributes."""

from __future__ import annotations

from spielleiter.protocol.errors import LocalProtocolError, ProtocolError, Refusal, RemoteProtocolError
from spielleiter.protocol.messages import UnknownPacket


def test_a_remote_error_says_what_was_wrong_and_keeps_what_was_understood() -> None:
    error = RemoteProtocolError(Refusal.UNKNOWN_PACKET, "<foo> is unknown", UnknownPacket("foo"))
    assert (error.refusal, str(error), error.original) == (
        Refusal.UNKNOWN_PACKET,
        "<foo> is unknown",
        UnknownPacket("foo"),
    )
    assert RemoteProtocolError(Refusal.MALFORMED, "x").original is None


def test_both_exceptions_are_protocol_errors_and_unrelated_otherwise() -> None:
    assert issubclass(LocalProtocolError, ProtocolError)
    assert issubclass(RemoteProtocolError, ProtocolError)
    assert not issubclass(LocalProtocolError, RemoteProtocolError)


def test_refusals_are_usable_as_names_of_counters() -> None:
    assert all(refusal.value == refusal.name.lower() for refusal in Refusal)
