"""The report of a package's check: one result for each condition of the contest, as JSON, JUnit XML and a page
(contest/templates/package.html.j2).

A package is fit if no condition is red and none is undecided; a yellow one does not make it unfit, nor does one that
could not be checked here. The page is a single file without a script and fetches nothing; whatever a package contains
stays text there.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from spielleiter.common.text import count_text
from spielleiter.contest.calibration import Speed
from spielleiter.contest.runtime_faults import logs_of
from spielleiter.match.reports.junit import Case, render_suite
from spielleiter.match.reports.rendering import render
from spielleiter.programs.contest_conditions import Condition
from spielleiter.programs.packages.faults import Finding, Level

FORMAT: Final = 1
"""The version of the JSON file; it grows when a key changes its meaning or is removed."""


class State(enum.Enum):
    """How a condition is met; the values are texts for people and files."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"
    UNDECIDED = "undecided"
    """This machine was too busy to tell."""
    NOT_CHECKED = "not checked"
    """It cannot be checked here, or an earlier condition made it impossible."""


_COLOURS: Final = {
    State.GREEN: "green",
    State.YELLOW: "yellow",
    State.RED: "red",
    State.UNDECIDED: "grey",
    State.NOT_CHECKED: "grey",
}
_VERDICTS: Final = {
    "fit": "This program is fit for the contest, as far as that can be checked here.",
    "not fit": "This program is not fit for the contest yet. Fix what is red below, and check again.",
    "undecided": "This machine was too busy to decide. Check again when it has less to do.",
}


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """The result for one condition: a summary in one line, and the findings that led to it."""

    condition: Condition
    state: State
    text: str
    findings: tuple[Finding, ...] = ()


def state_of(findings: Iterable[Finding], *, is_undecided: bool = False) -> State:
    """Return the state of a condition with these findings: that of the worst one, green without any.

    If something `is_undecided`, it is not green.
    """
    levels = {each.level for each in findings}
    for level, state in ((Level.RED, State.RED), (Level.YELLOW, State.YELLOW)):
        if level in levels:
            return state
    return State.UNDECIDED if is_undecided else State.GREEN


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """One game of the check. `slowest` is the slowest answer in seconds, `folder` relative to that of the check."""

    condition: str
    title: str
    verdict: str
    reason: str
    points: tuple[int | None, int | None]
    moves: int
    slowest: float
    folder: str
    replay: str


