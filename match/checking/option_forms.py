"""The orders and forms in which the contest may give a program its options.

The contest's documents show two of them and say that the three options come in any order, in their short or their long
version. Further parameters, which can be given with an upload, come before or after them.

Invariants: the first form is the one of all games, so a program that plays and fails here fails because of the form.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_SHORT: Final = {"host": "-h", "port": "-p", "reservation": "-r"}
_LONG: Final = {"host": "--host", "port": "--port", "reservation": "--reservation"}
_MIXED: Final = {"host": "-h", "port": "--port", "reservation": "-r"}


@dataclass(frozen=True, slots=True)
class OptionForm:
    """One way to give a program its options.

    `names` are the options in their order; `has_parameters_last` says whether further parameters come after them.
    """

    names: tuple[tuple[str, str], ...]
    is_long: bool = False
    has_parameters_last: bool = False

    def arguments(self, values: Mapping[str, str], parameters: Sequence[str] = ()) -> list[str]:
        """Return the words after the main file; `values` has ``host``, ``port`` and ``reservation``."""
        options = [word for key, option in self.names for word in (option, values[key])]
        return [*options, *parameters] if self.has_parameters_last else [*parameters, *options]

    def text(self, parameters: Sequence[str] = ()) -> str:
        """The form as a person writes it."""
        return " ".join(self.arguments({"host": "HOST", "port": "PORT", "reservation": "CODE"}, parameters))


def option_forms(parameters: Sequence[str] = ()) -> tuple[OptionForm, ...]:
    """Return all forms that are tried; the one with the parameters at the end only if there are `parameters`."""
    short = [_form(order, _SHORT) for order in itertools.permutations(_SHORT)]
    long = [
        _form(order, _LONG, is_long=True)
        for order in (("reservation", "host", "port"), ("port", "host", "reservation"))
    ]
    mixed = [_form(("port", "reservation", "host"), _MIXED, is_long=True)]
    last = [OptionForm(short[0].names, has_parameters_last=True)] if parameters else []
    return (*short, *long, *mixed, *last)


def _form(order: Sequence[str], names: Mapping[str, str], *, is_long: bool = False) -> OptionForm:
    return OptionForm(tuple((key, names[key]) for key in order), is_long)
