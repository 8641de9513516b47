"""What is to be checked, and under which conditions.

Invariants: a setup is immutable; all times are in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from spielleiter.match.sandbox.settings import SandboxSettings
from spielleiter.match.setup import ProgramTimeouts


@dataclass(frozen=True, slots=True)
class PackageCheckSetup:
    """The package at `path`, the game that it plays, and the limits.

    `main` is the main file, None for the one that is found; `parameters` are the further ones that were given with the
    upload. `edition` is None for the default one of the game. `speed` is how many times as fast as that of the contest
    a core of this machine is, None to measure it. `pause` is how long the game pauses in the step about pauses.
    `game_end` is None for the end of a game as in that edition.
    """

    path: Path
    game_type: str
    edition: str | None = None
    main: str | None = None
    parameters: tuple[str, ...] = ()
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    speed: float | None = None
    soft_timeout: float = 2.0
    hard_timeout: float = 10.0
    pause: float = 1.0
    patience: ProgramTimeouts = field(default_factory=ProgramTimeouts)
    game_end: str | None = None
