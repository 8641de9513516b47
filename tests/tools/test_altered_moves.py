"""Moves that are nearly right: they differ from the legal one, stay XML, and follow from the seed."""

from __future__ import annotations

import random

from lxml import etree

from tools.season.altered_moves import AlteredMoves

MOVE = (
    '<data class="move"><actions><acceleration acc="1"/><turn direction="LEFT"/>'
    '<advance distance="2"/></actions><from x="0" y="3"/></data>'
)
OTHER = '<data class="move"><actions><push direction="RIGHT"/></actions></data>'


def changed(seed: int, count: int) -> list[str]:
    altered = AlteredMoves(random.Random(seed))
    for move in (MOVE, OTHER):
        altered.learn(move)
    return [altered.altered(MOVE) for _ in range(count)]


def test_they_follow_from_the_seed() -> None:
    assert changed(1, 20) == changed(1, 20) != changed(2, 20)


def test_numbers_words_and_lists_are_changed_and_the_class_is_kept() -> None:
    moves = changed(3, 300)
    assert all(etree.fromstring(move).get("class") == "move" for move in moves)
    text = "".join(moves)
    for part in (
        'acc="0"',
        'acc="-1"',
        'acc="2"',
        'direction="RIGHT"',
        '<push direction="RIGHT"/>',
        "<actions/>",
        'x="1"',
    ):
        assert part in text, part
    assert any(move.count("<advance") == 2 for move in moves)
    assert any("<from" not in move for move in moves)


def test_a_move_without_anything_to_change_stays_as_it_is() -> None:
    empty = '<data class="move"/>'
    assert AlteredMoves(random.Random(0)).altered(empty) == empty
