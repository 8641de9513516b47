"""JUnit XML for continuous integration: the renderer of all commands, and a match as a test suite.

The file follows the schema of Jenkins' xUnit plugin (junit-10.xsd), whatever a program has written: control characters
are escaped here, and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from lxml import etree

from spielleiter.common.text import escaped, escaped_lines
from spielleiter.match.records import GameRecord
from spielleiter.match.reports.texts import attempt_texts, attempts_of_game, elo_text, likelihood_text, result_text
from spielleiter.match.summary import Summary

BOTH: Final = (0, 1)
"""Both programs of a match."""
_NO_OUTPUTS: Final[Mapping[int, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Case:
    """A test case; `outcome` is empty if it has passed. `kind`, `message` and `details` belong to other outcomes."""

    name: str
    outcome: Literal["", "failure", "error", "skipped"] = ""
    message: str = ""
    kind: str = ""
    details: str = ""
    output: str = ""
    error_output: str = ""
    seconds: float | None = None


def render_suite(
    name: str,
    cases: Sequence[Case],
    *,
    class_name: str,
    title: str = "",
    seconds: float | None = None,
    timestamp: str | None = None,
    properties: Iterable[tuple[str, str]] = (),
) -> str:
    """The text of a file with one test suite. `title` is the name of the whole file, by default that of the suite."""
    suites = etree.Element("testsuites", {"name": escaped(title or name)})
    suite = etree.SubElement(suites, "testsuite", {"name": escaped(name)})
    for element in (suites, suite):
        element.set("tests", str(len(cases)))
        element.set("failures", str(sum(each.outcome == "failure" for each in cases)))
        element.set("errors", str(sum(each.outcome == "error" for each in cases)))
        if seconds is not None:
            element.set("time", f"{seconds:.3f}")
    # the schema does not allow it in the enclosing element
    suite.set("skipped", str(sum(each.outcome == "skipped" for each in cases)))
    if timestamp is not None:
        suite.set("timestamp", escaped(timestamp))
    if properties := list(properties):
        parent = etree.SubElement(suite, "properties")
        for key, value in properties:
            etree.SubElement(parent, "property", {"name": key, "value": escaped(value)})
    for case in cases:
        element = etree.SubElement(suite, "testcase", {"classname": escaped(class_name), "name": escaped(case.name)})
        if case.seconds is not None:
            element.set("time", f"{case.seconds:.3f}")
        if case.outcome:
            outcome = etree.SubElement(element, case.outcome, {"message": escaped(case.message)})
            if case.kind:
                outcome.set("type", case.kind)
            if case.details:
                outcome.text = escaped_lines(case.details)
        for tag, text in (("system-out", case.output), ("system-err", case.error_output)):
            if text:
                etree.SubElement(element, tag).text = escaped_lines(text)
    etree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + etree.tostring(suites, encoding="unicode") + "\n"


def render_junit(
    summary: Summary,
    records: Sequence[GameRecord],
    errors: Mapping[int, str] = _NO_OUTPUTS,
    faults_of: Collection[int] = BOTH,
) -> str:
    """The text of junit.xml of a match: each game is a test case.

    It is a failure if one of the programs `faults_of` is at fault, an error if the game does not count for another
    reason, and otherwise a pass, no matter which program won. The fault of another program is only named in the output
    of a passed test case. `errors` holds the programs' output to standard error, by number of the game.
    """
    results = summary.results
    properties = [
        ("game_type", summary.game_type or ""),
        ("season", summary.season or ""),
        ("player1", summary.names[0]),
        ("player2", summary.names[1]),
        ("wins-draws-losses", f"{results.wins}-{results.draws}-{results.losses}"),
        ("elo", elo_text(summary.elo)),
        ("normalized_elo", elo_text(summary.normalized_elo)),
        ("likelihood_of_superiority", likelihood_text(summary.likelihood_of_superiority)),
    ]
    properties += [("attempt", text) for text in attempt_texts(summary)]
    if summary.sprt is not None:
        properties.append(("sprt", summary.sprt.decision or "undecided"))
    if summary.significance is not None:
        properties.append(("significance", "undecided" if summary.better is None else summary.names[summary.better]))
    title = " vs ".join(summary.names)
    return render_suite(
        title,
        [_case_of_game(record, errors.get(record.game, ""), faults_of) for record in records],
        class_name=title,
        title="spielleiter match" if summary.season is None else f"spielleiter match, {summary.season}",
        seconds=math.fsum(record.wall_seconds for record in records),
        timestamp=summary.started_at,
        properties=properties,
    )


def _case_of_game(record: GameRecord, error: str, faults_of: Collection[int]) -> Case:
    first, second = (record.names[program] for program in record.seats)
    name = f"game {record.game}: {first} first, {second} second"
    lines = [f"result: {result_text(record)}", f"folder: {record.folder or 'not kept'}"]
    for program in (0, 1):
        points = "no" if record.points[program] is None else record.points[program]
        lines.append(f"{record.names[program]}: {points} points, {record.causes[program] or 'no cause'}")
    lines += attempts_of_game(record)
    by = "" if record.offender is None else f"{record.names[record.offender]}: "
    # one line, whatever a program has written
    message = escaped(f"{by}{record.verdict}: {record.reason}")
    is_error = not record.is_counted and record.offender is None
    return Case(
        name if record.start is None else f"{name}, {record.start}",
        outcome="failure" if record.offender in faults_of else "error" if is_error else "",
        message=message,
        kind=record.verdict,
        details=message,
        output="\n".join(map(escaped, lines)),
        error_output=error,
        seconds=record.wall_seconds,
    )
