"""`spielleiter check`: is this program, or this contest package (a ZIP), fit for the contest?

A warning never changes the exit code.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from spielleiter.cli.ctrl_c import raise_on_ctrl_c
from spielleiter.cli.match_and_tournament import print_platform_gaps
from spielleiter.cli.options import (
    Number,
    chosen_edition,
    edition_options,
    folder_option,
    game_end_option,
    is_given,
    timeout_options,
    variable_options,
)
from spielleiter.cli.output import fitted, print_line
from spielleiter.cli.running import EXIT_FAULT, EXIT_MACHINE, Misuse, machine_failures, run_until_stopped
from spielleiter.common.files import require_writable, write_whole
from spielleiter.common.process import hide_this_process
from spielleiter.common.terminal import shows_colours, understands_escapes
from spielleiter.common.text import count_text, escaped
from spielleiter.contest.calibration import MAX_SPEED, MIN_SPEED
from spielleiter.programs.command import Command
from spielleiter.programs.sandbox.sandbox import AUTO, KINDS
from spielleiter.server.setting import MAX_SECONDS

if TYPE_CHECKING:
    from spielleiter.contest.calibration import Speed
    from spielleiter.contest.check import CheckSetup, StepResult
    from spielleiter.contest.package_games import PackageCheckSetup
    from spielleiter.contest.package_report import ConditionResult, SandboxReport

_FOR_A_ZIP: Final = ("main", "image", "sandbox", "speed", "html", "json")
"""The options that only a package has."""
_FOR_A_COMMAND: Final = ("env", "pass_env")
"""The options that a package does not have, since nobody can set variables in the contest."""
_COLOURS: Final = {"green": "green", "yellow": "yellow", "red": "red", "undecided": "magenta"}
_STATE_WIDTH: Final = len("not checked") + 2
_ERASE_LINE: Final = "\r\033[K"


@click.command(
    epilog=(
        "\b\n"  # click's mark for text that must not be wrapped
        "Examples:\n"
        "  spielleiter check ./player\n"
        "  spielleiter check player.zip --html report.html\n"
        "  spielleiter check player.zip --image python:3.12 -- --level 3\n"
    )
)
@click.argument("command", metavar="CMD")
@click.argument("parameters", metavar="[-- PARAMETER...]", nargs=-1)
@click.option("--main", metavar="FILE", help="For a ZIP: its main file, if there are several candidates.")
@click.option(
    "--sandbox",
    type=click.Choice(KINDS),
    default=AUTO,
    show_default=True,
    help="For a ZIP: how to confine the program to the conditions of the contest. auto takes the best that this "
    "machine has, with an --image docker or podman; none sets limits only.",
)
@click.option(
    "--image",
    metavar="IMAGE",
    help="For a ZIP: the container image to run it in, such as python:3.12, as chosen with the upload.",
)
@click.option(
    "--speed",
    type=Number(MIN_SPEED, MAX_SPEED),
    metavar="FACTOR",
    help="For a ZIP: how many times as fast as that of the contest a core of this machine is.  [default: measured]",
)
@variable_options
@edition_options
@timeout_options(
    {
        "soft": "Time limit for an answer.",
        "hard": "Time after which the check stops waiting for an answer.",
        "start": "Time for the program to take its seat.",
        "exit": "Time for the program to end by itself after the game.",
    },
    has_to_exit=True,
)
@click.option(
    "--pause",
    type=Number(0, MAX_SECONDS, min_open=True),
    default=3.0,
    show_default=True,
    metavar="SECONDS",
    help="Length of the pause in the step that pauses the game.",
)
@game_end_option
@click.option(
    "--junit", type=click.Path(path_type=Path), metavar="FILE", help="Also write the results to FILE as JUnit XML."
)
@click.option(
    "--html", type=click.Path(path_type=Path), metavar="FILE", help="For a ZIP: also write them to FILE as a page."
)
@click.option(
    "--json", type=click.Path(path_type=Path), metavar="FILE", help="For a ZIP: also write them to FILE as JSON."
)
@folder_option("--out", "Keep the program's output, the bytes on the wire and the replays in this folder.")
@click.pass_context
def check(context: click.Context, /, command: str, parameters: tuple[str, ...], **options: Any) -> None:
    """Test whether a program copes with everything that happens in the contest.

    CMD is the ZIP that you hand in, or a command line as for `spielleiter match`.

    A command line is tested step by step. A warning does not make a program unfit: either a step failed that tests more
    than the official server does, or the program depends on something that the official server does not do, but loses
    no game by it. A step in which the program had to wait for a processor is tried up to three times.

    A ZIP is inspected, unpacked and run under the conditions of the contest: with its options in every order, in two
    games against builtin:random and six against builtin:greedy, on one core, with 1.5 GB of memory, without network and
    screen. Each condition is green, yellow (it may fail) or red (it fails). PARAMETERs are further ones for the
    program, as they can be given with the upload.

    The exit code is 0 if the program is fit, 3 if it is not, and 4 if this machine failed or was too busy to decide.
    """
    from spielleiter.common.errors import os_error_text
    from spielleiter.contest.check import CheckSetup
    from spielleiter.contest.package_games import PackageCheckSetup
    from spielleiter.match.plan import ProgramTimeouts
    from spielleiter.programs.environment import added_variables, require_set
    from spielleiter.programs.sandbox.sandbox import SandboxSettings
    from spielleiter.programs.startable import require_startable
    from spielleiter.server.config import limits_problem
    from spielleiter.server.editions import game_option_problem

    soft, hard = options["soft_timeout"] / 1000, options["hard_timeout"] / 1000
    if problem := limits_problem(soft, hard):
        raise click.UsageError(problem)
    chosen = chosen_edition(options["game"], options["edition"])
    game_end, out = options["game_end"], options["out"]
    if game_end is not None and (problem := game_option_problem(chosen, "gameEnd", game_end)):
        raise Misuse(f"--game-end: {problem}")
    try:  # before anything is tested
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=out):
                pass
        for file in filter(None, (options["junit"], options["html"], options["json"])):
            require_writable(file)
    except OSError as error:
        raise Misuse(os_error_text(error)) from None
    hide_this_process()
    timeouts = ProgramTimeouts(start=options["start_timeout"], exit=options["exit_timeout"])
    parsed = Command.parse(command)
    if parsed.is_package:
        for name in _FOR_A_COMMAND:
            if is_given(context, name):
                option = f"--{name.replace('_', '-')}"
                raise Misuse(f"{option}: a package gets no variables in the contest; give its main file instead")
        package = PackageCheckSetup(
            Path(parsed.words[0]),
            chosen.game_type,
            chosen.name,
            main=options["main"],
            parameters=(*parsed.parameters, *parameters),
            sandbox=SandboxSettings(options["sandbox"], options["image"]),
            speed=options["speed"],
            soft_timeout=soft,
            hard_timeout=hard,
            pause=options["pause"],
            timeouts=timeouts,
            game_end=game_end,
        )
        is_fit = check_package_in_terminal(package, out, options["html"], options["json"], options["junit"])
    else:
        if given := [f"--{name}" for name in _FOR_A_ZIP if is_given(context, name)]:
            raise Misuse(f"{given[0]} needs a ZIP, as in `spielleiter check player.zip {given[0]} ...`")
        if parameters:
            raise Misuse(f"{parameters[0]!r} is one word too many; put the whole command line in quotation marks")
        passed = options["pass_env"] or ()
        require_set(passed)
        require_startable(parsed)
        setup = CheckSetup(
            command,
            chosen.game_type,
            soft,
            hard,
            options["pause"],
            timeouts,
            chosen.name,
            game_end,
            environment=added_variables(passed, options["env"] or {}),
        )
        is_fit = _check_command(setup, out, options["junit"])
    if is_fit is None:
        raise click.exceptions.Exit(EXIT_MACHINE)
    if not is_fit:
        raise click.exceptions.Exit(EXIT_FAULT)


# -- a command line ---------------------------------------------------------------------------------------------------


def _check_command(setup: CheckSetup, out: Path | None, junit: Path | None) -> bool | None:
    """Test a program step by step, and say whether it is fit; None: undecided."""
    from spielleiter.contest.check import Status, check_program, is_fit, is_undecided, render_junit
    from spielleiter.match.plan import season_text
    from spielleiter.programs.temporary_folders import temporary_folder

    def tell(result: StepResult) -> None:
        came = f": {result.came}" if result.status is Status.PASSED else ""
        print_line(f"{result.number:2}  {result.status.value:9}  {result.title}{came}")
        if result.status in {Status.FAILED, Status.WARNING, Status.UNDECIDED}:
            print_line(f"        expected: {result.expected}")
            print_line(f"        got:      {result.came}")
            for line in result.stderr.splitlines():
                print_line(f"        stderr:   {line}")
        if result.status is Status.WARNING:
            print_line(f"        remark:   {result.remark}")
        if out is not None and result.status not in {Status.PASSED, Status.NOT_TRIED}:
            print_line(f"        kept in:  {out / result.folder}")

    season = season_text(setup.game_type, setup.edition)
    with machine_failures("check"):
        print_platform_gaps()
        print_line(f"{season}: checking {setup.command}")
        raise_on_ctrl_c()
        with temporary_folder() as temporary:
            folder = out or temporary
            results = run_until_stopped(lambda: check_program(setup, folder, tell))
        if junit is not None:
            write_whole(junit, render_junit(setup.command, results, season))
    warnings = sum(result.status is Status.WARNING for result in results)
    counted = f", {count_text(warnings, 'warning')}" if warnings else ""
    steps = count_text(len(results), "step")
    if is_undecided(results):
        open_steps = sum(result.status in {Status.UNDECIDED, Status.NOT_TRIED} for result in results)
        print_line(
            f"undecided: this machine was too busy for {open_steps} of {steps}{counted}; "
            "try again when it has less to do"
        )
        return None
    if not is_fit(results):
        missed = [result for result in results if result.status not in {Status.PASSED, Status.WARNING}]
        first = next(result for result in missed if result.status is Status.FAILED)
        print_line(f"not fit: {len(missed)} of {steps} not passed, first {first.number}, {first.title}{counted}")
        return False
    if warnings:
        print_line(f"fit: {len(results) - warnings} of {steps} passed{counted}")
    else:
        print_line(f"fit: {'the only step' if len(results) == 1 else f'all {len(results)} steps'} passed")
    return True


# -- a package --------------------------------------------------------------------------------------------------------


def check_package_in_terminal(
    setup: PackageCheckSetup, out: Path | None, html: Path | None, json: Path | None, junit: Path | None
) -> bool | None:
    """Check a package, print the report and write it to these files; say whether it is fit (None: undecided).

    `out` is the folder for logs and replays. Without one they are kept only if the program is not fit, in a folder for
    temporary files.
    """
    from spielleiter.contest.package_check import check_package
    from spielleiter.contest.package_report import render_junit, render_page
    from spielleiter.match.plan import season_text
    from spielleiter.programs.temporary_folders import remove_folder

    if not setup.path.is_file():
        raise Misuse(f"there is no file {setup.path}")
    print_line(f"{season_text(setup.game_type, setup.edition)}: checking {setup.path}")
    raise_on_ctrl_c()
    folder = out or Path(tempfile.mkdtemp(prefix="spielleiter-check-"))
    is_kept = out is not None
    screen = PackageScreen(folder)
    with machine_failures("check"):
        try:
            report = run_until_stopped(lambda: check_package(setup, folder, screen))
            is_kept = is_kept or (bool(report.games) and not report.is_fit)
            if html is not None:
                logs = ""
                if is_kept:
                    with suppress(ValueError):  # between two drives on Windows there is no relative path
                        logs = Path(os.path.relpath(folder, html.parent)).as_posix()
                write_whole(html, render_page(report, logs))
            if json is not None:
                write_whole(json, report.to_json_text())
            if junit is not None:
                write_whole(junit, render_junit(report))
        finally:
            screen.clear()
            if not is_kept:
                remove_folder(folder)
    gaps = () if report.sandbox is None else report.sandbox.gaps
    if gaps:
        print_line(f"{count_text(len(gaps), 'condition')} of the contest could not be kept here:")
        for gap in gaps:
            print_line(f"  {gap}")
    if is_kept and report.games:
        print_line(f"logs and replays: {folder}")
    if report.is_undecided and report.games:
        print_line(f"{report.headline}; try again when this machine has less to do")
    else:
        print_line(f"{report.headline}; {report.seconds:.0f} s")
    return None if report.is_undecided else report.is_fit


class PackageScreen:
    """Prints each condition as soon as it is decided, and on a terminal what is being done.

    Every condition is one line on standard output that begins with its state as a word; what is wrong follows in
    further lines. What is being done is shown on standard error. `folder` is that of the check, in which the logs of a
    red finding are kept.
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
        from spielleiter.contest.runtime_faults import logs_of
        from spielleiter.programs.packages.faults import Level

        self.clear()
        word = result.state.value
        line = fitted(escaped(f"{word:{_STATE_WIDTH}}{result.condition.title}: {result.text}"), sys.stdout)
        colour = _COLOURS.get(word)
        if self._is_coloured and colour is not None:
            line = click.style(word, fg=colour, bold=True) + line[len(word) :]
        click.echo(line)
        for finding in result.findings:
            if finding.level is not Level.GREEN:
                print_line(f"{'':{_STATE_WIDTH}}[{finding.code}] {finding.text}")
            if finding.level is Level.RED and (logs := logs_of(finding)):
                print_line(f"{'':{_STATE_WIDTH}}logs: {self._folder / logs}")

    def clear(self) -> None:
        """Erase the line that says what is being done."""
        if self._shows_progress:
            click.echo(_ERASE_LINE, err=True, nl=False)
