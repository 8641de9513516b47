"""junit.xml: a match as a test suite, for continuous integration.

Invariants: each game is a test case. It is a failure if a program is at fault, an error if the game does not count for
another reason, and otherwise a pass, no matter which program won. The fault of a program that is not under test is only
named in the output of a passed test case. The file follows the schema of Jenkins' xUnit plugin
(junit-10.xsd). Control characters in texts from programs are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from lxml import etree

from spielleiter.match.records.game_record import GameRecord
from spielleiter.match.reports.words import attempt_texts, attempts_of_game, elo_text, likelihood_text, result_text
from spielleiter.match.summary import Summary
from spielleiter.server.text.escaping import escaped, escaped_lines

BOTH: Final = (0, 1)
"""Both programs of a match."""
_NO_OUTPUTS: Final[Mapping[int, str]] = MappingProxyType({})


def render_junit(
    summary: Summary,
    records: Sequence[GameRecord],
    errors: Mapping[int, str] = _NO_OUTPUTS,
    faults_of: Collection[int] = BOTH,
) -> str:
    """The text of the file.

    `errors` holds the programs' output to standard error, by number of the game. `faults_of` are the programs whose
    faults are failures.
    """
    seconds = math.fsum(record.wall_seconds for record in records)
    counts = {
        "tests": str(len(records)),
        "failures": str(sum(record.offender in faults_of for record in records)),
        "errors": str(sum(_is_error(record) for record in records)),
        "time": f"{seconds:.3f}",
    }
    title = escaped(" vs ".join(summary.names))
    season = "" if summary.season is None else f", {escaped(summary.season)}"
    suites = etree.Element("testsuites", {"name": f"spielleiter match{season}"})
    suite = etree.SubElement(suites, "testsuite", {"name": title})
    for element in (suites, suite):
        for name, value in counts.items():
            element.set(name, value)
    suite.set("skipped", "0")  # the schema does not allow it in the enclosing element
    if summary.started_at is not None:
        suite.set("timestamp", escaped(summary.started_at))
    properties = etree.SubElement(suite, "properties")
    for name, value in _properties(summary):
        etree.SubElement(properties, "property", {"name": name, "value": escaped(value)})
    for record in records:
        _add_game(suite, title, record, errors.get(record.game, ""), faults_of)
    etree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + etree.tostring(suites, encoding="unicode") + "\n"


def _properties(summary: Summary) -> list[tuple[str, str]]:
    results = summary.results
    values = [
        ("game_type", summary.game_type or ""),
        ("season", summary.season or ""),
        ("player1", summary.names[0]),
        ("player2", summary.names[1]),
        ("wins-draws-losses", f"{results.wins}-{results.draws}-{results.losses}"),
        ("elo", elo_text(summary.elo)),
        ("normalized_elo", elo_text(summary.normalized_elo)),
        ("likelihood_of_superiority", likelihood_text(summary.likelihood_of_superiority)),
    ]
    values += [("attempt", text) for text in attempt_texts(summary)]
    if summary.sprt is not None:
        values.append(("sprt", summary.sprt.decision or "undecided"))
    if summary.significance is not None:
        values.append(("significance", "undecided" if summary.better is None else summary.names[summary.better]))
    return values


def _add_game(suite: etree._Element, title: str, record: GameRecord, error: str, faults_of: Collection[int]) -> None:
    first, second = (record.names[program] for program in record.seats)
    name = f"game {record.game}: {first} first, {second} second"
    if record.start is not None:
        name += f", {record.start}"
    case = etree.SubElement(
        suite, "testcase", {"classname": title, "name": escaped(name), "time": f"{record.wall_seconds:.3f}"}
    )
    is_failure = record.offender in faults_of
    if is_failure or _is_error(record):
        by = "" if record.offender is None else f"{record.names[record.offender]}: "
        message = escaped(f"{by}{record.verdict}: {record.reason}")
        kind = "failure" if is_failure else "error"
        etree.SubElement(case, kind, {"type": record.verdict, "message": message}).text = message
    lines = [f"result: {result_text(record)}", f"folder: {record.folder or 'not kept'}"]
    for program in (0, 1):
        points = "no" if record.points[program] is None else record.points[program]
        lines.append(f"{record.names[program]}: {points} points, {record.causes[program] or 'no cause'}")
    lines += attempts_of_game(record)
    etree.SubElement(case, "system-out").text = "\n".join(map(escaped, lines))
    if error:
        etree.SubElement(case, "system-err").text = escaped_lines(error)


def _is_error(record: GameRecord) -> bool:
    return not record.is_counted and record.offender is None
