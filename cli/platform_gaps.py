"""Prints what this operating system cannot do for a match, a tournament or a check.

Invariants: it is printed once, before the first game; nothing is printed on Linux.
"""

from __future__ import annotations

from spielleiter.cli.commands import print_line


def print_platform_gaps() -> None:
    """Print one line for each thing, to standard error."""
    from spielleiter.programs.platforms import PLATFORM

    for gap in PLATFORM.gaps:
        print_line(gap, err=True)
