"""The two directions of a connection pass through their phases independently, and closed is final."""

from __future__ import annotations

import pytest

from spielleiter.protocol.connection import (
    INPUT_TRANSITIONS,
    OUTPUT_TRANSITIONS,
    Connection,
    InputPhase,
    OutputPhase,
    Role,
)
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.errors import RemoteProtocolError
from spielleiter.protocol.messages import CloseConnection

PACKET, END_TAG, ERROR, END_OF_INPUT = b"<protocol><join/>", b"</protocol>", b"</foo>", b""


@pytest.mark.parametrize(
    ("pieces", "phases"),
    [
        ((PACKET, END_TAG, PACKET, END_OF_INPUT), ("READING", "ENDED", "ENDED", "CLOSED")),
        ((PACKET, ERROR, END_TAG, END_OF_INPUT), ("READING", "ENDED", "ENDED", "CLOSED")),
        ((PACKET, END_OF_INPUT, END_OF_INPUT), ("READING", "CLOSED", "CLOSED")),
        ((END_OF_INPUT, PACKET), ("CLOSED", "CLOSED")),
    ],
)
def test_phases_of_the_input(pieces: tuple[bytes, ...], phases: tuple[str, ...]) -> None:
    connection = Connection(Role.SERVER, BLOKUS_2021_R3)
    assert connection.input_phase is InputPhase.READING
    for piece, phase in zip(pieces, phases, strict=True):
        connection.receive_data(piece)
        try:
            for _ in range(3):
                connection.next_event()
        except RemoteProtocolError:
            assert piece == ERROR
        assert connection.input_phase is InputPhase[phase]
    assert connection.output_phase is OutputPhase.IDLE


@pytest.mark.parametrize("last", [END_TAG, ERROR, b"<join"])
def test_packets_that_came_before_the_end_of_input_are_read_while_draining(last: bytes) -> None:
    connection = Connection(Role.SERVER, BLOKUS_2021_R3)
    connection.receive_data(PACKET + last)
    connection.receive_data(END_OF_INPUT)
    phases = []
    for _ in range(2):
        try:
            connection.next_event()
        except RemoteProtocolError:
            assert last == ERROR
        phases.append(connection.input_phase)
    assert phases == [InputPhase.DRAINING, InputPhase.CLOSED]


def test_phases_of_the_output() -> None:
    connection = Connection(Role.SERVER, BLOKUS_2021_R3)
    phases = [connection.output_phase]
    for _ in range(2):
        connection.send(CloseConnection())
        phases.append(connection.output_phase)
    for _ in range(2):
        connection.close()
        phases.append(connection.output_phase)
    assert [phase.name for phase in phases] == ["IDLE", "OPEN", "OPEN", "CLOSED", "CLOSED"]
    assert connection.input_phase is InputPhase.READING


def test_closed_is_final_and_reachable_from_every_phase() -> None:
    assert {phase for phase, _ in INPUT_TRANSITIONS} == set(InputPhase) - {InputPhase.CLOSED}
    assert {phase for phase, _ in OUTPUT_TRANSITIONS} == set(OutputPhase) - {OutputPhase.CLOSED}
