"""A score sheet entry is read back as it was written; one that cannot be read says why."""

from __future__ import annotations

from decimal import Decimal
from typing import cast

import pytest
from lxml import etree

from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.messages import Aggregation, Fragment, Message, PlayerScore
from spielleiter.protocol.reading import Element


def decode(text: str) -> Message:
    return BLOKUS_2021_R3.decode(cast("Element", etree.fromstring(text)))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_written_scores_are_read_as_they_were(count: int) -> None:
    part = Fragment("∅ <Punkte>", Aggregation.AVERAGE, is_relevant_for_ranking=True)
    values = ((part, Decimal("1.50")), (part, Decimal(-3)))[:count]
    score = PlayerScore("A & B", 2, values)
    assert decode(BLOKUS_2021_R3.encode(score).decode()) == score


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<playerScore/>", "im Element playerScore fehlt das Element score"),
        ("<playerScore><score/></playerScore>", "im Element score fehlt das Attribut numberOfTests (eine ganze Zahl)"),
        (
            '<playerScore><score numberOfTests="1"><values><value>1</value></values></score></playerScore>',
            "im Element values fehlt fragment oder value",
        ),
        (
            '<playerScore><score numberOfTests="1"><values><fragment/><value>1</value></values></score></playerScore>',
            "im Element fragment fehlt das Element aggregation; erlaubt: SUM, AVERAGE",
        ),
        (
            (
                '<playerScore><score numberOfTests="1"><values><fragment><aggregation>SUM</aggregation></fragment>'
                "<value>x</value></values></score></playerScore>"
            ),
            '"x" im Element value ist keine Zahl',
        ),
    ],
)
def test_a_score_that_cannot_be_read_says_why(text: str, problem: str) -> None:
    with pytest.raises(RemoteProtocolError) as error:
        decode(text)
    assert error.value.refusal is Refusal.UNREADABLE_PACKET
    assert str(error.value).endswith(f"cannot be read: {problem}")


def test_unknown_content_is_skipped() -> None:
    notes: list[str] = []
    text = '<playerScore><score displayName="A" numberOfTests="1"><x/></score><x/></playerScore>'
    element = cast("Element", etree.fromstring(text))
    assert BLOKUS_2021_R3.decode(element, notes.append) == PlayerScore("A", 1, ())
    assert len(notes) == 2
