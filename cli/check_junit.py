"""The steps of a check as JUnit XML, for continuous integration.

Invariants: every step is a test, in the order of the steps. Whatever a program has written, the file conforms to the
schema of the xUnit plugin of Jenkins (junit-10.xsd); control characters are escaped.
"""

from __future__ import annotations

from collections.abc import Sequence

from lxml import etree

from spielleiter.match.checking.check import Status, StepResult
from spielleiter.server.text.escaping import escaped, escaped_lines


def render_junit(command: str, results: Sequence[StepResult], season: str) -> bytes:
    """The steps as one test suite; its name contains `season`.

    A step that this machine was too busy for is a test with an error. A warning is a skipped test, which neither
    Jenkins nor GitLab counts as failed; its message says what happened and why that is only a warning, and its standard
    output and error contain the rest.
    """
    suite = etree.Element(
        "testsuite",
        name=f"spielleiter check {escaped(command)}, {season}",
        tests=str(len(results)),
        failures=str(sum(result.status is Status.FAILED for result in results)),
        errors=str(sum(result.status is Status.UNDECIDED for result in results)),
        skipped=str(sum(result.status in {Status.NOT_TRIED, Status.WARNING} for result in results)),
    )
    for result in results:
        case = etree.SubElement(suite, "testcase", classname="check", name=f"{result.number:02d} {result.title}")
        if result.status is Status.FAILED:
            failure = etree.SubElement(case, "failure", message=escaped(result.came))
            failure.text = f"expected: {escaped(result.expected)}"
            etree.SubElement(case, "system-err").text = escaped_lines(result.stderr)
        elif result.status is Status.UNDECIDED:
            message = escaped(f"this machine was too busy: {result.came}")
            error = etree.SubElement(case, "error", type=result.status.value, message=message)
            error.text = f"expected: {escaped(result.expected)}"
            etree.SubElement(case, "system-err").text = escaped_lines(result.stderr)
        elif result.status is Status.WARNING:
            message = escaped(f"warning: {result.came} ({result.remark})")
            etree.SubElement(case, "skipped", message=message)
            etree.SubElement(case, "system-out").text = f"expected: {escaped(result.expected)}"
            etree.SubElement(case, "system-err").text = escaped_lines(result.stderr)
        elif result.status is Status.NOT_TRIED:
            etree.SubElement(case, "skipped", message="an earlier step that this one depends on was not passed")
    return bytes(etree.tostring(suite, encoding="utf-8", xml_declaration=True, pretty_print=True))