@dataclass(frozen=True, slots=True)
class SandboxReport:
    """How the conditions of the contest were kept: the sandbox's name, what it kept, and why it could not keep more."""

    name: str
    kept: tuple[str, ...]
    gaps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PackageReport:
    """The result of a check. `main` is empty if there is no main file; `sandbox` and `speed` if nothing was run."""

    package: str
    main: str
    season: str
    results: tuple[ConditionResult, ...]
    seconds: float
    sandbox: SandboxReport | None = None
    speed: Speed | None = None
    games: tuple[PlayedGame, ...] = ()

    @property
    def is_fit(self) -> bool:
        """Whether no condition is red, and this machine could decide all of them."""
        return not self.with_state(State.RED) and not self.with_state(State.UNDECIDED)

    @property
    def is_undecided(self) -> bool:
        """Whether this machine was too busy to decide; never if a condition is red."""
        return bool(self.with_state(State.UNDECIDED)) and not self.with_state(State.RED)

    def with_state(self, state: State) -> tuple[ConditionResult, ...]:
        """The results with this state."""
        return tuple(result for result in self.results if result.state is state)

    @property
    def verdict(self) -> str:
        """``fit``, ``not fit`` or ``undecided``."""
        return "fit" if self.is_fit else "undecided" if self.is_undecided else "not fit"

    @property
    def headline(self) -> str:
        """The verdict with the number of conditions in each state, in one line."""
        counts = [(len(self.with_state(state)), state.value) for state in State]
        return f"{self.verdict}: " + ", ".join(f"{count} {text}" for count, text in counts if count)

    def to_json(self) -> dict[str, Any]:
        """A JSON object with everything that the report contains.

        Its keys, in the form that the documents are made from:

        - `format`: 1; it grows when a key changes its meaning or is removed.
        - `package`, `main`, `season`: The file's name, its main file (or null), and the season.
        - `verdict`: `fit`, `not fit` or `undecided`.
        - `seconds`: How long the check took.
        - `sandbox`: Null if nothing was started; otherwise `name`, `kept` and `gaps`, two lists of sentences.
        - `speed`: Null if nothing was started; otherwise `factor` and `is_measured`.
        - `conditions`: For each condition `key`, `title`, `demand`, `state`, `text`, and `findings`, each with `code`,
          `level`, `text` and `file`: a path in the ZIP, or the folder of logs below `--out`.
        - `games`: For each game `condition`, `title`, `verdict`, `reason`, `points`, `moves`, `slowest` (seconds),
          `folder`, `replay`.
        """
        return {
            "format": FORMAT,
            "package": self.package,
            "main": self.main or None,
            "season": self.season,
            "verdict": self.verdict,
            "seconds": round(self.seconds, 3),
            "sandbox": self.sandbox and asdict(self.sandbox),
            "speed": self.speed and {**asdict(self.speed), "factor": round(self.speed.factor, 3)},
            "conditions": [
                {
                    "key": result.condition.key,
                    "title": result.condition.title,
                    "demand": result.condition.sentence,
                    "state": result.state.value,
                    "text": result.text,
                    "findings": [
                        {"code": each.code, "level": each.level.value, "text": each.text, "file": each.file}
                        for each in result.findings
                    ],
                }
                for result in self.results
            ],
            "games": [
                {**asdict(game), "slowest": round(game.slowest, 6), "replay": game.replay or None}
                for game in self.games
            ],
        }

    def to_json_text(self) -> str:
        """The text of the JSON file."""
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n"


def render_junit(report: PackageReport) -> str:
    """The report as JUnit XML: every condition is a test, in the order of the report.

    A red condition is a test with a failure, an undecided one has an error. A yellow one is a skipped test, which
    neither Jenkins nor GitLab counts as failed; its message says what was found.
    """
    name = f"spielleiter check {report.package}, {report.season}"
    cases = []
    for number, result in enumerate(report.results, 1):
        title = f"{number:02d} {result.condition.title}"
        details = "\n".join(f"{each.code}: {each.text}" for each in result.findings)
        match result.state:
            case State.GREEN:
                case = Case(title)
            case State.RED:
                case = Case(title, "failure", result.text, details=details)
            case State.UNDECIDED:
                case = Case(title, "error", result.text, result.state.value, details)
            case _:
                prefix = "warning" if result.state is State.YELLOW else result.state.value
                case = Case(title, "skipped", f"{prefix}: {result.text}", output=details)
        cases.append(case)
    return render_suite(name, cases, class_name="check", seconds=report.seconds)


def render_page(report: PackageReport, folder: str = "") -> str:
    """Return the text of the page. `folder` is that of the check, relative to the page; empty: there are no links."""
    main = f"Main file {report.main}, " if report.main else ""
    findings = [
        [
            (each, f"{folder}/{logs_of(each)}" if folder and logs_of(each) else "")
            for each in result.findings
            if each.level is not Level.GREEN
        ]
        for result in report.results
    ]
    games = [
        (
            game,
            ":".join("–" if each is None else str(each) for each in game.points),
            f"{game.slowest:.3f}",
            f"{folder}/{game.folder}" if folder and game.folder else "",
        )
        for game in report.games
    ]
    return render(
        "contest/templates/package.html.j2",
        page_title=f"{report.package}: {report.verdict}",
        report=report,
        verdict=_VERDICTS[report.verdict],
        facts=f"{main}{report.season}, checked in {report.seconds:.0f} s.",
        results=list(zip(report.results, findings, strict=True)),
        colours=_COLOURS,
        games=games,
        caption=count_text(len(games), "game"),
    )
