"""Reports of packages for tests: a sound package, and one whose texts try to break out of every format."""

from __future__ import annotations

from typing import Final

from spielleiter.contest.calibration import Speed
from spielleiter.contest.package_report import (
    ConditionResult,
    PackageReport,
    PlayedGame,
    SandboxReport,
    State,
)
from spielleiter.contest.runtime_faults import fault
from spielleiter.programs.contest_conditions import REPORTED, Condition
from spielleiter.programs.packages.faults import Finding

HOSTILE: Final = "</td><script>alert('1')</script>\"&\r\n\x00\x1b[31m\u202e\ud800]]>"


def report(
    states: dict[str, State] | None = None, *, package: str = "player.zip", text: str = "as expected"
) -> PackageReport:
    """A report with these states by the key of the condition, the others green; those with a finding have one."""
    chosen = states or {}
    results = [
        ConditionResult(each, state := chosen.get(each.key, State.GREEN), text, _findings(state, text))
        for each in REPORTED
    ]
    game = PlayedGame(
        Condition.PAIRING.key, "game 1", "regular", text, (10, None), 12, 0.25, f"games/{text}", "replay.xml"
    )
    return PackageReport(
        package,
        "start.sh",
        "swc_2027_blokus (blokus-2027)",
        tuple(results),
        12.5,
        SandboxReport("plain", ("one core",), (f"no network: {text}",)),
        Speed(1.5, is_measured=True),
        (game,),
    )


def _findings(state: State, text: str) -> tuple[Finding, ...]:
    if state is State.RED:
        return (fault("crash", "games/0001", game="game 1", reason=text),)
    if state is State.YELLOW:
        return (fault("nearly-too-slow", slowest="1.2 s", expected="1.8 s"),)
    return ()
