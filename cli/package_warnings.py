"""Prints what may be wrong with the contest packages among the programs of a match or tournament.

Invariants: only warnings are printed. A package that cannot be started is refused before, with all reasons.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from spielleiter.cli.commands import print_line

if TYPE_CHECKING:
    from spielleiter.match.plan import Entrant


def print_package_warnings(entrants: Iterable[Entrant], cwd: str) -> None:
    """Print the warnings about each package; `cwd` is the directory that relative paths start from.

    Raises SetupError if a package cannot be started.
    """
    from spielleiter.match.preparation import inspect_program
    from spielleiter.programs.packages.faults import Level

    for entrant in {(each.command, each.main): each for each in entrants}.values():
        inspection = inspect_program(entrant, cwd)
        for finding in () if inspection is None else inspection.findings:
            if finding.level is Level.YELLOW:
                print_line(f"{entrant.command}: warning: {finding.text}", err=True)
