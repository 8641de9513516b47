"""Matches between programs: many games, and the answer to which program is better.

In a plain script or at Python's prompt:

    from spielleiter.match import play_match, prepare_match

    setup = prepare_match("./new", "builtin:greedy", games=20)
    result = play_match(setup, "result")
    print(result.headline, result.elo, result.faults, result.report)

- `prepare_match` describes the match, and refuses one that cannot be played.
- `play_match` plays it and writes the reports into a folder; in a program that runs trio, `run_match` does.
- `load_match` reads the setup of an interrupted match, to play the remaining games.
- `read_journal` and `summarise` read the games of a match and compute its numbers again.

Every error that concerns the match is a `MatchError`. A program that misbehaves raises nothing: that is a verdict in
the record of its game.

A name is imported from its module when it is first used, so that ``import spielleiter.match`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spielleiter.common.errors import (
        ClusterError,
        JournalError,
        MachineError,
        MatchError,
        NotStartedError,
        SandboxError,
        SetupError,
        SupervisorError,
    )
    from spielleiter.match.game_folder import KeepPolicy
    from spielleiter.match.plan import Entrant, MatchSetup, ProgramTimeouts
    from spielleiter.match.preparation import load_match, prepare_match
    from spielleiter.match.records import GameRecord, read_journal
    from spielleiter.match.runner import Conditions, EndReason, MatchResult, play_match, run_match
    from spielleiter.match.statistics import Estimate, Tally
    from spielleiter.match.summary import ProgramSummary, Summary, summarise
    from spielleiter.match.verdict import Verdict

__all__ = [
    "ClusterError",
    "Conditions",
    "EndReason",
    "Entrant",
    "Estimate",
    "GameRecord",
    "JournalError",
    "KeepPolicy",
    "MachineError",
    "MatchError",
    "MatchResult",
    "MatchSetup",
    "NotStartedError",
    "ProgramSummary",
    "ProgramTimeouts",
    "SandboxError",
    "SetupError",
    "Summary",
    "SupervisorError",
    "Tally",
    "Verdict",
    "load_match",
    "play_match",
    "prepare_match",
    "read_journal",
    "run_match",
    "summarise",
]

_MODULES = ("common.errors", "match.plan", "match.preparation", "match.records", "match.runner", "match.summary")
"""Where the names are looked for."""


def __getattr__(name: str) -> object:
    for module in map(import_module, (f"spielleiter.{each}" for each in _MODULES if name in __all__)):
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
