"""What a writer of a few attributes writes, the reader of the same arguments reads, and nothing else is in it."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from spielleiter.protocol.dialect import Reading, Writer
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.dialects.packets import (
    AnyReader,
    attribute_reader,
    attribute_writer,
    empty_reader,
    empty_writer,
    flag_reader,
    flag_writer,
    room_flag_reader,
    room_flag_writer,
)
from spielleiter.protocol.messages import CloseConnection, Left, Message, PauseRequest, Testing


@pytest.mark.parametrize(
    ("reader", "write", "message"),
    [
        (empty_reader(CloseConnection), empty_writer("a"), CloseConnection()),
        (attribute_reader(Left, "room"), attribute_writer("a", "room", "room_id"), Left("r & 1")),
        (attribute_reader(Left, "room"), attribute_writer("a", "room", "room_id"), Left(None)),
        (flag_reader(Testing, "mode"), flag_writer("a", "mode", "is_enabled"), Testing(is_enabled=True)),
        (flag_reader(Testing, "mode"), flag_writer("a", "mode", "is_enabled"), Testing(is_enabled=False)),
        (
            room_flag_reader(PauseRequest, "pause"),
            room_flag_writer("a", "pause", "is_paused"),
            PauseRequest("r", is_paused=True),
        ),
    ],
)
def test_a_written_element_is_read_back(reader: AnyReader, write: Writer, message: Message) -> None:
    body = write(message, BLOKUS_2021_R3, "")
    element = ET.fromstring(f"<{body.name}{body.attributes}/>")
    skipped: list[str] = []
    assert reader(element, Reading(BLOKUS_2021_R3, skipped.append)) == message
    assert skipped == []


def test_children_are_skipped_and_a_missing_flag_is_false() -> None:
    skipped: list[str] = []
    element = ET.fromstring("<a><b/></a>")
    assert flag_reader(Testing, "mode")(element, Reading(BLOKUS_2021_R3, skipped.append)) == Testing(is_enabled=False)
    assert skipped == ["<b> in <a>"]
