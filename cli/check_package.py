"""`spielleiter check player.zip`: the check of a contest package in a terminal, and its files.

Invariants: every condition is one line on standard output that begins with its state as a word; what is wrong follows
in further lines. What is being done meanwhile is shown on standard error, and only on a terminal. The exit codes are
those of `spielleiter check`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from spielleiter.cli.commands import Misuse, fitted, print_line, run_until_stopped
from spielleiter.cli.ctrl_c import raise_on_ctrl_c
from spielleiter.cli.exit_codes import EXIT_FAULT, EXIT_MACHINE
from spielleiter.common.errors import MatchError, SetupError, os_error_text
from spielleiter.common.files import write_whole
from spielleiter.common.terminal import shows_colours, understands_escapes
from spielleiter.common.text import count_text, escaped
from spielleiter.contest.calibration import Speed
from spielleiter.contest.package_check import check_package
from spielleiter.contest.package_faults import logs_of
from spielleiter.contest.package_games import PackageCheckSetup
from spielleiter.contest.package_page import render_page
from spielleiter.contest.package_report import (
    ConditionResult,
    PackageReport,
    SandboxReport,
    State,
    render_junit,
)
from spielleiter.match.plan import season_text
from spielleiter.programs.packages.faults import Level
from spielleiter.programs.temporary_folders import remove_folder

_WIDTH: Final = max(len(state.value) for state in State) + 2
_COLOURS: Final = {State.GREEN: "green", State.YELLOW: "yellow", State.RED: "red", State.UNDECIDED: "magenta"}
_ERASE_LINE: Final = "\r\033[K"


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """The files that the report is written to as well; None for one that nobody asked for."""

    html: Path | None = None
    json: Path | None = None
    junit: Path | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that were asked for."""
        return tuple(each for each in (self.html, self.json, self.junit) if each is not None)

    def write(self, report: PackageReport, folder: Path | None) -> None:
        """Write them; `folder` is where logs and replays are kept, None if they are not. Raises OSError."""
        if self.html is not None:
            place = "" if folder is None else _relative(folder, self.html.parent)
            write_whole(self.html, render_page(report, place))
        if self.json is not None:
            write_whole(self.json, report.to_json_text())
        if self.junit is not None:
            write_whole(self.junit, render_junit(report))


def _relative(folder: Path, start: Path) -> str:
    """The path of `folder` relative to `start`; empty if there is none, as between two drives on Windows."""
    try:
        return Path(os.path.relpath(folder, start)).as_posix()
    except ValueError:
        return ""


def check_package_in_terminal(setup: PackageCheckSetup, files: ReportFiles, out: Path | None) -> None:
    """Check a package, print the report and write the files. Raises Misuse, and Exit unless the program is fit.

    `out` is the folder for logs and replays. Without one they are kept only if the program is not fit, in a folder for
    temporary files.
    """
    if not setup.path.is_file():
        raise Misuse(f"there is no file {setup.path}")
    print_line(f"{season_text(setup.game_type, setup.edition)}: checking {setup.path}")
    raise_on_ctrl_c()
    folder = out or Path(tempfile.mkdtemp(prefix="spielleiter-check-"))
    is_kept = out is not None
    screen = PackageScreen(folder)
    try:
        report = run_until_stopped(lambda: check_package(setup, folder, screen))
        screen.clear()
        is_kept = is_kept or (bool(report.games) and not report.is_fit)
        files.write(report, folder if is_kept else None)
    except SetupError as error:
        screen.clear()
        raise Misuse(str(error)) from None
    except (MatchError, OSError) as error:
        screen.clear()
        text = os_error_text(error) if isinstance(error, OSError) else error
        print_line(f"spielleiter check: {text}", err=True)
        raise click.exceptions.Exit(EXIT_MACHINE) from None
    finally:
        if not is_kept:
            remove_folder(folder)
    _print_end(report, folder if is_kept else None)
    if report.is_undecided:
        raise click.exceptions.Exit(EXIT_MACHINE)
    if not report.is_fit:
        raise click.exceptions.Exit(EXIT_FAULT)


def _print_end(report: PackageReport, folder: Path | None) -> None:
    gaps = () if report.sandbox is None else report.sandbox.gaps
    if gaps:
        print_line(f"{count_text(len(gaps), 'condition')} of the contest could not be kept here:")
        for gap in gaps:
            print_line(f"  {gap}")
    if folder is not None and report.games:
        print_line(f"logs and replays: {folder}")
    if report.is_undecided and report.games:
        print_line(f"{report.headline}; try again when this machine has less to do")
    else:
        print_line(f"{report.headline}; {report.seconds:.0f} s")


class PackageScreen:
    """Prints each condition as soon as it is decided, and on a terminal what is being done.

    `folder` is that of the check, in which the logs of a red finding are kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_coloured = shows_colours(sys.stdout)
        self._shows_progress = understands_escapes(sys.stderr)

    def started(self, main: str, sandbox: SandboxReport, speed: Speed) -> None:
        self.clear()
        name = "none, only limits" if sandbox.name == "none" else sandbox.name
        print_line(f"running {main}; sandbox: {name}; {speed.text}")

    def doing(self, text: str) -> None:
        if self._shows_progress:
            columns = max(10, os.get_terminal_size(sys.stderr.fileno()).columns - 6)
            click.echo(f"{_ERASE_LINE}  … {escaped(text)[:columns]}", err=True, nl=False)

    def result(self, result: ConditionResult) -> None:
        self.clear()
        word = result.state.value
        line = fitted(escaped(f"{word:{_WIDTH}}{result.condition.title}: {result.text}"), sys.stdout)
        colour = _COLOURS.get(result.state)
        if self._is_coloured and colour is not None:
            line = click.style(word, fg=colour, bold=True) + line[len(word) :]
        click.echo(line)
        for finding in result.findings:
            if finding.level is not Level.GREEN:
                print_line(f"{'':{_WIDTH}}[{finding.code}] {finding.text}")
            if finding.level is Level.RED and (logs := logs_of(finding)):
                print_line(f"{'':{_WIDTH}}logs: {self._folder / logs}")

    def clear(self) -> None:
        """Erase the line that says what is being done."""
        if self._shows_progress:
            click.echo(_ERASE_LINE, err=True, nl=False)
