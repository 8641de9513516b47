"""The examples in the docstrings of the rules and of the protocol are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import spielleiter.game
import spielleiter.protocol

MODULES = [spielleiter.game, spielleiter.protocol] + [
    importlib.import_module(found.name)
    for package in (spielleiter.game, spielleiter.protocol)
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]
EXAMPLES = [each for module in MODULES for each in doctest.DocTestFinder().find(module)]


@pytest.mark.parametrize("example", [each for each in EXAMPLES if each.examples], ids=lambda each: each.name)
def test_examples_in_docstrings(example: doctest.DocTest) -> None:
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example).failed == 0
