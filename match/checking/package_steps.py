"""The steps of the check by a scripted server, for a package in its sandbox.

Invariants: these are the steps of `spielleiter check` except for its whole games, which a package plays anyway. A step
that the contest does not require is a yellow finding if it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from spielleiter.match.checking.check import CheckSetup, Status, StepResult, check_program
from spielleiter.match.checking.package_faults import fault
from spielleiter.match.checking.package_report import State, state_of
from spielleiter.match.checking.package_setup import PackageCheckSetup
from spielleiter.match.checking.scripted_start import Confined
from spielleiter.match.packages.finding import Finding
from spielleiter.match.packages.package import Package
from spielleiter.match.programs.command_line import join_command
from spielleiter.match.sandbox.sandbox import Sandbox
from spielleiter.server.text.counting import count_text

_FOLDER = "protocol"


@dataclass(frozen=True, slots=True)
class StepsResult:
    """All steps together, as a condition of the report."""

    state: State
    text: str
    findings: tuple[Finding, ...] = ()


async def try_steps(
    setup: PackageCheckSetup,
    package: Package,
    sandbox: Sandbox,
    folder: Path,
    time_factor: float,
    tell: Callable[[str], None],
) -> StepsResult:
    """Try the steps; `tell` is called with the title of each one that has ended.

    `time_factor` extends the time limits on a machine that is slower than the contest's. Raises MatchError.
    """
    check = CheckSetup(
        join_command(package.words),
        setup.game_type,
        setup.soft_timeout * time_factor,
        setup.hard_timeout * time_factor,
        setup.pause,
        setup.patience,
        setup.edition,
        setup.game_end,
        Confined(sandbox, package.folder),
    )
    return summed_up(
        await check_program(check, folder / _FOLDER, lambda step: tell(f"step {step.number}, {step.title}"))
    )


def summed_up(steps: Sequence[StepResult]) -> StepsResult:
    """Return these steps as the result of one condition; steps that missed the same expectation are one finding."""
    groups: dict[tuple[Status, str], list[StepResult]] = {}
    for step in steps:
        if step.status in {Status.FAILED, Status.WARNING}:
            groups.setdefault((step.status, step.expected), []).append(step)
    findings = tuple(_finding(first, len(others)) for first, *others in groups.values())
    passed = sum(step.status is Status.PASSED for step in steps)
    state = state_of(findings)
    if state is State.GREEN and passed < len(steps):
        state = State.UNDECIDED
    return StepsResult(state, f"{passed} of {count_text(len(steps), 'step')} passed", findings)


def _finding(step: StepResult, others: int) -> Finding:
    code = "missed-step" if step.status is Status.WARNING else "failed-step"
    return fault(
        code,
        f"{_FOLDER}/{step.folder}",
        title=f"{step.title} (and {count_text(others, 'more step')})" if others else step.title,
        expected=step.expected,
        reason=step.came,
        remark=step.remark,
    )
