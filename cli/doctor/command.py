"""`spielleiter doctor`: prints what this machine can do, line by line as it is found out, or as JSON.

Invariants: the exit code is 0 unless a finding is MISSING. Nothing is left behind on the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import click

from spielleiter.cli.commands import EXIT_FAILURE
from spielleiter.cli.ctrl_c import raise_on_ctrl_c
from spielleiter.cli.encoding import json_text

if TYPE_CHECKING:
    from spielleiter.cli.doctor.finding import Finding

_COLORS: Final = {"ok": "green", "limited": "yellow", "missing": "red"}
_LEVEL_WIDTH: Final = max(map(len, _COLORS))
_TITLE_WIDTH: Final = len("player's Python")
_INDENT: Final = " " * (_LEVEL_WIDTH + _TITLE_WIDTH + 4)
_MOST_COLUMNS: Final = 110


def find_all() -> Iterator[Finding]:
    """Yield all findings, those that take longer last."""
    from spielleiter.cli.doctor import machine
    from spielleiter.cli.doctor.programs import find_programs
    from spielleiter.cli.doctor.server import find_server

    yield machine.find_python()
    yield machine.find_system()
    yield machine.find_cores()
    yield machine.find_memory()
    yield machine.find_terminal()
    yield machine.find_browser()
    yield from find_server()
    yield from find_programs()


def shown(finding: Finding, columns: int) -> str:
    """Return the lines for a finding, at most `columns` wide; what it means begins a line of its own."""
    from spielleiter.cli.columns import filled, printable

    level = finding.level.value
    width = max(columns - len(_INDENT), 30)
    states, meanings = (filled(printable(text), width, "") for text in (finding.state, finding.meaning))
    styled = click.style(level.ljust(_LEVEL_WIDTH), fg=_COLORS[level], bold=level != "ok" or None)
    # what needs attention stands out
    shown_meanings = [click.style(line, dim=level == "ok" or None) for line in meanings]
    first = f"{styled}  {finding.title.ljust(_TITLE_WIDTH)}  {states[0]}"
    return f"\n{_INDENT}".join([first, *states[1:], *shown_meanings])


def summary(findings: Iterable[Finding]) -> str:
    """Return the last line: whether servers can start, and how many lines need attention."""
    from spielleiter.cli.doctor.finding import Level

    levels = [finding.level for finding in findings]
    missing, limited = levels.count(Level.MISSING), levels.count(Level.LIMITED)
    if missing:
        return f"The server cannot start here: see the line{'s' * (missing > 1)} marked missing."
    if not limited:
        return "Everything works here."
    which = "the line marked limited says" if limited == 1 else f"the {limited} lines marked limited say"
    return f"Servers and players can start here; {which} what does not work."


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead, for scripts.")
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    r"""Say what this machine can and cannot do, and what that means.

    Looks at Python, the system, the settings and ports of `spielleiter serve` in the current folder, the clock, the
    sandboxes for `spielleiter check`, and the programs that players need. What can be tried is tried, which takes a
    few seconds.

    \b
    ok       it works
    limited  something does not work; the line says what to do
    missing  the server cannot start; the exit code is then 1
    """
    import os
    import shutil
    import sys
    from importlib.metadata import version

    from spielleiter.cli.doctor.finding import Level
    from spielleiter.common.terminal import understands_escapes

    raise_on_ctrl_c()
    findings: list[Finding] = []
    has_no_colors = sys.stdout.isatty() and not understands_escapes(sys.stdout)
    has_colors = False if has_no_colors or os.environ.get("NO_COLOR") else None  # None: on a terminal only
    columns = min(shutil.get_terminal_size().columns, _MOST_COLUMNS)
    if not as_json:
        click.echo(f"spielleiter {version('spielleiter')}\n")
    for finding in find_all():
        findings.append(finding)
        if not as_json:
            click.echo(shown(finding, columns), color=has_colors)
    is_ready = all(finding.level is not Level.MISSING for finding in findings)
    if as_json:
        found = [finding.as_json() for finding in findings]
        click.echo(json_text({"version": version("spielleiter"), "is_ready": is_ready, "findings": found}))
    else:
        click.echo(f"\n{summary(findings)}")
    context.exit(0 if is_ready else EXIT_FAILURE)
