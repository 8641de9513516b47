"""Every request has one handler, in the table of the role that may send it."""

from __future__ import annotations

from typing import get_args

import pytest

from spielleiter.protocol.messages import CloseConnection, Event, Joined, Left, Message, Request, RoomMessage
from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.dispatch import FOR_ADMINS, FOR_ANYONE, dispatch
from spielleiter.server.editions import EDITIONS
from spielleiter.server.errors import Fault, RequestError
from tests.server.room_harness import RoomHarness

SERVER_PACKETS: list[Message] = [Joined("x"), Left("x")]


def test_every_request_of_an_edition_has_exactly_one_handler() -> None:
    known = {kind for edition in EDITIONS.values() for kind in edition.dialect.writers} & set(get_args(Request))
    assert set(FOR_ANYONE) | set(FOR_ADMINS) == known
    assert set(FOR_ANYONE) & set(FOR_ADMINS) == set()


def test_packets_that_only_a_server_sends_have_no_handler() -> None:
    assert (set(FOR_ANYONE) | set(FOR_ADMINS)) & (set(get_args(Event)) | {CloseConnection, RoomMessage}) == set()


@pytest.mark.parametrize("message", SERVER_PACKETS, ids=lambda message: type(message).__name__)
def test_packets_that_only_a_server_sends_are_refused_even_from_administrators(message: Message) -> None:
    harness = RoomHarness()
    for fake_peer in (harness.fake_peer("one"), harness.fake_peer("admin", is_admin=True)):
        with pytest.raises(RequestError, match="Unhandled Packet of type") as caught:
            dispatch(harness.lobby, fake_peer.member, message, Arrival(0.0), 0.0)
        assert caught.value.fault is Fault.SERVER_PACKET
