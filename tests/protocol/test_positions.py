"""A position is written as a document and read back; nothing else is a position."""

from __future__ import annotations

import random

import pytest

from spielleiter.protocol.errors import RemoteProtocolError
from spielleiter.protocol.messages import Memento
from spielleiter.protocol.positions import read_position, write_position
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS

R3 = EDITIONS["blokus-2021-r3"]


def start(edition: Edition = R3) -> Memento:
    return Memento(edition.game.new_state(random.Random(1)), ("Ä & B", "Zwei"))


@pytest.mark.parametrize("edition", EDITIONS.values(), ids=lambda edition: edition.name)
def test_a_position_is_read_as_it_was_written(edition: Edition) -> None:
    """What players do not see of a position is not written, and so it may be another when a game is resumed."""
    position = start(edition)
    for _ in range(5):
        document = write_position(edition.dialect, "room", position)
        resumed = edition.game.resume(read_position(edition.dialect, document).state)
        assert write_position(edition.dialect, "room", Memento(resumed, position.names)) == document
        assert "as_seen" in dir(resumed) or resumed == position.state
        position = Memento(position.state.play(next(iter(position.state.generate_legal_moves()))))


DOCUMENT = write_position(R3.dialect, "room", start())
ROOM = DOCUMENT.removeprefix("<protocol>").removesuffix("</protocol>")


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ("", "no position"),
        ("<protocol/>", "no position"),
        ("Zug", "Zug"),
        (DOCUMENT[:-100], "no position"),
        (f"<protocol>{ROOM}{ROOM}</protocol>", "more in it than one position"),
        (f"<protocol>{ROOM}<close/></protocol>", "more in it than one position"),
        ('<protocol><room><data class="paused"/></room></protocol>', "more in it than one position"),
        ('<protocol><room><data class="schach"/></room></protocol>', "gibt es nicht"),
        (DOCUMENT.replace('turn="0"', 'turn="x"'), "keine ganze Zahl"),
        (f"<protocol>{'<a>' * 10_000}", "nested"),
        ("<protocol>\ud800", "."),
        ('<!DOCTYPE p [<!ENTITY a "aaaa">]><protocol>&a;</protocol>', "."),
    ],
)
def test_any_other_document_is_refused(document: str, problem: str) -> None:
    with pytest.raises(RemoteProtocolError, match=problem):
        read_position(R3.dialect, document)
