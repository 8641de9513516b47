"""The report of a package's check as JUnit XML, for continuous integration.

Invariants: every condition is a test, in the order of the report. Whatever a package contains, the file conforms to the
schema of the xUnit plugin of Jenkins (junit-10.xsd).
"""

from __future__ import annotations

from lxml import etree

from spielleiter.match.checking.package_report import ConditionResult, PackageReport, State
from spielleiter.server.text.escaping import escaped, escaped_lines


def render_junit(report: PackageReport) -> bytes:
    """Return the text of the file.

    A red condition is a test with a failure, an undecided one has an error. A yellow one is a skipped test, which
    neither Jenkins nor GitLab counts as failed; its message says what was found.
    """
    states = [result.state for result in report.results]
    suite = etree.Element(
        "testsuite",
        name=f"spielleiter check {escaped(report.package)}, {report.season}",
        tests=str(len(states)),
        failures=str(states.count(State.RED)),
        errors=str(states.count(State.UNDECIDED)),
        skipped=str(states.count(State.YELLOW) + states.count(State.NOT_CHECKED)),
        time=f"{report.seconds:.3f}",
    )
    for number, result in enumerate(report.results, 1):
        name = f"{number:02d} {result.condition.title}"
        case = etree.SubElement(suite, "testcase", classname="check", name=name)
        _add_outcome(case, result)
    return bytes(etree.tostring(suite, encoding="utf-8", xml_declaration=True, pretty_print=True))


def _add_outcome(case: etree._Element, result: ConditionResult) -> None:
    details = escaped_lines("\n".join(f"{each.code}: {each.text}" for each in result.findings))
    message = escaped(result.text)
    if result.state is State.RED:
        etree.SubElement(case, "failure", message=message).text = details
    elif result.state is State.UNDECIDED:
        etree.SubElement(case, "error", type=result.state.value, message=message).text = details
    elif result.state is not State.GREEN:
        prefix = "warning" if result.state is State.YELLOW else result.state.value
        etree.SubElement(case, "skipped", message=f"{prefix}: {message}")
        if details:
            etree.SubElement(case, "system-out").text = details
