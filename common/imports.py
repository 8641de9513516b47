"""Imports by name: what belongs to one game is imported only when that game is played."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final

_PACKAGE: Final = "spielleiter"


def imported(reference: str) -> Any:
    """Return the object that `reference` names: a module of this project without its first name, a colon, and a name.

        imported("game.blokus:BLOKUS_2027")

    Raises ImportError or AttributeError if there is no such module or object.
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(f"{_PACKAGE}.{module}"), name)


@cache
def imported_if_there(reference: str) -> Any | None:
    """Return the object that `reference` names, as `imported` does; None if there is no such module."""
    try:
        return imported(reference)
    except ModuleNotFoundError as error:
        module = f"{_PACKAGE}.{reference.partition(':')[0]}"
        if not f"{module}.".startswith(f"{error.name}."):  # it is there, and imports one that is not
            raise
        return None
