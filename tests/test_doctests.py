"""The examples in the docstrings of the rules and of the protocol are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import spielleiter.game
import spielleiter.protocol

PACKAGES = (spielleiter.game, spielleiter.protocol)
MODULES = [package.__name__ for package in PACKAGES] + [
    module.name for package in PACKAGES for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]
WITH_EXAMPLES = {
    "spielleiter.game.api",
    "spielleiter.game.blokus",
    "spielleiter.game.blokus.bitboard",
    "spielleiter.game.blokus.movegen",
    "spielleiter.game.blokus.polyomino",
    "spielleiter.game.blokus.state",
    "spielleiter.game.hase_und_igel",
    "spielleiter.game.perft",
    "spielleiter.protocol",
    "spielleiter.protocol.dialect",
    "spielleiter.protocol.room_writer",
    "spielleiter.protocol.writer",
}
"""The modules whose public functions and classes are best explained by examples."""


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    failed, attempted = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0
    assert attempted or name not in WITH_EXAMPLES


def test_modules_with_examples_exist() -> None:
    assert set(MODULES) >= WITH_EXAMPLES
