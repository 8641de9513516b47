"""What `spielleiter doctor` says about one thing: its state, and what follows from it.

Invariants: a finding that is not OK says what to do. The names of findings are stable, since scripts read them.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Level(enum.Enum):
    """How good a finding is; the values are those of `--json`."""

    OK = "ok"
    LIMITED = "limited"
    """Something does not work, or works less well; servers and players start nevertheless."""
    MISSING = "missing"
    """The server cannot start."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    `name` is a word for scripts, `title` the same for people. `state` says what was found, `meaning` what follows from
    it and, unless the level is OK, what to do. Both texts are without a line break.
    """

    name: str
    title: str
    level: Level
    state: str
    meaning: str

    def as_json(self) -> dict[str, str]:
        """Return the finding as an object for `--json`."""
        return {"name": self.name, "level": self.level.value, "state": self.state, "meaning": self.meaning}
