"""`spielleiter check`: is this program fit for the contest?

Invariants: the exit code is 0 if every step that the contest demands was passed, 3 if not, 2 for misuse, and 4 if this
machine failed. A warning never changes it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from server.counting import count_text
from server.setting import MAX_SECONDS
from spielleiter.commands import Misuse, run_async
from spielleiter.exit_codes import EXIT_FAULT, EXIT_MACHINE
from spielleiter.options import folder_option, game_option, require_sensible_limits, timeout_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from match.check import StepResult


@click.command()
@click.argument("command", metavar="CMD")
@game_option
@timeout_options(
    {
        "soft": "For an answer.",
        "hard": "Until an answer is no longer waited for.",
        "start": "For the program to take its seat.",
        "exit": "For the program to end itself after the game.",
    },
    has_to_exit=True,
)
@click.option(
    "--pause",
    type=click.FloatRange(0, MAX_SECONDS, min_open=True),
    default=3.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the pause of a paused game is.",
)
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Write the steps as JUnit's XML, too.")
@folder_option("--out", "Keep what the program wrote in this folder.")
def check(
    command: str,
    game: str,
    soft_timeout: int,
    hard_timeout: int,
    start_timeout: float,
    exit_timeout: float,
    pause: float,
    junit: Path | None,
    out: Path | None,
) -> None:
    """Try everything that a program meets in the contest, step by step.

    CMD is a command line as of `match`. The exit code is 0 if the program is fit and 3 if not. A step that tests more
    than the official server does is shown as a warning if it fails; it does not make a program unfit.
    """
    from match.check import CheckSetup, Status, check_program, is_fit
    from match.errors import MatchError, SetupError
    from match.setup import Patience
    from server.errors import os_error_text

    require_sensible_limits(soft_timeout, hard_timeout)
    setup = CheckSetup(
        command, game, soft_timeout / 1000, hard_timeout / 1000, pause, Patience(start=start_timeout, exit=exit_timeout)
    )
    try:
        with tempfile.TemporaryDirectory() as temporary:
            folder = out or Path(temporary)
            results = run_async(lambda: check_program(setup, folder, _tell))
        if junit is not None:
            junit.write_bytes(render_junit(command, results))
    except SetupError as error:
        raise Misuse(str(error)) from None
    except (MatchError, OSError) as error:
        told = os_error_text(error) if isinstance(error, OSError) else error
        click.echo(f"spielleiter check: {told}", err=True)
        raise click.exceptions.Exit(EXIT_MACHINE) from None
    warnings = sum(result.status is Status.WARNING for result in results)
    steps = count_text(len(results), "step")
    if not is_fit(results):
        missed = [result for result in results if result.status in {Status.FAILED, Status.NOT_TRIED}]
        first = next(result for result in missed if result.status is Status.FAILED)
        click.echo(
            f"not fit: {len(missed)} of {steps} not passed, first {first.number}, {first.title}{_counted(warnings)}"
        )
        raise click.exceptions.Exit(EXIT_FAULT)
    if warnings:
        click.echo(f"fit: {len(results) - warnings} of {steps} passed{_counted(warnings)}")
    else:
        click.echo(f"fit: {'the only step' if len(results) == 1 else f'all {len(results)} steps'} passed")


def _counted(warnings: int) -> str:
    """What the last line adds about warnings."""
    return f", {count_text(warnings, 'warning')}" if warnings else ""


def _tell(result: StepResult) -> None:
    from match.check import Status

    head = f"{result.number:2}  {result.status.value:9}  {result.title}"
    if result.status is Status.PASSED:
        head += f": {result.came}"
    click.echo(head)
    if result.status in {Status.FAILED, Status.WARNING}:
        click.echo(f"        expected: {result.expected}")
        click.echo(f"        came:     {result.came}")
        for line in result.stderr.splitlines():
            click.echo(f"        stderr:   {line}")
    if result.status is Status.WARNING:
        click.echo(f"        remark:   {result.remark}")


def render_junit(command: str, results: Sequence[StepResult]) -> bytes:
    """The steps as one suite of tests.

    A warning is a skipped test, which neither Jenkins nor GitLab counts as failed; its message says what came and why
    that is only a warning, and standard output and error hold the rest.
    """
    from lxml import etree

    from match.check import Status

    suite = etree.Element(
        "testsuite",
        name=f"spielleiter check {printable(command)}",
        tests=str(len(results)),
        failures=str(sum(result.status is Status.FAILED for result in results)),
        skipped=str(sum(result.status in {Status.NOT_TRIED, Status.WARNING} for result in results)),
    )
    for result in results:
        case = etree.SubElement(suite, "testcase", classname="check", name=f"{result.number:02d} {result.title}")
        if result.status is Status.FAILED:
            failure = etree.SubElement(case, "failure", message=printable(result.came))
            failure.text = f"expected: {printable(result.expected)}"
            etree.SubElement(case, "system-err").text = printable(result.stderr)
        elif result.status is Status.WARNING:
            message = printable(f"warning: {result.came} ({result.remark})")
            etree.SubElement(case, "skipped", message=message)
            etree.SubElement(case, "system-out").text = f"expected: {printable(result.expected)}"
            etree.SubElement(case, "system-err").text = printable(result.stderr)
        elif result.status is Status.NOT_TRIED:
            etree.SubElement(case, "skipped", message="an earlier step has failed that this one builds on")
    return bytes(etree.tostring(suite, encoding="utf-8", xml_declaration=True, pretty_print=True))


def printable(text: str) -> str:
    """The text without what XML cannot hold."""
    return "".join(sign if sign in "\t\n" or sign.isprintable() else "\ufffd" for sign in text)
