"""What an inspection finds in a contest package, and how bad it is.

Invariants: a finding is immutable. Its text is one line without control characters.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Level(enum.Enum):
    """How bad a finding is; the values are used in reports."""

    GREEN = "green"
    """Harmless; mentioned because the user may wonder."""
    YELLOW = "yellow"
    """It may fail in the contest."""
    RED = "red"
    """It fails in the contest."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of an inspection."""

    code: str
    """Identifies the fault, such as ``no-main-file``; a key of `faults.FAULTS`."""
    level: Level
    text: str
    """One sentence: what is wrong, and what to do."""
    file: str = ""
    """The path in the package that it is about; empty if it is about the package as a whole."""
